"""Coordinates from distances: classical multidimensional scaling, with landmarks for many rows."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew._parallel import blocks

Floats = NDArray[np.float64]

#: Number of landmarks: the axes are computed from the distances among these rows.
N_LANDMARKS = 2_000
N_COMPONENTS = 100
ROWS_PER_BLOCK = 2048
#: Directions with a smaller share of the largest eigenvalue are rounding errors.
LEAST_SHARE = 1e-10


def inner_products(squared: Floats) -> Floats:
    """Return the inner products of centered rows from squared distances, (n, n), by Torgerson."""
    mean = squared.mean(axis=0)
    products: Floats = -0.5 * (squared - mean - mean[:, None] + mean.mean())
    return products


class DistanceSpace(NamedTuple):
    """Map distances to the fitted rows to coordinates; fitted by `fit`, applied by `transform`."""

    landmarks: NDArray[np.int64]
    mean_squares: Floats  # mean squared distance of each landmark to all landmarks
    axes: Floats  # (n_landmarks, n_components)

    @classmethod
    def fit(cls, distances: NDArray[np.floating], seed: int = 0) -> Self:
        """Find coordinates whose distances are near the given ones, (n_samples, n_samples).

        These need not be Euclidean: directions of negative eigenvalues are left out. `seed` is that
        of the choice of landmarks. Time O(L³) and memory O(L²) for L landmarks, 2,000 at most. From
        W. S. Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 1952; V. de
        Silva and J. B. Tenenbaum, "Sparse multidimensional scaling using landmark points", 2004.
        """
        n = len(distances)
        chosen = np.random.RandomState(seed).choice(n, min(n, N_LANDMARKS), replace=False)
        landmarks = np.sort(chosen).astype(np.int64)
        scale = float(distances.max()) or 1.0  # squares of very large distances would overflow
        near = distances[np.ix_(landmarks, landmarks)].astype(np.float64)
        squared = (near / scale) ** 2
        mean = squared.mean(axis=0)
        value, vectors = np.linalg.eigh(inner_products(squared))
        n_kept = int((value > LEAST_SHARE * value[-1]).sum()) if value[-1] > 0 else 0
        n_kept = max(1, min(n_kept, N_COMPONENTS))
        top, vectors = value[::-1][:n_kept], vectors[:, ::-1][:, :n_kept]
        axes = vectors / np.sqrt(np.maximum(top, np.finfo(float).tiny)) / scale
        axes = axes if value[-1] > 0 else np.zeros_like(axes)
        return cls(landmarks, mean * scale**2, axes)

    def transform(self, distances: NDArray[np.floating]) -> Floats:
        """Map distances to all fitted rows to coordinates, (n_rows, n_components)."""
        scale = float(np.sqrt(self.mean_squares.max())) or 1.0
        axes = self.axes * scale**2
        positions = np.empty((len(distances), axes.shape[1]))
        for start, stop in blocks(len(distances), ROWS_PER_BLOCK):
            near = distances[start:stop, self.landmarks].astype(np.float64, copy=False)
            squared = (near / scale) ** 2
            positions[start:stop] = -0.5 * ((squared - self.mean_squares / scale**2) @ axes)
        return positions
