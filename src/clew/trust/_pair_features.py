"""What two rows look like as a pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

__all__ = ["closeness", "pair_features"]

LOCAL_SCALE_NEIGHBOUR = 7


def pair_features(X: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Join where a pair's rows differ and where they lie (COP-RF, equation 10).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    rows : ndarray of shape (n_pairs, 2)
        Row numbers.

    Returns
    -------
    ndarray of shape (n_pairs, 2 · n_features)
        ``|x_i - x_j|`` and ``(x_i + x_j) / 2`` side by side.
    """
    a, b = X[rows[:, 0]], X[rows[:, 1]]
    return np.hstack([np.abs(a - b), (a + b) / 2])


def closeness(X: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compare a pair's squared distance with the local scale around both rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, on comparable scales.
    rows : ndarray of shape (n_pairs, 2)
        Row numbers.

    Returns
    -------
    ndarray of shape (n_pairs,)
        ``-log(d_ij² / (s_i · s_j))``, where ``s`` is the distance to the 7th neighbour; higher is closer.
        Distances and scales of 0 count as the smallest positive ones.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """
    named, place = np.unique(rows, return_inverse=True)
    n_neighbors = min(LOCAL_SCALE_NEIGHBOUR, len(X) - 1) + 1
    distances, _ = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(X[named])
    scale = distances[:, -1][place.reshape(rows.shape)]
    distance = np.linalg.norm(X[rows[:, 0]] - X[rows[:, 1]], axis=1)
    return np.log(_positive(scale)).sum(axis=1) - 2 * np.log(_positive(distance))


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lift zeros to the smallest positive value."""
    above = values[values > 0]
    return np.maximum(values, above.min() if above.size else 1.0)
