"""Distances that do not depend on the units of features, and the scales around rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

__all__ = ["gaussian_affinity", "local_scales", "to_unit_range"]

#: Rows nearer than this, squared and in units of the features' ranges, coincide.
COINCIDENT = 1e-10
LOCAL_SCALE_NEIGHBOUR = 7
ROWS_PER_BLOCK = 1024


def to_unit_range(
    X: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Map ``[low, high]`` of each feature to [-1, 1]; features without a range become 0."""
    # Halves, because the range of finite numbers may not be finite.
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    return np.divide(X - middle, half, out=np.zeros_like(X), where=half > 0)


def local_scales(
    squared: NDArray[np.float64], neighbour: int = LOCAL_SCALE_NEIGHBOUR
) -> NDArray[np.float64]:
    """Find the distance from each row to the 7th of the others that do not coincide with it.

    Parameters
    ----------
    squared : ndarray of shape (n_rows, n_others)
        Squared distances.
    neighbour : int, default=7
        Which of the others, where it is not the 7th.

    Returns
    -------
    ndarray of shape (n_rows,)
        Distance to the farthest other row where there are fewer, 1 where all coincide.
    """
    apart = np.where(squared > COINCIDENT, squared, np.inf)
    place = min(neighbour, apart.shape[1]) - 1
    scale = np.partition(apart, place, axis=1)[:, place]
    if np.isinf(scale).any():
        farthest = np.where(squared > COINCIDENT, squared, 0.0).max(axis=1)
        scale = np.where(np.isinf(scale), farthest, scale)
    return np.sqrt(np.where(scale > 0, scale, 1.0))


def gaussian_affinity(
    rows: NDArray[np.float64], fitted: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Measure Gaussian affinities on local scales.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Any rows.
    fitted : ndarray of shape (n_fitted, n_features)
        The rows that scales are taken from.

    Returns
    -------
    ndarray of shape (n_rows, n_fitted), float32
        ``exp(-d² / (s·s'))`` with the scales ``s`` and ``s'`` of both rows, see `local_scales`.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """
    scale = np.concatenate([
        local_scales(euclidean_distances(block, fitted, squared=True)) for block in _blocks(fitted)
    ])  # fmt: skip
    affinity = np.empty((len(rows), len(fitted)), np.float32)
    start = 0
    for block in _blocks(rows):
        squared = euclidean_distances(block, fitted, squared=True)
        np.exp(
            -squared / (local_scales(squared)[:, None] * scale),
            out=affinity[start : start + len(block)], casting="same_kind",
        )  # fmt: skip
        start += len(block)
    return affinity


def _blocks(X: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [X[start : start + ROWS_PER_BLOCK] for start in range(0, len(X), ROWS_PER_BLOCK)]
