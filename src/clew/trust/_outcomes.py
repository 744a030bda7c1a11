"""Outcomes of a question (which of its rows share a group), and their probabilities."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._parallel import blocks
from clew._validation import check_rectangular
from clew.answers import CODES, DONT_KNOW, KINDS, Kind
from clew.constraints import AnswerTable, Constraints, Support, check_constraints
from clew.exceptions import InvalidConstraintsError, InvalidDataError

#: Groups of rows, (m,), -1 for none; or probabilities of groups, (m, n_groups).
Memberships = NDArray[np.int64] | NDArray[np.floating]

#: Number of membership entries of the rows of questions that are gathered at once.
MAX_ENTRIES = 500_000

ALL_KINDS: Final = Support(pairs=True, triplets=True, odd_one_out=True, dont_know=True)

#: For each kind a matrix whose rows are the outcomes. An outcome's probability is the product of
#: its row with 1 and the probabilities that rows 1 and 2, 1 and 3, 2 and 3, and all three share a
#: group (`co_membership`).
OUTCOMES: Final[Mapping[Kind, NDArray[np.float64]]] = MappingProxyType({
    # Same, different.
    "pair": np.array([[0, 1, 0, 0, 0], [1, -1, 0, 0, 0]], float),
    # a with b and not c, a with c and not b, open: neither or both.
    "triplet": np.array([[0, 1, 0, 0, -1], [0, 0, 1, 0, -1], [1, -1, -1, 0, 2]], float),
    # Only the first, the second or the third differs, all the same, all different.
    "odd_one_out": np.array(
        [
            [0, 0, 0, 1, -1],
            [0, 0, 1, 0, -1],
            [0, 1, 0, 0, -1],
            [0, 0, 0, 0, 1],
            [1, -1, -1, -1, 2],
        ],
        float,
    ),
})  # fmt: skip

#: For each position of a row in a question, the positions of the others, and the columns of
#: `co_membership` for the row and each of them.
OTHERS: Final[Mapping[int, tuple[int, int, int, int]]] = MappingProxyType(
    {0: (1, 2, 1, 2), 1: (0, 2, 1, 3), 2: (0, 1, 2, 3)}
)

#: The correct answer to each outcome, as a position in `clew.answers.CODES`.
TRUE_LABEL: Final[Mapping[Kind, NDArray[np.int64]]] = MappingProxyType(
    {kind: np.arange(len(outcomes)) for kind, outcomes in OUTCOMES.items()}
)

#: Whether an outcome determines an answer; otherwise the question is open, and don't-know is the
#: correct answer.
IS_DETERMINED: Final[Mapping[Kind, NDArray[np.bool_]]] = MappingProxyType(
    {kind: TRUE_LABEL[kind] < len(CODES[kind]) - 1 for kind in KINDS}
)


def informative_tables(known: Constraints, *, with_dont_know_pairs: bool) -> list[AnswerTable]:
    """Select the answers of positive weight, with or without don't-knows about pairs."""
    tables = [table.take(table.weights > 0) for table in known.tables]
    if not with_dont_know_pairs:
        tables[0] = tables[0].take(tables[0].answers != DONT_KNOW)
    return tables


def co_membership(of_rows: Sequence[Memberships]) -> NDArray[np.float64]:
    """1 and P(rows 1 and 2, 1 and 3, 2 and 3, all share a group), (m, 5), or 0."""
    first = of_rows[0]
    result = np.zeros((len(first), 5))
    result[:, 0] = 1.0
    for column, pair in enumerate(((0, 1), (0, 2), (1, 2))[: 1 if len(of_rows) == 2 else 3]):
        a, b = (of_rows[at] for at in pair)
        # A row without a group (-1) shares none.
        shared = (a == b) & (a != -1) if a.ndim == 1 else np.einsum("mk,mk->m", a, b)
        result[:, column + 1] = shared
    if len(of_rows) > 2:
        a, b, c = of_rows
        whole = result[:, 1] * result[:, 2] if a.ndim == 1 else np.einsum("mk,mk,mk->m", a, b, c)
        result[:, 4] = whole
    return result


def outcome_probabilities(kind: Kind, of_rows: Sequence[Memberships]) -> NDArray[np.float64]:
    """Return the probabilities of the outcomes, (m, n_outcomes); see `co_membership`."""
    # Rounding may make some slightly negative.
    return np.maximum(co_membership(of_rows) @ OUTCOMES[kind].T, 0.0)


def blocks_of_questions(n_questions: int, memberships: Memberships) -> list[tuple[int, int]]:
    """Cut questions into blocks for which the memberships of their rows are gathered at once."""
    n_groups = memberships.shape[1] if memberships.ndim == 2 else 1
    return blocks(n_questions, max(MAX_ENTRIES // n_groups, 1))


def outcomes_of_rows(
    kind: Kind, memberships: Memberships, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Probabilities of the outcomes of questions, (m, n_outcomes), by the places of their rows."""
    found = np.empty((len(rows), len(OUTCOMES[kind])))
    for start, end in blocks_of_questions(len(rows), memberships):
        of_rows = [memberships[of_position] for of_position in rows[start:end].T]
        found[start:end] = outcome_probabilities(kind, of_rows)
    return found


class _Matrices(Protocol):
    """Fitted `ConfusionMatrices`."""

    annotators_: tuple[str, ...]
    matrices_: dict[Kind, NDArray[np.float64]]


def answer_likelihoods(
    confusion: _Matrices, table: AnswerTable, constraints: Constraints
) -> NDArray[np.float64]:
    """Probability of each answer, given each outcome, (m, n_outcomes)."""
    place = {name: at for at, name in enumerate(confusion.annotators_)}
    code = np.array([place.get(name, -1) for name in constraints.annotators], np.int64)
    missing = np.flatnonzero(code[table.annotators] < 0)
    if missing.size:
        name = constraints.annotators[table.annotators[missing[0]]]
        raise InvalidConstraintsError(
            f"there is no confusion matrix of {name!r}; there are those of "
            f"{some_names(confusion.annotators_)}"
        )
    matrices = confusion.matrices_[table.kind]
    return np.asarray(matrices[code[table.annotators], :, table.answer_index])


def some_names(names: Collection[str]) -> str:
    """List the first names, for a message."""
    return ", ".join(map(repr, islice(names, 10))) + (", …" if len(names) > 10 else "")


def answered_rows(
    method: object, constraints: Constraints, memberships: ArrayLike
) -> tuple[Constraints, Memberships]:
    """Validate answers and memberships, and leave out the rows that no answer names."""
    n = constraints.n_samples if isinstance(constraints, Constraints) else 0
    check_constraints(method, constraints, n, ALL_KINDS)
    checked = _as_memberships(memberships, n)
    rows = np.unique(np.concatenate([table.rows.ravel() for table in constraints.tables]))
    return constraints.subset(rows), checked[rows]


def as_outcome_probabilities(
    table: AnswerTable, probabilities: Mapping[Kind, ArrayLike]
) -> NDArray[np.float64]:
    """Probabilities of outcomes for one kind of answers, (n_answers, n_outcomes), validated."""
    shape = (len(table), len(OUTCOMES[table.kind]))
    if table.kind not in probabilities and not len(table):
        return np.empty(shape)
    given = _as_array(probabilities.get(table.kind, ()), f"probabilities[{table.kind!r}]")
    if given.shape != shape or not (given >= 0).all():
        raise InvalidDataError(
            f"probabilities[{table.kind!r}] must hold probabilities, shape {shape}: one row for "
            f"each answer, one column for each outcome; got shape {given.shape}"
        )
    return given.astype(np.float64)


def _as_memberships(memberships: ArrayLike, n_samples: int) -> Memberships:
    given = _as_array(memberships, "memberships")
    if given.ndim not in (1, 2) or len(given) != n_samples:
        raise InvalidDataError(
            f"memberships must have shape ({n_samples},) or ({n_samples}, n_groups), as the "
            f"constraints are about {n_samples} rows; got {given.shape}"
        )
    if given.ndim == 1:
        if given.dtype.kind not in "iu" and given.size:
            raise InvalidDataError(f"groups must be integers, got dtype {given.dtype}")
        return given.astype(np.int64)
    probabilities = given.astype(np.float64)
    if not (probabilities >= 0).all() or not np.allclose(probabilities.sum(axis=1), 1, atol=1e-6):
        raise InvalidDataError(
            "memberships must be probabilities of groups that add up to 1 in each row"
        )
    return probabilities


def _as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    given = check_rectangular(values, name)
    if given.ndim == 2 and given.dtype.kind not in "biuf":
        raise InvalidDataError(f"{name} must be numbers, got dtype {given.dtype}")
    return given
