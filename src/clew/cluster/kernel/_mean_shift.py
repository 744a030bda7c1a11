"""Mean shift with a flat kernel: every row climbs to where rows are densest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import blocks, in_threads
from clew.graphs import NeighborSearch

__all__ = ["MeanShiftRun", "mean_bandwidth", "mean_shift"]

Floats = NDArray[np.float64]
#: A row has arrived when it moves by no more than this share of the bandwidth.
STILL = 1e-3
#: Entries of the block of climbers by rows that is computed at once.
BLOCK_ENTRIES = 1 << 22


class MeanShiftRun(NamedTuple):
    """The groups of mean shift."""

    labels: NDArray[np.int64]
    """The nearest peak of each row, (n_samples,)."""
    peaks: Floats
    """Where rows arrived, the densest first, (n_peaks, n_features)."""
    n_iter: int
    """Steps until the last row arrived."""


def mean_bandwidth(X: Floats, quantile: float, n_rows: int, seed: int) -> float:
    """Return the mean distance within which a share of the rows lies, estimated from some rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    quantile : float
        The share of rows, in [0, 1].
    n_rows : int
        How many rows to draw.
    seed : int
        Draws them.

    Returns
    -------
    float
    """
    rows = X[np.random.RandomState(seed).permutation(len(X))[:n_rows]]
    n_neighbors = max(int(len(rows) * quantile), 1)
    distance, _ = NeighborSearch(rows).nearest(rows, n_neighbors)
    return float(distance[:, -1].mean())


def mean_shift(X: Floats, bandwidth: float, max_iter: int, n_jobs: int | None) -> MeanShiftRun:
    """Move each row to the mean of the rows within reach, until none moves; join near ends.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    bandwidth : float
        The reach.
    max_iter : int
        Most steps of a row.
    n_jobs : int or None
        Threads over rows.

    Returns
    -------
    MeanShiftRun
        The groups of scikit-learn's `MeanShift`, which changes warning filters and the number of
        BLAS threads of the whole process at each step of each row.

    References
    ----------
    D. Comaniciu and P. Meer, "Mean shift: a robust approach toward feature space analysis", TPAMI
    2002.
    """
    size = max(BLOCK_ENTRIES // len(X), 1)
    squares = np.einsum("ij,ij->i", X, X)
    parts = in_threads(
        lambda part: _climbed(X, squares, X[slice(*part)], bandwidth, max_iter),
        blocks(len(X), size),
        n_jobs=n_jobs,
        what="blocks of rows",
    )
    ends = np.concatenate([end for end, _, _ in parts])
    n_within = np.concatenate([n for _, n, _ in parts])
    peaks = _joined(ends, n_within, bandwidth)
    _, nearest = NeighborSearch(peaks).nearest(X, 1)
    return MeanShiftRun(nearest[:, 0], peaks, max(n_iter for _, _, n_iter in parts))


def _climbed(
    X: Floats, squares: Floats, rows: Floats, bandwidth: float, max_iter: int
) -> tuple[Floats, NDArray[np.int64], int]:
    """Return where rows arrive, how many rows are within reach there, and the steps it took."""
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
        # Rounding may leave a row without any within reach; it then stays where it is.
        is_alone = n_within[moving] == 0
        mean = (is_within @ X) / np.maximum(n_within[moving], 1)[:, None]
        mean[is_alone] = at[is_alone]
        ends[moving] = mean
        shift = np.linalg.norm(mean - at, axis=1)
        moving = moving[shift > STILL * bandwidth]
        if not len(moving) or n_iter == max_iter:
            break
        n_iter += 1
    return ends, n_within, n_iter


def _joined(ends: Floats, n_within: NDArray[np.int64], bandwidth: float) -> Floats:
    """Keep the densest ends that are farther than the bandwidth from all denser ones."""
    different, index = np.unique(ends, axis=0, return_index=True)
    density = n_within[index]
    order = np.lexsort((*different.T[::-1], density))[::-1]
    left = different[order]
    peaks = []
    while len(left):
        peaks.append(left[0])
        left = left[np.linalg.norm(left - left[0], axis=1) > bandwidth]
    return np.array(peaks)
