"""The answers of one kind as columns, made and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import CODES, DONT_KNOW, N_ROWS, Kind
from clew.constraints._validation import RowIds, as_array, as_codes, as_integers, as_rows, one_each
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
    lines : ndarray of shape (n,), int64, default=zeros
        Line of the file on which each answer begins; 0: it was not read from a file.

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
    # Empty arrays stand for zeros until the length is known.
    origins: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, dtype=np.int8))
    lines: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        for name, type_ in (("origins", np.int8), ("lines", np.int64)):
            if len(getattr(self, name)) < len(self.answers):
                object.__setattr__(self, name, np.zeros(len(self.answers), dtype=type_))
        for array in self._columns():
            array.flags.writeable = False

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return (
            self.rows, self.answers, self.weights, self.annotators, self.origins, self.lines
        )  # fmt: skip

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
    coded = one_each(coded, len(array), "answers", "question")

    def where(at: int) -> str:
        return f"{name}[{at}] = ({', '.join(map(repr, array[at].tolist()))})"

    if ids is None:
        rows = as_integers(items, name)
    else:
        rows = np.stack([ids.rows_of(column.tolist(), where) for column in items.T], axis=1)
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
