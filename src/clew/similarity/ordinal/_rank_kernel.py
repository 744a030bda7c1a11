"""Features of a Gaussian kernel on ranks: fitted on some rows, computed for any."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

__all__ = ["RankKernelFeatures"]

Floats = NDArray[np.float64]

#: Landmark rows of the Nyström approximation, and rows in the sample that sets the kernel's width.
MAX_PIVOTS, SAMPLE_ROWS = 400, 1_000
#: Squared kernel width, as a multiple of the median squared distance.
WIDTH = 0.5
#: Eigenvalues below this share of the largest one are rounding errors.
LEAST_SHARE = 1e-10


class RankKernelFeatures:
    """Leading principal components in the space of a Gaussian kernel on ranks.

    Each feature is replaced by the ranks of its values, so that units and outliers have no effect.

    Parameters
    ----------
    n_components : int
        Largest number of components.
    seed : int
        Seed of the samples of rows.

    Notes
    -----
    The mean squared norm of the fitted rows is 1. Time O(n·p·(d + p)) for p ≤ 400 pivots.
    """

    def __init__(self, n_components: int, seed: int) -> None:
        self.n_components = n_components
        self.seed = seed

    def fit(self, X: Floats) -> Self:
        """Choose pivots and components."""
        random = np.random.RandomState(self.seed)
        self._sorted = np.sort(X, axis=0)
        ranks = self._ranks(X)
        self._width = WIDTH * _median_squared_distance(_some(ranks, SAMPLE_ROWS, random))
        self._pivots = _some(ranks, MAX_PIVOTS, random)
        value, vectors = np.linalg.eigh(self._kernel(self._pivots))
        is_kept = value > LEAST_SHARE * value.max()
        whiten = vectors[:, is_kept] / np.sqrt(value[is_kept])
        features = self._kernel(ranks) @ whiten
        mean = features.mean(axis=0)
        features -= mean
        value, axes = np.linalg.eigh(features.T @ features)
        n_kept = max(1, min(self.n_components, int((value > LEAST_SHARE * value.max()).sum())))
        axes = axes[:, : -n_kept - 1 : -1]
        scale = np.sqrt(max(float(value[-n_kept:].sum()), 0.0) / len(X)) or 1.0
        self._map, self._origin = whiten @ axes / scale, mean @ axes / scale
        return self

    def transform(self, X: Floats) -> Floats:
        """Return the features of rows, (n_rows, n_components)."""
        return np.asarray(self._kernel(self._ranks(X)) @ self._map - self._origin)

    def _kernel(self, ranks: Floats) -> Floats:
        squared = euclidean_distances(ranks, self._pivots, squared=True)
        return np.asarray(np.exp(-squared / self._width))

    def _ranks(self, X: Floats) -> Floats:
        """Return the share of fitted values below each value, counting ties half."""
        ranks = np.empty(X.shape)
        for at, values in enumerate(self._sorted.T):
            below = np.searchsorted(values, X[:, at], side="left")
            ranks[:, at] = (below + np.searchsorted(values, X[:, at], side="right")) / 2
        return ranks / len(self._sorted)


def _some(rows: Floats, n: int, random: np.random.RandomState) -> Floats:
    if len(rows) <= n:
        return rows
    return rows[np.sort(random.choice(len(rows), n, replace=False))]


def _median_squared_distance(rows: Floats) -> float:
    squared = euclidean_distances(rows, squared=True)
    apart = squared[squared > 0]
    return float(np.median(apart)) if apart.size else 1.0
