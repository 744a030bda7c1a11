"""How many answers are wrong, and whose, judged by partitions that did not see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from clew.trust._confusion import LEVEL

__all__ = ["ErrorRate", "error_rate"]

Floats = NDArray[np.float64]

#: Of each two answers, as many are expected to be wrong as in a Beta distribution of these.
PRIOR = (2.0, 10.0)
MAX_RATE = 0.45
SCORE_RANGE = (0.02, 0.98)
#: Standard deviations of the logarithm of the slope, and of the intercept.
SLOPE_SD, INTERCEPT_SD = 1.0, 10**0.5
STARTS = ((0.0, 0.0, -1.5), (0.5, 0.0, 0.0))
GRID = np.linspace(0.001, MAX_RATE - 0.001, 200)


class ErrorRate(NamedTuple):
    """Share of wrong answers, and how partitions tell which rows are together."""

    rate: float
    interval: tuple[float, float]
    """Bounds between which it lies with probability 0.95."""
    slope: float
    intercept: float

    def together(self, score: Floats) -> Floats:
        """Turn co-association of rows into the chance that they are together."""
        return _together(score, self.slope, self.intercept)


def error_rate(score: Floats, is_same: NDArray[np.bool_], weight: Floats) -> ErrorRate:
    """Estimate the share of wrong answers.

    Parameters
    ----------
    score : ndarray of shape (n_answers,)
        Co-association of the rows of each pair, in partitions that did not see its answer.
    is_same : ndarray of shape (n_answers,), bool
        What was said.
    weight : ndarray of shape (n_answers,)
        How much each answer counts.

    Returns
    -------
    ErrorRate

    Notes
    -----
    Rows are together with probability ``σ(slope·logit(score) + intercept)``, and an answer says the
    opposite with the probability that is sought: all three are found by maximum a posteriori. So
    partitions that are poor do not make answers wrong.
    """

    def loss(parameters: Floats) -> float:
        slope, intercept, rate = _read(parameters)
        return _loss(rate, slope, intercept, score, is_same, weight)

    runs = [
        minimize(loss, start, method="Nelder-Mead", options={"maxiter": 300}) for start in STARTS
    ]
    slope, intercept, rate = _read(min(runs, key=lambda run: run.fun).x)
    density = np.array([-_loss(e, slope, intercept, score, is_same, weight) for e in GRID])
    share = np.exp(density - density.max()).cumsum()
    tails = np.searchsorted(share / share[-1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = GRID[np.minimum(tails, len(GRID) - 1)]
    return ErrorRate(rate, (min(float(low), rate), max(float(high), rate)), slope, intercept)


def _read(parameters: Floats) -> tuple[float, float, float]:
    a, b, c = parameters
    return float(np.exp(np.clip(a, -3, 3))), float(b), float(MAX_RATE * expit(np.clip(c, -12, 12)))


def _together(score: Floats, slope: float, intercept: float) -> Floats:
    return np.asarray(expit(slope * logit(np.clip(score, *SCORE_RANGE)) + intercept))


def _loss(
    rate: float,
    slope: float,
    intercept: float,
    score: Floats,
    is_same: NDArray[np.bool_],
    weight: Floats,
) -> float:
    said_same = rate + (1 - 2 * rate) * _together(score, slope, intercept)
    chance = np.clip(np.where(is_same, said_same, 1 - said_same), 1e-9, 1.0)
    prior = (PRIOR[0] - 1) * np.log(rate) + (PRIOR[1] - 1) * np.log1p(-rate)
    prior -= (np.log(slope) / SLOPE_SD) ** 2 / 2 + (intercept / INTERCEPT_SD) ** 2 / 2
    return -float(weight @ np.log(chance) + prior)
