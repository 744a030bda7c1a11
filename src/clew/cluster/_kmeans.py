"""K-means that touches nothing outside itself, so that fits may run in threads beside each other.

scikit-learn's `KMeans` sets the number of BLAS threads of the whole process, and warns of
coinciding rows through filters that belong to the whole process too. Its results are found here
as well, up to rounding: seeding and random numbers are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state

from clew._parallel import blocks
from clew._random import RandomState
from clew.kernels.means import add_groups, cheapest

__all__ = ["KMeansRun", "kmeans"]

#: Entries of the block of rows by centers that is computed at once.
BLOCK_ENTRIES = 1 << 18


class KMeansRun(NamedTuple):
    """The result of the best start."""

    labels: NDArray[np.int64]
    """(n_samples,), from 0; a group may be empty where rows coincide."""
    centers: NDArray[np.float64]
    """(n_clusters, n_features)."""
    inertia: float
    """Sum of squared distances to the centers."""
    n_iter: int


def kmeans(
    X: NDArray[np.float64],
    n_clusters: int,
    *,
    n_init: int,
    random_state: RandomState,
    init: NDArray[np.float64] | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
) -> KMeansRun:
    """Find the centers with the least sum of squared distances (Lloyd's algorithm).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        Features.
    n_clusters : int
        Number of groups, at most `n_samples`.
    n_init : int
        Number of starts, each from k-means++.
    random_state : int, RandomState or None
        Seed of the starts.
    init : ndarray of shape (n_clusters, n_features), default=None
        Centers to start from, in place of k-means++.
    max_iter : int, default=300
        Most iterations of a start.
    tol : float, default=1e-4
        A start ends when the squared shift of the centers is below this share of the mean
        variance of the features.

    Returns
    -------
    KMeansRun

    Notes
    -----
    Time O(n·k·d) an iteration; memory O(n·d) for a centered copy of the rows.
    """
    random = check_random_state(random_state)
    mean = X.mean(axis=0)
    rows = np.ascontiguousarray(X - mean)
    squares = np.einsum("ij,ij->i", rows, rows)
    tolerance = tol * float(rows.var(axis=0).mean())
    best: KMeansRun | None = None
    for _ in range(n_init):
        if init is None:
            centers, _ = kmeans_plusplus(
                rows, n_clusters, x_squared_norms=squares, random_state=random
            )
        else:
            centers = init - mean
        run = _lloyd(rows, centers, max_iter, tolerance)
        if best is None or run.inertia < best.inertia:
            best = run
    assert best is not None  # n_init is at least 1
    return best._replace(centers=best.centers + mean)


def _lloyd(
    rows: NDArray[np.float64], centers: NDArray[np.float64], max_iter: int, tolerance: float
) -> KMeansRun:
    """Assign rows and move centers in turn, until no row changes its group or no center moves."""
    labels = _nearest(rows, centers)
    n_iter, is_settled = 0, False
    while n_iter < max_iter and not is_settled:
        n_iter += 1
        moved = _means(rows, centers, labels)
        shift = float(((moved - centers) ** 2).sum())
        centers, before = moved, labels
        labels = _nearest(rows, centers)
        is_settled = shift <= tolerance or np.array_equal(labels, before)
    inertia = float(((rows - centers[labels]) ** 2).sum())
    return KMeansRun(labels, centers, inertia, n_iter)


def _nearest(rows: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find the nearest center of each row, block by block."""
    squares = np.einsum("ij,ij->i", centers, centers)
    labels = np.empty(len(rows), np.int64)
    for start, stop in blocks(len(rows), max(BLOCK_ENTRIES // len(centers), 1)):
        distance = rows[start:stop] @ (-2.0 * centers.T)
        distance += squares
        cheapest(distance, labels[start:stop])
    return labels


def _means(
    rows: NDArray[np.float64], centers: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Move centers to the means of their groups; an empty group takes the row farthest off."""
    sums, size = np.zeros_like(centers), np.zeros(len(centers))
    add_groups(rows, np.ones(len(rows)), labels, sums, size)
    empty = np.flatnonzero(size == 0)
    if len(empty):
        distance = ((rows - centers[labels]) ** 2).sum(axis=1)
        farthest = np.argsort(-distance, kind="stable")[: len(empty)]
        for group, row in zip(empty, farthest, strict=True):
            if distance[row] == 0 or size[labels[row]] == 1:
                continue
            sums[labels[row]] -= rows[row]
            size[labels[row]] -= 1
            sums[group], size[group] = rows[row], 1
    return np.divide(sums, size[:, None], out=centers.copy(), where=size[:, None] > 0)
