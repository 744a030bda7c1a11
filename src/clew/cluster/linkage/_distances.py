"""Condensed distances between all rows, from features or from a distance matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

__all__ = ["Distances", "given_distances", "measured_distances"]

#: Rows of a distance matrix that are copied at once.
ROWS_PER_BLOCK = 256


class Distances(NamedTuple):
    """Distances between n rows, each pair once, in the order of SciPy's ``pdist``.

    Parameters
    ----------
    condensed : ndarray of shape (n * (n - 1) / 2,)
        Distances divided by `scale`, so that their squares neither overflow nor underflow.
    scale : float
        A power of two, so that the division is exact.
    """

    condensed: NDArray[np.float64]
    scale: float


def measured_distances(X: NDArray[np.float64]) -> Distances:
    """Compute Euclidean distances.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.

    Returns
    -------
    Distances
    """
    scale = _scale(float(np.abs(X).max(initial=0.0)))
    return Distances(pdist(X / scale), scale)


def given_distances(D: NDArray[np.float64]) -> Distances:
    """Copy distances from a matrix.

    Parameters
    ----------
    D : ndarray of shape (n_samples, n_samples)
        Distances, symmetric up to rounding; the mean of the two entries of a pair is used.

    Returns
    -------
    Distances
    """
    n = len(D)
    scale = _scale(float(D.max(initial=0.0)))
    condensed = np.empty(n * (n - 1) // 2)
    stop = 0
    for start in range(0, n, ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        mean = D[rows, start:] / (2 * scale) + D[start:, rows].T / (2 * scale)
        for row, values in enumerate(mean):
            begin, stop = stop, stop + n - start - row - 1
            condensed[begin:stop] = values[row + 1 :]
    return Distances(condensed, scale)


def _scale(largest: float) -> float:
    """Return the power of two above a number, limited so that its inverse does not overflow."""
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    return float(np.ldexp(1.0, min(max(exponent, -1000), 1000)))
