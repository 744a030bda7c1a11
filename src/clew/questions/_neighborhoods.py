"""Neighborhoods: sets of rows known to be the same, each known to differ from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clew.questions._known import KnownPairs

__all__ = ["Neighborhoods"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Maximum number of assignments to the nearest medoids, in `groups`.
MAX_ITER = 10


class Neighborhoods:
    """The neighborhoods of Explore and Consolidate, replayed from the answers so far.

    Explore takes the row that is farthest from all rows seen, and compares it with each
    neighborhood, the nearest first; if it is in none, it begins one. When there are `n_clusters`,
    Consolidate compares the other rows in the order of `next_row`; a row that differs from all
    neighborhoods but one is in that one, without a question.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_samples)
        Distances.
    known : KnownPairs
        The answers.
    n_clusters : int
        Number of groups.
    first : int
        Row of the first neighborhood.
    next_row : callable
        Maps the distance of each row to the nearest row seen (-1 for rows seen) to the row that is
        consolidated next.
    nearest_by : {"mean", "min"}
        Distance of a row to a neighborhood in Consolidate.
    """

    def __init__(
        self, distances: Floats, known: KnownPairs, n_clusters: int, first: int,
        next_row: Callable[[Floats], int], nearest_by: Literal["mean", "min"],
    ) -> None:  # fmt: skip
        self._D, self._known, self._n_clusters = distances, known, n_clusters
        self._next_row, self._nearest_by = next_row, nearest_by
        self._rows: list[list[int]] = [[first]]
        self._from_seen = distances[first].copy()
        self._from_seen[first] = -1

    def questions(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs that decide where rows belong, in the order of the search.

        None is answered yet. After a question about a row, the search goes on with other rows.
        """
        while (self._from_seen >= 0).any():
            is_exploring = len(self._rows) < self._n_clusters
            row = int(self._from_seen.argmax()) if is_exploring else self._next_row(self._from_seen)
            question = self._place(row, is_exploring)
            if question is not None:
                yield question
            self._from_seen = np.minimum(self._from_seen, self._D[row])
            self._from_seen[row] = -1

    def groups(self) -> Integers:
        """Assign the rows in no neighborhood to the nearest medoid.

        Returns
        -------
        ndarray of shape (n_samples,), int64

        Notes
        -----
        If there are fewer neighborhoods than groups, rows far from all others are medoids, too.
        """
        for _ in self.questions():
            pass
        seeds = [list(rows) for rows in self._rows]
        placed = [row for rows in seeds for row in rows]
        nearest = self._D[:, placed].min(axis=1)
        while len(seeds) < self._n_clusters and nearest.max() > 0:
            seeds.append([int(nearest.argmax())])
            nearest = np.minimum(nearest, self._D[seeds[-1][0]])
        fixed = np.full(len(self._D), -1)
        for k, rows in enumerate(seeds):
            fixed[rows] = k
        return self._assign(fixed, [self._medoid(np.array(rows)) for rows in seeds])

    def _assign(self, fixed: Integers, medoids: list[int]) -> Integers:
        for _ in range(MAX_ITER):
            labels = np.where(fixed >= 0, fixed, self._D[:, medoids].argmin(axis=1))
            moved = [self._medoid(np.flatnonzero(labels == k)) for k in range(len(medoids))]
            if moved == medoids:
                break
            medoids = moved
        return labels

    def _medoid(self, rows: Integers) -> int:
        return int(rows[self._D[np.ix_(rows, rows)].sum(axis=1).argmin()])

    def _place(self, row: int, is_exploring: bool) -> tuple[int, int] | None:
        """Add a row to its neighborhood, or return the pair that has to be asked about first."""
        by_min = is_exploring or self._nearest_by == "min"
        to_rows = [self._D[row, rows] for rows in self._rows]
        order = np.argsort([d.min() if by_min else d.mean() for d in to_rows], kind="stable")
        for position, k in enumerate(order):
            rows = self._rows[k]
            is_last = not is_exploring and position == len(order) - 1
            relation = 1 if is_last else self._relation(row, rows)
            if relation == 1:
                rows.append(row)
                return None
            member = rows[int(to_rows[k].argmin())]
            is_asked = ("pair", (min(row, member), max(row, member))) in self._known.asked
            if relation == 0 and not is_asked:
                return row, member
        if is_exploring:
            self._rows.append([row])
        return None

    def _relation(self, row: int, rows: list[int]) -> int:
        """Return 1 if a row is the same as any of the rows, -1 if it differs from any, or 0."""
        closure = self._known.closure
        others = np.array(rows)
        if np.any(closure.is_same(np.full(len(others), row), others)):
            return 1
        return -int(np.any(closure.is_different(np.full(len(others), row), others)))
