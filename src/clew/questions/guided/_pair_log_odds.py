"""Log-odds that a pair of rows is in one group: linear in its features, refitted to answers."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from clew.kernels.partitions.pairs import fill_log_odds
from clew.questions.guided._asked import AskedPairs
from clew.questions.guided._pair_features import START_WEIGHTS
from clew.questions.guided._posterior import Singles, Views, mirror

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
#: Intercepts where all distances are equal, so they are not evidence.
FLAT_INTERCEPT, FLAT_BLOCK_INTERCEPT = -4.0, -1.5


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


class PairLogOdds(NamedTuple):
    """Two sets of weights: of pairs in a partition, and of questions about two groups.

    The second is fitted to the answers alone. The first is fitted to the answers with the log-odds
    from the partitions as offset.
    """

    weights: Floats = START
    """Intercept, weights of the features, and of `WithinRatio`."""
    block_weights: Floats = BLOCK_START
    """The same, then the weights of the log sizes of the smaller and the larger group."""
    prior: Floats = START
    block_prior: Floats = BLOCK_START

    @classmethod
    def without_features(cls) -> Self:
        """Start where all pairs are alike: only the intercepts differ from 0."""
        weights, block = np.zeros_like(START), np.zeros_like(BLOCK_START)
        weights[0], block[0] = FLAT_INTERCEPT, FLAT_BLOCK_INTERCEPT
        return cls(weights, block, weights, block)

    def views(self, features: Singles, ratio: Singles) -> Views:
        """Compute the log-odds of all pairs, zero on the diagonal, from `features` (n_pairs, 6).

        `ratio` (n_pairs,) is the log-likelihood ratio of being within and between groups.
        """
        n_rows = round((1 + np.sqrt(1 + 8 * len(ratio))) / 2)
        pairs, in_blocks = (np.empty((n_rows, n_rows), np.float32) for _ in range(2))
        weights = self.weights.astype(np.float32), LOW, HIGH
        block_weights = self.block_weights[:-2].astype(np.float32), BLOCK_LIMIT
        fill_log_odds(features, ratio, *weights, *block_weights, pairs, in_blocks)
        mirror(pairs)
        mirror(in_blocks)
        smaller, larger = self.block_weights[-2:]
        return Views(pairs, in_blocks, float(smaller), float(larger))

    def refitted(self, asked: AskedPairs, error: float) -> PairLogOdds:
        """Move both sets of weights half-way to their optimum for all answers."""
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
