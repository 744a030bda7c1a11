"""Agreement of the groups with people, estimated from random checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import SAME, Answer
from clew.session._checks import Check
from clew.session._evidence import Evidence, p_between

__all__ = ["Estimate", "ExpectedPairs", "Quality", "expected_pairs", "quality_of"]

Floats = NDArray[np.float64]

#: Number of answered checks that an estimate needs.
LEAST_CHECKS = 4
LEVEL = 0.95
#: Grid of ``log(true / expected)`` for the number of wrong pairs.
LOG_FACTORS = np.linspace(np.log(0.01), np.log(50.0), 65)
#: Mean and standard deviation of the normal prior of ``log(true / expected)``, within and between
#: groups, fitted by `benchmarks.studies session`. The wide prior is for strategies that do not
#: estimate probabilities.
PRIOR_WITHIN, PRIOR_BETWEEN, WIDE_PRIOR = (-0.5, 0.9), (0.3, 0.9), (0.0, 1.5)
#: Weight, mean and standard deviation of a second normal distribution in the prior, for data whose
#: features mislead the strategy.
MISLED, PRIOR_MISLED = 0.15, (2.0, 0.7)
#: Exponent of each check's likelihood, below 1 because older checks are about earlier groups.
CHECK_WEIGHT = 0.5
#: Upper bound of the probability that the pair of a check was wrongly grouped.
MOST_WRONG = 0.98
ERRORS = (0.005, 0.4)
N_DRAWS = 2000


class Estimate(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    """The estimate."""
    low: float
    """Low end of the interval."""
    high: float
    """High end of the interval."""

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f}-{self.high:.2f})"


class Quality(NamedTuple):
    """Agreement of the pairs within groups with the pairs that people call the same."""

    jaccard: Estimate
    """Jaccard index of the pairs within groups and the pairs that people call the same."""
    precision: Estimate
    """Share of the pairs within groups that are the same."""
    recall: Estimate
    """Share of the pairs that people call the same that are within groups."""
    n_checks: int
    """Number of answered checks."""

    def __str__(self) -> str:
        return (
            f"Jaccard index {self.jaccard}, precision {self.precision}, recall {self.recall}, "
            f"from {self.n_checks} checks"
        )


class ExpectedPairs(NamedTuple):
    """Expected numbers of wrongly grouped pairs, by the probabilities of the strategy."""

    n_within: int
    """Pairs within groups."""
    false: float
    """Pairs within groups that are different."""
    missed: float
    """Pairs between groups that are the same."""
    n_typical: float
    """Number of pairs that one wrongly grouped row makes wrong: the mean number of other rows in a
    row's group."""


def expected_pairs(evidence: Evidence, labels: NDArray[np.int64]) -> ExpectedPairs:
    """Compute the expected numbers of false and of missed pairs.

    Parameters
    ----------
    evidence : Evidence
        Probabilities of pairs.
    labels : ndarray of shape (n,), int64
        Groups of all rows.

    Returns
    -------
    ExpectedPairs
        Numbers of pairs of the rows of `evidence`.

    Notes
    -----
    Time and memory O(n²).
    """
    labels, n = labels[evidence.rows], len(evidence.rows)
    between = labels[:, None] != labels[None, :]
    sizes = np.bincount(labels)
    n_within = int((sizes * (sizes - 1)).sum()) // 2
    right = float(evidence.labels[~between].sum(dtype=np.float64)) - np.trace(evidence.labels)
    missed = p_between(evidence.labels[between], evidence.questions[between], evidence).sum() / 2
    return ExpectedPairs(n_within, max(n_within - right / 2, 0.0), float(missed), 2 * n_within / n)


def quality_of(
    checks: Sequence[tuple[Check, Answer]],
    expected: ExpectedPairs,
    error: float,
    *,
    is_estimated: bool = True,
) -> Quality | None:
    """Estimate the agreement of groups with people, from random checks.

    Parameters
    ----------
    checks : sequence of Check and Answer
        Each answer to a random check, with the check; no don't-knows.
    expected : ExpectedPairs
        Expected numbers of wrongly grouped pairs.
    error : float
        Share of wrong answers.
    is_estimated : bool, default=True
        Whether the strategy estimates probabilities of pairs from the answers.

    Returns
    -------
    Quality or None
        None if there are fewer than four checks.

    Notes
    -----
    The number of false pairs within groups is the expected number times an unknown factor f; so is
    the number of missed pairs between groups, with a factor of its own. f > 1 means that the model
    is too sure. Each check updates the posterior of one factor: its answer contradicts the groups
    with probability ``e + (1 - 2e) * f * p``, for the error rate e and the model's probability p,
    before the answer, that the pair was wrongly grouped. Estimate and interval are quantiles over
    2,000 draws from the posterior. ``benchmarks.studies session`` measures how often the intervals
    contain the truth.
    """
    if len(checks) < LEAST_CHECKS:
        return None
    e = float(np.clip(error, *ERRORS))
    random = np.random.RandomState(len(checks))
    priors = (PRIOR_WITHIN, PRIOR_BETWEEN) if is_estimated else (WIDE_PRIOR, WIDE_PRIOR)
    factors = [
        _factors([each for each in checks if each[0].is_within == is_within], prior, e, random)
        for is_within, prior in zip((True, False), priors, strict=True)
    ]
    n_within, step = expected.n_within, max(1.0, expected.n_typical)
    false = np.minimum(step * random.poisson(factors[0] * expected.false / step), n_within)
    missed = step * random.poisson(factors[1] * expected.missed / step)
    right: Floats = np.asarray(n_within - false, np.float64)
    return Quality(
        _estimate(_ratio(right, n_within + missed)),
        _estimate(_ratio(right, right + false)),
        _estimate(_ratio(right, right + missed)),
        len(checks),
    )


def _factors(
    checks: Sequence[tuple[Check, Answer]],
    prior: tuple[float, float],
    error: float,
    random: np.random.RandomState,
) -> Floats:
    """Draw factors from their posterior (stratified: evenly spaced quantiles, shuffled)."""
    usual, misled = (_normal(LOG_FACTORS, *each) for each in (prior, PRIOR_MISLED))
    log_p = np.log((1 - MISLED) * usual + MISLED * misled)
    for check, answer in checks:
        wrong = np.minimum(np.exp(LOG_FACTORS) * check.p_wrong, MOST_WRONG)
        against = error + (1 - 2 * error) * wrong
        is_against = (answer.value == SAME) != check.is_within
        log_p += CHECK_WEIGHT * np.log(against if is_against else 1 - against)
    p = np.exp(log_p - log_p.max())
    at = np.searchsorted(np.cumsum(p) / p.sum(), (np.arange(N_DRAWS) + 0.5) / N_DRAWS)
    drawn = np.exp(LOG_FACTORS[np.minimum(at, len(LOG_FACTORS) - 1)])
    return np.asarray(random.permutation(drawn))


def _normal(x: Floats, mean: float, deviation: float) -> Floats:
    return np.asarray(np.exp(-0.5 * ((x - mean) / deviation) ** 2) / deviation)


def _ratio(part: Floats, whole: NDArray[np.floating]) -> Floats:
    """Divide; 1 where `whole` is 0."""
    return np.asarray(np.divide(part, whole, out=np.ones(len(part)), where=whole > 0))


def _estimate(values: Floats) -> Estimate:
    low, middle, high = np.quantile(values, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    return Estimate(float(middle), float(low), float(high))
