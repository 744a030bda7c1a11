"""Principal components as additional features of a forest, and the units of its distances."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from clew._units import Units

__all__ = ["Space"]


class Space(NamedTuple):
    """Transforms that are learned from the fitted rows and applied to new rows as well."""

    units: Units
    """Map the range of each feature to [-1, 1]."""
    mean: NDArray[np.float64]
    """Means of the features in these units, (n_features,)."""
    deviation: NDArray[np.float64]
    """Standard deviations of the features in these units, (n_features,)."""
    axes: NDArray[np.float64]
    """Principal axes of the standardized features, (n_features, n_components)."""

    @classmethod
    def fit(
        cls, X: NDArray[np.float64], auto: int, components: int | Literal["auto"] | None, seed: int
    ) -> Self:
        """Learn the transforms.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Features.
        auto : int
            Number of components for "auto".
        components : int, "auto" or None
            Number of components, limited by the numbers of rows and features; None is 0.
        seed : int
            Seed of the randomized solver, which scikit-learn uses for large data.

        Returns
        -------
        Space
        """
        units = Units.to_unit_range(X)
        scaled = units.scale(X)
        mean, deviation = scaled.mean(axis=0), scaled.std(axis=0)
        wanted = (auto if components == "auto" else components) or 0
        wanted = 0 if X.shape[1] < 2 else min(wanted, *X.shape)
        axes = np.empty((X.shape[1], 0))
        if wanted and deviation.any():
            pca = PCA(wanted, random_state=seed).fit(_divided(scaled - mean, deviation))
            axes = pca.components_.T
        return cls(units, mean, deviation, axes)

    def scaled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map the fitted range of each feature to [-1, 1]."""
        return self.units.scale(X)

    def widened(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Append the principal components to the features."""
        if self.axes.shape[1] == 0:
            return X
        standardized = _divided(self.scaled(X) - self.mean, self.deviation)
        return np.hstack([X, standardized @ self.axes])


def _divided(X: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide features by their standard deviations; constant features become 0."""
    return np.divide(X, deviation, out=np.zeros_like(X), where=deviation > 0)
