"""What two rows look like as a pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew._units import Units
from clew.graphs import LocalScales, scaled_squares

__all__ = ["closeness", "pair_features"]

#: Squared distance of coincident rows, in units of their scales.
NEAREST = 1e-6


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
        Features; distances are measured with every feature's range mapped to [-1, 1].
    rows : ndarray of shape (n_pairs, 2)
        Row numbers.

    Returns
    -------
    ndarray of shape (n_pairs,)
        ``-log(d² / (s·s'))``, where ``s`` and ``s'`` are the distances of both rows to their 7th
        neighbours; higher is closer. Rows that coincide count as a thousandth of the scales apart.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """
    X = Units.to_unit_range(X).inside(X)
    X = Units.around_median(X).inside(X)
    named, place = np.unique(rows, return_inverse=True)
    scale = LocalScales(X).of(X[named])[place.reshape(rows.shape)]
    distance = np.linalg.norm(X[rows[:, 0]] - X[rows[:, 1]], axis=1)
    return np.asarray(-np.log(np.maximum(scaled_squares(distance, *scale.T), NEAREST)))
