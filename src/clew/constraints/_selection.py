"""The methods of `Constraints` that select answers or rows, and that join answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.constraints._columns import AnswerColumns
from clew.constraints._tables import AnswerTable
from clew.constraints._validation import as_integers
from clew.exceptions import InvalidConstraintsError

if TYPE_CHECKING:
    from clew.constraints._constraints import Constraints

__all__ = ["join", "select", "subset"]

PLURAL = {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd-one-out answers"}


def join(self: Constraints, other: Constraints) -> Constraints:
    """Append the answers of `other`, which must be about the same rows.

    Parameters
    ----------
    other : Constraints
        Answers about the same data.

    Returns
    -------
    Constraints
        The answers of both, with the `ids` of whichever has ids.

    Raises
    ------
    InvalidConstraintsError
        If the numbers of rows differ, or both have ids and these differ.
    """
    if not isinstance(other, AnswerColumns):
        return NotImplemented
    if self.n_samples != other.n_samples:
        raise InvalidConstraintsError(
            f"constraints about {self.n_samples} and about {other.n_samples} rows cannot be "
            "joined: they have to be about the same data"
        )
    if self._ids is not None and other._ids is not None and self._ids != other._ids:
        row = next(r for r in range(self.n_samples) if self.name_of(r) != other.name_of(r))
        raise InvalidConstraintsError(
            f"constraints about different items cannot be joined: row {row} has the id "
            f"{self.name_of(row)!r} in one and {other.name_of(row)!r} in the other"
        )
    code = {name: at for at, name in enumerate(dict.fromkeys(self.annotators + other.annotators))}
    codes = np.array([code[name] for name in other.annotators], dtype=np.int64)
    pairs, triplets, odd_one_out = (
        AnswerTable.stacked(mine.kind, [mine, theirs.with_annotators(codes[theirs.annotators])])
        for mine, theirs in zip(self.tables, other.tables, strict=True)
    )
    ids = other._ids if self._ids is None else self._ids
    return self._from_tables(self.n_samples, (pairs, triplets, odd_one_out), tuple(code), ids)


def subset(self: Constraints, rows: ArrayLike) -> Constraints:
    """Keep the answers whose rows are all among some rows, and renumber these.

    Parameters
    ----------
    rows : array-like of shape (m,)
        Distinct row numbers, or a boolean mask of shape (n_samples,). Row ``rows[p]`` becomes
        row p, as in ``X[rows]``.

    Returns
    -------
    Constraints
        With ``n_samples = m``, the ids of these rows and the same `annotators`.

    Raises
    ------
    InvalidConstraintsError
        If a row is out of range or repeated, or a mask has the wrong length.

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
            f"rows must be distinct, but row {values[counts > 1][0]} is repeated"
        )
    new_number = np.full(self.n_samples, -1, dtype=np.int64)
    new_number[index] = np.arange(index.size)
    pairs, triplets, odd_one_out = (table.renumbered(new_number) for table in self.tables)
    ids = None if self._ids is None else self._ids.take(index)
    return self._from_tables(index.size, (pairs, triplets, odd_one_out), self.annotators, ids)


def select(
    self: Constraints,
    *,
    pairs: ArrayLike | None = None,
    triplets: ArrayLike | None = None,
    odd_one_out: ArrayLike | None = None,
) -> Constraints:
    """Keep some of the answers.

    Parameters
    ----------
    pairs, triplets, odd_one_out : array-like of bool or of int, default=None
        The answers of each kind to keep: a mask, or positions, whose order and repeats are kept.
        None keeps all.

    Returns
    -------
    Constraints
        With the same `n_samples`, `ids` and `annotators`.

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


def _as_positions(which: ArrayLike, length: int, name: str, length_name: str) -> NDArray[np.int64]:
    """Convert a mask or positions to positions."""
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
