"""K-means that changes no global state, so that several fits may run in threads at once.

scikit-learn's `KMeans` changes the number of BLAS threads and the warning filters of the whole
process. The results here are the same up to rounding: seeding and random numbers are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from clew._parallel import blocks
from clew._random import RandomState
from clew.cluster._centers import group_means
from clew.cluster._empty_groups import costliest_row, fill_empty
from clew.cluster._starts import best_start
from clew.kernels.means import cheapest

__all__ = ["KMeansRun", "kmeans"]

#: Number of distances from rows to centers that are computed at once.
BLOCK_ENTRIES = 1 << 18


class KMeansRun(NamedTuple):
    """The result of the best start."""

    labels: NDArray[np.int64]
    """Group of each row, (n_samples,); a group may be empty if there are equal rows."""
    centers: NDArray[np.float64]
    """Means, (n_clusters, n_features)."""
    inertia: float
    """Sum of squared distances from rows to their centers."""
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
    """Cluster rows by Lloyd's algorithm, from several starts.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        Features.
    n_clusters : int
        Number of groups, at most `n_samples`.
    n_init : int
        Number of starts, each from k-means++; the one with the lowest inertia is kept.
    random_state : int, RandomState or None
        Seed of the starts.
    init : ndarray of shape (n_clusters, n_features), default=None
        Initial centers, in place of k-means++.
    max_iter : int, default=300
        Maximum number of iterations of a start.
    tol : float, default=1e-4
        A start ends when the squared shift of all centers is at most this share of the mean
        variance of the features.

    Returns
    -------
    KMeansRun

    Notes
    -----
    Time O(n·k·d) for each iteration; memory O(n·d) for a centered copy of the rows.
    """
    random = check_random_state(random_state)
    mean = X.mean(axis=0)
    rows = np.ascontiguousarray(X - mean)
    squares = np.einsum("ij,ij->i", rows, rows)
    tolerance = tol * float(rows.var(axis=0).mean())

    def run_from(_: int) -> KMeansRun:
        centers = rows[_seeds(rows, squares, n_clusters, random)] if init is None else init - mean
        return _lloyd(rows, centers, max_iter, tolerance)

    best = best_start(run_from, range(n_init), lambda run: run.inertia)
    assert best is not None  # n_init is at least 1
    return best._replace(centers=best.centers + mean)


def _seeds(
    rows: NDArray[np.float64],
    squares: NDArray[np.float64],
    n_clusters: int,
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    """Choose rows by k-means++, each as the best of several candidates.

    Up to rounding, these are the rows that scikit-learn's `kmeans_plusplus` chooses. It is not
    called because its validation takes longer than the distances for a few thousand rows.
    """
    n = len(rows)
    n_candidates = 2 + int(np.log(n_clusters))
    chosen = np.empty(n_clusters, np.int64)
    chosen[0] = random.choice(n, p=np.full(n, 1 / n))
    nearest = _squared_distances(rows, squares, chosen[:1])[0]
    for at in range(1, n_clusters):
        shares = nearest.cumsum()
        drawn = random.uniform(size=n_candidates) * nearest.sum()
        candidates = np.minimum(np.searchsorted(shares, drawn), n - 1)
        distance = _squared_distances(rows, squares, candidates)
        np.minimum(distance, nearest, out=distance)
        best = int(distance.sum(axis=1).argmin())
        chosen[at], nearest = candidates[best], distance[best]
    return chosen


def _squared_distances(
    rows: NDArray[np.float64], squares: NDArray[np.float64], chosen: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return squared distances from chosen rows to all rows, (n_chosen, n_samples)."""
    distance = -2.0 * rows[chosen] @ rows.T
    distance += squares
    distance += squares[chosen, None]
    return np.maximum(distance, 0.0, out=distance)


def _lloyd(
    rows: NDArray[np.float64], centers: NDArray[np.float64], max_iter: int, tolerance: float
) -> KMeansRun:
    """Assign rows and move centers in turn, until no row changes its group or no center moves."""
    labels = _nearest(rows, centers)
    n_iter, has_converged = 0, False
    while n_iter < max_iter and not has_converged:
        n_iter += 1
        moved = _moved_centers(rows, centers, labels)
        shift = float(((moved - centers) ** 2).sum())
        centers, before = moved, labels
        labels = _nearest(rows, centers)
        has_converged = shift <= tolerance or np.array_equal(labels, before)
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


def _moved_centers(
    rows: NDArray[np.float64], centers: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean of each group; an empty group gets the row farthest from its center."""
    if not np.bincount(labels, minlength=len(centers)).all():
        labels = labels.copy()
        distance = ((rows - centers[labels]) ** 2).sum(axis=1)
        fill_empty(labels, len(centers), costliest_row(labels, distance, 0.0))
    return group_means(rows, np.ones(len(rows)), labels, centers)
