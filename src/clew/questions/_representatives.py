"""Representative rows, few enough that all pairs of them can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import one_blas_thread
from clew.cluster._kmeans import kmeans
from clew.kernels.consensus import alternate_medoids
from clew.questions._answers import KnownPairs

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
