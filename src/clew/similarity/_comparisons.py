"""Answers about three rows as comparisons of two distances."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.answers import DONT_KNOW, FIRST, NONE_DIFFERS, SECOND, THIRD, Kind
from clew.constraints import Constraints
from clew.exceptions import UnsupportedConstraintError

__all__ = ["Relations", "equalities_of", "inequalities_of", "inequalities_or_refusal"]

#: For each kind and answer: which two of the three rows are near, and which two are farther apart.
Comparisons = Mapping[Kind, Mapping[int, tuple[tuple[int, int, int, int], ...]]]
INEQUALITIES: Final[Comparisons] = MappingProxyType({
    "triplet": {FIRST: ((0, 1, 0, 2),), SECOND: ((0, 2, 0, 1),)},
    "odd_one_out": {
        FIRST: ((1, 2, 1, 0), (1, 2, 2, 0)),
        SECOND: ((0, 2, 0, 1), (0, 2, 2, 1)),
        THIRD: ((0, 1, 0, 2), (0, 1, 1, 2)),
    },
})  # fmt: skip
ALL_ALIKE = ((0, 1, 0, 2), (0, 1, 1, 2), (0, 2, 1, 2))
EQUALITIES: Final[Comparisons] = MappingProxyType({"odd_one_out": {NONE_DIFFERS: ALL_ALIKE}})
#: Who cannot tell sees distances that are about the same.
EQUALITIES_OF_DONT_KNOW: Final[Comparisons] = MappingProxyType({
    "triplet": {DONT_KNOW: ((0, 1, 0, 2),)},
    "odd_one_out": {DONT_KNOW: ALL_ALIKE},
})  # fmt: skip


class Relations(NamedTuple):
    """Comparisons of the distances of two pairs of rows; one answer may make several."""

    near: NDArray[np.int64]
    """Two rows of which the distance is the smaller one, (m, 2); or one of two equal ones."""
    far: NDArray[np.int64]
    """Two rows that are farther apart, (m, 2); or as far."""
    weight: NDArray[np.float64]
    """How far to believe the answer, (m,)."""
    kind: NDArray[np.str_]
    """Kind of the answer, "triplet" or "odd_one_out", (m,)."""
    answer: NDArray[np.int64]
    """Position of the answer among those of its kind, (m,)."""

    def select(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        """Keep some."""
        return type(self)(
            self.near[which],
            self.far[which],
            self.weight[which],
            self.kind[which],
            self.answer[which],
        )


def inequalities_of(known: Constraints) -> Relations:
    """Give the comparisons that triplets and odd-one-out answers make, in their order.

    A triplet makes one, an odd one out two: both distances from it are larger than the third.
    """
    return _relations(known, INEQUALITIES)


def inequalities_or_refusal(estimator: object, known: Constraints) -> Relations:
    """Give the comparisons of answers that weigh something, for a method that knows no others.

    Raises
    ------
    UnsupportedConstraintError
        If none of three rows is said to differ: that says that distances are equal.
    """
    is_even = (known.odd_one_out_answers == NONE_DIFFERS) & (known.odd_one_out_weights > 0)
    if is_even.any():
        raise UnsupportedConstraintError(
            f"{type(estimator).__name__} compares distances, and {int(is_even.sum())} odd_one_out "
            'answers say "none differs", which compares none. Leave them out with '
            "Constraints.select, or turn them into must-links with Constraints.as_pairs and take a "
            "method that honours pairs"
        )
    comparisons = inequalities_of(known)
    return comparisons.select(comparisons.weight > 0)


def equalities_of(known: Constraints, *, with_dont_know: bool) -> Relations:
    """Give the distances that are said to be about equal.

    Parameters
    ----------
    known : Constraints
        The answers.
    with_dont_know : bool
        Whether don't-knows about three rows mean that no distance stands out. Where none of three
        differs, all their distances are equal in any case.
    """
    comparisons = [EQUALITIES, EQUALITIES_OF_DONT_KNOW] if with_dont_know else [EQUALITIES]
    return _relations(known, *comparisons)


def _relations(known: Constraints, *comparisons: Comparisons) -> Relations:
    # In row order, so that solvers visit comparisons alike however questions were asked.
    given = [table.in_row_order() for table in known.tables if table.kind != "pair"]
    parts = []
    for asked in given:
        of = [
            (np.flatnonzero(asked.answers == answer), positions)
            for table in comparisons
            for answer, many in table.get(asked.kind, {}).items()
            for positions in many
        ]
        answer = np.concatenate([np.empty(0, np.int64), *(which for which, _ in of)])
        four = np.concatenate(
            [
                np.empty((0, 4), np.int64),
                *(asked.rows[which][:, list(positions)] for which, positions in of),
            ]
        )
        order = np.argsort(answer, kind="stable")
        answer, four = answer[order], four[order]
        kinds = np.full(len(answer), asked.kind, dtype="U11")
        parts.append(Relations(four[:, :2], four[:, 2:], asked.weights[answer], kinds, answer))
    return Relations(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
