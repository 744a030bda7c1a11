"""Base class of the similarities that learn features."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedTransformer, guarded_fit
from clew._parallel import Progress
from clew._validation import check_features, check_parameters
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.similarity.adaptive_knn import AdaptiveKNN


class LearnedSpace(ConstrainedTransformer):
    """Learn features whose Euclidean distances fit the answers.

    Affinities are Gaussians of these distances, with local scales, see `AdaptiveKNN`. Subclasses
    store their parameters, declare `_allowed` and `supports`, and implement `_solve` and `_embed`.
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
