"""The kinds of answers that a method honors, the refusal of all others, and folds of answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import KINDS
from clew.constraints._tables import PARAMETER
from clew.constraints.constraints import Constraints
from clew.exceptions import (
    InconsistentConstraintsError,
    InvalidArgumentError,
    InvalidConstraintsError,
    UnsupportedConstraintError,
)


class Support(NamedTuple):
    """Kinds of answers that a method honors.

    Parameters
    ----------
    pairs : bool, default=False
        Must-links and cannot-links.
    triplets : bool, default=False
        Triplets, whatever the answer.
    odd_one_out : bool, default=False
        Odd-one-out answers, "all alike" and don't-know among them.
    dont_know : bool, default=False
        Don't-knows about pairs; most methods accept and ignore them.
    """

    pairs: bool = False
    triplets: bool = False
    odd_one_out: bool = False
    dont_know: bool = False


PAIRS = Support(pairs=True, dont_know=True)
WORDS = {
    "pairs": "answers about pairs",
    "triplets": "triplets",
    "odd_one_out": "odd_one_out answers",
    "dont_know": "dont_know answers",
}


def check_constraints(
    method: object, constraints: Constraints, n_samples: int, support: Support = PAIRS
) -> None:
    """Check that answers are about the given data, and of kinds that a method honors.

    Parameters
    ----------
    method : estimator or function
        The method, whose name is used in messages.
    constraints : Constraints
        The answers.
    n_samples : int
        Number of rows of the data.
    support : Support, default=Support(pairs=True, dont_know=True)
        Kinds of answers that the method honors.

    Raises
    ------
    InvalidArgumentError
        If `constraints` is not a `Constraints`.
    InvalidConstraintsError
        If the constraints are about another number of rows.
    UnsupportedConstraintError
        If there are answers of a kind that the method does not honor.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.constraints import Support, check_constraints
    >>> def my_method(X, constraints):
    ...     check_constraints(my_method, constraints, len(X), Support(pairs=True))
    >>> my_method([[0.0], [1.0]], Constraints.from_pairs(must_link=[(0, 1)], n_samples=2))
    """
    name = getattr(method, "__name__", type(method).__name__)
    if not isinstance(constraints, Constraints):
        raise InvalidArgumentError(
            f"{name}: constraints must be a clew.Constraints, got {type(constraints).__name__}; "
            "make one by Constraints.from_pairs or Constraints.read_csv"
        )
    if constraints.n_samples != n_samples:
        raise InvalidConstraintsError(
            f"the constraints are about {constraints.n_samples} rows, but X has {n_samples}; "
            "if X holds some of these rows, use Constraints.subset"
        )
    for kind, words in WORDS.items():
        if kind in constraints._kinds_present and not getattr(support, kind):
            if inner := getattr(method, "similarity", None):
                name += f"({type(inner).__name__})"
            honored = [WORDS[one] for one, can in support._asdict().items() if can]
            only = f"only from {' and '.join(honored)}, not from {words}"
            do = "Remove these by Constraints.select" if honored else "Fit it without constraints"
            raise UnsupportedConstraintError(
                f"{name} learns {only if honored else f'from no answers, and here are {words}'}. "
                f"{do}, or use a method that learns from them, such as GuidedClustering"
            )


def refuse_another_order(X: Any, constraints: object) -> None:
    """Check that the index of a data frame, or series, does not reorder the ids of the answers."""
    ids = constraints.ids if isinstance(constraints, Constraints) else None
    if ids is None or not hasattr(X, "iloc"):
        return
    index = X.index.tolist()
    # After `reset_index`, the index only counts the rows.
    if index == list(ids) or index == list(range(len(index))) or set(index) != set(ids):
        return
    row = next(row for row, names in enumerate(zip(index, ids, strict=False)) if len({*names}) > 1)
    raise InvalidConstraintsError(
        f"row {row} of X is {index[row]!r} by its index, but {ids[row]!r} by the ids of the "
        "constraints; give X.loc[list(constraints.ids)], or make the constraints with ids=X.index"
    )


def answers_for(estimator: Any, constraints: Constraints | None, n_samples: int) -> Constraints:
    """Check the constraints given to `fit`, and replace None by empty constraints."""
    if constraints is None:
        return Constraints(n_samples)
    check_constraints(estimator, constraints, n_samples, estimator.supports)
    return constraints


def binding_answers(known: Constraints) -> Constraints:
    """Select the answers of positive weight, all of which a hard method honors."""
    binding = known.select(pairs=known.pair_weights > 0)
    refuse_contradictions(binding)
    return binding


def refuse_contradictions(known: Constraints) -> None:
    """Refuse answers that contradict each other, whatever their weights."""
    conflicts = known.conflicts()
    if conflicts:
        more = f", and {len(conflicts) - 1} more conflicts" if len(conflicts) > 1 else ""
        raise InconsistentConstraintsError(
            f"answers contradict each other: {conflicts[0]}{more}. Hard constraints cannot all "
            "hold: correct the answers, or use a soft mode or a method with soft constraints",
            conflicts[0].chain,
        )


def of_some_weight(known: Constraints) -> Constraints:
    """Select the answers of positive weight."""
    pairs, triplets, odd_one_out = (table.weights > 0 for table in known.tables)
    return known.select(pairs=pairs, triplets=triplets, odd_one_out=odd_one_out)


#: Constants of the hash function SplitMix64: the increment, two multipliers and three shifts.
INCREMENT = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def held_out_folds(
    known: Constraints, n_folds: int, seed: int
) -> Iterator[tuple[Constraints, Constraints]]:
    """Split answers into folds, and yield the training and the held-out answers of each.

    By a hash of rows, kind and seed: all answers to one question share a fold, and keep it.
    """
    folds = fold_numbers(known, n_folds, seed)
    for number in np.unique(np.concatenate(list(folds.values()))):
        yield (
            known.select(**{kind: fold != number for kind, fold in folds.items()}),
            known.select(**{kind: fold == number for kind, fold in folds.items()}),
        )


def fold_numbers(known: Constraints, n_folds: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Return the fold of each answer."""
    return {
        PARAMETER[table.kind]: (
            _hash(np.sort(table.rows, axis=1), seed, KINDS.index(table.kind)) % np.uint64(n_folds)
        ).astype(np.int64)
        for table in known.tables
    }


def _hash(rows: NDArray[np.int64], *seeds: int) -> NDArray[np.uint64]:
    """Map each row of a table to 64 bits, all of which depend on all of its entries."""
    columns = [np.full(len(rows), seed, np.int64) for seed in seeds] + [*rows.T]
    found = np.zeros(len(rows), np.uint64)
    for column in columns:
        found ^= column.astype(np.uint64)
        found += INCREMENT
        for multiplier, shift in zip(MULTIPLIERS, SHIFTS, strict=False):
            found ^= found >> shift
            found *= multiplier
        found ^= found >> SHIFTS[-1]
    return found
