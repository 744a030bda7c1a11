"""Distinct answers in one form: the order of the rows of a question encodes the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.answers import ALL_ALIKE, SAME
from clew.constraints import Constraints
from clew.constraints._tables import AnswerTable
from clew.exceptions import InvalidArgumentError, InvalidDataError

__all__ = ["OPTIONS", "DistinctAnswers", "OrdinalAnswers", "definite", "n_samples_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Positions, in the rows of `DistinctAnswers`, of the pairs that a question compares. The answer
#: is that the first pair is the closest.
OPTIONS = {
    "triplet": np.array([(0, 1), (0, 2)], np.int64),
    "odd_one_out": np.array([(0, 1), (0, 2), (1, 2)], np.int64),
}
#: "All alike" is one answer, but three pairs.
WEIGHT_OF_ALIKE = 1 / 3
#: "Same" and "different" have equal total weight, unless one is rarer than this share.
LEAST_SHARE = 1 / 6


class DistinctAnswers(NamedTuple):
    """Answers of one kind; equal ones are merged."""

    rows: Integers
    """(m, 2) or (m, 3). Triplet: the first row of the question, the nearer and the farther row.
    Odd-one-out: the two others, the smaller first, and the odd one. Pair: the smaller row first."""
    is_same: NDArray[np.bool_]
    """For pairs, whether the answer is "same"; True for the other kinds; (m,)."""
    annotators: Integers
    """(m,)"""
    weights: Floats
    """Sums of weights, (m,)."""

    def take(self, which: Integers | slice) -> Self:
        """Select answers by position."""
        rows, is_same, annotators, weights = self
        return type(self)(rows[which], is_same[which], annotators[which], weights[which])


class OrdinalAnswers(NamedTuple):
    """Distinct answers of all kinds."""

    pair: DistinctAnswers
    triplet: DistinctAnswers
    odd_one_out: DistinctAnswers
    pair_log_odds: float
    """Log-odds of "same" that the weights of pairs add, see `_balanced`."""

    @classmethod
    def of(cls, known: Constraints, *, by_annotator: bool) -> Self:
        """Merge equal answers, and balance the pairs.

        Parameters
        ----------
        known : Constraints
            Definite answers, as `definite` selects them.
        by_annotator : bool
            Whether answers of different annotators stay apart.

        Returns
        -------
        OrdinalAnswers
        """
        pairs, triplets, odd_one_out = (table.in_row_order() for table in known.tables)
        n = known.n_samples
        is_none = odd_one_out.answers == ALL_ALIKE
        given = _merged(pairs.rows, pairs.answers == SAME, pairs, n, by_annotator)
        balanced, log_odds = _balanced(given)
        alike = odd_one_out.take(is_none)
        parts = [
            _merged(alike.rows[:, ends], np.ones(len(alike), bool), alike, n, by_annotator)
            for ends in ([0, 1], [0, 2], [1, 2])
        ]
        parts = [part._replace(weights=WEIGHT_OF_ALIKE * part.weights) for part in parts]
        parts.append(balanced)
        joined = DistinctAnswers(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.is_same for part in parts]),
            np.concatenate([part.annotators for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )
        comparing = odd_one_out.take(~is_none)
        return cls(
            joined,
            _merged(_nearer_first(triplets), None, triplets, n, by_annotator),
            _merged(_odd_last(comparing), None, comparing, n, by_annotator),
            log_odds,
        )

    @property
    def n_answers(self) -> int:
        """Number of distinct answers."""
        return sum(len(table.rows) for table in self.tables)

    @property
    def tables(self) -> tuple[DistinctAnswers, DistinctAnswers, DistinctAnswers]:
        """Pairs, triplets and odd-one-out answers."""
        return self.pair, self.triplet, self.odd_one_out

    def named_rows(self) -> Integers:
        """Return the rows that answers name, sorted."""
        return np.unique(np.concatenate([table.rows.ravel() for table in self.tables]))

    def renumbered(self, names: Integers) -> Self:
        """Replace each row by its position in `names`."""
        return self.with_tables(
            t._replace(rows=np.searchsorted(names, t.rows)) for t in self.tables
        )

    def with_tables(self, tables: Iterable[DistinctAnswers]) -> Self:
        """Replace the answers."""
        pair, triplet, odd_one_out = tables
        return type(self)(pair, triplet, odd_one_out, self.pair_log_odds)


def n_samples_of(rows: Floats | None, constraints: Constraints | None, features: str | None) -> int:
    """Return the number of rows; check that what is needed was given."""
    if rows is not None:
        return len(rows)
    if features is not None:
        raise InvalidDataError(
            f"OrdinalEmbedding(features={features!r}) needs X; features=None learns from answers "
            "alone"
        )
    if constraints is None:
        raise InvalidArgumentError(
            "OrdinalEmbedding.fit needs answers, fit(constraints=constraints), or X; both are None"
        )
    n_samples: int = getattr(constraints, "n_samples", 0)
    return n_samples  # anything but a Constraints is refused next


def definite(known: Constraints) -> Constraints:
    """Select the answers of positive weight that are not don't-know."""
    masks = [
        (table.weights > 0) & (table.answers >= (ALL_ALIKE if table.kind == "odd_one_out" else 0))
        for table in known.tables
    ]
    return known.select(pairs=masks[0], triplets=masks[1], odd_one_out=masks[2])


def _nearer_first(table: AnswerTable) -> Integers:
    at = np.arange(len(table))
    return np.column_stack(
        [table.rows[:, 0], table.rows[at, 1 + table.answers], table.rows[at, 2 - table.answers]]
    )


def _odd_last(table: AnswerTable) -> Integers:
    odd = table.answers[:, None]
    others = np.sort((odd + np.array([1, 2])) % 3, axis=1)
    return np.take_along_axis(table.rows, np.hstack([others, odd]), axis=1)


def _merged(
    rows: Integers,
    is_same: NDArray[np.bool_] | None,
    table: AnswerTable,
    n_samples: int,
    by_annotator: bool,
) -> DistinctAnswers:
    """Sort answers and merge equal ones, whose weights are added."""
    same = np.ones(len(rows), bool) if is_same is None else is_same
    who = table.annotators if by_annotator else np.zeros(len(rows), np.int64)
    columns = [who, same.astype(np.int64), *rows.T[::-1]]
    order = np.lexsort(columns)
    is_new = np.zeros(len(rows), bool)
    is_new[:1] = True
    for column in columns:
        is_new[1:] |= column[order][1:] != column[order][:-1]
    first = order[is_new]
    weights = np.bincount(np.cumsum(is_new) - 1, table.weights[order], minlength=len(first))
    return DistinctAnswers(
        np.ascontiguousarray(rows[first]), same[first], who[first], weights.astype(np.float64)
    )


def _balanced(pairs: DistinctAnswers) -> tuple[DistinctAnswers, float]:
    """Give "same" and "different" equal total weight; also return the log-odds that this adds."""
    total = float(pairs.weights.sum())
    if total == 0:
        return pairs, 0.0
    share = np.clip(float(pairs.weights[pairs.is_same].sum()) / total, LEAST_SHARE, 1 - LEAST_SHARE)
    same, different = 0.5 / share, 0.5 / (1 - share)
    factor = np.where(pairs.is_same, same, different)
    return pairs._replace(weights=pairs.weights * factor), float(np.log(same / different))
