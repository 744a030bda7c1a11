"""The share of wrong answers, estimated from clusterings fitted without these answers."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import beta

from clew.trust.annotators import LEVEL, ConfusionMatrices

__all__ = ["ErrorRate", "ScoredAnswers", "error_rate"]

Floats = NDArray[np.float64]

#: Prior of the share of wrong answers: 0 with this probability, else a Beta distribution.
P_NO_ERRORS = 0.2
BETA = (2.0, 10.0)
MAX_RATE = 0.45
#: The shares whose posterior probability is computed; the first is 0.
GRID = np.linspace(0, MAX_RATE, 201)
SCORE_RANGE = (0.02, 0.98)
#: Prior standard deviations of the logarithm of the slope, and of the intercept.
SLOPE_SD, INTERCEPT_SD = 1.0, 10**0.5
#: Answers are counted in bins of log-odds. Widths of the bins of answers about pairs and of forced
#: choices.
PAIR_CELL, CHOICE_CELL = 0.05, 0.5
#: Fisher scoring: maximum number and length of steps; it stops at steps shorter than `TOL`.
MAX_ITER, MAX_STEP, TOL = 25, 1.0, 1e-4
#: Log-odds are clipped to this magnitude: beyond it, probabilities are 0 or 1.
MAX_LOG_ODDS = 30.0
TINY = 1e-9


class ErrorRate(NamedTuple):
    """Share of wrong answers, and how co-association predicts which rows share a group."""

    rate: float
    """Posterior mean."""
    interval: tuple[float, float]
    """95 % credible interval; it starts at 0 unless "no answer is wrong" is improbable."""
    slope: float
    intercept: float

    def p_together(self, score: Floats) -> Floats:
        """Turn co-association of pairs into the probability that their rows share a group."""
        return np.asarray(expit(self.slope * log_odds(score) + self.intercept))

    def over_annotators(self, confusion: ConfusionMatrices) -> Self:
        """Replace the rate by the mean of the annotators' rates.

        Parameters
        ----------
        confusion : ConfusionMatrices
            Error rates of the annotators; each counts by the number of answers.

        Returns
        -------
        ErrorRate
            Its interval holds the previous one, and the mean of the annotators' intervals.
        """
        weights = np.maximum(confusion.n_answers_, TINY)
        low, high = np.average(confusion.error_intervals_, axis=0, weights=weights)
        return self._replace(
            rate=float(np.average(confusion.error_rates_, weights=weights)),
            interval=(min(self.interval[0], float(low)), max(self.interval[1], float(high))),
        )


class ScoredAnswers(NamedTuple):
    """Answers, with the co-association of their rows in clusterings fitted without them."""

    odds: Floats
    """Log-odds of the co-association of each pair, (n_pairs,)."""
    n_same: Floats
    """Sum of the weights of "same" answers about each pair, (n_pairs,)."""
    n_different: Floats
    """Sum of the weights of "different" answers about each pair, (n_pairs,)."""
    choice_odds: Floats
    """Log-odds for each forced choice between two pairs that share a row, (n_choices, 3): of the
    chosen pair, of the other pair, and of the pair of the two rows that are not shared."""
    n_chosen: Floats
    """Weight of each choice, (n_choices,)."""

    @classmethod
    def of(
        cls,
        score: Floats,
        is_same: NDArray[np.bool_],
        weight: Floats,
        choice_score: Floats | None = None,
        choice_weight: Floats | None = None,
    ) -> Self:
        """Sum the weights of answers with (nearly) equal scores.

        Parameters
        ----------
        score : ndarray of shape (n_pairs,)
            Co-association of each pair.
        is_same : ndarray of shape (n_pairs,), bool
            The answers.
        weight : ndarray of shape (n_pairs,)
            Their weights.
        choice_score : ndarray of shape (n_choices, 3), default=None
            Co-association of the three pairs of each choice.
        choice_weight : ndarray of shape (n_choices,), default=None
            Weights of the choices.
        """
        choice_score = np.empty((0, 3)) if choice_score is None else choice_score
        choice_weight = np.empty(0) if choice_weight is None else choice_weight
        odds, at = _cells(log_odds(score)[:, None], PAIR_CELL)
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


def error_rate(answers: ScoredAnswers) -> ErrorRate:
    """Estimate the share of wrong answers.

    Parameters
    ----------
    answers : ScoredAnswers
        The answers, and the co-association of their rows in clusterings fitted without them.

    Returns
    -------
    ErrorRate

    Notes
    -----
    Two rows share a group with probability ``σ(slope·odds + intercept)``, and an answer is wrong
    with the unknown probability e. Slope and intercept model the errors of the clusterings, e those
    of people: right answers that disagree with poor clusterings lower the slope and leave e at 0.
    A forced choice between pairs that both, or neither, share a group is neither right nor wrong:
    each answer has probability ½.

    The posterior of e is computed on a grid that starts at 0, where the prior has a point mass:
    with a continuous prior, no interval would contain 0. For each e, slope and intercept are
    integrated out by Laplace's method. The joint mode of all three would underestimate e where
    scores are near 0 or 1, because a low slope can also explain wrong answers. The slope and the
    intercept that are returned are averages of their modes, weighted by the posterior of e.

    Time and memory O(g·c) for g = 201 values of e and c distinct scores.
    """
    log_density, modes = _posterior(answers)
    density = _prior() * np.exp(log_density - log_density.max())
    density /= density.sum()
    tails = np.searchsorted(density.cumsum(), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = GRID[np.minimum(tails, len(GRID) - 1)]
    mean = float(density @ GRID)
    log_slope, intercept = density @ modes
    interval = (min(float(low), mean), max(float(high), mean))
    return ErrorRate(mean, interval, float(np.exp(log_slope)), float(intercept))


def _prior() -> Floats:
    """Return the prior probability of each value of `GRID`."""
    density = beta.pdf(GRID, *BETA)
    density *= (1 - P_NO_ERRORS) / density.sum()
    density[0] = P_NO_ERRORS
    return np.asarray(density)


def _posterior(answers: ScoredAnswers) -> tuple[Floats, Floats]:
    """Integrate slope and intercept out.

    Returns
    -------
    log_density : ndarray of shape (n_rates,)
        Log marginal likelihood of each value of `GRID`, up to a constant.
    modes : ndarray of shape (n_rates, 2)
        The most probable log slope and intercept for each.
    """
    modes = np.zeros((len(GRID), 2))
    for _ in range(MAX_ITER):
        _, gradient, information = _quadratic(modes, answers)
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        modes += np.clip(step, -MAX_STEP, MAX_STEP)
        if np.abs(step).max() < TOL:
            break
    height, _, information = _quadratic(modes, answers)
    return height - np.linalg.slogdet(information)[1] / 2, modes


def _right_answers(
    log_slope: Floats, intercept: Floats, answers: ScoredAnswers
) -> tuple[Floats, Floats, Floats]:
    """Return the probability that a right answer is "same", or the choice that was made.

    Parameters
    ----------
    log_slope, intercept : ndarray of shape (n_settings, 1)
        Parameters of the probability that two rows share a group.
    answers : ScoredAnswers
        The answers; those about pairs come first.

    Returns
    -------
    three ndarray of shape (n_settings, n_pairs + n_choices)
        The probabilities, and their derivatives by log slope and by intercept.
    """
    slope = np.exp(log_slope)
    scaled = slope * answers.odds
    same = expit(scaled + intercept)
    by_odds = same * (1 - same)
    # Odds of: only the chosen pair together, only the other, only the third, all, none.
    each = slope[..., None] * answers.choice_odds
    odds = np.exp(np.clip(each + intercept[..., None], -MAX_LOG_ODDS, MAX_LOG_ODDS))
    chosen, other, third = np.moveaxis(odds, -1, 0)
    every = chosen * other * third
    total = 1 + chosen + other + third + every
    margin = (chosen - other) / (2 * total)
    by_own = np.stack([chosen / 2, -other / 2, np.zeros_like(third)], axis=-1)
    by_each = (by_own - margin[..., None] * (odds + every[..., None])) / total[..., None]
    return (
        np.concatenate([same, 0.5 + margin], axis=1),
        np.concatenate([by_odds * scaled, (by_each * each).sum(axis=-1)], axis=1),
        np.concatenate([by_odds, by_each.sum(axis=-1)], axis=1),
    )


def _quadratic(modes: Floats, answers: ScoredAnswers) -> tuple[Floats, Floats, Floats]:
    """Return the log posterior of slope and intercept at each rate, its gradient and curvature."""
    log_slope, intercept = modes.T[:, :, None]
    rate = GRID[:, None]
    right, *derivatives = _right_answers(log_slope, intercept, answers)
    likelihood = np.clip(rate + (1 - 2 * rate) * right, TINY, 1 - TINY)
    change = (1 - 2 * rate) * np.stack(derivatives)
    # "Same" answers and choices, and "different" answers.
    n_first = np.concatenate([answers.n_same, answers.n_chosen])
    n_second = np.concatenate([answers.n_different, np.zeros(len(answers.n_chosen))])
    by_likelihood = n_first / likelihood - n_second / (1 - likelihood)
    information = (n_first + n_second) / (likelihood * (1 - likelihood))
    precision = 1 / np.array([SLOPE_SD, INTERCEPT_SD]) ** 2
    log_likelihood = n_first * np.log(likelihood) + n_second * np.log1p(-likelihood)
    return (
        log_likelihood.sum(axis=1) - (precision * modes**2).sum(axis=1) / 2,
        np.einsum("rc,prc->rp", by_likelihood, change) - precision * modes,
        np.einsum("rc,prc,qrc->rpq", information, change, change) + np.diag(precision),
    )
