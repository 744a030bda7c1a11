"""Whether features have units of their own, and the features without them."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Units"]

#: Features whose largest standard deviation is more times the median are in different units.
MOST_SPREAD = 5.0


class Units(NamedTuple):
    """What is taken from features, and what they are divided by."""

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64], standardize: bool | Literal["auto"]) -> Self:
        """Measure them.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Features.
        standardize : bool or "auto"
            Whether each feature has a unit of its own. "auto": where the largest standard deviation
            is more than five times the median of those that are not 0.
        """
        largest = np.abs(X).max(axis=0)
        largest[largest == 0] = 1.0
        inside = X / largest  # no square overflows
        with np.errstate(over="ignore"):
            deviation = inside.std(axis=0) * largest
        varies = inside.std(axis=0) > 1e-12
        if standardize == "auto":
            spread = deviation[varies] / deviation[varies].max() if varies.any() else np.ones(1)
            standardize = bool(np.median(spread) * MOST_SPREAD < 1)
        common = np.abs(X).max() or 1.0
        scale = np.where(varies, deviation, largest) if standardize else np.full(X.shape[1], common)
        return cls(inside.mean(axis=0) * largest, scale)

    def applied(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give features without units."""
        return np.asarray(X / self.scale - self.shift / self.scale)
