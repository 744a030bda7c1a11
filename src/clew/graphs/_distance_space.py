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
#: With fewer coordinates, trees get a random rotation of them in any case.
FEW_COMPONENTS = 10
#: Iterations of varimax, and the least relative gain of one.
MAX_ITER, TOLERANCE = 60, 1e-5


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
    n_above_noise: int  # leading axes with an eigenvalue above the magnitude of the least one

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
        n_above_noise = int((top > -value[0]).sum())
        return cls(landmarks, mean * scale**2, axes, max(1, n_above_noise))

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

    def with_rotations(self, positions: Floats, seed: int = 0) -> Floats:
        """Return columns for trees, which split on one column at a time, (n_rows, n_columns).

        Coordinates are uncorrelated, and most of them are noise if the distances are not Euclidean.
        A clustering forest looks for columns that depend on each other and finds none. So trees
        get the coordinates above the noise (R. Sibson, "Studies in the robustness of
        multidimensional scaling", JRSS B 1979), and their varimax rotation, whose columns are often
        large for one group only (K. Rohe and M. Zeng, "Vintage factor analysis with varimax
        performs statistical inference", JRSS B 2023); with more than 2,000 rows, it is fitted to a
        part of them. If distances are not Euclidean, or there are fewer than ten coordinates, trees
        also get a random rotation of all coordinates; its columns mix them, so that coordinates of
        larger variance count more.
        """
        n_components = positions.shape[1]
        above = positions[:, : self.n_above_noise]
        sample = above[:: -(-len(above) // N_LANDMARKS)]
        columns = [above, above @ _varimax(sample)]
        if self.n_above_noise < n_components or n_components < FEW_COMPONENTS:
            random = np.random.RandomState(seed).normal(size=(n_components, n_components))
            columns.append(positions @ np.linalg.qr(random)[0])
        return np.hstack(columns)


def _varimax(columns: Floats) -> Floats:
    """Return the rotation that maximizes the variance of the squares of the rotated columns."""
    columns = columns / (np.abs(columns).max(initial=0.0) or 1.0)
    rotation, last = np.eye(columns.shape[1]), 0.0
    for _ in range(MAX_ITER):
        rotated = columns @ rotation
        gradient = columns.T @ (rotated**3 - rotated * (rotated**2).mean(axis=0))
        left, value, right = np.linalg.svd(gradient)
        rotation = left @ right
        if value.sum() <= last * (1 + TOLERANCE):
            break
        last = value.sum()
    return np.asarray(rotation)
