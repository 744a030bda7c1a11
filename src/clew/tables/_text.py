"""Free text to features: TF-IDF, reduced by a truncated SVD."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

__all__ = ["TextComponents"]


class TextComponents(TransformerMixin, BaseEstimator):
    """Latent semantic analysis of a column of texts.

    Parameters
    ----------
    n_components : int
        Maximum number of features. Texts with fewer different words give fewer features.

    Attributes
    ----------
    n_features_out_ : int
        Number of features.
    """

    def __init__(self, n_components: int = 20) -> None:
        self.n_components = n_components

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Learn the words and the components of `X`, texts of shape (n_rows,)."""
        # The default pattern ignores words of one letter, and so all words of some languages.
        self._tfidf = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", sublinear_tf=True)
        weights = self._tfidf.fit_transform(X)
        self._svd = None
        self.n_features_out_ = weights.shape[1]
        if weights.shape[1] > self.n_components:
            # A fixed seed: it only starts the power iterations, which converge.
            self._svd = TruncatedSVD(self.n_components, n_iter=10, random_state=0).fit(weights)
            self.n_features_out_ = self.n_components
        return self

    def transform(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return components of norm 1, (n_rows, n_features_out_); 0 for texts without known words.

        Parameters
        ----------
        X : iterable of str
            Texts.
        """
        check_is_fitted(self, "n_features_out_")
        weights = self._tfidf.transform(X)
        reduced = weights.toarray() if self._svd is None else self._svd.transform(weights)
        return np.asarray(normalize(reduced, copy=False))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return names of the features: text0, text1 and so on."""
        return np.array([f"text{at}" for at in range(self.n_features_out_)], dtype=object)
