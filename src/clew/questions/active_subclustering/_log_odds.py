"""Log-odds that are linear in features, and the share of wrong answers, fitted from priors."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["PRIOR_ERROR", "LogOdds", "error_rate"]

Floats = NDArray[np.float64]
N_STEPS = 8
#: No slope falls below this share of its prior mean: few or wrong answers reverse no feature.
LEAST_SLOPE = 0.25
#: Share of wrong answers: its prior as numbers of wrong and right answers, and its range.
ERROR_PRIOR, ERRORS = (3.0, 27.0), (0.005, 0.4)
#: Mean of this prior.
PRIOR_ERROR = ERROR_PRIOR[0] / sum(ERROR_PRIOR)


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
            Probability that each pair is in one group.

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


def error_rate(same: Floats, votes: Floats) -> float:
    """Return the expected share of wrong answers.

    Parameters
    ----------
    same : ndarray of shape (n_answers,)
        Probability that each pair is in one group.
    votes : ndarray of shape (n_answers,)
        The answers; positive for "same".

    Returns
    -------
    float
    """
    n_wrong = float(np.where(votes > 0, 1 - same, same).sum())
    rate = (ERROR_PRIOR[0] + n_wrong) / (sum(ERROR_PRIOR) + len(votes))
    return float(np.clip(rate, *ERRORS))
