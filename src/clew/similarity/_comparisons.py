"""Answers about three rows as comparisons of distances."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.answers import ALL_ALIKE, DONT_KNOW, FIRST, SECOND, THIRD, Kind
from clew.constraints import Constraints
from clew.exceptions import UnsupportedConstraintError

#: For each kind and answer, positions (i, j, k, l) of rows in the answer: d(i, j) < d(k, l), or
#: d(i, j) = d(k, l) for equalities.
Comparisons = Mapping[Kind, Mapping[int, tuple[tuple[int, int, int, int], ...]]]
INEQUALITIES: Final[Comparisons] = MappingProxyType({
    "triplet": {FIRST: ((0, 1, 0, 2),), SECOND: ((0, 2, 0, 1),)},
    "odd_one_out": {
        FIRST: ((1, 2, 1, 0), (1, 2, 2, 0)),
        SECOND: ((0, 2, 0, 1), (0, 2, 2, 1)),
        THIRD: ((0, 1, 0, 2), (0, 1, 1, 2)),
    },
})  # fmt: skip
EQUAL_DISTANCES = ((0, 1, 0, 2), (0, 1, 1, 2), (0, 2, 1, 2))
EQUALITIES: Final[Comparisons] = MappingProxyType({"odd_one_out": {ALL_ALIKE: EQUAL_DISTANCES}})
#: A don't-know may mean that the distances are about equal.
EQUALITIES_OF_DONT_KNOW: Final[Comparisons] = MappingProxyType({
    "triplet": {DONT_KNOW: ((0, 1, 0, 2),)},
    "odd_one_out": {DONT_KNOW: EQUAL_DISTANCES},
})  # fmt: skip


class Relations(NamedTuple):
    """Comparisons of the distances of two pairs of rows; an answer may imply several."""

    near: NDArray[np.int64]  # the pair with the smaller distance, or one of two equal ones, (m, 2)
    far: NDArray[np.int64]  # the pair with the larger distance, or the other equal one, (m, 2)
    weight: NDArray[np.float64]  # of the answer, (m,)
    kind: NDArray[np.str_]  # of the answer, "triplet" or "odd_one_out", (m,)
    answer: NDArray[np.int64]  # position of the answer among those of its kind, (m,)

    def select(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        return type(self)._make(column[which] for column in self)


def inequalities_of(answers: Constraints) -> Relations:
    """Return the comparisons that answers imply, in their order: a triplet one, an odd row two.

    The distances from the odd row to each of the others are larger than that between the others.
    """
    return _relations(answers, INEQUALITIES)


def inequalities_or_refusal(estimator: object, answers: Constraints) -> Relations:
    """Return the comparisons of answers of positive weight; refuse "all alike", an equality."""
    has_none = (answers.odd_one_out_answers == ALL_ALIKE) & (answers.odd_one_out_weights > 0)
    if has_none.any():
        raise UnsupportedConstraintError(
            f"{type(estimator).__name__} honors answers that compare distances, but "
            f'{int(has_none.sum())} odd_one_out answers are "all alike". Leave them out with '
            "Constraints.select, or turn them into must-links with Constraints.as_pairs and use a "
            "method that honors pairs"
        )
    comparisons = inequalities_of(answers)
    return comparisons.select(comparisons.weight > 0)


def equalities_of(answers: Constraints, *, with_dont_know: bool) -> Relations:
    """Return the equal distances that "all alike" implies, and don't-knows too if wanted."""
    comparisons = [EQUALITIES, EQUALITIES_OF_DONT_KNOW] if with_dont_know else [EQUALITIES]
    return _relations(answers, *comparisons)


def _relations(answers: Constraints, *comparisons: Comparisons) -> Relations:
    # In row order, so that the order in which a question names its rows does not matter.
    tables = [table.in_row_order() for table in answers.tables if table.kind != "pair"]
    parts = []
    for table in tables:
        implied = [
            (np.flatnonzero(table.answers == answer), positions)
            for comparison in comparisons
            for answer, several in comparison.get(table.kind, {}).items()
            for positions in several
        ]
        answer = np.concatenate([np.empty(0, np.int64), *(which for which, _ in implied)])
        four = np.concatenate(
            [
                np.empty((0, 4), np.int64),
                *(table.rows[which][:, list(positions)] for which, positions in implied),
            ]
        )
        order = np.argsort(answer, kind="stable")
        answer, four = answer[order], four[order]
        kinds = np.full(len(answer), table.kind, dtype="U11")
        parts.append(Relations(four[:, :2], four[:, 2:], table.weights[answer], kinds, answer))
    return Relations(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
