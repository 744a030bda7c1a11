"""Smoothers: predict each row's group from the groups of other rows, by what rows are alike in."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import inv
from scipy.sparse import csr_array, diags_array
from scipy.special import log_softmax, softmax
from sklearn.metrics import euclidean_distances

from clew._limits import MANY_ROWS
from clew._parallel import blocks
from clew._units import ranks_among
from clew._validation import check_matrix
from clew.kernels.nearest import smallest_of_rows

Floats = NDArray[np.float64]

#: Rows in the sample whose median distance sets the kernel width.
SAMPLE_ROWS = 1_000
#: Squared kernel width, as a multiple of the median squared distance; and ridge, for each row.
WIDTH, RIDGE = 0.5, 0.003
#: Least value of 1 minus a row's leverage.
LEAST_LEFT_OUT = 1e-3
#: Pivots (landmark rows) of the kernel; fewer for many rows.
MAX_PIVOTS = 400
FEWER_PIVOTS = 200
#: Eigenvalues below this share of the largest one are rounding errors.
LEAST_SHARE = 1e-10

#: Probability that a random walk goes on.
WALKS_ON = 0.9
#: Number of neighbors of each row. The covariance within groups is shrunk toward a mean of the
#: whole covariance and a spherical one, in which the spherical one has the weight `SPHERICAL`.
N_NEIGHBORS, SPHERICAL = 10, 0.5
#: Number of nearest rows whose mean distance is the scale of a row.
SCALE_NEIGHBORS = 20
LEAST = 1e-12
#: Distances of so many rows fit into a cache.
ROWS_PER_BLOCK = 256
#: Least variance of groups' means along an axis that tells of groups.
LEAST_BETWEEN = 0.05
#: Factors of log-likelihoods that are tried, and least membership of a row that is left out.
FACTORS = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
LEAST_MEMBERSHIP = 0.02


class Smoother(Protocol):
    """Predicts memberships from those of other rows."""

    def smooth(self, memberships: Floats) -> Floats:
        """Predict the memberships of each row from those of the others, (n_samples, n_groups)."""


class NeighborSmoother:
    """Mean memberships of the neighbors, weighted by affinity, (n_samples, n_samples)."""

    def __init__(self, graph: csr_array) -> None:
        self._mean = _transitions(graph)

    def smooth(self, memberships: Floats) -> Floats:
        """Average over each row's neighbors; 0 for a row without neighbors."""
        return np.asarray(self._mean @ memberships)


class WalkSmoother:
    """Mean memberships of the other rows that random walks with restart visit.

    It sees the whole of a group, where the neighbors of most rows are in one half of a group that
    is cut into halves. Memory O(n²), time O(n³) once.
    """

    def __init__(self, graph: csr_array) -> None:
        steps = (-WALKS_ON * _transitions(graph)).toarray().astype(np.float32)
        steps[np.diag_indices_from(steps)] += 1.0
        visits = inv(steps, overwrite_a=True, check_finite=False)
        np.fill_diagonal(visits, 0.0)
        total = visits.sum(axis=1, keepdims=True)
        self._mean = visits / np.where(total > 0, total, 1.0)

    def smooth(self, memberships: Floats) -> Floats:
        """Average over the rows that walks from each row visit; 0 for a row without neighbors."""
        return np.asarray(self._mean @ memberships.astype(np.float32), np.float64)


def _transitions(graph: csr_array) -> csr_array:
    """Affinities, divided by their sum in each row."""
    degree = graph.sum(axis=1)
    inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
    return csr_array(diags_array(inverse) @ graph)


class ValueSmoother:
    """Mean memberships of the other rows with the same value of a column."""

    def __init__(self, value: NDArray[np.int64]) -> None:
        self._value, self._of_value = value, np.eye(int(value.max()) + 1)[value]

    def smooth(self, memberships: Floats) -> Floats:
        """Average over the rows of each row's value but itself; 0 if there is no other."""
        total = (self._of_value.T @ memberships)[self._value] - memberships
        others = self._of_value.sum(axis=0)[self._value] - 1
        return np.asarray(total / np.maximum(others, 1.0)[:, None])


class ShareSmoother:
    """The share of each group among all rows, for answers without features."""

    def smooth(self, memberships: Floats) -> Floats:
        """Return the mean memberships, the same for each row, (n_samples, n_groups)."""
        return np.broadcast_to(memberships.mean(axis=0), memberships.shape)


class RidgeSmoother:
    """Leave-one-out prediction of memberships by kernel ridge regression on features and ranks.

    The kernel is the mean of two: of the features, which no rotation changes, and of the ranks of
    the values in each column, on which units and outliers have no effect.

    Both kernels are Gaussian; the squared width is half the median squared distance. The ridge is
    .003 for each row, and the intercept is not penalized. Above 400 rows, a Nyström approximation
    with 400 random rows as pivots is used (200 above 5,000 rows). Time O(n·r²) once and
    O(n·r·K) for each call, memory O(n·r), for r pivots and K groups.
    """

    def __init__(self, X: ArrayLike, seed: int = 0) -> None:
        rows = check_matrix(X)
        self._sorted = np.sort(rows, axis=0)
        n = len(rows)
        self._unit = float(np.abs(rows).max()) or 1.0  # no square overflows
        parts = self._parts(rows)
        self._widths = [WIDTH * _median_squared_distance(part, seed) for part in parts]
        n_pivots = min(n, FEWER_PIVOTS if n > MANY_ROWS else MAX_PIVOTS)
        chosen = np.random.RandomState(seed).choice(n, n_pivots, replace=False)
        pivots = np.sort(chosen)
        self._pivots = tuple(part[pivots] for part in parts)
        value, vectors = np.linalg.eigh(self._kernel(self._pivots))
        is_kept = value > LEAST_SHARE * value.max()
        self._whiten = vectors[:, is_kept] / np.sqrt(value[is_kept])
        features = self._features(parts)
        self._mean = features.mean(axis=0)
        features -= self._mean
        gram = features.T @ features
        gram[np.diag_indices_from(gram)] += RIDGE * n
        root = np.linalg.cholesky(gram)
        self._half = np.linalg.solve(root, features.T).T
        self._root = root
        self._own = (self._half**2).sum(axis=1) + 1 / n

    def smooth(self, memberships: Floats) -> Floats:
        """Predict each row by the model of all other rows; may lie slightly outside [0, 1]."""
        fitted = self._half @ (self._half.T @ memberships) + memberships.mean(axis=0)
        left = np.maximum(1 - self._own, LEAST_LEFT_OUT)
        return np.asarray((fitted - self._own[:, None] * memberships) / left[:, None])

    def predict(self, memberships: Floats, X: Floats) -> Floats:
        """Predict any rows X from the memberships of the fitted ones, (n_rows, n_groups)."""
        coefficients = np.linalg.solve(self._root.T, self._half.T @ memberships)
        features = self._features(self._parts(X)) - self._mean
        return np.asarray(features @ coefficients + memberships.mean(axis=0))

    def _parts(self, X: Floats) -> tuple[Floats, ...]:
        """Return the features in one unit, and the ranks of their values."""
        return X / self._unit, ranks_among(self._sorted, X)

    def _kernel(self, parts: tuple[Floats, ...]) -> Floats:
        """Compute the kernel between rows and pivots: the mean of those of features and ranks."""
        kernels = [
            np.exp(-euclidean_distances(part, pivots, squared=True) / width)
            for part, pivots, width in zip(parts, self._pivots, self._widths, strict=True)
        ]
        return np.asarray((kernels[0] + kernels[1]) / 2)

    def _features(self, parts: tuple[Floats, ...]) -> Floats:
        """Map rows to features whose inner products approximate the kernel."""
        return np.asarray(self._kernel(parts) @ self._whiten)


def _median_squared_distance(ranks: Floats, seed: int) -> float:
    n = len(ranks)
    random = np.random.RandomState(seed)
    rows = ranks if n <= SAMPLE_ROWS else ranks[random.choice(n, SAMPLE_ROWS, replace=False)]
    squared = euclidean_distances(rows, squared=True)
    apart = squared[squared > 0]
    return float(np.median(apart)) if apart.size else 1.0


class GaussianSmoother:
    """Groups as Gaussians of one covariance, whose means are Gaussian too (as in PLDA).

    A group's probability is in proportion to the density of the row's discriminants given those of
    the group's other rows, so few rows are a group as well as many. Discriminants are neither
    independent nor quite Gaussian, so log-likelihoods are multiplied by the factor that makes the
    groups of left-out rows most likely. Time O(n·K·d) a call for d discriminants.
    """

    def __init__(self, X: Floats, labels: NDArray[np.int64]) -> None:
        positions, variance = _canonical(X, labels)
        is_kept = variance > LEAST_BETWEEN
        is_kept[-1] = True  # the largest
        self._X, self._between = positions[:, is_kept], np.maximum(variance[is_kept], LEAST_BETWEEN)
        group = np.unique(labels, return_inverse=True)[1]
        logs, own = self._log_likelihoods(np.eye(int(group.max()) + 1)[group]), group[:, None]
        self._factor = max(
            FACTORS,
            key=lambda t: float(np.take_along_axis(log_softmax(t * logs, axis=1), own, 1).sum()),
        )

    def smooth(self, memberships: Floats) -> Floats:
        """Predict each row from the others by Bayes' rule, (n_samples, n_groups)."""
        return np.asarray(softmax(self._factor * self._log_likelihoods(memberships), axis=1))

    def _log_likelihoods(self, memberships: Floats) -> Floats:
        """Log-likelihoods up to a constant; where a row is a member, without itself."""
        X, size, total = self._X, memberships.sum(axis=0), memberships.T @ self._X
        mean, variance = self._predictive(size[:, None], total)
        logs = -0.5 * (
            X**2 @ (1 / variance).T
            - 2 * X @ (mean / variance).T
            + (mean**2 / variance + np.log(variance)).sum(axis=1)
        )
        row, group = np.nonzero(memberships > LEAST_MEMBERSHIP)
        own = memberships[row, group][:, None]
        mean, variance = self._predictive(size[group, None] - own, total[group] - own * X[row])
        logs[row, group] = -0.5 * ((X[row] - mean) ** 2 / variance + np.log(variance)).sum(axis=1)
        return np.asarray(logs)

    def _predictive(self, size: Floats, total: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of a further row of groups of given sizes and sums."""
        posterior = self._between / (1 + np.maximum(size, 0.0) * self._between)
        return posterior * total, 1 + posterior


def values_and_ranks(X: Floats, n_components: int) -> Floats:
    """Principal components of features and of their ranks, (n_samples, at most n_components).

    Ranks are scaled as the features are; units and outliers have no effect on them.
    """
    ranks = ranks_among(np.sort(X, axis=0), X) - 0.5
    both = np.concatenate([X, ranks * X.std(axis=0) * np.sqrt(12.0)], axis=1)
    both -= both.mean(axis=0)
    if both.shape[1] <= n_components:
        return both
    return np.asarray(both @ np.linalg.eigh(both.T @ both)[1][:, : -n_components - 1 : -1])


def discriminant_neighbors(X: Floats, labels: NDArray[np.int64]) -> NeighborSmoother:
    """Smoother over the nearest rows by the discriminants of some groups.

    They are those of `AdaptiveKNN`, which would compute the affinities of all pairs of rows.
    """
    rows, n = discriminants(X, labels), len(X)
    length = (rows**2).sum(axis=1)
    rounding = 16 * np.finfo(float).eps * float(length.max())
    scale, n_near = np.empty(n), min(N_NEIGHBORS, n - 1)
    columns, squares = np.empty((n, n_near), np.int64), np.empty((n, n_near))
    for start, stop in blocks(n, ROWS_PER_BLOCK):
        near = np.empty((stop - start, min(SCALE_NEIGHBORS, n - 1)))
        table = _squared_distances(rows, length, start, stop)
        smallest_of_rows(table, rounding, np.empty(near.shape, np.int64), near)
        near, n_found = np.where(np.isfinite(near), near, 0.0), np.isfinite(near).sum(axis=1)
        mean = np.sqrt(near).sum(axis=1) / np.maximum(n_found, 1)
        scale[start:stop] = np.where(n_found > 0, mean, 1.0)
    for start, stop in blocks(n, ROWS_PER_BLOCK):
        table = _squared_distances(rows, length, start, stop)
        table /= (scale[start:stop, None] + scale) ** 2
        table[np.arange(stop - start), np.arange(start, stop)] = np.inf
        smallest_of_rows(table, -np.inf, columns[start:stop], squares[start:stop])
    indptr = np.arange(0, n * n_near + 1, n_near)
    graph = csr_array(
        (np.exp(-4 * np.maximum(squares, 0.0)).ravel(), columns.ravel(), indptr), (n, n)
    )
    return NeighborSmoother(csr_array(graph.maximum(graph.T)))


def _squared_distances(rows: Floats, length: Floats, start: int, stop: int) -> Floats:
    """As `euclidean_distances`, whose checks take five times as long."""
    table = rows[start:stop] @ (-2 * rows.T)
    table += length
    table += length[start:stop, None]
    return np.asarray(table)


def discriminants(X: Floats, labels: NDArray[np.int64]) -> Floats:
    """Linear discriminants of groups, each scaled by how far they differ along it.

    An axis along which means have variance b within groups of variance 1 is scaled by
    ``√(b / (1 + b))``. The means of k groups differ along k - 1 axes.
    """
    positions, variance = _canonical(X, labels)
    n_axes = max(len(np.unique(labels)) - 1, 1)
    scale = np.sqrt(variance / (1 + variance))
    return np.asarray((positions * scale)[:, -n_axes:])


def _canonical(X: Floats, labels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Rows whitened by the covariance within groups, and the variance of means along each axis.

    Axes are those of the means of groups.
    """
    n, d = X.shape
    _, group, size = np.unique(labels, return_inverse=True, return_counts=True)
    centered = X - X.mean(axis=0)
    means = np.zeros((len(size), d))
    np.add.at(means, group, centered)
    means /= size[:, None]
    residuals = centered - means[group]
    whiten = _whitening(residuals, centered.T @ centered / n)
    between = means @ whiten
    variance, axes = np.linalg.eigh((between * size[:, None]).T @ between / n)
    return np.asarray(centered @ whiten @ axes), np.maximum(variance, 0.0)


def _whitening(residuals: Floats, whole: Floats) -> Floats:
    """Axes that whiten the covariance of residuals within groups, (n, d).

    It is shrunk by the share ``d / (n + d)`` to the mean of the whole covariance and a spherical
    one of the same trace.
    """
    n, d = residuals.shape
    prior = (1 - SPHERICAL) * whole + SPHERICAL * np.eye(d) * np.trace(whole) / d
    value, axes = np.linalg.eigh((residuals.T @ residuals + d * prior) / (n + d))
    return np.asarray(axes / np.sqrt(np.maximum(value, LEAST)))


def discriminants_of_answers(
    X: Floats, same: NDArray[np.int64], apart: NDArray[np.int64]
) -> Floats:
    """Rows along the axes in which those called different differ more than those called the same.

    `same` and `apart` are pairs of rows, (m, 2). Axes are those of discriminative component
    analysis (Hoi et al., CVPR 2006), scaled as `discriminants` are.
    """
    within, between = (X[of[:, 0]] - X[of[:, 1]] for of in (same, apart))
    whole = between.T @ between / max(len(between), 1)
    whiten = _whitening(within, whole)
    variance, axes = np.linalg.eigh(whiten.T @ whole @ whiten)
    far = np.maximum(variance - 1, 0.0)
    return np.asarray(X @ whiten @ axes * np.sqrt(far / (1 + far)))
