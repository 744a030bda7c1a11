"""What is learned from answers: log-odds that a pair is in one group, and the share of wrong ones.

Log-odds are linear in features of the pair and in a log-likelihood ratio: within one group against
between two groups, by a linear discriminant model with Gaussian groups (as PLDA for faces and
voices) with the heavier tails of Student's distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax

from clew._parallel import blocks
from clew.kernels.partitions.pairs import fill_log_odds, number_of_pairs
from clew.kernels.partitions.tables import Answered
from clew.questions.guided._posterior import EQUAL_LOG_ODDS, Singles, Views, mirror
from clew.questions.guided._start import START_WEIGHTS, put_below

Floats = NDArray[np.float64]
#: Factor of the start weights of features, and the start weight of `WithinRatio`.
START_FACTOR = 2.0
RATIO_WEIGHT = 0.15
#: Prior standard deviations of the weights.
SD_INTERCEPT, SD_WEIGHT, SD_RATIO = 0.4, 0.25, 0.5
SD_BLOCK_INTERCEPT, SD_BLOCK_WEIGHT, SD_BLOCK_RATIO, SD_BLOCK_SIZE = 0.7, 0.4, 0.25, 0.5
#: Prior mean of the weights of the log sizes of two groups, smaller first.
SIZE_WEIGHTS = (-0.3, 0.0)
#: Share of the way to the new optimum at each refit.
STEP = 0.5
#: Beyond these bounds log-odds grow logarithmically, so that no two are equal.
LOW, HIGH = -5.0, 4.0
BLOCK_LIMIT = 5.0
NEWTON_STEPS = 8
_N = len(START_WEIGHTS)  # with the intercept
START = START_FACTOR * np.append(START_WEIGHTS, RATIO_WEIGHT)
BLOCK_START = np.concatenate((START_WEIGHTS, [RATIO_WEIGHT], SIZE_WEIGHTS))
PRECISION = np.array([SD_INTERCEPT, *[SD_WEIGHT] * (_N - 1), SD_RATIO]) ** -2.0
BLOCK_PRECISION = (
    np.array(
        [SD_BLOCK_INTERCEPT, *[SD_BLOCK_WEIGHT] * (_N - 1), SD_BLOCK_RATIO, *[SD_BLOCK_SIZE] * 2]
    )
    ** -2.0
)
#: Beta prior of the share of wrong answers.
PRIOR = (1.5, 15.0)
RATES = np.concatenate(([0.002, 0.005], np.arange(0.01, 0.4, 0.01)))
#: Predictions are recalibrated, because they may be overconfident or biased: P(same) is
#: ``sigmoid(slope * logit + intercept)``.
SLOPES = np.array([0.5, 0.7, 0.85, 1.0, 1.2, 1.5])
INTERCEPTS = np.array([-0.8, -0.4, 0.0, 0.4, 0.8])
SD_SLOPE, SD_BIAS = 0.3, 0.5
#: The rate of each annotator is shrunk toward the rate of all, as if the annotator had given
#: further answers, with this many wrong ones, at the rate of all.
SHRINKAGE = 2.0
LOWEST, HIGHEST = 0.002, 0.45
#: Least average probability that an answer is wrong.
LEAST_WRONG = 1e-6
#: Degrees of freedom of Student's distribution.
TAIL = 10.0
#: Ratios are clipped to this range, in nats.
LIMIT = 6.0
#: Least number of differences within groups from which the covariance is estimated.
FEWEST = 5
#: Rows whose ratios are computed at once.
ROWS_AT_ONCE = 256


class WithinRatio(NamedTuple):
    """The ratio of all pairs; `refitted` returns a new one for new groups."""

    coordinates: Floats
    """(n_rows, n_dimensions)"""
    prior: Floats | None
    """Covariance within the first groups, shrunk."""
    within: Floats | None
    """Covariance within groups that the ratios are computed from."""
    values: Singles
    """(n_pairs,), in nats, positive where the pair is more likely in one group."""

    @classmethod
    def start(cls, coordinates: Floats) -> Self:
        """Start without groups: all ratios are 0."""
        return cls.of(coordinates, None, None)

    @classmethod
    def of(cls, coordinates: Floats, prior: Floats | None, within: Floats | None) -> Self:
        """Compute the ratios from covariances; all are 0 without one."""
        if within is None:
            zeros = np.zeros(number_of_pairs(len(coordinates)), np.float32)
            return cls(coordinates, prior, within, zeros)
        return cls(coordinates, prior, within, _ratio(coordinates, within))

    def refitted(self, labels: NDArray[np.int64]) -> WithinRatio:
        """Learn the covariance within groups if there are enough pairs; the first is the prior."""
        points = self.coordinates
        n_dimensions = points.shape[1]
        sizes = np.bincount(labels)
        means = np.zeros((len(sizes), n_dimensions))
        np.add.at(means, labels, points)
        rest = points - (means / np.maximum(sizes, 1)[:, None])[labels]
        n_differences = int(np.maximum(sizes - 1, 0).sum())
        if n_differences < FEWEST or not rest.any():
            return self
        within = rest.T @ rest / n_differences
        if self.prior is None:
            within = _shrunk(within, np.cov(points.T).reshape(within.shape))
            return WithinRatio.of(points, within, within)
        within = n_differences * within + n_dimensions * self.prior
        return WithinRatio.of(points, self.prior, within / (n_differences + n_dimensions))


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
        """Log-odds of one rate from each of `n` equal parts of the posterior, over the mean's."""
        if len(self.probabilities) == 0:
            return np.ones(n)
        random = np.random.RandomState(seed)
        at = (np.arange(n) + random.random_sample(n)) / n
        index = np.minimum(np.searchsorted(np.cumsum(self.probabilities), at), len(RATES) - 1)
        drawn = np.clip(random.permutation(RATES[index]), *bounds)
        return np.asarray(logit(drawn) / logit(np.clip(self.mean, *bounds)))


#: The rate before any answer.
START_RATE = ErrorRate(PRIOR[0] / sum(PRIOR), np.empty(0), {})


class AskedPairs(NamedTuple):
    """One entry for each answer "same" or "different", in order of arrival."""

    rows: NDArray[np.int64]
    """(n_answers, 2)"""
    same: NDArray[np.bool_]
    weights: Floats
    annotators: NDArray[np.int64]
    """Codes, from 0."""
    features: Floats
    """Features of the two cores that the question was about, (n_answers, n_features)."""
    log_sizes: Floats
    """Log sizes of the smaller and the larger core, (n_answers, 2)."""
    offsets: Floats
    """Log-odds from the sampled partitions, minus those from the features."""
    log_odds: Floats
    """Log-odds that the pair is in one group, before the answer."""

    @classmethod
    def none(cls, n_features: int) -> AskedPairs:
        """Return no answers."""
        return cls(
            np.empty((0, 2), np.int64),
            np.empty(0, np.bool_),
            np.empty(0),
            np.empty(0, np.int64),
            np.empty((0, n_features)),
            np.empty((0, 2)),
            np.empty(0),
            np.empty(0),
        )

    def joined(self, new: AskedPairs) -> AskedPairs:
        """Append other answers."""
        joined: list[Any] = [np.concatenate(parts) for parts in zip(self, new, strict=True)]
        return AskedPairs(*joined)

    def evidence(self, n_rows: int, rates: Floats) -> Answered:
        """Return the log-likelihood ratios of answers that are wrong with `rates` (n_answers,)."""
        value = self.weights * np.log((1 - rates) / rates) * np.where(self.same, 1.0, -1.0)
        i, j = self.rows.T
        first, second = np.concatenate((i, j)), np.concatenate((j, i))
        order = np.argsort(first, kind="stable")
        start = np.searchsorted(first[order], np.arange(n_rows + 1)).astype(np.int64)
        return Answered(start, second[order], np.concatenate((value, value))[order])


class PairLogOdds(NamedTuple):
    """Weights of pairs, with the partitions' log-odds as offset; of questions, without."""

    weights: Floats = START
    """Intercept, weights of the features, and of `WithinRatio`."""
    block_weights: Floats = BLOCK_START
    """The same, then the weights of the log sizes of the smaller and the larger group."""
    prior: Floats = START
    block_prior: Floats = BLOCK_START
    has_features: bool = True
    """Whether distances differ; if not, all pairs have the same log-odds, and none are learned."""

    @classmethod
    def without_features(cls) -> Self:
        """Start where all pairs are alike; this is not learned from answers."""
        weights, block = np.zeros_like(START), np.zeros_like(BLOCK_START)
        weights[0] = EQUAL_LOG_ODDS
        return cls(weights, block, weights, block, has_features=False)

    def views(self, features: Singles, ratio: Singles) -> Views:
        """Log-odds of pairs: features (n_pairs, 6), likelihood ratio (n_pairs,)."""
        n_rows = round((1 + np.sqrt(1 + 8 * len(ratio))) / 2)
        pairs, in_blocks = (np.empty((n_rows, n_rows), np.float32) for _ in range(2))
        weights = self.weights.astype(np.float32), LOW, HIGH
        block_weights = self.block_weights[:-2].astype(np.float32), BLOCK_LIMIT
        fill_log_odds(features, ratio, *weights, *block_weights, pairs, in_blocks)
        mirror(pairs)
        mirror(in_blocks)
        smaller, larger = self.block_weights[-2:]
        return Views(pairs, in_blocks, float(smaller), float(larger), self.has_features)

    def refitted(self, asked: AskedPairs, error: float) -> PairLogOdds:
        """Move both sets of weights half-way to their optimum for all answers."""
        if not self.has_features:
            return self
        features, same = asked.features, asked.same.astype(float)
        blocks = robust_logistic(
            np.hstack((features, asked.log_sizes)),
            np.zeros(len(same)),
            same,
            error,
            self.block_weights,
            self.block_prior,
            BLOCK_PRECISION,
        )
        weights = robust_logistic(
            features, asked.offsets, same, error, self.weights, self.prior, PRECISION
        )
        return self._replace(
            weights=self.weights + STEP * (weights - self.weights),
            block_weights=self.block_weights + STEP * (blocks - self.block_weights),
        )


def robust_logistic(
    features: Floats,
    offsets: Floats,
    same: Floats,
    error: float,
    start: Floats,
    prior_mean: Floats,
    precision: Floats,
) -> Floats:
    """Fit a logistic regression with a Gaussian prior to answers of which a share is wrong.

    In each Newton step the target of an answer is its posterior probability of being right.
    """
    weights = start.copy()
    for _ in range(NEWTON_STEPS):
        p = expit(np.clip(features @ weights + offsets, -30, 30))
        given = np.where(same > 0, p, 1 - p)
        right = (1 - error) * given / ((1 - error) * given + error * (1 - given))
        target = np.where(same > 0, right, 1 - right)
        gradient = features.T @ (target - p) - precision * (weights - prior_mean)
        hessian = (features * (p * (1 - p))[:, None]).T @ features + np.diag(precision)
        weights = weights + np.linalg.solve(hessian, gradient)
    return weights


def error_rate(asked: AskedPairs, wrong: Floats) -> ErrorRate:
    """Estimate the share of wrong answers; `wrong` (n_answers,) is each one's probability.

    The mean of two posteriors: of answers as predicted before they were given (too low, because
    questions are those hard to predict), and of those that the partitions contradict (too high
    where features mislead them). Annotators are compared by the second alone.
    """
    log_odds, same, annotators = asked.log_odds, asked.same, asked.annotators
    likelihood = np.empty((len(RATES), len(SLOPES), len(INTERCEPTS)))
    for u, slope in enumerate(SLOPES):
        for v, intercept in enumerate(INTERCEPTS):
            p = expit(slope * log_odds + intercept)
            given = np.where(same, p, 1 - p)
            of_rates = np.log(RATES[:, None] + (1 - 2 * RATES[:, None]) * given).sum(axis=1)
            penalty = ((slope - 1) / SD_SLOPE) ** 2 + (intercept / SD_BIAS) ** 2
            likelihood[:, u, v] = of_rates - 0.5 * penalty
    likelihood += _log_beta(*PRIOR)[:, None, None]
    before = softmax(likelihood).sum(axis=(1, 2))
    n_wrong = float(wrong.sum())
    after = _log_beta(PRIOR[0] + n_wrong, PRIOR[1] + len(wrong) - n_wrong)
    probabilities = (before + softmax(after)) / 2
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


def _shrunk(within: Floats, overall: Floats) -> Floats:
    """Average of a sphere and the shape of all rows, with the trace of `within`."""
    mean = np.trace(within) / len(within)
    sphere = mean * np.eye(len(within))
    return np.asarray(0.5 * sphere + 0.5 * overall * np.trace(within) / np.trace(overall))


def _ratio(points: Floats, within: Floats) -> Singles:
    value, vectors = np.linalg.eigh(within)
    white = points @ (vectors / np.sqrt(np.maximum(value, 1e-12 * value[-1])))
    _, turned = np.linalg.eigh(np.cov(white.T).reshape(within.shape))
    white = white @ turned
    white -= white.mean(axis=0)
    between = np.maximum(white.var(axis=0) - 1.0, 0.05)
    ratio = np.empty(number_of_pairs(len(points)), np.float32)
    same, different = _squares(white), _squares(white / np.sqrt(2 + 2 * between))
    rest = 0.5 * np.log1p(between).sum()
    for start, stop in blocks(len(points), ROWS_AT_ONCE):
        tails = np.log1p(same(start, stop) / 2 / TAIL) - np.log1p(different(start, stop) / TAIL)
        of_rows = rest - 0.5 * (TAIL + points.shape[1]) * tails
        put_below(ratio, np.clip(of_rows, -LIMIT, LIMIT), start)
    return ratio


def _squares(points: Floats) -> Callable[[int, int], Floats]:
    """Return a function that computes squared distances of some rows to all."""
    lengths = (points**2).sum(axis=1)

    def of_rows(start: int, stop: int) -> Floats:
        products = (2 * points[start:stop]) @ points.T
        return np.asarray(np.maximum(lengths[start:stop, None] + lengths - products, 0.0))

    return of_rows
