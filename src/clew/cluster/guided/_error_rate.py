"""How many answers are wrong, judged by partitions that did not see them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from clew.trust.groups.confusion import LEVEL

__all__ = ["ErrorRate", "Judged", "error_rate"]

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
CELL, CHOICE_CELL, N_STEPS, MAX_STEP = 0.05, 0.5, 15, 1.0
#: Beyond these log-odds probabilities are 0 or 1.
MAX_LOG_ODDS = 30.0


class ErrorRate(NamedTuple):
    """Share of wrong answers, and how co-association predicts which rows are together."""

    rate: float
    interval: tuple[float, float]
    """Bounds between which it lies with probability 0.95."""
    slope: float
    intercept: float

    def together(self, score: Floats) -> Floats:
        """Turn co-association of rows into the probability that they are together."""
        return np.asarray(expit(self.slope * log_odds(score) + self.intercept))


class Judged(NamedTuple):
    """Answers, with the co-association of their rows in partitions that did not see them."""

    odds: Floats
    """Log-odds that the two rows of a pair are together, (n_pairs,)."""
    n_same: Floats
    """Weight of "same" answers to it, (n_pairs,)."""
    n_different: Floats
    """Weight of "different" answers to it, (n_pairs,)."""
    choice_odds: Floats
    """The same log-odds for forced choices between two pairs with a shared row, (n_choices, 3): of
    the pair that was chosen, of the other, and of the two rows that are not shared."""
    n_chosen: Floats
    """Weight of each such choice, (n_choices,)."""

    @classmethod
    def of(
        cls,
        score: Floats,
        is_same: NDArray[np.bool_],
        weight: Floats,
        choice_score: Floats | None = None,
        choice_weight: Floats | None = None,
    ) -> Self:
        """Collect answers, and count those with (nearly) equal scores together.

        Parameters
        ----------
        score : ndarray of shape (n_pairs,)
            Co-association of each pair.
        is_same : ndarray of shape (n_pairs,), bool
            The answer.
        weight : ndarray of shape (n_pairs,)
            How much it counts.
        choice_score : ndarray of shape (n_choices, 3), default=None
            Co-association of the three pairs of each choice.
        choice_weight : ndarray of shape (n_choices,), default=None
            How much each choice counts.
        """
        choice_score = np.empty((0, 3)) if choice_score is None else choice_score
        choice_weight = np.empty(0) if choice_weight is None else choice_weight
        odds, at = _cells(log_odds(score)[:, None], CELL)
        choice_odds, of = _cells(log_odds(choice_score), CHOICE_CELL)
        return cls(
            odds[:, 0],
            _summed(at, np.where(is_same, weight, 0.0), len(odds)),
            _summed(at, np.where(is_same, 0.0, weight), len(odds)),
            choice_odds,
            _summed(of, choice_weight, len(choice_odds)),
        )


def _cells(values: Floats, width: float) -> tuple[Floats, NDArray[np.int64]]:
    cells, at = np.unique(np.round(values / width), axis=0, return_inverse=True)
    return cells * width, at.reshape(len(values)).astype(np.int64)


def _summed(at: NDArray[np.int64], weight: Floats, n_cells: int) -> Floats:
    return np.bincount(at, weight, n_cells).astype(np.float64)


def log_odds(score: Floats) -> Floats:
    """Return the log-odds of co-association, clipped."""
    return np.asarray(logit(np.clip(score, *SCORE_RANGE)))


def error_rate(judged: Judged) -> ErrorRate:
    """Estimate the share of wrong answers.

    Parameters
    ----------
    judged : Judged
        The answers, and the co-association of their rows in partitions that did not see them.

    Returns
    -------
    ErrorRate

    Notes
    -----
    Two rows are together with probability ``σ(slope·odds + intercept)``, and an answer is wrong
    with the probability that is sought. So poor partitions do not make answers wrong. A forced
    choice between pairs of which both, or none, are together is neither right nor wrong: either
    answer has probability ½.

    Slope and intercept are maximum a posteriori estimates. The rate is its posterior mean once
    they are integrated out by Laplace's method: its mode is far too low where scores are near 0 or
    1, because a flat slope explains wrong answers as well.
    """

    def loss(parameters: Floats) -> float:
        slope, intercept, rate = _read(parameters)
        return _loss(rate, slope, intercept, judged)

    runs = [
        minimize(loss, start, method="Nelder-Mead", options={"maxiter": 300}) for start in STARTS
    ]
    slope, intercept, _ = _read(min(runs, key=lambda run: run.fun).x)
    logarithm = _log_density(slope, intercept, judged)
    density = np.exp(logarithm - logarithm.max())
    density /= density.sum()
    tails = np.searchsorted(density.cumsum(), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = GRID[np.minimum(tails, len(GRID) - 1)]
    mean = float(density @ GRID)
    return ErrorRate(mean, (min(float(low), mean), max(float(high), mean)), slope, intercept)


def _read(parameters: Floats) -> tuple[float, float, float]:
    a, b, c = parameters
    return float(np.exp(np.clip(a, -3, 3))), float(b), float(MAX_RATE * expit(np.clip(c, -12, 12)))


def _loss(rate: float, slope: float, intercept: float, judged: Judged) -> float:
    likelihood, _, _ = _expected(np.array([[np.log(slope)]]), np.array([[intercept]]), judged)
    value = _log_likelihood(rate + (1 - 2 * rate) * likelihood, judged)[0]
    prior = (PRIOR[0] - 1) * np.log(rate) + (PRIOR[1] - 1) * np.log1p(-rate)
    prior -= (np.log(slope) / SLOPE_SD) ** 2 / 2 + (intercept / INTERCEPT_SD) ** 2 / 2
    return -float(value + prior)


def _log_density(slope: float, intercept: float, judged: Judged) -> Floats:
    """Return the log density of each rate in `GRID`, up to a constant."""
    free = np.tile([np.log(slope), intercept], (len(GRID), 1))
    for _ in range(N_STEPS):
        _, gradient, information = _quadratic(free, judged)
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        free += np.clip(step, -MAX_STEP, MAX_STEP)
    fit, _, information = _quadratic(free, judged)
    prior = (PRIOR[0] - 1) * np.log(GRID) + (PRIOR[1] - 1) * np.log1p(-GRID)
    return np.asarray(fit + prior - np.linalg.slogdet(information)[1] / 2)


def _expected(
    log_slope: Floats, intercept: Floats, judged: Judged
) -> tuple[Floats, Floats, Floats]:
    """Return the probability that an answer without mistakes is "same", or that very choice.

    Parameters
    ----------
    log_slope, intercept : ndarray of shape (n_settings, 1)
        What turns log-odds of co-association into those of being together.
    judged : Judged
        The answers; those about pairs come first.

    Returns
    -------
    three ndarray of shape (n_settings, n_pairs + n_choices)
        The probabilities, and their derivatives by log slope and by intercept.
    """
    slope = np.exp(log_slope)
    scaled = slope * judged.odds
    same = expit(scaled + intercept)
    by_odds = same * (1 - same)
    # Odds of: only the chosen pair together, only the other, only the third, all, none.
    each = slope[..., None] * judged.choice_odds
    odds = np.exp(np.clip(each + intercept[..., None], -MAX_LOG_ODDS, MAX_LOG_ODDS))
    chosen, other, third = np.moveaxis(odds, -1, 0)
    every = chosen * other * third
    total = 1 + chosen + other + third + every
    lead = (chosen - other) / (2 * total)
    pulls = np.stack([chosen / 2, -other / 2, np.zeros_like(third)], axis=-1)
    by_each = (pulls - lead[..., None] * (odds + every[..., None])) / total[..., None]
    return (
        np.concatenate([same, 0.5 + lead], axis=1),
        np.concatenate([by_odds * scaled, (by_each * each).sum(axis=-1)], axis=1),
        np.concatenate([by_odds, by_each.sum(axis=-1)], axis=1),
    )


def _log_likelihood(likelihood: Floats, judged: Judged) -> Floats:
    likely = np.clip(likelihood, 1e-9, 1 - 1e-9)
    n_first, n_second = _counts(judged)
    return np.asarray((n_first * np.log(likely) + n_second * np.log1p(-likely)).sum(axis=1))


def _counts(judged: Judged) -> tuple[Floats, Floats]:
    """Count "same" answers and choices, and answers "different"."""
    return (
        np.concatenate([judged.n_same, judged.n_chosen]),
        np.concatenate([judged.n_different, np.zeros(len(judged.n_chosen))]),
    )


def _quadratic(free: Floats, judged: Judged) -> tuple[Floats, Floats, Floats]:
    """Return log posterior of log slope and intercept at each rate, its gradient and curvature."""
    log_slope, intercept = free.T[:, :, None]
    rate = GRID[:, None]
    right, *by = _expected(log_slope, intercept, judged)
    likelihood = np.clip(rate + (1 - 2 * rate) * right, 1e-9, 1 - 1e-9)
    change = (1 - 2 * rate) * np.stack(by)
    n_first, n_second = _counts(judged)
    pull = n_first / likelihood - n_second / (1 - likelihood)
    known = (n_first + n_second) / (likelihood * (1 - likelihood))
    precision = 1 / np.array([SLOPE_SD, INTERCEPT_SD]) ** 2
    gradient = np.einsum("rc,prc->rp", pull, change) - precision * free
    information = np.einsum("rc,prc,qrc->rpq", known, change, change) + np.diag(precision)
    value = _log_likelihood(likelihood, judged) - (precision * free**2).sum(axis=1) / 2
    return value, gradient, information
