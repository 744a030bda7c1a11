"""Base class of the similarities that learn a Mahalanobis distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from clew._parallel import Progress
from clew._units import Units
from clew.constraints import Constraints
from clew.similarity._embedding import LearnedSpace

Floats = NDArray[np.float64]


class Learned(NamedTuple):
    """A learned metric, in the units of the computations."""

    metric: Floats  # symmetric positive semidefinite, (n_columns, n_columns)
    outside: float = 1.0  # factor of squared distances in directions in which all rows coincide


class LinearMetric(LearnedSpace):
    """Learn a matrix M; the squared distance of x and y is ``(x - y)ᵀ M (x - y)``.

    With more features than rows, `_learn` gets coordinates in the span of the rows, in which
    distances are the same.
    """

    _metric: Floats
    _root: Floats
    _basis: Floats | None
    _outside: float

    def _learn(
        self, X: Floats, unit: float, answers: Constraints, callback: Progress | None
    ) -> Learned:
        """Learn the metric of centered rows, divided by the root mean variance, `unit`.

        Sets all other fitted attributes. `X` is (n_samples, n_columns).
        """
        raise NotImplementedError

    @property
    def _is_rotation_invariant(self) -> bool:
        """Whether the method learns the same metric in any orthonormal basis."""
        return True

    def _solve(self, X: Floats, answers: Constraints, callback: Progress | None) -> None:
        units = Units.of_mean_variance(X)
        scaled = units.scale(X)
        self._basis = None
        if X.shape[1] > len(X) and self._is_rotation_invariant:
            self._basis, triangle = np.linalg.qr(scaled.T)
            scaled = np.ascontiguousarray(triangle.T)
        self._metric, self._outside = self._learn(scaled, float(units.unit), answers, callback)
        self._root = root_of(self._metric)
        self.embedding_ = self._embed(X)

    def _embed(self, X: Floats) -> Floats:
        if self._basis is None:
            return np.asarray(X @ self._root.T)
        rest = np.sqrt(self._outside)
        change = self._root - rest * np.eye(len(self._root))
        return np.asarray(rest * X + ((X @ self._basis) @ change.T) @ self._basis.T)

    @property
    def metric_(self) -> Floats:
        """The learned matrix M, (n_features, n_features).

        Computed at each access if there are more features than rows.
        """
        check_is_fitted(self, "embedding_")
        return self._of_features(self._metric, self._outside)

    @property
    def components_(self) -> Floats:
        """A matrix L with ``LᵀL = M``, (n_features, n_features).

        Computed at each access if there are more features than rows.
        """
        check_is_fitted(self, "embedding_")
        return self._of_features(self._root, float(np.sqrt(self._outside)))

    def _of_features(self, matrix: Floats, outside: float) -> Floats:
        """Convert a matrix from coordinates in the basis to features."""
        if self._basis is None:
            return matrix
        whole = self._basis @ (matrix - outside * np.eye(len(matrix))) @ self._basis.T
        whole[np.diag_indices_from(whole)] += outside
        return np.asarray(whole)


def root_of(metric: Floats) -> Floats:
    """Compute a square matrix L with ``LᵀL = M``; negative eigenvalues are rounding errors."""
    diagonal = metric.diagonal()
    if np.count_nonzero(metric) == np.count_nonzero(diagonal):
        return np.diag(np.sqrt(np.maximum(diagonal, 0.0)))
    value, vector = np.linalg.eigh((metric + metric.T) / 2)
    return np.asarray(np.sqrt(np.maximum(value, 0.0))[:, None] * vector.T)


def differences(X: Floats, rows: NDArray[np.int64]) -> Floats:
    """Return the differences of pairs of rows, (n_pairs, n_columns)."""
    return np.asarray(X[rows[:, 0]] - X[rows[:, 1]])
