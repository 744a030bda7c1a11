"""Agreement of the groups with people, from pair probabilities and random checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from clew.answers import SAME, Answer
from clew.session._checks import Check

__all__ = ["Estimate", "ExpectedPairs", "GroupQuality", "Quality", "expected_pairs", "quality_of"]

Floats = NDArray[np.float64]

LEVEL = 0.95
#: Grid of the logarithm of the factor between true and expected numbers of wrong pairs.
LOG_FACTORS = np.linspace(-5.0, 5.0, 81)
#: The factor of missed pairs is log-normal, with mean ``MISSED[0] + MISSED[1] * x`` and standard
#: deviation ``exp(MISSED[2] + MISSED[3] * x)``, where x is the logarithm of the expected share of
#: wrong pairs: as long as groups are impure, probabilities between groups are too low.
MISSED = (1.2, 0.3, 0.65, 0.25)
#: Standard deviation of the log odds factor of false pairs, whose mean is 0.
DEVIATION_FALSE = 0.45
#: The same for strategies that do not estimate probabilities, for false and for missed pairs.
WIDE = 1.5
#: Added to the expected number of wrong pairs in x: this share of the pairs within groups, and this
#: number.
SMOOTHING = (0.02, 1.0)
#: Exponent of each check's likelihood, below 1 because older checks are about earlier groups.
CHECK_WEIGHT = 0.3
#: Wrong pairs come in clusters of this many times the mean number of other rows in a row's group.
CLUSTER = 1.35
#: Standard deviation of the log factor of one group, besides that of all groups.
DEVIATION_GROUP = 0.7
#: Error rates and probabilities are clipped to these ranges.
ERRORS, PROBABILITIES = (0.02, 0.4), (1e-6, 1 - 1e-6)
N_DRAWS, N_DRAWS_GROUP = 2000, 500


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


class GroupQuality(NamedTuple):
    """Agreement of one group with people.

    Parameters
    ----------
    precision : Estimate
        Share of the pairs within the group that are the same; 1 for a single item.
    recall : Estimate
        Share of the items that people call the same as an item of the group which are in the group,
        a mean over such pairs; 1 for a single item that is the same as no other.
    """

    precision: Estimate
    recall: Estimate

    def __str__(self) -> str:
        return f"precision {self.precision}, recall {self.recall}"


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
    groups: Mapping[int, GroupQuality]
    """Precision and recall of each group. With more than 3,000 items, of the groups that have items
    in a random sample of 3,000."""

    def __str__(self) -> str:
        return (
            f"Jaccard index {self.jaccard}, precision {self.precision}, recall {self.recall}, "
            f"from {self.n_checks} checks"
        )


class ExpectedPairs(NamedTuple):
    """Expected numbers of wrongly grouped pairs, by the probabilities of pairs; one entry a group.

    A missed pair counts in the groups of both its rows.
    """

    numbers: NDArray[np.int64]
    """Numbers of the groups, ascending."""
    sizes: NDArray[np.int64]
    false: Floats
    """Pairs within the group that are different."""
    missed: Floats
    """Pairs of a row of the group and a row of another group that are the same."""

    @property
    def n_within(self) -> Floats:
        """Number of pairs within each group."""
        return np.asarray(self.sizes * (self.sizes - 1) / 2)

    @property
    def log_share(self) -> float:
        """Logarithm of the expected share of wrong pairs."""
        within, missed = self.n_within.sum(), self.missed.sum() / 2
        wrong = self.false.sum() + missed + SMOOTHING[0] * within + SMOOTHING[1]
        return float(np.log(wrong / max(within + missed, 1.0)))


def expected_pairs(same: NDArray[np.float32], labels: NDArray[np.int64]) -> ExpectedPairs:
    """Compute the expected numbers of false and of missed pairs of each group.

    Parameters
    ----------
    same : ndarray of shape (n, n), float32
        Probability that two rows are the same, symmetric; the diagonal is ignored.
    labels : ndarray of shape (n,), int64
        Groups.

    Returns
    -------
    ExpectedPairs

    Notes
    -----
    Time O(n²), memory O(n K) for K groups.
    """
    numbers, at, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(at, kind="stable")
    sums = np.add.reduceat(same[:, order], np.searchsorted(at[order], np.arange(len(numbers))), 1)
    own = sums[np.arange(len(at)), at].astype(np.float64) - same.diagonal()
    total = sums.sum(axis=1, dtype=np.float64) - same.diagonal()
    right = np.bincount(at, own) / 2
    return ExpectedPairs(
        numbers,
        sizes,
        np.maximum(sizes * (sizes - 1) / 2 - right, 0.0),
        np.maximum(np.bincount(at, total - own), 0.0),
    )


def quality_of(
    checks: Sequence[tuple[Check, Answer]],
    expected: ExpectedPairs,
    error: float,
    *,
    is_estimated: bool = True,
) -> Quality:
    """Estimate the agreement of groups with people.

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
    Quality

    Notes
    -----
    The number of missed pairs between groups is the expected number times an unknown factor; so are
    the odds of false pairs within groups, with a factor of their own. A factor above 1 means that
    the probabilities are too sure. Each check updates the posterior of one factor f: its answer
    contradicts the groups with probability ``e + (1 - 2e) * p``, where e is the error rate and
    ``p / (1 - p)`` are f times the odds, before the answer, that the pair was wrongly grouped.
    Wrong pairs come in clusters, since one wrong row is wrong with a whole group: their number
    is Poisson-distributed in units of a typical cluster. Estimate and interval are quantiles over
    2,000 draws. ``benchmarks.studies session`` measures how often the intervals contain the truth.
    """
    e = float(np.clip(error, *ERRORS))
    random = np.random.RandomState(len(checks))
    n_within, x = expected.n_within, expected.log_share
    deviations = (DEVIATION_FALSE, float(np.exp(MISSED[2] + MISSED[3] * x)))
    mean_missed = MISSED[0] + MISSED[1] * x
    if not is_estimated:
        deviations, mean_missed = (WIDE, WIDE), 0.0
    log_false, log_missed = (
        _log_factors([each for each in checks if each[0].is_within == is_within], mean, sd, e)
        for is_within, mean, sd in zip((True, False), (0.0, mean_missed), deviations, strict=True)
    )
    log_false, log_missed = random.permutation(log_false), random.permutation(log_missed)
    n_rows, within = expected.sizes.sum(), n_within.sum()
    cluster = CLUSTER * max(1.0, 2 * within / n_rows)
    false = _false(expected.false.sum(), within, log_false, cluster, random)
    missed = _clustered(expected.missed.sum() / 2 * np.exp(log_missed), cluster, random)
    right = within - false
    return Quality(
        _estimate(_ratio(right, within + missed)),
        _estimate(_ratio(right, right + false)),
        _estimate(_ratio(right, right + missed)),
        len(checks),
        _by_group(expected, log_false, log_missed, cluster, random),
    )


def _log_factors(
    checks: Sequence[tuple[Check, Answer]], mean: float, deviation: float, error: float
) -> Floats:
    """Return evenly spaced quantiles of the posterior of a log factor."""
    log_p = -0.5 * (LOG_FACTORS / deviation) ** 2
    for check, answer in checks:
        wrong = expit(logit(np.clip(check.p_wrong, *PROBABILITIES)) + mean + LOG_FACTORS)
        against = error + (1 - 2 * error) * wrong
        is_against = (answer.value == SAME) != check.is_within
        log_p += CHECK_WEIGHT * np.log(against if is_against else 1 - against)
    p = np.exp(log_p - log_p.max())
    at = (np.arange(N_DRAWS) + 0.5) / N_DRAWS
    return np.asarray(mean + np.interp(at, np.cumsum(p) / p.sum(), LOG_FACTORS))


def _false(
    expected: float | Floats,
    n_within: float | Floats,
    log_factors: Floats,
    cluster: float | Floats,
    random: np.random.RandomState,
) -> Floats:
    """Draw numbers of false pairs, at most `n_within`."""
    share = np.clip(expected / np.maximum(n_within, 1), *PROBABILITIES)
    mean = n_within * expit(logit(share) + log_factors)
    return np.minimum(_clustered(np.asarray(mean), cluster, random), n_within)


def _clustered(mean: Floats, cluster: float | Floats, random: np.random.RandomState) -> Floats:
    return np.asarray(cluster * random.poisson(np.minimum(mean, 1e12) / cluster))


def _by_group(
    expected: ExpectedPairs,
    log_false: Floats,
    log_missed: Floats,
    cluster: float,
    random: np.random.RandomState,
) -> Mapping[int, GroupQuality]:
    """Estimate each group with the factors of all groups and a random factor of its own."""
    found = {}
    rows = zip(*(array.tolist() for array in expected), expected.n_within.tolist(), strict=True)
    for number, size, false, missed, n_within in rows:
        own = DEVIATION_GROUP * random.normal(size=(2, N_DRAWS_GROUP))
        n_false = _false(
            false,
            n_within,
            log_false[:N_DRAWS_GROUP] + own[0],
            CLUSTER * max(1.0, size - 1.0),
            random,
        )
        mean = missed * np.exp(log_missed[:N_DRAWS_GROUP] + own[1])
        n_missed = _clustered(mean, max(CLUSTER * size, cluster), random)
        right = n_within - n_false
        found[number] = GroupQuality(
            _estimate(_ratio(right, right + n_false)),
            _estimate(_ratio(2 * right, 2 * right + n_missed)),
        )
    return MappingProxyType(found)


def _ratio(part: Floats, whole: NDArray[np.floating]) -> Floats:
    """Divide; 1 where `whole` is 0."""
    return np.asarray(np.divide(part, whole, out=np.ones(len(part)), where=whole > 0))


def _estimate(values: Floats) -> Estimate:
    low, middle, high = np.quantile(values, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    return Estimate(float(middle), float(low), float(high))
