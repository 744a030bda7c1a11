"""The read-only columns of `Constraints`: what it holds, under the names that people use."""

from __future__ import annotations

from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import DIFFERENT, DONT_KNOW, SAME, Kind
from clew.constraints._tables import AnswerTable
from clew.constraints._validation import (
    PARAMETER,
    as_annotator_ids,
    as_n_samples,
    as_table,
    as_weights,
    code_annotators,
)

__all__ = ["AnswerColumns"]


class AnswerColumns:
    """Frozen holder of one table for each kind of answer; `Constraints` adds what it can do."""

    __slots__ = ("_annotators", "_n_samples", "_odd_one_out", "_pairs", "_triplets")

    _n_samples: int
    _pairs: AnswerTable
    _triplets: AnswerTable
    _odd_one_out: AnswerTable
    _annotators: tuple[str, ...]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Constraints are frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Constraints are frozen: {name} cannot be deleted")

    def _set(
        self, n_samples: int, tables: tuple[AnswerTable, ...], annotators: tuple[str, ...]
    ) -> None:
        for name, value in zip(
            ("_n_samples", "_pairs", "_triplets", "_odd_one_out", "_annotators"),
            (n_samples, *tables, annotators),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    def __init__(
        self,
        n_samples: int,
        *,
        pairs: ArrayLike | None = None,
        triplets: ArrayLike | None = None,
        odd_one_out: ArrayLike | None = None,
        pair_weights: ArrayLike | None = None,
        triplet_weights: ArrayLike | None = None,
        odd_one_out_weights: ArrayLike | None = None,
        pair_annotators: ArrayLike | None = None,
        triplet_annotators: ArrayLike | None = None,
        odd_one_out_annotators: ArrayLike | None = None,
    ) -> None:
        n_samples = as_n_samples(n_samples)
        kinds: tuple[Kind, ...] = ("pair", "triplet", "odd_one_out")
        tables, ids = [], []
        for kind, values, weights, annotators in zip(
            kinds,
            (pairs, triplets, odd_one_out),
            (pair_weights, triplet_weights, odd_one_out_weights),
            (pair_annotators, triplet_annotators, odd_one_out_annotators),
            strict=True,
        ):
            table = as_table(values, kind, n_samples)
            tables.append(table.with_weights(as_weights(weights, len(table), f"{kind}_weights")))
            ids.append(as_annotator_ids(annotators, len(table), f"{kind}_annotators"))
        names, codes = code_annotators(ids)
        coded = (
            AnswerTable(table.kind, table.rows, table.answers, table.weights, code)
            for table, code in zip(tables, codes, strict=True)
        )
        self._set(n_samples, tuple(coded), names)

    @classmethod
    def _from_tables(
        cls, n_samples: int, tables: tuple[AnswerTable, ...], annotators: tuple[str, ...]
    ) -> Self:
        """Build from tables that are valid already."""
        new = cls.__new__(cls)
        new._set(n_samples, tables, annotators)
        return new

    def __reduce__(self) -> tuple[object, ...]:
        return type(self)._from_tables, (self._n_samples, self.tables, self._annotators)

    @property
    def tables(self) -> tuple[AnswerTable, AnswerTable, AnswerTable]:
        """The answers as read-only columns: pairs, triplets and odd-one-out answers."""
        return self._pairs, self._triplets, self._odd_one_out

    @property
    def n_samples(self) -> int:
        """Number of rows of the data that the answers speak of."""
        return self._n_samples

    @property
    def annotators(self) -> tuple[str, ...]:
        """Names of the annotators, by code."""
        return self._annotators

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Rows (i, j) of each pair, the smaller first; shape (n_pairs, 2)."""
        return self._pairs.rows

    @property
    def pair_answers(self) -> NDArray[np.int64]:
        """What was said of each pair: 1 same, 0 different, -2 don't-know; shape (n_pairs,)."""
        return self._pairs.answers

    @property
    def pair_weights(self) -> NDArray[np.float64]:
        """How far to believe each answer, in [0, 1]; shape (n_pairs,)."""
        return self._pairs.weights

    @property
    def pair_annotators(self) -> NDArray[np.int64]:
        """Who said it: positions in `annotators`; shape (n_pairs,)."""
        return self._pairs.annotators

    @property
    def triplets(self) -> NDArray[np.int64]:
        """Rows (a, b, c) of each triplet; shape (n_triplets, 3)."""
        return self._triplets.rows

    @property
    def triplet_answers(self) -> NDArray[np.int64]:
        """0: a is more like b; 1: more like c; -2: don't-know; shape (n_triplets,)."""
        return self._triplets.answers

    @property
    def triplet_weights(self) -> NDArray[np.float64]:
        """How far to believe each answer, in [0, 1]; shape (n_triplets,)."""
        return self._triplets.weights

    @property
    def triplet_annotators(self) -> NDArray[np.int64]:
        """Who said it: positions in `annotators`; shape (n_triplets,)."""
        return self._triplets.annotators

    @property
    def odd_one_out(self) -> NDArray[np.int64]:
        """Rows (i, j, k) of each odd-one-out question; shape (n_odd_one_out, 3)."""
        return self._odd_one_out.rows

    @property
    def odd_one_out_answers(self) -> NDArray[np.int64]:
        """Position of the odd one, -1 none differs, -2 don't-know; shape (n_odd_one_out,)."""
        return self._odd_one_out.answers

    @property
    def odd_one_out_weights(self) -> NDArray[np.float64]:
        """How far to believe each answer, in [0, 1]; shape (n_odd_one_out,)."""
        return self._odd_one_out.weights

    @property
    def odd_one_out_annotators(self) -> NDArray[np.int64]:
        """Who said it: positions in `annotators`; shape (n_odd_one_out,)."""
        return self._odd_one_out.annotators

    @property
    def is_must_link(self) -> NDArray[np.bool_]:
        """Which pairs were said to be the same; shape (n_pairs,)."""
        return np.equal(self._pairs.answers, SAME)

    @property
    def is_cannot_link(self) -> NDArray[np.bool_]:
        """Which pairs were said to differ; shape (n_pairs,)."""
        return np.equal(self._pairs.answers, DIFFERENT)

    @property
    def is_dont_know(self) -> NDArray[np.bool_]:
        """Of which pairs somebody could not say; shape (n_pairs,)."""
        return np.equal(self._pairs.answers, DONT_KNOW)

    @property
    def must_link(self) -> NDArray[np.int64]:
        """Pairs said to be the same, in order of arrival; shape (n_must_link, 2)."""
        return self._pairs.rows[self.is_must_link]

    @property
    def cannot_link(self) -> NDArray[np.int64]:
        """Pairs said to differ, in order of arrival; shape (n_cannot_link, 2)."""
        return self._pairs.rows[self.is_cannot_link]

    def __len__(self) -> int:
        """Count the answers of all kinds, repeats and don't-knows included."""
        return sum(map(len, self.tables))

    def __bool__(self) -> bool:
        # No answers are still constraints: `if constraints` must not take them for None.
        return True

    def __repr__(self) -> str:
        counts = ", ".join(f"{PARAMETER[table.kind]}={len(table)}" for table in self.tables)
        return f"Constraints(n_samples={self.n_samples}, {counts})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnswerColumns):
            return NotImplemented
        return self.n_samples == other.n_samples and all(
            mine.is_equal(theirs, self.annotators, other.annotators)
            for mine, theirs in zip(self.tables, other.tables, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]
