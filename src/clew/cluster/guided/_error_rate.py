"""How many answers are wrong, judged by partitions that did not see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from clew.trust.groups.confusion import LEVEL

__all__ = ["ErrorRate", "error_rate"]

Floats = NDArray[np.float64]

#: The share of wrong answers is expected to be as in a Beta distribution of these.
PRIOR = (2.0, 10.0)
MAX_RATE = 0.45
SCORE_RANGE = (0.02, 0.98)
#: Standard deviations of the logarithm of the slope, and of the intercept.
SLOPE_SD, INTERCEPT_SD = 1.0, 10**0.5
STARTS = ((0.0, 0.0, -1.5), (0.5, 0.0, 0.0))
GRID = np.linspace(0.001, MAX_RATE - 0.001, 200)
#: Width of the cells of log odds in which answers are counted; steps of Fisher scoring, and how
#: far one may go.
CELL, N_STEPS, MAX_STEP = 0.1, 15, 1.0


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
    opposite with the probability that is sought. So partitions that are poor do not make answers
    wrong. Slope and intercept are found by maximum a posteriori. The rate is the mean of what is
    left once they are integrated out by Laplace's method: its mode is far too low where scores are
    near 0 or 1, as a flat slope explains wrong answers as well.
    """

    def loss(parameters: Floats) -> float:
        slope, intercept, rate = _read(parameters)
        return _loss(rate, slope, intercept, score, is_same, weight)

    runs = [
        minimize(loss, start, method="Nelder-Mead", options={"maxiter": 300}) for start in STARTS
    ]
    slope, intercept, _ = _read(min(runs, key=lambda run: run.fun).x)
    logarithm = _log_density(slope, intercept, score, is_same, weight)
    density = np.exp(logarithm - logarithm.max())
    density /= density.sum()
    tails = np.searchsorted(density.cumsum(), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = GRID[np.minimum(tails, len(GRID) - 1)]
    mean = float(density @ GRID)
    return ErrorRate(mean, (min(float(low), mean), max(float(high), mean)), slope, intercept)


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


def _log_density(
    slope: float,
    intercept: float,
    score: Floats,
    is_same: NDArray[np.bool_],
    weight: Floats,
) -> Floats:
    """Give the logarithm of the density of each rate in `GRID`, but for a constant."""
    odds, count = _counted(score, is_same, weight)
    free = np.tile([np.log(slope), intercept], (len(GRID), 1))
    for _ in range(N_STEPS):
        _, gradient, information = _quadratic(free, odds, count)
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        free += np.clip(step, -MAX_STEP, MAX_STEP)
    fit, _, information = _quadratic(free, odds, count)
    prior = (PRIOR[0] - 1) * np.log(GRID) + (PRIOR[1] - 1) * np.log1p(-GRID)
    return np.asarray(fit + prior - np.linalg.slogdet(information)[1] / 2)


def _counted(
    score: Floats, is_same: NDArray[np.bool_], weight: Floats
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Count answers by cells of log odds: (n_cells,), of different and of same."""
    cell = np.round(logit(np.clip(score, *SCORE_RANGE)) / CELL)
    cells, at = np.unique(cell, return_inverse=True)
    different = np.bincount(at, np.where(is_same, 0.0, weight), len(cells)).astype(np.float64)
    same = np.bincount(at, np.where(is_same, weight, 0.0), len(cells)).astype(np.float64)
    return cells * CELL, (different, same)


def _quadratic(
    free: Floats, odds: Floats, count: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Give the log posterior of log slope and intercept for each rate, its slopes and curvature."""
    log_slope, intercept = free.T[:, :, None]
    rate = GRID[:, None]
    steepness = np.exp(log_slope) * odds
    together = expit(steepness + intercept)
    same = np.clip(rate + (1 - 2 * rate) * together, 1e-9, 1 - 1e-9)
    change = (1 - 2 * rate) * together * (1 - together)
    different_count, same_count = count
    value = (same_count * np.log(same) + different_count * np.log1p(-same)).sum(axis=1)
    pull = change * (same_count / same - different_count / (1 - same))
    known = change**2 / (same * (1 - same)) * (same_count + different_count)
    by = np.stack([steepness, np.ones_like(steepness)])
    precision = 1 / np.array([SLOPE_SD, INTERCEPT_SD]) ** 2
    gradient = np.einsum("rc,prc->rp", pull, by) - precision * free
    information = np.einsum("rc,prc,qrc->rpq", known, by, by) + np.diag(precision)
    return value - (precision * free**2).sum(axis=1) / 2, gradient, information
