"""Answers as columns: of one kind (AnswerTable), and of all kinds (AnswerColumns)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import CODES, DIFFERENT, DONT_KNOW, N_ROWS, ORIGINS, SAME, Kind
from clew.constraints._ids import RowIds, rows_and_ids
from clew.constraints._validation import (
    as_annotators,
    as_array,
    as_codes,
    as_integers,
    as_origins,
    as_rows,
    as_weights,
)
from clew.exceptions import InvalidConstraintsError

#: The parameter of `Constraints` that takes the answers of each kind.
PARAMETER: Final[Mapping[Kind, str]] = MappingProxyType(
    {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd_one_out"}
)


@dataclass(frozen=True, slots=True, eq=False)
class AnswerTable:
    """The answers of one kind, in order of arrival, as arrays of equal length.

    `Constraints.tables` returns three of these. The arrays are made read-only.

    Parameters
    ----------
    kind : {"pair", "triplet", "odd_one_out"}
        The kind of the questions.
    rows : ndarray of shape (n, 2) or (n, 3), int64
        The rows that each question is about.
    answers : ndarray of shape (n,), int64
        Codes of `clew.answers`.
    weights : ndarray of shape (n,), float64
        Weight of each answer, in [0, 1].
    annotators : ndarray of shape (n,), int64
        Who gave each answer, as a position in `Constraints.annotators`.
    origins : ndarray of shape (n,), int8, default=zeros
        How each question was chosen, as a position in `clew.answers.ORIGINS`; 0 is imported.

    Examples
    --------
    >>> from clew import Constraints
    >>> c = Constraints.from_triplets([(0, 1, 2), (3, 1, 0)], ["second", "dont_know"], n_samples=4)
    >>> pairs, triplets, odd_one_out = c.tables
    >>> len(pairs), triplets.answers, triplets.answer_index
    (0, array([ 1, -2]), array([1, 2]))
    """

    kind: Kind
    rows: NDArray[np.int64]
    answers: NDArray[np.int64]
    weights: NDArray[np.float64]
    annotators: NDArray[np.int64]
    # An empty array stands for "imported" until the length is known.
    origins: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, dtype=np.int8))

    def __post_init__(self) -> None:
        if len(self.origins) < len(self.answers):
            object.__setattr__(self, "origins", np.zeros(len(self.answers), dtype=np.int8))
        for array in self._columns():
            array.flags.writeable = False

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.rows, self.answers, self.weights, self.annotators, self.origins

    def __reduce__(self) -> tuple[object, ...]:
        # Through the constructor: NumPy drops the read-only flag when it pickles or copies.
        return AnswerTable, (self.kind, *self._columns())

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def answer_index(self) -> NDArray[np.int64]:
        """Position of each answer in ``CODES[kind]``, as in the columns of confusion matrices."""
        codes = CODES[self.kind]
        # Codes are small: an array over all of them is faster than a search for each answer.
        index = np.zeros(max(codes) - min(codes) + 1, dtype=np.int64)
        index[np.array(codes) - min(codes)] = np.arange(len(codes))
        return index[self.answers - min(codes)]

    @classmethod
    def empty(cls, kind: Kind) -> AnswerTable:
        """Return a table without answers.

        Parameters
        ----------
        kind : {"pair", "triplet", "odd_one_out"}
            The kind of the questions.

        Returns
        -------
        AnswerTable
        """
        none = np.zeros(0, dtype=np.int64)
        return cls(kind, none.reshape(0, N_ROWS[kind]), none, np.zeros(0), none)

    @classmethod
    def stacked(cls, kind: Kind, parts: Sequence[AnswerTable]) -> AnswerTable:
        """Concatenate tables of the same kind and with the same codes of annotators.

        Parameters
        ----------
        kind : {"pair", "triplet", "odd_one_out"}
            The kind of the questions.
        parts : sequence of AnswerTable
            The tables; none gives an empty table.

        Returns
        -------
        AnswerTable
        """
        parts = [cls.empty(kind), *parts]
        columns = zip(*(part._columns() for part in parts), strict=True)
        return cls(kind, *map(np.concatenate, columns))

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> AnswerTable:
        """Select answers.

        Parameters
        ----------
        which : ndarray of bool or int64
            A mask of the answers to keep, or their positions.

        Returns
        -------
        AnswerTable
        """
        return AnswerTable(self.kind, *(column[which] for column in self._columns()))

    def renumbered(self, new_number: NDArray[np.int64]) -> AnswerTable:
        """Replace each row by ``new_number[row]``, and drop answers about a row whose number is -1.

        Parameters
        ----------
        new_number : ndarray of shape (n_samples,), int64
            The new number of each row, or -1.

        Returns
        -------
        AnswerTable
        """
        inside: NDArray[np.bool_] = np.all(new_number[self.rows] >= 0, axis=1)
        kept = self.take(inside)
        return replace(kept, rows=new_number[kept.rows]).with_sorted_pairs()

    def with_sorted_pairs(self) -> AnswerTable:
        """Put the smaller row of each pair first; other kinds stay as they are.

        Returns
        -------
        AnswerTable
        """
        if self.kind != "pair":
            return self
        return replace(self, rows=np.sort(self.rows, axis=1))

    def in_row_order(self) -> AnswerTable:
        """Put the rows of each question in ascending order, and change its answer accordingly.

        The first row of a triplet stays first.

        Returns
        -------
        AnswerTable
        """
        if self.kind == "pair":
            return self.with_sorted_pairs()
        head = self.rows[:, :1] if self.kind == "triplet" else self.rows[:, :0]
        tail = self.rows[:, head.shape[1] :]
        order = np.argsort(tail, axis=1)
        rows = np.hstack([head, np.take_along_axis(tail, order, axis=1)])
        # Answers from 0 on are positions in `tail`.
        is_row = self.answers >= 0
        place = np.argmax(order == self.answers[:, None], axis=1)
        answers = np.where(is_row, place, self.answers)
        return replace(self, rows=rows, answers=answers)

    def with_answers(self, answers: NDArray[np.int64]) -> AnswerTable:
        """Replace the answers.

        Parameters
        ----------
        answers : ndarray of shape (n,), int64
            New codes; they are not checked.

        Returns
        -------
        AnswerTable
        """
        return replace(self, answers=answers)

    def with_weights(self, weights: NDArray[np.float64]) -> AnswerTable:
        """Replace the weights.

        Parameters
        ----------
        weights : ndarray of shape (n,), float64
            New weights; they are not checked.

        Returns
        -------
        AnswerTable
        """
        return replace(self, weights=weights)

    def with_annotators(self, annotators: NDArray[np.int64]) -> AnswerTable:
        """Replace the codes of the annotators.

        Parameters
        ----------
        annotators : ndarray of shape (n,), int64
            New codes; they are not checked.

        Returns
        -------
        AnswerTable
        """
        return replace(self, annotators=annotators)

    def with_origins(self, origins: NDArray[np.int8]) -> AnswerTable:
        """Replace the codes of how questions were chosen.

        Parameters
        ----------
        origins : ndarray of shape (n,), int8
            New codes; they are not checked.

        Returns
        -------
        AnswerTable
        """
        return replace(self, origins=origins)

    def is_equal(
        self, other: AnswerTable, own_names: Sequence[str], other_names: Sequence[str]
    ) -> bool:
        """Compare two tables, with annotators compared by name.

        Parameters
        ----------
        other : AnswerTable
            The other table.
        own_names, other_names : sequence of str
            Names of the annotators of both tables, by code.

        Returns
        -------
        bool
        """
        if len(self) != len(other):
            return False
        mine = np.asarray(own_names, dtype=object)[self.annotators]
        theirs = np.asarray(other_names, dtype=object)[other.annotators]
        return (
            np.array_equal(self.rows, other.rows)
            and np.array_equal(self.answers, other.answers)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.origins, other.origins)
            and bool((mine == theirs).all())
        )


#: The answers of all kinds: pairs, triplets, odd-one-out answers.
Tables = tuple[AnswerTable, AnswerTable, AnswerTable]


def as_table(
    values: ArrayLike | None,
    kind: Kind,
    n_samples: int,
    ids: RowIds | None,
    *,
    answers: ArrayLike | None = None,
    name: str | None = None,
) -> AnswerTable:
    """Make a table of answers given as arrays, with weights 1, annotators 0 and origins 0."""
    name = PARAMETER[kind] if name is None else name
    width = N_ROWS[kind] + (answers is None)
    # Without as_objects, NumPy turns ids of several types into strings, and large ones to floats.
    given = np.zeros((0, width)) if values is None else values
    array = as_array(given, name, as_objects=ids is not None)
    if array.size == 0 and array.shape[-1] in (0, width):
        array = array.reshape(0, width)
    if array.ndim != 2 or array.shape[1] != width:
        what = f": {N_ROWS[kind]} rows and the answer" if answers is None else ""
        raise InvalidConstraintsError(
            f"{name} must have shape (n, {width}){what}; got {array.shape}"
        )
    items = array[:, : N_ROWS[kind]]
    coded = array[:, -1] if answers is None else as_array(answers, "answers")
    coded = np.full(len(array), coded) if coded.ndim == 0 else coded
    if coded.shape != (len(array),):
        raise InvalidConstraintsError(
            f"answers must have shape ({len(array)},), one for each question, got {coded.shape}"
        )

    def where(at: int) -> str:
        return f"{name}[{at}] = ({', '.join(map(repr, array[at].tolist()))})"

    rows = as_integers(items, name) if ids is None else ids.rows_of_array(items, where)
    n = len(array)
    return AnswerTable(
        kind,
        as_rows(rows, n_samples, where),
        as_codes(coded, kind, where),
        np.ones(n),
        np.zeros(n, dtype=np.int64),
    ).with_sorted_pairs()


def code_annotators(
    given: Sequence[list[int] | list[str]],
) -> tuple[tuple[str, ...], list[NDArray[np.int64]]]:
    """Sort the annotators, and encode each by its position."""
    # Integers are sorted by value, so that annotators 0, 1, 2, ... are their own codes.
    all_integers = all(isinstance(one, int) for some in given for one in some[:1])
    lists = [some if all_integers else list(map(str, some)) for some in given]
    found: set[Any] = set().union(*lists)
    code: dict[Any, int] = {name: at for at, name in enumerate(sorted(found))}
    codes = [np.array(list(map(code.__getitem__, some)), dtype=np.int64) for some in lists]
    return tuple(map(str, code)), codes


def kinds_in(tables: Tables) -> frozenset[str]:
    """Return which fields of `Support` the answers need."""
    pairs, triplets, odd_one_out = tables
    is_dont_know = pairs.answers == DONT_KNOW
    present = {
        "pairs": bool((~is_dont_know).any()),
        "triplets": bool(len(triplets)),
        "odd_one_out": bool(len(odd_one_out)),
        "dont_know": bool(is_dont_know.any()),
    }
    return frozenset(kind for kind, is_present in present.items() if is_present)


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
