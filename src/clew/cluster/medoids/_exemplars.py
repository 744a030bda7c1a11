"""The rows of subclusters around given centers, and how well they are separated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from clew._parallel import blocks
from clew.cluster.medoids._distances import RowDistances
from clew.cluster.medoids._nearest import nearest_rows

__all__ = ["compact_exemplars", "compact_rows", "confidences", "nearest_exemplars", "separation"]

Index = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Number of nearest rows to choose from, as a multiple of `size`, and number of rounds of choosing.
SHORTLIST, N_ROUNDS = 3, 3
#: Factor by which the list of nearest rows grows if it has too few rows for a subcluster.
GROWTH = 4
ROWS_PER_BLOCK = 256
#: Confidence is the logistic function of a margin. Offset and slope were fitted to 3,765 exemplars
#: of seven sets with known classes, which had equal weight. Ratios of distances are clipped to
#: `MOST_SHARE`.
OFFSET, SLOPE, MOST_SHARE = -1.2, 9.0, 2.0


def nearest_exemplars(
    distances: RowDistances, centers: Index, size: int, n_jobs: int | None
) -> Index:
    """Return each center with its nearest rows; subclusters may share rows.

    Parameters
    ----------
    distances : RowDistances
        The data.
    centers : ndarray of shape (n_clusters,), int64
        Row numbers.
    size : int
        Number of rows of a subcluster.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_clusters, size), int64
    """
    if size == 1:
        return centers[:, None].copy()
    return np.column_stack([centers, nearest_rows(distances, centers, size - 1, n_jobs=n_jobs)[0]])


def compact_exemplars(
    distances: RowDistances, centers: Index, size: int, n_jobs: int | None
) -> Index:
    """Return each center with the nearby rows that are nearest to each other; none is shared.

    A row is used for its nearest center only, unless another center lacks rows of its own.

    Parameters
    ----------
    distances, centers, size, n_jobs
        As `nearest_exemplars` takes them.

    Returns
    -------
    ndarray of shape (n_clusters, size), int64
        The center first, then the others by their distance to it.
    """
    n = distances.n_samples
    chosen = np.full((len(centers), size), -1, np.int64)
    chosen[:, 0] = centers
    if size == 1:
        return chosen
    n_listed = min(SHORTLIST * size, n - 1)
    nearest, apart = nearest_rows(distances, centers, n_listed, n_jobs=n_jobs)
    owner = _nearest_centers(centers, nearest, apart, n)
    for at, rows in enumerate(nearest):
        own = rows[owner[rows] == at]
        if len(own) >= size - 1:
            own = compact_rows(distances, np.append(centers[at], own), size)[1:]
        chosen[at, 1 : len(own) + 1] = own
    _fill(distances, chosen, n_listed, n_jobs)
    return chosen


def compact_rows(distances: RowDistances, rows: Index, size: int) -> Index:
    """Choose rows with a low mean distance to those chosen, in a few rounds.

    Parameters
    ----------
    distances : RowDistances
        The data.
    rows : ndarray of int64
        Row numbers, at least `size`: the center, which is always chosen, and others by distance.
    size : int
        Number of rows to choose.

    Returns
    -------
    ndarray of shape (size,), int64
        In the order of `rows`.
    """
    table = distances.between(rows, rows)
    chosen = np.arange(size)
    for _ in range(N_ROUNDS):
        mean = table[:, chosen].mean(axis=1)
        mean[0] = -1.0
        chosen = np.sort(np.argsort(mean, kind="stable")[:size])
    return rows[chosen]


def _nearest_centers(centers: Index, nearest: Index, apart: Floats, n: int) -> Index:
    """Return the position of the nearest center that lists each row; -1 if none does."""
    owner, lowest = np.full(n, -1, np.int64), np.full(n, np.inf)
    for at, (rows, distance) in enumerate(zip(nearest, apart, strict=True)):
        is_nearer = distance < lowest[rows]
        owner[rows[is_nearer]], lowest[rows[is_nearer]] = at, distance[is_nearer]
    owner[centers] = np.arange(len(centers))
    return owner


def _fill(distances: RowDistances, chosen: Index, n_listed: int, n_jobs: int | None) -> None:
    """Fill subclusters that lack rows with the nearest rows that are in no subcluster."""
    is_used = np.zeros(distances.n_samples, np.bool_)
    is_used[chosen[chosen >= 0]] = True
    short = np.flatnonzero((chosen < 0).any(axis=1))
    while len(short):
        nearest = nearest_rows(distances, chosen[short, 0], n_listed, n_jobs=n_jobs)[0]
        for at, rows in zip(short, nearest, strict=True):
            free, empty = rows[~is_used[rows]], np.flatnonzero(chosen[at] < 0)
            n_found = min(len(free), len(empty))
            chosen[at, empty[:n_found]] = free[:n_found]
            is_used[free[:n_found]] = True
        short = short[(chosen[short] < 0).any(axis=1)]
        n_listed = min(GROWTH * n_listed, distances.n_samples - 1)


def confidences(distances: RowDistances, exemplars: Index) -> Floats:
    """Return the probability that an exemplar is in its center's group, by its margin.

    Parameters
    ----------
    distances : RowDistances
        The data.
    exemplars : ndarray of shape (n_clusters, size), int64
        Row numbers, centers first.

    Returns
    -------
    ndarray of shape (n_clusters, size)
    """
    rows, own = exemplars.ravel(), np.repeat(np.arange(len(exemplars)), exemplars.shape[1])
    margin = np.empty(len(rows))
    for start, stop in blocks(len(rows), ROWS_PER_BLOCK):
        apart = distances.between(rows[start:stop], exemplars[:, 0]).astype(np.float64)
        here = np.arange(stop - start), own[start:stop]
        within = apart[here]
        apart[here] = np.inf
        next_one = apart.min(axis=1)
        # A row on another center has the least margin, unless it is on its own center as well.
        share = np.where(within > 0, MOST_SHARE, 1.0)
        np.divide(within, next_one, out=share, where=next_one > 0)
        margin[start:stop] = 1 - np.minimum(share, MOST_SHARE)
    found: Floats = expit(OFFSET + SLOPE * margin)
    return found.reshape(exemplars.shape)


def separation(distances: RowDistances, exemplars: Index) -> float:
    """Return the mean silhouette of the exemplars; 0 for a single subcluster, or single rows.

    Parameters
    ----------
    distances : RowDistances
        The data.
    exemplars : ndarray of shape (n_clusters, size), int64
        Row numbers.

    Returns
    -------
    float
        Between -1 and 1.

    Notes
    -----
    Time O((n_clusters·size)²·n_features).
    """
    n_clusters, size = exemplars.shape
    if size == 1 or n_clusters == 1:
        return 0.0
    rows, total = exemplars.ravel(), 0.0
    own = np.repeat(np.arange(n_clusters), size)
    for start, stop in blocks(len(rows), ROWS_PER_BLOCK):
        apart = distances.between(rows[start:stop], rows)
        mean = apart.reshape(stop - start, n_clusters, size).mean(axis=2, dtype=np.float64)
        here = np.arange(stop - start), own[start:stop]
        within = mean[here] * (size / (size - 1))
        mean[here] = np.inf
        between = mean.min(axis=1)
        larger = np.maximum(within, between)
        total += float(((between - within)[larger > 0] / larger[larger > 0]).sum())
    return total / len(rows)
