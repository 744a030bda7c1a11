"""Constraints: what people said about rows; frozen and validated."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.constraints import _constructors, _exchange
from clew.constraints._closure import Closure, close
from clew.constraints._columns import AnswerColumns
from clew.constraints._conflicts import Conflict, find_conflicts
from clew.constraints._implied import pairs_of
from clew.constraints._tables import AnswerTable
from clew.constraints._validation import as_integers, as_weights, rows_and_ids
from clew.exceptions import InvalidConstraintsError

__all__ = ["Constraints"]

PLURAL = {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd-one-out answers"}


class Constraints(AnswerColumns):
    """What people said about the rows of a data set.

    Frozen: every method returns a new object and every array is read-only. Answers keep their
    order of arrival, and repeats are kept, because each is evidence. Don't-know is an answer of
    its own. Contradictions are kept too; `conflicts` reports them.

    Parameters
    ----------
    n_samples : int, default=None
        Number of rows of the data. `fit` compares it with the data. May be left out where `ids`
        are given.
    pairs : array-like of shape (n_pairs, 3), default=None
        Rows i and j and the answer: 1 or "same", 0 or "different", -2 or "dont_know". (i, j) and
        (j, i) are one pair; the smaller row is stored first.
    triplets : array-like of shape (n_triplets, 4), default=None
        Rows a, b, c and the answer: 0 or "first" if a is more like b than like c, 1 or "second"
        if more like c, -2 or "dont_know".
    odd_one_out : array-like of shape (n_odd_one_out, 4), default=None
        Rows i, j, k and the answer: the position 0, 1 or 2 of the odd one, or "first", "second"
        or "third"; -1 or "none" if none differs; -2 or "dont_know".
    pair_weights, triplet_weights, odd_one_out_weights : array-like of float, default=None
        How far to believe each answer, in [0, 1]. None: 1 everywhere.
    pair_annotators, triplet_annotators, odd_one_out_annotators : array-like, default=None
        Who gave each answer, as integers or as names. They are stored as positions in
        `annotators`, which lists all names in sorted order (integers by value). None: "".
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data, in their order: strings or integers, all different. Where
        given, `pairs`, `triplets` and `odd_one_out` name rows by id; where not, by row number.

    Attributes
    ----------
    n_samples : int
        Number of rows of the data.
    ids : tuple of hashable, or None
        The id of each row, where known. All arrays hold row numbers all the same.
    tables : tuple of three AnswerTable
        The same answers as columns: pairs, triplets and odd-one-out answers.
    pairs, pair_answers, pair_weights, pair_annotators : ndarray
        Shapes (n_pairs, 2) and three times (n_pairs,).
    triplets, triplet_answers, triplet_weights, triplet_annotators : ndarray
        Shapes (n_triplets, 3) and three times (n_triplets,).
    odd_one_out, odd_one_out_answers, odd_one_out_weights, odd_one_out_annotators : ndarray
        Shapes (n_odd_one_out, 3) and three times (n_odd_one_out,).
    annotators : tuple of str
        Names of the annotators, by code.
    must_link, cannot_link : ndarray of shape (m, 2)
        Pairs said to be the same, and to differ, in order of arrival.
    is_must_link, is_cannot_link, is_dont_know : ndarray of shape (n_pairs,), bool
        Masks over `pairs`.

    Raises
    ------
    InvalidConstraintsError
        If a row is out of range or repeated within one answer, an answer code is unknown, a
        weight lies outside [0, 1], or an array has the wrong shape; if an id is unknown, missing
        or there twice. The message names the answer.

    Notes
    -----
    Time and memory are linear in the number of answers.

    Examples
    --------
    >>> from clew import Constraints
    >>> c = Constraints(10, pairs=[(0, 1, 1), (5, 2, 0), (3, 4, -2)], pair_annotators=[7, 8, 7])
    >>> c
    Constraints(n_samples=10, pairs=3, triplets=0, odd_one_out=0)
    >>> c.cannot_link
    array([[2, 5]])
    >>> c.annotators
    ('7', '8')
    """

    __slots__ = ()

    from_pairs = classmethod(_constructors.from_pairs)
    from_triplets = classmethod(_constructors.from_triplets)
    from_odd_one_out = classmethod(_constructors.from_odd_one_out)
    from_labels = classmethod(_constructors.from_labels)
    from_answers = classmethod(_constructors.from_answers)

    read_csv = classmethod(_exchange.read_csv)
    read_jsonl = classmethod(_exchange.read_jsonl)
    from_frame = classmethod(_exchange.from_frame)
    to_csv = _exchange.to_csv
    to_jsonl = _exchange.to_jsonl
    to_frame = _exchange.to_frame

    def __add__(self, other: Constraints) -> Constraints:
        """Join the answers of both, those of `other` behind one's own.

        Raises
        ------
        InvalidConstraintsError
            If both do not speak of the same number of rows.
        """
        if not isinstance(other, Constraints):
            return NotImplemented
        if self.n_samples != other.n_samples:
            raise InvalidConstraintsError(
                f"constraints about {self.n_samples} and about {other.n_samples} rows cannot be "
                "joined: their rows are not the same items"
            )
        if self._ids is not None and other._ids is not None and self._ids != other._ids:
            row = next(r for r in range(self.n_samples) if self.name_of(r) != other.name_of(r))
            raise InvalidConstraintsError(
                f"constraints whose rows are other items cannot be joined: row {row} has the id "
                f"{self.name_of(row)!r} in one and {other.name_of(row)!r} in the other"
            )
        code = {
            name: at for at, name in enumerate(dict.fromkeys(self.annotators + other.annotators))
        }
        codes = np.array([code[name] for name in other.annotators], dtype=np.int64)
        pairs, triplets, odd_one_out = (
            mine.joined(theirs, codes)
            for mine, theirs in zip(self.tables, other.tables, strict=True)
        )
        ids = other._ids if self._ids is None else self._ids
        return self._from_tables(self.n_samples, (pairs, triplets, odd_one_out), tuple(code), ids)

    def subset(self, rows: ArrayLike) -> Constraints:
        """Keep the answers that lie wholly inside some rows, and renumber them.

        Parameters
        ----------
        rows : array-like of shape (m,)
            Different row numbers, or a boolean mask of shape (n_samples,). Row ``rows[p]``
            becomes row p, as in ``X[rows]``.

        Returns
        -------
        Constraints
            With ``n_samples = m`` and the same `annotators`.

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or named twice, or a mask has the wrong length.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 4)], cannot_link=[(1, 4)], n_samples=5)
        >>> c.subset([4, 0]).pairs
        array([[0, 1]])
        """
        index = _as_positions(rows, self.n_samples, "rows", "n_samples")
        if np.unique(index).size < index.size:
            values, counts = np.unique(index, return_counts=True)
            raise InvalidConstraintsError(
                f"rows must be different, but row {values[counts > 1][0]} is there twice"
            )
        new_number = np.full(self.n_samples, -1, dtype=np.int64)
        new_number[index] = np.arange(index.size)
        pairs, triplets, odd_one_out = (table.renumbered(new_number) for table in self.tables)
        ids = None if self._ids is None else self._ids.take(index)
        return self._from_tables(index.size, (pairs, triplets, odd_one_out), self.annotators, ids)

    def select(
        self,
        *,
        pairs: ArrayLike | None = None,
        triplets: ArrayLike | None = None,
        odd_one_out: ArrayLike | None = None,
    ) -> Constraints:
        """Keep some of the answers.

        Parameters
        ----------
        pairs, triplets, odd_one_out : array-like of bool or of int, default=None
            Which answers of the kind to keep, as a mask over them or as their positions, in the
            order wanted; one that is named twice counts twice. None keeps all.

        Returns
        -------
        Constraints
            With the same `n_samples` and `annotators`.

        Raises
        ------
        InvalidConstraintsError
            If a mask has the wrong length or a position is out of range.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2)], n_samples=3)
        >>> c.select(pairs=c.is_cannot_link).pairs
        array([[0, 2]])
        """
        given = (pairs, triplets, odd_one_out)
        return self.with_tables(
            table
            if which is None
            else table.take(
                _as_positions(which, len(table), table.kind, f"the number of {PLURAL[table.kind]}")
            )
            for table, which in zip(self.tables, given, strict=True)
        )

    def as_pairs(self) -> Constraints:
        """Read every answer as a statement about groups, and write these as pairs.

        "a is more like b than like c" puts a and b together and a and c apart; "k is the odd one"
        puts the other two together and k apart from both; "none differs" puts all three together.
        Don't-knows about three rows leave nothing.

        Returns
        -------
        Constraints
            Pairs alone: the given ones, then those read off triplets, then off odd-one-out
            answers, each with the weight and annotator of its answer.

        Notes
        -----
        True where people answer by the groups that they see. Two answers about distances within
        one group, which are no statements about groups, become wrong pairs.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_triplets([(0, 1, 2)], [0], n_samples=3).as_pairs()
        >>> c.must_link, c.cannot_link
        (array([[0, 1]]), array([[0, 2]]))
        """
        return self.with_tables(
            (pairs_of(self.tables), AnswerTable.empty("triplet"), AnswerTable.empty("odd_one_out"))
        )

    def with_weights(
        self,
        *,
        pair_weights: ArrayLike | None = None,
        triplet_weights: ArrayLike | None = None,
        odd_one_out_weights: ArrayLike | None = None,
    ) -> Constraints:
        """Change how far the answers are believed.

        Parameters
        ----------
        pair_weights, triplet_weights, odd_one_out_weights : array-like of float, default=None
            New weights in [0, 1], one for each answer of the kind. None keeps the old ones.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If weights are of the wrong number or outside [0, 1].

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3)
        >>> c.with_weights(pair_weights=[0.25]).pair_weights
        array([0.25])
        """
        given = (pair_weights, triplet_weights, odd_one_out_weights)
        return self.with_tables(
            table
            if weights is None
            else table.with_weights(as_weights(weights, len(table), f"{table.kind}_weights"))
            for table, weights in zip(self.tables, given, strict=True)
        )

    def with_tables(
        self,
        tables: Iterable[AnswerTable],
        annotators: tuple[str, ...] | None = None,
    ) -> Constraints:
        """Replace the answers; the rows stay the same.

        Parameters
        ----------
        tables : iterable of three AnswerTable
            Pairs, triplets and odd-one-out answers, each valid for `n_samples` rows: they are not
            checked again.
        annotators : tuple of str, default=None
            Names of the annotators, by code. None keeps the old ones.

        Returns
        -------
        Constraints

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2)], n_samples=3)
        >>> pairs, triplets, odd_one_out = c.tables
        >>> c.with_tables((pairs.take(pairs.answers == 1), triplets, odd_one_out))
        Constraints(n_samples=3, pairs=1, triplets=0, odd_one_out=0)
        """
        pairs, triplets, odd_one_out = tables
        names = self.annotators if annotators is None else annotators
        return self._from_tables(self.n_samples, (pairs, triplets, odd_one_out), names, self._ids)

    def with_ids(self, ids: Iterable[object] | None) -> Constraints:
        """Set the ids of the rows; the answers, which hold row numbers, stay as they are.

        Parameters
        ----------
        ids : sequence, array, pandas Index or Series of length n_samples, or None
            The id of each row, in their order. None removes them.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If there are not `n_samples` of them, or one is missing or there twice.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 2)], n_samples=3).with_ids(["a", "b", "c"])
        >>> c.ids, c.to_frame()["id_j"].tolist()
        (('a', 'b', 'c'), ['c'])
        """
        n, row_ids = rows_and_ids(self.n_samples, ids)
        return self._from_tables(n, self.tables, self.annotators, row_ids)

    def closure(self) -> Closure:
        """Return all that must-links and cannot-links entail, whatever their weights.

        Returns
        -------
        Closure

        Notes
        -----
        Union-find: nearly linear in time and linear in memory. Nothing is expanded.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], n_samples=4)
        >>> c.closure().component
        array([0, 0, 0, 1])
        """
        return close(self.n_samples, self.must_link, self.cannot_link)

    def conflicts(self) -> list[Conflict]:
        """Find the cannot-links that must-links contradict, directly or through a chain.

        Returns
        -------
        list of Conflict
            One for each such cannot-link answer, in order of arrival, with the shortest chain of
            must-links that joins its rows. Empty if the answers are consistent.

        Notes
        -----
        One search from both ends for each conflict: at worst linear in the must-links of the
        component, as a rule far less. Weights play no part.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(
        ...     must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], n_samples=3
        ... )
        >>> [conflict.chain for conflict in c.conflicts()]
        [(0, 1, 2)]
        """
        return find_conflicts(self.n_samples, self.pairs, self.pair_answers, self.ids)


def _as_positions(which: ArrayLike, length: int, name: str, length_name: str) -> NDArray[np.int64]:
    """Turn a mask or positions into positions."""
    array = np.asarray(which)
    if array.dtype.kind == "b":
        if array.shape != (length,):
            raise InvalidConstraintsError(
                f"a mask must have shape ({length},), {length_name}; {name} has {array.shape}"
            )
        return np.flatnonzero(array)
    index = as_integers(array, name)
    if index.ndim != 1:
        raise InvalidConstraintsError(f"{name} must be one-dimensional, got shape {index.shape}")
    outside = (index < 0) | (index >= length)
    if outside.any():
        raise InvalidConstraintsError(
            f"{name} holds {index[outside][0]}, which is out of range; {length_name} is {length}"
        )
    return index
