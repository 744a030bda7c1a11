"""Mean shift with a flat kernel: each row moves to a nearby peak of the density of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import blocks, in_threads
from clew.graphs import NeighborSearch

__all__ = ["MeanShiftRun", "mean_bandwidth", "mean_shift"]

Floats = NDArray[np.float64]
#: A row has converged when it moves by at most this share of the bandwidth.
TOLERANCE = 1e-3
#: Number of distances that are computed at once.
BLOCK_ENTRIES = 1 << 22


class MeanShiftRun(NamedTuple):
    """The result of mean shift."""

    labels: NDArray[np.int64]
    """The nearest peak of each row, (n_samples,)."""
    peaks: Floats
    """Points to which rows converged, the densest first, (n_peaks, n_features)."""
    n_iter: int
    """Number of steps until the last row converged."""


def mean_bandwidth(X: Floats, quantile: float, n_rows: int, seed: int) -> float:
    """Return the mean distance from a row to its k-th nearest row, k being a share of all rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    quantile : float
        The share of rows, in [0, 1]. A row counts as its own nearest row.
    n_rows : int
        The distances are measured among this many rows, drawn at random.
    seed : int
        Seed of the draw.

    Returns
    -------
    float
        The result of scikit-learn's `estimate_bandwidth`.
    """
    rows = X[np.random.RandomState(seed).permutation(len(X))[:n_rows]]
    n_neighbors = max(int(len(rows) * quantile), 1)
    distance, _ = NeighborSearch(rows).nearest(rows, n_neighbors)
    return float(distance[:, -1].mean())


def mean_shift(X: Floats, bandwidth: float, max_iter: int, n_jobs: int | None) -> MeanShiftRun:
    """Move a copy of each row to the mean of the rows within the bandwidth, until it converges.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    bandwidth : float
        Radius of the ball over which means are taken.
    max_iter : int
        Maximum number of steps of a row.
    n_jobs : int or None
        Number of threads, with joblib's meaning.

    Returns
    -------
    MeanShiftRun
        The same groups as from scikit-learn's `MeanShift`, which is not used because it changes
        warning filters and the number of BLAS threads of the whole process.

    Notes
    -----
    Time O(N²·d) for each step of all rows; memory O(N·d), and about 100 MB for each thread.

    References
    ----------
    D. Comaniciu and P. Meer, "Mean shift: a robust approach toward feature space analysis", TPAMI
    2002.
    """
    size = max(BLOCK_ENTRIES // len(X), 1)
    squares = np.einsum("ij,ij->i", X, X)
    parts = in_threads(
        lambda part: _converged(X, squares, X[slice(*part)], bandwidth, max_iter),
        blocks(len(X), size),
        n_jobs=n_jobs,
        what="blocks of rows",
    )
    ends = np.concatenate([end for end, _, _ in parts])
    n_within = np.concatenate([n for _, n, _ in parts])
    peaks = _merged(ends, n_within, bandwidth)
    _, nearest = NeighborSearch(peaks).nearest(X, 1)
    return MeanShiftRun(nearest[:, 0], peaks, max(n_iter for _, _, n_iter in parts))


def _converged(
    X: Floats, squares: Floats, rows: Floats, bandwidth: float, max_iter: int
) -> tuple[Floats, NDArray[np.int64], int]:
    """Return the points to which rows converge, the number of rows near each, and the steps."""
    ends, n_within = rows.copy(), np.zeros(len(rows), np.int64)
    moving = np.arange(len(rows))
    n_iter = 0
    while True:
        at = ends[moving]
        squared = at @ (-2.0 * X.T)
        squared += squares
        squared += np.einsum("ij,ij->i", at, at)[:, None]
        is_within = (squared <= bandwidth**2).astype(np.float64)
        n_within[moving] = is_within.sum(axis=1)
        # Through rounding a point may have no rows within the bandwidth; it then stays.
        is_alone = n_within[moving] == 0
        mean = (is_within @ X) / np.maximum(n_within[moving], 1)[:, None]
        mean[is_alone] = at[is_alone]
        ends[moving] = mean
        shift = np.linalg.norm(mean - at, axis=1)
        moving = moving[shift > TOLERANCE * bandwidth]
        if not len(moving) or n_iter == max_iter:
            break
        n_iter += 1
    return ends, n_within, n_iter


def _merged(ends: Floats, n_within: NDArray[np.int64], bandwidth: float) -> Floats:
    """Drop points that are within the bandwidth of a denser one; return the rest as peaks."""
    different, index = np.unique(ends, axis=0, return_index=True)
    density = n_within[index]
    order = np.lexsort((*different.T[::-1], density))[::-1]
    left = different[order]
    peaks = []
    while len(left):
        peaks.append(left[0])
        left = left[np.linalg.norm(left - left[0], axis=1) > bandwidth]
    return np.array(peaks)
