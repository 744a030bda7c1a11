"""Log-odds that are linear in features, fitted to answers from a prior."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["LogOdds"]

Floats = NDArray[np.float64]
N_STEPS = 8
#: No slope falls below this share of its prior mean: few or wrong answers reverse no feature.
LEAST_SLOPE = 0.25


class LogOdds(NamedTuple):
    """Coefficients with a normal prior; never changed."""

    coefficients: Floats
    """The intercept first."""
    mean: Floats
    deviation: Floats
    limit: float
    """Log-odds are clipped to between -limit and limit."""

    @classmethod
    def prior(cls, mean: tuple[float, ...], deviation: tuple[float, ...], limit: float) -> Self:
        """Start from the prior."""
        return cls(np.array(mean), np.array(mean), np.array(deviation), limit)

    def of(self, features: Floats) -> Floats:
        """Return log-odds, clipped, for features along the last axis."""
        total = self.coefficients[0] + features @ self.coefficients[1:]
        return np.asarray(np.clip(total, -self.limit, self.limit))

    def fitted(self, features: Floats, target: Floats) -> Self:
        """Maximize the posterior of the coefficients by Newton's method.

        Parameters
        ----------
        features : ndarray of shape (n, n_features)
            Features of pairs.
        target : ndarray of shape (n,)
            Probability that each pair is of one group.

        Returns
        -------
        LogOdds
        """
        design = np.column_stack([np.ones(len(features)), features])
        precision = 1 / self.deviation**2
        at, least = self.coefficients.copy(), LEAST_SLOPE * self.mean
        for _ in range(N_STEPS):
            p = expit(design @ at)
            slope = design.T @ (target - p) - precision * (at - self.mean)
            curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(precision)
            step = np.linalg.solve(curvature, slope)
            at += step / max(1.0, float(np.abs(step / self.deviation).max()))
        slopes = np.where(self.mean > 0, np.maximum(at, least), np.minimum(at, least))
        at[1:] = slopes[1:]
        return self._replace(coefficients=at)
