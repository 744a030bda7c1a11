"""The data of `Constraints`: a table of answers for each kind, its columns as attributes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import DIFFERENT, DONT_KNOW, N_ROWS, ORIGINS, SAME
from clew.constraints._ids import RowIds, rows_and_ids
from clew.constraints._tables import (
    PARAMETER,
    AnswerTable,
    Tables,
    as_table,
    code_annotators,
    kinds_in,
)
from clew.constraints._validation import as_annotators, as_origins, as_weights
from clew.exceptions import InvalidConstraintsError


class AnswerColumns:
    """The data of `Constraints`: one table for each kind of answer; attributes cannot be set."""

    __slots__ = ("_annotators", "_ids", "_kinds", "_n_samples", "_tables")

    _n_samples: int
    _tables: Tables
    _annotators: tuple[str, ...]
    _ids: RowIds | None
    _kinds: frozenset[str] | None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Constraints are frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Constraints are frozen: {name} cannot be deleted")

    def __init__(
        self,
        n_samples: int | None = None,
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
        pair_origins: ArrayLike | None = None,
        triplet_origins: ArrayLike | None = None,
        odd_one_out_origins: ArrayLike | None = None,
        ids: Iterable[object] | None = None,
    ) -> None:
        n, row_ids = rows_and_ids(n_samples, ids)
        given = zip(
            N_ROWS,
            (pairs, triplets, odd_one_out),
            (pair_weights, triplet_weights, odd_one_out_weights),
            (pair_annotators, triplet_annotators, odd_one_out_annotators),
            (pair_origins, triplet_origins, odd_one_out_origins),
            strict=True,
        )
        tables, annotators = [], []
        for kind, values, weights, names, origins in given:
            table = as_table(values, kind, n, row_ids)
            table = table.with_weights(as_weights(weights, len(table), f"{kind}_weights"))
            tables.append(table.with_origins(as_origins(origins, len(table), f"{kind}_origins")))
            annotators.append(as_annotators(names, len(table), f"{kind}_annotators"))
        names, codes = code_annotators(annotators)
        pairs_, triplets_, odd = map(AnswerTable.with_annotators, tables, codes)
        self._set(n, (pairs_, triplets_, odd), names, row_ids)

    def _set(
        self, n_samples: int, tables: Tables, annotators: tuple[str, ...], ids: RowIds | None
    ) -> None:
        for name, value in zip(
            ("_n_samples", "_tables", "_annotators", "_ids", "_kinds"),
            (n_samples, tables, annotators, ids, None),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _from_tables(
        cls, n_samples: int, tables: Tables, annotators: tuple[str, ...], ids: RowIds | None
    ) -> Self:
        """Build from valid tables; nothing is checked."""
        new = cls.__new__(cls)
        new._set(n_samples, tables, annotators, ids)
        return new

    def __reduce__(self) -> tuple[object, ...]:
        state = (self._n_samples, self._tables, self._annotators, self._ids)
        return type(self)._from_tables, state

    @property
    def tables(self) -> Tables:
        """All answers as read-only columns: pairs, triplets and odd-one-out answers."""
        return self._tables

    @property
    def _kinds_present(self) -> frozenset[str]:
        """Fields of `Support` that the answers need; found once, as each part of a fit asks."""
        if self._kinds is None:
            object.__setattr__(self, "_kinds", kinds_in(self._tables))
        assert self._kinds is not None
        return self._kinds

    @property
    def ids(self) -> tuple[Hashable, ...] | None:
        """The id of each row, or None if ids are not known."""
        return None if self._ids is None else self._ids.names

    def name_of(self, row: int) -> Hashable:
        """Return the id of a row, or its number if ids are not known.

        Parameters
        ----------
        row : int
            A row number in [0, n_samples - 1].

        Returns
        -------
        hashable

        Raises
        ------
        InvalidConstraintsError
            If the row is out of range.

        Examples
        --------
        >>> from clew import Constraints
        >>> Constraints(ids=["ann", "bob"]).name_of(1)
        'bob'
        """
        if not 0 <= row < self._n_samples:
            raise InvalidConstraintsError(
                f"row {row} is out of range; n_samples is {self._n_samples}"
            )
        return row if self._ids is None else self._ids.names[row]

    @property
    def n_samples(self) -> int:
        """Number of rows of the data."""
        return self._n_samples

    @property
    def annotators(self) -> tuple[str, ...]:
        """Names of the annotators, by code."""
        return self._annotators

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Rows (i, j) of each pair, the smaller first; shape (n_pairs, 2)."""
        return self._tables[0].rows

    @property
    def pair_answers(self) -> NDArray[np.int64]:
        """Answer to each pair: 1 same, 0 different, -2 don't-know; shape (n_pairs,)."""
        return self._tables[0].answers

    @property
    def pair_weights(self) -> NDArray[np.float64]:
        """Weight of each answer, in [0, 1]; shape (n_pairs,)."""
        return self._tables[0].weights

    @property
    def pair_annotators(self) -> NDArray[np.int64]:
        """Who gave each answer: positions in `annotators`; shape (n_pairs,)."""
        return self._tables[0].annotators

    @property
    def pair_origins(self) -> NDArray[np.str_]:
        """How each question was chosen: "imported", "random" or "asked"; shape (n_pairs,)."""
        return np.array(ORIGINS)[self._tables[0].origins]

    @property
    def triplets(self) -> NDArray[np.int64]:
        """Rows (a, b, c) of each triplet; shape (n_triplets, 3)."""
        return self._tables[1].rows

    @property
    def triplet_answers(self) -> NDArray[np.int64]:
        """0 if a is more like b, 1 if more like c, -2 don't-know; shape (n_triplets,)."""
        return self._tables[1].answers

    @property
    def triplet_weights(self) -> NDArray[np.float64]:
        """Weight of each answer, in [0, 1]; shape (n_triplets,)."""
        return self._tables[1].weights

    @property
    def triplet_annotators(self) -> NDArray[np.int64]:
        """Who gave each answer: positions in `annotators`; shape (n_triplets,)."""
        return self._tables[1].annotators

    @property
    def triplet_origins(self) -> NDArray[np.str_]:
        """How each question was chosen: "imported", "random" or "asked"; shape (n_triplets,)."""
        return np.array(ORIGINS)[self._tables[1].origins]

    @property
    def odd_one_out(self) -> NDArray[np.int64]:
        """Rows (i, j, k) of each odd-one-out question; shape (n_odd_one_out, 3)."""
        return self._tables[2].rows

    @property
    def odd_one_out_answers(self) -> NDArray[np.int64]:
        """Position 0, 1, 2 of the odd one, -1 all alike, -2 don't-know; shape (n_odd_one_out,)."""
        return self._tables[2].answers

    @property
    def odd_one_out_weights(self) -> NDArray[np.float64]:
        """Weight of each answer, in [0, 1]; shape (n_odd_one_out,)."""
        return self._tables[2].weights

    @property
    def odd_one_out_annotators(self) -> NDArray[np.int64]:
        """Who gave each answer: positions in `annotators`; shape (n_odd_one_out,)."""
        return self._tables[2].annotators

    @property
    def odd_one_out_origins(self) -> NDArray[np.str_]:
        """How each question was chosen: "imported", "random" or "asked"; shape (n_odd_one_out,)."""
        return np.array(ORIGINS)[self._tables[2].origins]

    @property
    def is_must_link(self) -> NDArray[np.bool_]:
        """Mask of the pairs answered "same"; shape (n_pairs,)."""
        return np.equal(self._tables[0].answers, SAME)

    @property
    def is_cannot_link(self) -> NDArray[np.bool_]:
        """Mask of the pairs answered "different"; shape (n_pairs,)."""
        return np.equal(self._tables[0].answers, DIFFERENT)

    @property
    def is_dont_know(self) -> NDArray[np.bool_]:
        """Mask of the pairs answered "don't know"; shape (n_pairs,)."""
        return np.equal(self._tables[0].answers, DONT_KNOW)

    @property
    def must_link(self) -> NDArray[np.int64]:
        """Pairs answered "same", in order of arrival; shape (n_must_link, 2)."""
        return self._tables[0].rows[self.is_must_link]

    @property
    def cannot_link(self) -> NDArray[np.int64]:
        """Pairs answered "different", in order of arrival; shape (n_cannot_link, 2)."""
        return self._tables[0].rows[self.is_cannot_link]

    @property
    def shape(self) -> tuple[int]:
        """The number of rows of the data, by which scikit-learn knows what to slice with them."""
        return (self._n_samples,)

    def __len__(self) -> int:
        """Return the number of answers of all kinds, don't-knows included."""
        return sum(map(len, self.tables))

    def __bool__(self) -> bool:
        # True even without answers, so that `if constraints` means "is not None".
        return True

    def __repr__(self) -> str:
        counts = ", ".join(f"{PARAMETER[table.kind]}={len(table)}" for table in self.tables)
        return f"Constraints(n_samples={self.n_samples}, {counts})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnswerColumns):
            return NotImplemented
        is_same_data = self.n_samples == other.n_samples and self._ids == other._ids
        return is_same_data and all(
            mine.is_equal(theirs, self.annotators, other.annotators)
            for mine, theirs in zip(self.tables, other.tables, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]
