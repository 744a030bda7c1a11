"""What groups of rows make of a question: its cases, their chances, and what each would answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import CODES, DONT_KNOW, KINDS, Kind
from clew.constraints import AnswerTable, Constraints
from clew.exceptions import InvalidDataError

__all__ = [
    "CASES",
    "IS_SETTLED",
    "OTHERS",
    "TRUE_LABEL",
    "as_memberships",
    "case_chances",
    "spoken_of",
    "telling_in",
    "togetherness",
]

#: Chances of the cases, as rows: what multiplies 1 and the chances that rows 1 and 2, 1 and 3, 2
#: and 3, and all three are in one group.
CASES: Final[Mapping[Kind, NDArray[np.float64]]] = MappingProxyType({
    # Same, different.
    "pair": np.array([[0, 1, 0, 0, 0], [1, -1, 0, 0, 0]], float),
    # a with b and not c, a with c and not b, neither.
    "triplet": np.array([[0, 1, 0, 0, -1], [0, 0, 1, 0, -1], [1, -1, -1, 0, 2]], float),
    # The first, the second, the third alone, all the same, all different.
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
#: `togetherness` that it shares with them.
OTHERS: Final[Mapping[int, tuple[int, int, int, int]]] = MappingProxyType(
    {0: (1, 2, 1, 2), 1: (0, 2, 1, 3), 2: (0, 1, 2, 3)}
)

#: The label that each case would get from somebody who never errs.
TRUE_LABEL: Final[Mapping[Kind, NDArray[np.int64]]] = MappingProxyType(
    {kind: np.arange(len(cases)) for kind, cases in CASES.items()}
)

#: Whether the groups settle the question: otherwise don't-know is the true answer.
IS_SETTLED: Final[Mapping[Kind, NDArray[np.bool_]]] = MappingProxyType(
    {kind: TRUE_LABEL[kind] < len(CODES[kind]) - 1 for kind in KINDS}
)


def telling_in(known: Constraints, *, with_doubtful_pairs: bool) -> list[AnswerTable]:
    """Collect the answers of some weight, with don't-knows about pairs or without."""
    telling = [table.take(table.weights > 0) for table in known.tables]
    if not with_doubtful_pairs:
        telling[0] = telling[0].take(telling[0].answers != DONT_KNOW)
    return telling


def spoken_of(known: Constraints) -> NDArray[np.int64]:
    """Give the rows that answers name, ascending."""
    named = (known.pairs.ravel(), known.triplets.ravel(), known.odd_one_out.ravel())
    return np.unique(np.concatenate(named))


def togetherness(of_rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Give the chances that rows of a question are together, if their groups are independent.

    Parameters
    ----------
    of_rows : list of two or three ndarray of shape (m, n_groups)
        Memberships of the first, the second and the third row of each question.

    Returns
    -------
    ndarray of shape (m, 5)
        1, and the chances that rows 1 and 2, 1 and 3, 2 and 3, and all three are in one group; nil
        where there are only two rows.
    """
    a, b = of_rows[:2]
    chances = np.zeros((len(a), 5))
    chances[:, 0] = 1.0
    both = a * b
    chances[:, 1] = both.sum(axis=1)
    if len(of_rows) > 2:
        c = of_rows[2]
        chances[:, 2] = np.einsum("mk,mk->m", a, c)
        chances[:, 3] = np.einsum("mk,mk->m", b, c)
        chances[:, 4] = np.einsum("mk,mk->m", both, c)
    return chances


def case_chances(kind: Kind, of_rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Give the chances of the cases of each question, (m, n_cases); see `togetherness`."""
    # Rounding may leave a hair below nil.
    return np.maximum(togetherness(of_rows) @ CASES[kind].T, 0.0)


def as_memberships(
    memberships: ArrayLike, n_samples: int, rows: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Read groups, or chances of groups, as chances.

    Parameters
    ----------
    memberships : array-like of shape (n_samples,) or (n_samples, n_groups)
        A group for each row, -1 for none; or chances that add up to 1 in each row.
    n_samples : int
        Number of rows that are expected.
    rows : ndarray of shape (n_rows,), int64, default=None
        The rows that are wanted, None for all. All are checked.

    Returns
    -------
    ndarray of shape (n_rows, n_groups)
        A row without a group is with no other: it is nil. Of labels, only the groups of the rows
        that are wanted have a column: there may be very many others.

    Raises
    ------
    InvalidDataError
        If the shape is another, groups are no integers, or chances are none.
    """
    given = _as_array(memberships)
    if given.ndim not in (1, 2) or len(given) != n_samples:
        raise InvalidDataError(
            f"memberships must have shape ({n_samples},) or ({n_samples}, n_groups), as the "
            f"constraints are about {n_samples} rows; got {given.shape}"
        )
    if given.ndim == 1:
        if given.dtype.kind not in "iu" and given.size:
            raise InvalidDataError(f"groups must be integers, got dtype {given.dtype}")
        label = given if rows is None else given[rows]
        groups, group = np.unique(label, return_inverse=True)
        return np.asarray(
            (group[:, None] == np.arange(len(groups))) * (label != -1)[:, None], float
        )
    chances = given.astype(np.float64)
    if not (chances >= 0).all() or not np.allclose(chances.sum(axis=1), 1.0, atol=1e-6):
        raise InvalidDataError("memberships must be chances of groups that add up to 1 in each row")
    return chances if rows is None else chances[rows]


def _as_array(memberships: ArrayLike) -> NDArray[Any]:
    try:
        given = np.asarray(memberships)
    except ValueError as error:
        raise InvalidDataError(f"memberships must be an array: {error}") from error
    if given.ndim == 2 and given.dtype.kind not in "biuf":
        raise InvalidDataError(f"memberships must be numbers, got dtype {given.dtype}")
    return given
