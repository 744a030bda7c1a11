"""The features beside the given ones that a steered forest may use, and the units of distances."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from clew._units import Units

__all__ = ["Space"]


class Space(NamedTuple):
    """How rows are widened by principal components, and scaled; learnt from the fitted rows."""

    units: Units
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
        units = Units.to_unit_range(X)
        inside = units.inside(X)
        mean, deviation = inside.mean(axis=0), inside.std(axis=0)
        wanted = (auto if components == "auto" else components) or 0
        wanted = 0 if X.shape[1] < 2 else min(wanted, *X.shape)
        axes = np.empty((X.shape[1], 0))
        if wanted and deviation.any():
            pca = PCA(wanted, random_state=seed).fit(_standardised(inside, mean, deviation))
            axes = pca.components_.T
        return cls(units, mean, deviation, axes)

    def scaled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map each feature's fitted range to [-1, 1]."""
        return self.units.inside(X)

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
