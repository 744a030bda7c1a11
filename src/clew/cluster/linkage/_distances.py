"""Distances between all rows, each pair once, measured or given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

__all__ = ["Distances", "given_distances", "measured_distances"]

ROWS_PER_BLOCK = 256


class Distances(NamedTuple):
    """The distance of each two of n rows, in SciPy's condensed order, in units of a scale.

    Parameters
    ----------
    condensed : ndarray of shape (n * (n - 1) / 2,)
        Distances divided by the scale: their squares neither overflow nor vanish.
    scale : float
        A power of two, so that dividing by it rounds nothing.
    """

    condensed: NDArray[np.float64]
    scale: float


def measured_distances(X: NDArray[np.float64]) -> Distances:
    """Measure Euclidean distances.

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
    """Copy given distances.

    Parameters
    ----------
    D : ndarray of shape (n_samples, n_samples)
        Distances, symmetric but for rounding; of the two of a pair the mean is taken.

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
    """Give the power of two next to a number, but not one whose inverse would overflow."""
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    return float(np.ldexp(1.0, min(max(exponent, -1000), 1000)))
