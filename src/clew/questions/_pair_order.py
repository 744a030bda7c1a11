"""What strategies compute from data: probabilities of pairs, their order, representatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import one_blas_thread
from clew._validation import Allowed, AllowedValues, RandomState, check_matrix
from clew.cluster import consensus_probabilities
from clew.cluster._kmeans import kmeans
from clew.cluster.linkage.hacc import Edges, consensus, cut, edges_in_order, euclidean, given
from clew.constraints import Closure
from clew.exceptions import InvalidDataError
from clew.graphs import check_dense_size, check_square
from clew.kernels.medoids import alternate_medoids
from clew.questions._answers import KnownPairs

N_RUNS = 100
#: If the number of groups is unknown, groups of the clusterings have between `FEW_A_GROUP` and
#: `MANY_A_GROUP` rows on average, with `N_NUMBERS` different numbers of groups.
MANY_A_GROUP, FEW_A_GROUP, N_NUMBERS = 40, 6, 8
#: Candidates that are compared with the answers at once.
PAIRS_PER_BLOCK = 4096


def pair_probabilities(
    X: NDArray[np.float64],
    metric: str,
    n_clusters: int | None,
    probabilities: ArrayLike | None,
    seed: int,
) -> NDArray[np.float32]:
    """Check given probabilities, or compute them from many clusterings; (n, n), float32."""
    n = len(X)
    if probabilities is not None:
        given = check_matrix(probabilities)
        if given.shape != (n, n) or given.min() < 0 or given.max() > 1:
            raise InvalidDataError(
                f"probabilities must be numbers in [0, 1] of shape ({n}, {n}), got shape "
                f"{given.shape} with numbers in [{given.min():g}, {given.max():g}]"
            )
        check_square(given, "matrix of probabilities")
        return np.asarray(given, np.float32)
    numbers = [n_clusters] if n_clusters else _numbers_of_groups(n)
    euclidean = metric != "precomputed"
    return consensus_probabilities(
        X, numbers, n_runs=N_RUNS, metric="euclidean" if euclidean else "precomputed",
        random_state=seed,
    )  # fmt: skip


def _numbers_of_groups(n: int) -> list[int]:
    """Return numbers of groups in equal ratios, for data whose number of groups is unknown."""
    low, high = max(3, n // MANY_A_GROUP), max(6, n // FEW_A_GROUP)
    numbers = np.geomspace(low, high, N_NUMBERS).round().astype(int)
    return [int(number) for number in np.minimum(numbers, n)]


class PairOrder(NamedTuple):
    """Probabilities of all pairs, and the pairs from the most to the least probable."""

    probabilities: NDArray[np.float32]
    edges: Edges
    n_probable: int

    @classmethod
    def of(cls, X: NDArray[np.float64], metric: str, probabilities: NDArray[np.float32]) -> Self:
        """Sort all pairs; time O(n²·log n), memory 4·n² bytes besides `probabilities`."""
        distances = given(X) if metric == "precomputed" else euclidean(X)
        edges = edges_in_order(consensus(distances, probabilities), len(X))
        n_probable = (int((probabilities > 0.5).sum()) - len(X)) // 2
        return cls(probabilities, edges, n_probable)

    def groups(self, closure: Closure, n_clusters: int | None) -> NDArray[np.int64]:
        """Cluster by HACC, under hard answers; without `n_clusters`, while merges are probable."""
        if n_clusters is not None:
            return cut(self.edges, closure, n_clusters)[0]
        first, second, n = self.edges
        probable = Edges(first[: self.n_probable], second[: self.n_probable], n)
        return cut(probable, closure, 1)[0]


def in_blocks(
    edges: Edges, order: NDArray[np.integer] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Return the pairs of rows of edges, in blocks of shape (m, 2), in their or another order."""
    for start in range(0, len(edges.first), PAIRS_PER_BLOCK):
        block = slice(start, start + PAIRS_PER_BLOCK)
        at = block if order is None else order[block]
        yield np.column_stack([edges.first[at], edges.second[at]]).astype(np.int64)


def all_distances(X: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return the distances between all rows, relative to the largest feature or distance."""
    check_dense_size(len(X))
    unit = X / (np.abs(X).max(initial=0.0) or 1.0)
    return np.asarray(unit if metric == "precomputed" else cdist(unit, unit))


class GroupedByHACC:
    """Mixin of a `PairStrategy` that ranks pairs by probability and groups rows by HACC."""

    _allowed: ClassVar[Mapping[str, AllowedValues]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    metric: str
    known: KnownPairs
    _order: PairOrder
    _seed: int

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        P = pair_probabilities(X, self.metric, self.n_clusters, probabilities, self._seed)
        self._order = PairOrder.of(X, self.metric, P)

    def _group(self) -> NDArray[np.int64]:
        return self._order.groups(self.known.closure, self.n_clusters)


MAX_ITER = 10
N_STARTS = 5

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Takes the data, a number and a seed; returns rows and groups.
Choose = Callable[[Floats, int, int], tuple[Integers, Integers]]


class Representatives(NamedTuple):
    """Some rows, and which of them each row follows."""

    rows: NDArray[np.int64]
    number: NDArray[np.int64]
    size: NDArray[np.int64]

    @classmethod
    def of(cls, X: NDArray[np.float64], metric: str, n: int, seed: int) -> Self:
        """Choose at most n rows: nearest to k-means centers, or for distances medoids."""
        if n == len(X):
            every = np.arange(n)
            return cls(every, every, np.ones(n, np.int64))
        choose: Choose = _centers
        if metric == "precomputed":
            choose = _medoids if len(X) <= ALL_PAIRS_ROWS else _random_rows
        rows, labels = choose(X, n, seed)
        used, number = np.unique(labels, return_inverse=True)
        order = np.argsort(rows[used])
        number = np.argsort(order)[number]
        return cls(rows[used][order], number, np.bincount(number))

    def data(self, X: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
        """Return the features of the representatives, or the distances between them."""
        if len(self.rows) == len(X):
            return X
        return np.asarray(
            X[np.ix_(self.rows, self.rows)] if metric == "precomputed" else X[self.rows]
        )

    def known(self) -> KnownPairs:
        """Return `KnownPairs` of the representatives without any answers."""
        return KnownPairs(len(self.rows), self.number)


def _centers(X: Floats, n: int, seed: int) -> tuple[Integers, Integers]:
    """Return the rows nearest to the centers of k-means, and the groups."""
    start, n_starts = None, N_STARTS
    if len(X) > ALL_PAIRS_ROWS:  # k-means++ would take longer than k-means
        start, n_starts = X[np.random.RandomState(seed).choice(len(X), n, replace=False)], 1
    with one_blas_thread():
        run = kmeans(X, n, n_init=n_starts, random_state=seed, init=start, max_iter=MAX_ITER)
    from_center = ((X - run.centers[run.labels]) ** 2).sum(axis=1)
    order = np.lexsort((from_center, run.labels))
    labels, first = np.unique(run.labels[order], return_index=True)
    rows = np.zeros(n, np.int64)
    rows[labels] = order[first]
    return rows, run.labels


def _medoids(D: Floats, n: int, seed: int) -> tuple[Integers, Integers]:
    """Return the medoids of the best of several starts, and the groups."""
    D = np.ascontiguousarray(D)
    random, every, lowest = np.random.RandomState(seed), np.arange(len(D)), np.inf
    for _ in range(N_STARTS):
        medoids = random.choice(len(D), n, replace=False).astype(np.int64)
        labels = alternate_medoids(D, medoids, 2 * MAX_ITER)
        total = D[every, medoids[labels]].sum()
        if total < lowest:
            lowest, best = total, (medoids, labels.astype(np.int64))
    return best


def _random_rows(D: Floats, n: int, seed: int) -> tuple[Integers, Integers]:
    """Return random rows, and for each row the nearest of them."""
    rows = np.random.RandomState(seed).choice(len(D), n, replace=False).astype(np.int64)
    labels = D[:, rows].argmin(axis=1)
    labels[rows] = np.arange(n)
    return rows, labels
