"""The share of wrong answers, from answers that were predicted before they were given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from clew.questions.guided._asked import AskedPairs

Floats = NDArray[np.float64]

#: Beta prior of the share of wrong answers.
PRIOR = (1.5, 15.0)
RATES = np.concatenate(([0.002, 0.005], np.arange(0.01, 0.4, 0.01)))
#: Predictions are recalibrated, because they may be overconfident or biased: P(same) is
#: ``sigmoid(slope * logit + intercept)``.
SLOPES = np.array([0.5, 0.7, 0.85, 1.0, 1.2, 1.5])
INTERCEPTS = np.array([-0.8, -0.4, 0.0, 0.4, 0.8])
SD_SLOPE, SD_INTERCEPT = 0.3, 0.5
#: The rate of each annotator is shrunk toward the rate of all, as if the annotator had given
#: further answers, with this many wrong ones, at the rate of all.
SHRINKAGE = 2.0
LOWEST, HIGHEST = 0.002, 0.45
#: Least average probability that an answer is wrong.
LEAST_WRONG = 1e-6


class ErrorRate(NamedTuple):
    """Posterior of the share of wrong answers."""

    mean: float
    probabilities: Floats
    """Posterior probability of each rate in `RATES`."""
    by_annotator: dict[int, float]

    def of_answers(self, annotators: NDArray[np.int64], bounds: tuple[float, float]) -> Floats:
        """Return the rate of the annotator of each answer, within bounds."""
        rates = np.array([self.by_annotator.get(int(code), self.mean) for code in annotators])
        return np.asarray(np.clip(rates, *bounds))

    def factors(self, n: int, bounds: tuple[float, float], seed: int) -> Floats:
        """Draw `n` rates from the posterior; return their log-odds, divided by those of the mean.

        One rate is drawn from each of `n` equal parts of the posterior, in random order.
        """
        if len(self.probabilities) == 0:
            return np.ones(n)
        random = np.random.RandomState(seed)
        at = (np.arange(n) + random.random_sample(n)) / n
        index = np.minimum(np.searchsorted(np.cumsum(self.probabilities), at), len(RATES) - 1)
        drawn = np.clip(random.permutation(RATES[index]), *bounds)
        return np.asarray(logit(drawn) / logit(np.clip(self.mean, *bounds)))


#: The rate before any answer.
START_RATE = ErrorRate(PRIOR[0] / sum(PRIOR), np.empty(0), {})


def error_rate(asked: AskedPairs, wrong: Floats) -> ErrorRate:
    """Estimate the share of wrong answers; `wrong` (n_answers,) is each one's probability.

    The average of two posteriors. One is of the answers as they were predicted before they were
    given: it is too low, because informative questions are those that are hard to predict. The
    other counts the answers that the partitions contradict: it is near the truth, but too high
    where features mislead the partitions. Annotators are compared by the second alone.
    """
    log_odds, same, annotators = asked.log_odds, asked.same, asked.annotators
    likelihood = np.empty((len(RATES), len(SLOPES), len(INTERCEPTS)))
    for u, slope in enumerate(SLOPES):
        for v, intercept in enumerate(INTERCEPTS):
            given = _given(log_odds, same, slope, intercept)
            of_rates = np.log(RATES[:, None] + (1 - 2 * RATES[:, None]) * given).sum(axis=1)
            penalty = ((slope - 1) / SD_SLOPE) ** 2 + (intercept / SD_INTERCEPT) ** 2
            likelihood[:, u, v] = of_rates - 0.5 * penalty
    likelihood += _log_beta(*PRIOR)[:, None, None]
    weight = np.exp(likelihood - likelihood.max())
    before = weight.sum(axis=(1, 2)) / weight.sum()
    n_wrong = float(wrong.sum())
    after = _log_beta(PRIOR[0] + n_wrong, PRIOR[1] + len(wrong) - n_wrong)
    after = np.exp(after - after.max())
    probabilities = (before + after / after.sum()) / 2
    mean = float(probabilities @ RATES)
    average = max(float(wrong.mean()), LEAST_WRONG)
    rates = {}
    for code in np.unique(annotators):
        of_one = wrong[annotators == code]
        ratio = (SHRINKAGE + of_one.sum()) / (SHRINKAGE + average * len(of_one))
        rates[int(code)] = float(np.clip(mean * ratio, LOWEST, HIGHEST))
    return ErrorRate(mean, probabilities, rates)


def _log_beta(a: float, b: float) -> Floats:
    return np.asarray((a - 1) * np.log(RATES) + (b - 1) * np.log1p(-RATES))


def _given(log_odds: Floats, same: NDArray[np.bool_], slope: float, intercept: float) -> Floats:
    p = expit(slope * log_odds + intercept)
    return np.where(same, p, 1 - p)
