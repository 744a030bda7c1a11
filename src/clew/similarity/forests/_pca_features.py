"""The features beside the given ones that a steered forest may use, and the units of distances."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from clew._scales import to_unit_range

__all__ = ["Space"]


class Space(NamedTuple):
    """How rows are widened by principal components, and scaled; learnt from the fitted rows."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    axes: NDArray[np.float64]
    """Principal axes of standardised features, (n_features, n_components)."""

    @classmethod
    def fit(
        cls, X: NDArray[np.float64], auto: int, components: int | Literal["auto"] | None, seed: int
    ) -> Self:
        """Learn from features.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Features.
        auto : int
            What "auto" stands for.
        components : int, "auto" or None
            How many components, as far as there are so many; None is none.
        seed : int
            For the randomised solver, which large data get.

        Returns
        -------
        Space
        """
        low, high = X.min(axis=0), X.max(axis=0)
        unit = to_unit_range(X, low, high)
        mean, deviation = unit.mean(axis=0), unit.std(axis=0)
        wanted = (auto if components == "auto" else components) or 0
        wanted = 0 if X.shape[1] < 2 else min(wanted, *X.shape)
        axes = np.empty((X.shape[1], 0))
        if wanted and deviation.any():
            pca = PCA(wanted, random_state=seed).fit(_standardised(unit, mean, deviation))
            axes = pca.components_.T
        return cls(low, high, mean, deviation, axes)

    def scaled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map each feature's fitted range to [-1, 1]."""
        return to_unit_range(X, self.low, self.high)

    def widened(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put the components beside the features."""
        if self.axes.shape[1] == 0:
            return X
        standardised = _standardised(self.scaled(X), self.mean, self.deviation)
        return np.hstack([X, standardised @ self.axes])


def _standardised(
    X: NDArray[np.float64], mean: NDArray[np.float64], deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.divide(X - mean, deviation, out=np.zeros_like(X), where=deviation > 0)
