"""Base classes of the similarities that learn features, and of those that learn linear ones."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedTransformer, guarded_fit
from clew._parallel import Progress
from clew._units import Units
from clew._validation import check_features, check_parameters
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.similarity.adaptive_knn import AdaptiveKNN


class LearnedSpace(ConstrainedTransformer):
    """Learn features whose Euclidean distances fit the answers; affinities are `AdaptiveKNN`'s.

    Subclasses store parameters, declare `_allowed` and `supports`, implement `_solve` and `_embed`.
    """

    supports: ClassVar[Support]
    #: Clusterers that need features are fitted on `embedding_`.
    learns_features: ClassVar[bool] = True

    embedding_: NDArray[np.float64]

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    @guarded_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. Those of larger variance have more weight, so standardize them first.
        y : ignored
            Present for compatibility with scikit-learn.
        constraints : Constraints, default=None
            Answers; None for no answers.
        callback : callable, default=None
            Called as ``callback(n_done, n_steps)``.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        rows = check_features(self, X)
        self._solve(rows, answers_for(self, constraints, len(rows)), callback)
        self._n_features_out = self.embedding_.shape[1]
        return self

    def _solve(
        self, X: NDArray[np.float64], answers: Constraints, callback: Progress | None
    ) -> None:
        """Set `embedding_`, (n_samples, n_components), and the other fitted attributes."""
        raise NotImplementedError

    def _embed(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the learned features of rows."""
        raise NotImplementedError

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the learned features of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Learned features, whose Euclidean distances are the learned distances.
        """
        check_is_fitted(self, "embedding_")
        return self._embed(check_features(self, X, reset=False))

    @cached_property
    def _nearness(self) -> AdaptiveKNN:
        check_is_fitted(self, "embedding_")
        return AdaptiveKNN().fit(self.embedding_)

    @property
    def affinity_matrix_(self) -> NDArray[np.float32]:
        """Affinities of all pairs of fitted rows, (n_samples, n_samples); computed when read."""
        return self._nearness.affinity_matrix_

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Find the most similar rows of each fitted row, without a dense matrix.

        Parameters
        ----------
        n_neighbors : int, default=20
            Number of rows to find for each row.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Row i holds the affinities to the `n_neighbors` rows most similar to it, without itself.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.
        """
        return self._nearness.kneighbors_graph(n_neighbors)

    def affinity_to_fitted(self, X: ArrayLike) -> NDArray[np.float32]:
        """Compute the affinities of rows to all fitted rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows, n_samples), float32
            Affinities in [0, 1].
        """
        return self._nearness.transform(self.transform(X))


Floats = NDArray[np.float64]


class Learned(NamedTuple):
    """A learned metric, in the units of the computations."""

    metric: Floats  # symmetric positive semidefinite, (n_columns, n_columns)
    outside: float = 1.0  # factor of squared distances in directions in which all rows coincide


class LinearMetric(LearnedSpace):
    """Learn a matrix M; the squared distance of x and y is ``(x - y)ᵀ M (x - y)``.

    With more features than rows, `_learn` gets coordinates in the span of the rows.
    """

    _metric: Floats
    _root: Floats
    _basis: Floats | None
    _outside: float

    def _learn(
        self, X: Floats, unit: float, answers: Constraints, callback: Progress | None
    ) -> Learned:
        """Set all other fitted attributes; X is centered and divided by its scale, `unit`."""
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
