"""DCRC's features, given or of a kernel, and the rows that the model is fitted to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from clew._units import Units
from clew.cluster.dcrc._answers import AnsweredRows
from clew.cluster.dcrc._objective import TrainingRows, log_probabilities
from clew.constraints import Constraints

__all__ = [
    "GivenFeatures",
    "Problem",
    "ScaledFeatures",
    "Transform",
    "group_probabilities",
    "sampled_rows",
    "training_rows",
    "with_ones",
]

BLOCK_OF_ROWS = 65_536
#: Kernel features are scaled to the length of this number of standardized features, so that one
#: penalty on weights suits both.
N_FEATURES_OF_KERNEL = 32
#: The log-likelihood of the answers is divided by their number, or by this number if there are
#: fewer. With the mean, as in the paper, a single group is optimal for a few must-links.
MIN_EFFECTIVE_ANSWERS = 50


class Transform(Protocol):
    """Computes the features of the logistic model."""

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute them for any rows."""


class GivenFeatures:
    """The features themselves, centered and divided by one number, see `Units.of_mean_variance`.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows that determine the mean and the number.
    """

    def __init__(self, X: NDArray[np.float64]) -> None:
        self._units = Units.of_mean_variance(X)

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Center and divide rows."""
        return self._units.scale(X)


class ScaledFeatures:
    """Features of a kernel, scaled to the length of `N_FEATURES_OF_KERNEL` standardized features.

    Parameters
    ----------
    map_ : object with ``transform``
        Computes the features of the kernel.
    """

    def __init__(self, map_: Transform) -> None:
        self._map = map_

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the features of rows."""
        return np.asarray(self._map.transform(X) * N_FEATURES_OF_KERNEL**0.5)


class Problem(NamedTuple):
    """The sampled rows, numbered from 0, and the answers about them."""

    features: NDArray[np.float64]
    """(n_rows, n_features + 1); the last feature is 1."""
    known: Constraints
    """The answers about these rows."""
    n_samples: int
    """Number of rows that the sample represents."""


def sampled_rows(known: Constraints, max_unanswered: int, seed: int) -> NDArray[np.int64]:
    """Return the rows with answers and at most `max_unanswered` random others, ascending."""
    rows = (known.pairs.ravel(), known.triplets.ravel(), known.odd_one_out.ravel())
    is_unanswered = np.ones(known.n_samples, bool)
    is_unanswered[np.concatenate(rows)] = False
    others = np.flatnonzero(is_unanswered)
    if len(others) > max_unanswered:
        random = np.random.RandomState(seed)
        others = random.choice(others, max_unanswered, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(~is_unanswered), others]))


def training_rows(
    problem: Problem, answers: AnsweredRows, max_unanswered: int, seed: int
) -> TrainingRows:
    """Return the rows with answers, followed by all others or a sample of them.

    Parameters
    ----------
    problem : Problem
        Features of all sampled rows.
    answers : AnsweredRows
        The answers that the model is fitted to.
    max_unanswered : int
        Largest number of rows without answers.
    seed : int
        Seed of the sample, if there are more.

    Returns
    -------
    TrainingRows
    """
    n = len(problem.features)
    unanswered = np.setdiff1d(np.arange(n), answers.rows, assume_unique=True)
    if len(unanswered) > max_unanswered:
        random = np.random.RandomState(seed)
        unanswered = np.sort(random.choice(unanswered, max_unanswered, replace=False))
    order = np.concatenate([answers.rows, unanswered])
    n_answered = len(answers.rows)
    share = np.full(len(order), 1.0 / problem.n_samples)
    share[n_answered:] = (1.0 - n_answered / problem.n_samples) / max(len(unanswered), 1)
    features = np.ascontiguousarray(problem.features[order].T)
    return TrainingRows(features, n_answered, share, max(answers.n_answers, MIN_EFFECTIVE_ANSWERS))


def group_probabilities(
    X: NDArray[np.float64], map_: Transform, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability of each group for any rows, (n_rows, n_groups), block by block."""
    probabilities = np.empty((len(X), len(weights)))
    for start in range(0, len(X), BLOCK_OF_ROWS):
        block = with_ones(map_.transform(X[start : start + BLOCK_OF_ROWS]))
        probabilities[start : start + BLOCK_OF_ROWS] = np.exp(log_probabilities(weights, block.T)).T
    return probabilities


def with_ones(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append a feature that is 1; its weight is the bias."""
    return np.column_stack([features, np.ones(len(features))])
