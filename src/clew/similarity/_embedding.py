"""What similarities that learn features have in common: alike rows are near in them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Self

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

__all__ = ["LearnedSpace"]


class LearnedSpace(ConstrainedTransformer):
    """Learn features from features and answers; the Euclidean distance in them is what is learned.

    Affinities are Gaussian in the learned features, on local scales, see `AdaptiveKNN`. Subclasses
    store their parameters, declare `_allowed` and `supports`, and write `_solve` and `_embed`.
    """

    _allowed: ClassVar[dict[str, Any]]
    supports: ClassVar[Support]
    #: Clusterers of features can be fitted on `embedding_`.
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
            Features; those of larger numbers count for more, so put them on one scale before.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said; None is nothing.
        callback : callable, default=None
            Called now and then with the number of finished steps and of all.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        rows = check_features(self, X)
        self._solve(rows, answers_for(self, constraints, len(rows)), callback)
        self._n_features_out = self.embedding_.shape[1]
        return self

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        """Set `embedding_`, (n_samples, n_components), and the other fitted attributes."""
        raise NotImplementedError

    def _embed(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the learned features of rows."""
        raise NotImplementedError

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the learned features of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Any rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Their Euclidean distance is the learned one.
        """
        check_is_fitted(self, "embedding_")
        return self._embed(check_features(self, X, reset=False))

    @cached_property
    def _nearness(self) -> AdaptiveKNN:
        check_is_fitted(self, "embedding_")
        return AdaptiveKNN().fit(self.embedding_)

    @property
    def affinity_matrix_(self) -> NDArray[np.float32]:
        """Affinity of every two fitted rows, (n_samples, n_samples); computed when asked for."""
        return self._nearness.affinity_matrix_

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Link every fitted row to its most similar rows, without a dense matrix.

        Parameters
        ----------
        n_neighbors : int, default=20
            How many.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Row i holds the affinities to the `n_neighbors` rows most similar to it, itself
            excluded.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.
        """
        return self._nearness.kneighbors_graph(n_neighbors)

    def affinity_to_fitted(self, X: ArrayLike) -> NDArray[np.float32]:
        """Measure the affinity of rows to every fitted row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Any rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows, n_samples), float32
            Affinities in [0, 1].
        """
        return self._nearness.transform(self.transform(X))
