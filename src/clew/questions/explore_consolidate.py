"""ExploreConsolidate and MinMax: one row of each group is found, others are compared with these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._validation import Allowed, RandomState
from clew.questions._answers import KnownPairs
from clew.questions._pair_order import all_distances
from clew.questions._strategy import PairStrategy


class ExploreConsolidate(PairStrategy):
    """Finds a row of each group by farthest-first search, then compares the others with these.

    Neighborhoods are sets of rows of one group, according to answers. Explore takes the row that is
    farthest from all rows seen, and compares it with a row of each neighborhood, the nearest first;
    a row that is in none begins a new one. When there are `n_clusters` neighborhoods, Consolidate
    compares the other rows, in random order; a row that differs from all neighborhoods but one is
    in that one, without a question.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the first row and of the order of rows.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    Rows in no neighborhood are in the group of the nearest medoid. With many groups, Explore alone
    takes a large number of questions. Probabilities given to `start` are not used.

    A question takes O(n·n_clusters) steps; memory 8·n² bytes.

    References
    ----------
    S. Basu, A. Banerjee and R. J. Mooney, "Active semi-supervision for pairwise constrained
    clustering", SDM 2004.

    Examples
    --------
    >>> from clew.questions import ExploreConsolidate
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> strategy = ExploreConsolidate(2, random_state=0).start(X)
    >>> strategy.ask()
    [Question(kind='pair', rows=(3, 1))]
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    #: Distance of a row to a neighborhood when it is consolidated.
    _nearest_by: ClassVar[Literal["mean", "min"]] = "mean"
    _distances: NDArray[np.float64]
    _order: NDArray[np.int64]

    def __init__(
        self,
        n_clusters: int,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        self._distances = all_distances(X, self.metric)
        self._order = np.random.RandomState(self._seed).permutation(len(X))

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        return (np.array([pair]) for pair in self._neighborhoods().questions())

    def _group(self) -> NDArray[np.int64]:
        return self._neighborhoods().groups()

    def _neighborhoods(self) -> Neighborhoods:
        return Neighborhoods(
            self._distances, self.known, self.n_clusters, int(self._order[0]), self._next_row,
            self._nearest_by,
        )  # fmt: skip

    def _next_row(self, from_seen: NDArray[np.float64]) -> int:
        """Return the row that is consolidated next; `from_seen` is -1 for rows seen."""
        return int(self._order[np.argmax(from_seen[self._order] >= 0)])


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Maximum number of assignments to the nearest medoids, in `groups`.
MAX_ITER = 10


class Neighborhoods:
    """The neighborhoods of Explore and Consolidate, replayed from the answers so far."""

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
        """Pairs, none answered, that decide where rows belong, in the search's order."""
        while (self._from_seen >= 0).any():
            is_exploring = len(self._rows) < self._n_clusters
            row = int(self._from_seen.argmax()) if is_exploring else self._next_row(self._from_seen)
            question = self._place(row, is_exploring)
            if question is not None:
                yield question
            self._from_seen = np.minimum(self._from_seen, self._D[row])
            self._from_seen[row] = -1

    def groups(self) -> Integers:
        """Assign other rows to the nearest medoid; far rows fill missing neighborhoods."""
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


class MinMax(ExploreConsolidate):
    """Explores like `ExploreConsolidate`, then compares the row that is least like all rows seen.

    That row has the smallest maximum similarity to the rows seen (min-max criterion): it is
    farthest from all of them.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the first row.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    Groups and cost are those of `ExploreConsolidate`.

    References
    ----------
    P. K. Mallapragada, R. Jin and A. K. Jain, "Active query selection for semi-supervised
    clustering", ICPR 2008.

    Examples
    --------
    >>> from clew.questions import MinMax
    >>> strategy = MinMax(2, random_state=0).start([[0.0], [0.1], [5.0], [5.1]])
    >>> [question.kind for question in strategy.ask()]
    ['pair']
    """

    _nearest_by: ClassVar[Literal["mean", "min"]] = "min"

    def _next_row(self, from_seen: NDArray[np.float64]) -> int:
        return int(from_seen.argmax())
