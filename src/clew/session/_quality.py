"""Agreement of the groups with people, from pair probabilities and random checks."""

from __future__ import annotations

import copyreg
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, logit, softmax
from scipy.stats import beta

from clew.answers import SAME, Answer, Question, meaning_of
from clew.cluster.guided import GuidedResult
from clew.constraints import Closure
from clew.graphs import NeighborSearch
from clew.questions._answers import Key
from clew.session._items import Items

Floats = NDArray[np.float64]
LEVEL = 0.95
#: Share of the draws in an interval: with `LEVEL` of the draws, intervals held the truth in 87 % of
#: the results of simulated sessions.
DRAWN = 0.98
#: Grid of the logarithm of the factor between true and expected numbers of wrong pairs.
LOG_FACTORS = np.linspace(-5.0, 5.0, 81)
#: The logarithm of the factor of missed pairs is normal, with mean ``MISSED[0] + MISSED[1] * x``
#: and standard deviation ``exp(MISSED[2] + MISSED[3] * x)``, where x is the logarithm of the
#: expected share of wrong pairs: as long as groups are impure, probabilities between groups are too
#: low.
MISSED = (1.2, 0.3, 0.65, 0.25)
#: The logarithm of the odds factor of false pairs is normal, with mean ``-FALSE[0] * y`` and
#: standard deviation ``FALSE[1] + FALSE[2] * y``, where y is the excess of ``-x`` over 1: nearly
#: pure groups hold fewer false pairs than expected.
FALSE = (1.0, 0.45, 0.5)
#: Standard deviation of both logarithms for strategies that do not estimate probabilities.
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


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


# The mappings of a result are read-only; pickle and copy know no such ones.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


class AnnotatorQuality(NamedTuple):
    """How a person answers."""

    name: str
    """The person."""
    n: int
    """Number of answers that were not taken back."""
    error: Estimate | None
    """Share of wrong answers; None if it is not estimated."""
    agreement_with_self: Estimate | None
    """Share of repeated questions that the person answers as before; None without repeats."""
    n_repeats: int
    """Number of repeated questions with two informative answers."""


class Estimate(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    """The estimate."""
    low: float
    """Low end of the interval."""
    high: float
    """High end of the interval."""

    def widened(self, n_answers: int) -> Estimate:
        """Lower the low end to the share that `n_answers` without an error would leave open.

        Parameters
        ----------
        n_answers : int
            Number of answers.

        Returns
        -------
        Estimate
        """
        return self._replace(low=min(self.low, (1 - LEVEL) ** (1 / max(n_answers, 1))))

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
    """Expected numbers of wrongly grouped pairs; one entry a group."""

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
    """Count expected false and missed pairs of groups; O(n²), memory O(n K); same (n, n)."""
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


def n_informative(
    answers: Iterable[Answer], labels: NDArray[np.int64], expected: ExpectedPairs
) -> list[int]:
    """Count people's informative answers: all of them, and those about items of each group."""
    groups = [
        {int(labels[row]) for row in answer.question.rows}
        for answer in answers
        if answer.is_evidence and answer.weight > 0 and answer.origin != "rule"
    ]
    n = Counter(group for of_answer in groups for group in of_answer)
    return [len(groups), *(n[group] for group in expected.numbers.tolist())]


def quality_of(
    checks: Sequence[tuple[Check, Answer]],
    expected: ExpectedPairs,
    error: float,
    *,
    is_estimated: bool = True,
    n_answers: Sequence[int] | None = None,
) -> Quality:
    """Estimate the agreement of groups with people, from the answers to checks, no don't-knows.

    The number of missed pairs between groups is the expected number times an unknown factor; so are
    the odds of false pairs within groups, with a factor of their own. Each check updates the
    posterior of one factor f: its answer contradicts the groups with probability ``e + (1 - 2e) *
    p``, for the error rate e and ``p / (1 - p)``, f times the odds, before the answer, that the
    pair was wrongly grouped. Wrong pairs come in clusters, since one wrong row is wrong with a
    whole group: their number is Poisson-distributed in units of a typical cluster. Estimate and
    interval are quantiles over 2,000 draws.

    `n_answers`, the informative answers about any item and about items of each group, limits how
    sure anything is: intervals reach down to the largest share of errors of which so many answers
    would still have shown none. None: intervals are those of the draws.
    """
    e = float(np.clip(error, *ERRORS))
    random = np.random.RandomState(len(checks))
    n_within, x = expected.n_within, expected.log_share
    pure = max(0.0, -1.0 - x)
    deviations = (FALSE[1] + FALSE[2] * pure, float(np.exp(MISSED[2] + MISSED[3] * x)))
    means = (-FALSE[0] * pure, MISSED[0] + MISSED[1] * x)
    if not is_estimated:
        deviations, means = (WIDE, WIDE), (0.0, 0.0)
    log_false, log_missed = (
        _log_factors([each for each in checks if each[0].is_within == is_within], mean, sd, e)
        for is_within, mean, sd in zip((True, False), means, deviations, strict=True)
    )
    log_false, log_missed = random.permutation(log_false), random.permutation(log_missed)
    n_rows, within = expected.sizes.sum(), n_within.sum()
    cluster = CLUSTER * max(1.0, 2 * within / n_rows)
    false = _false(expected.false.sum(), within, log_false, cluster, random)
    missed = _clustered(expected.missed.sum() / 2 * np.exp(log_missed), cluster, random)
    right = within - false
    groups = _by_group(expected, log_false, log_missed, cluster, random)
    found = [_estimate(right, whole) for whole in (within + missed, right + false, right + missed)]
    if n_answers is not None:
        found = [each.widened(n_answers[0]) for each in found]
        groups = {
            number: GroupQuality(precision.widened(n) if size > 1 else precision, recall.widened(n))
            for (number, (precision, recall)), size, n in zip(
                groups.items(), expected.sizes.tolist(), n_answers[1:], strict=True
            )
        }
    jaccard, precision, recall = found
    return Quality(jaccard, precision, recall, len(checks), MappingProxyType(groups))


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
    at = (np.arange(N_DRAWS) + 0.5) / N_DRAWS
    return np.asarray(mean + np.interp(at, np.cumsum(softmax(log_p)), LOG_FACTORS))


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
) -> dict[int, GroupQuality]:
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
            _estimate(right, right + n_false), _estimate(2 * right, 2 * right + n_missed)
        )
    return found


def _estimate(part: Floats, whole: NDArray[np.floating]) -> Estimate:
    """Estimate a share from draws of both; it is 1 where `whole` is 0."""
    values = np.divide(part, whole, out=np.ones(len(part)), where=whole > 0)
    low, middle, high = np.quantile(values, [(1 - DRAWN) / 2, 0.5, (1 + DRAWN) / 2])
    return Estimate(float(middle), float(low), float(high))


#: Every so many checks, one is drawn within groups; the others are drawn between groups, whose
#: probabilities are less reliable.
WITHIN_EVERY = 4
#: Probabilities are clipped to at least this, so that each pair can be drawn, and at most 1 minus
#: this.
LEAST = 1e-5
Pair = tuple[int, int]
Singles = NDArray[np.float32]


class Check(NamedTuple):
    """A random check: how its pair was drawn, and what was known before its answer."""

    pair: Pair
    is_within: bool
    """Whether its rows are in one group."""
    probability: float
    """Probability with which it was drawn among the pairs within groups, or between groups."""
    p_wrong: float
    """Probability that the groups are wrong about it, before the answer."""
    n_answers: int
    """Number of answers before the check."""


def draw_check(
    same: Singles,
    labels: NDArray[np.int64],
    rows: NDArray[np.int64],
    asked: set[Key],
    *,
    number: int,
    n_answers: int,
    seed: int,
) -> Check | None:
    """Draw a pair that was not asked, in every fourth check within groups, else between groups.

    Between groups in proportion to the root of the probability that they are the same. Time O(n²).
    """
    random = np.random.RandomState((seed + 104729 * number) % 2**32)
    pairs = np.array([of for kind, of in asked if kind == "pair"], np.int64).reshape(-1, 2)
    at = np.minimum(np.searchsorted(rows, pairs), len(rows) - 1)
    taken = np.asarray(at[(rows[at] == pairs).all(axis=1)])
    is_first = number % WITHIN_EVERY == 1
    for is_within in (is_first, not is_first):
        weight = _weights(same, labels, is_within=is_within)
        weight[taken[:, 0], taken[:, 1]] = 0
        of_rows = weight.sum(axis=1, dtype=np.float64)
        total = of_rows.sum()
        if total > 0:
            i = int(random.choice(len(rows), p=of_rows / total))
            row = weight[i].astype(np.float64)
            j = int(random.choice(len(rows), p=row / row.sum()))
            pair = int(rows[i]), int(rows[j])
            p_wrong = _p_wrong(same[i, j], is_within=is_within)
            return Check(pair, is_within, float(row[j] / total), p_wrong, n_answers)
    return None


def check_of(
    question: Question, same: Singles, labels: NDArray[np.int64], rows: NDArray[np.int64], n: int
) -> Check | None:
    """Describe a check drawn elsewhere, after n answers; None if its pair is not in the sample."""
    pair = (min(question.rows), max(question.rows))
    i, j = np.searchsorted(rows, pair).tolist()
    if j >= len(rows) or tuple(rows[[i, j]].tolist()) != pair:
        return None
    is_within = bool(labels[i] == labels[j])
    weight = _weights(same, labels, is_within=is_within)
    probability = float(weight[i, j] / weight.sum(dtype=np.float64))
    return Check(pair, is_within, probability, _p_wrong(same[i, j], is_within=is_within), n)


def _weights(same: Singles, labels: NDArray[np.int64], *, is_within: bool) -> Singles:
    within = labels[:, None] == labels[None, :]
    if is_within:
        return np.triu(within.astype(np.float32), 1)
    weight = np.sqrt(np.maximum(same, np.float32(LEAST)))
    weight[within] = 0
    return np.triu(weight, 1)


def _p_wrong(same: np.float32, *, is_within: bool) -> float:
    return float(np.clip(1 - same if is_within else same, LEAST, 1 - LEAST))


#: With more rows than this, probabilities are computed for a random sample of this many rows.
MOST_ROWS, SAMPLE_SEED = 3000, 0
#: For strategies without probabilities: the probability that a row is in one group with one of its
#: nearest rows, and the number of nearest rows. Other pairs between groups have probability 0.
P_NEAR, N_NEAR = 0.25, 10
#: For strategies without probabilities: the probability that a pair within a group belongs
#: together.
P_WITHIN = 0.8


class PairProbabilities(NamedTuple):
    """Probability that two rows are in the same group."""

    same: Singles
    """The probabilities, (n, n), symmetric."""
    is_estimated: bool
    """Whether the strategy estimates them from the answers."""
    rows: NDArray[np.int64]
    """Numbers of the n rows, ascending: all rows in groups, or a random sample of these."""
    near: csr_array | None = None
    """See `near_pairs`; of all rows."""


def sampled_rows(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows in groups (no -1), or a random sample of 3,000 of them."""
    rows = np.flatnonzero(labels >= 0)
    if len(rows) > MOST_ROWS:
        random = np.random.RandomState(SAMPLE_SEED)
        rows = np.sort(rows[random.choice(len(rows), MOST_ROWS, replace=False)])
    return rows.astype(np.int64)


def derived_probabilities(
    closure: Closure, labels: NDArray[np.int64], near: csr_array | None, rows: NDArray[np.int64]
) -> Singles:
    """Derive probabilities of all pairs of some rows from the groups and from answers.

    1 or 0 where answers imply it; else 0.8 within groups, 0.25 for nearest rows, 0 for others.
    """
    others = _p_between_groups(len(labels), near)
    between = others if isinstance(others, np.float32) else others[rows][:, rows].toarray()
    own = labels[rows]
    same = np.where(own[:, None] == own[None, :], np.float32(P_WITHIN), between)
    components, component = np.unique(closure.component[rows], return_inverse=True)
    place = np.full(closure.n_components, -1)
    place[components] = np.arange(len(components))
    links = place[closure.cannot_link_components]
    i, j = links[(links >= 0).all(axis=1)].T
    apart = np.zeros((len(components), len(components)), np.bool_)
    apart[i, j] = apart[j, i] = True
    same[apart[np.ix_(component, component)]] = 0
    same[component[:, None] == component[None, :]] = 1
    return np.asarray(same, np.float32)


def derived_for(
    closure: Closure, labels: NDArray[np.int64], near: csr_array | None, pairs: NDArray[np.int64]
) -> Singles:
    """Return entries of `derived_probabilities` for some pairs of rows, (n_pairs, 2)."""
    i, j = pairs.T
    others = _p_between_groups(len(labels), near)
    between = others if isinstance(others, np.float32) else np.asarray(others[i, j]).ravel()
    is_within = (labels[i] == labels[j]) & (labels[i] >= 0)
    same = np.where(is_within, np.float32(P_WITHIN), between)
    same[closure.is_different(i, j)] = 0
    same[closure.is_same(i, j)] = 1
    return np.asarray(same, np.float32)


def _p_between_groups(n: int, near: csr_array | None) -> csr_array | np.float32:
    """Probability between groups, sparse or one for all; answers may still decide such a pair."""
    if near is None:
        return np.float32(P_NEAR * min(1.0, N_NEAR / n))
    return csr_array(near.maximum(near.T) * np.float32(P_NEAR))


def near_pairs(items: Items) -> csr_array | None:
    """Each row and its ten nearest, (n, n), asymmetric; None without features and distances."""
    if not items.is_known:
        return None
    n = len(items.X)
    search = NeighborSearch(items.X, is_distance=items.is_distances)
    _, nearest = search.nearest_others(min(N_NEAR, n - 1))
    starts = np.arange(n + 1) * nearest.shape[1]
    return csr_array((np.ones(nearest.size, np.float32), nearest.ravel(), starts), shape=(n, n))


def annotator_qualities(
    answers: Iterable[Answer],
    repeats: Sequence[tuple[Answer, Answer]],
    settled: GuidedResult | None,
) -> tuple[AnnotatorQuality, ...]:
    """Describe each person, those with the most answers first."""
    n = Counter(answer.annotator for answer in answers)
    error: dict[str, Estimate] = {}
    if settled is not None:
        confusion = settled.confusion
        for name, rate, (low, high) in zip(
            confusion.annotators_, confusion.error_rates_, confusion.error_intervals_, strict=True
        ):
            if np.isfinite(rate):
                error[name] = Estimate(float(rate), float(low), float(high))
    found = []
    for name, count in n.most_common():
        own = [meaning_of(a) == meaning_of(b) for a, b in repeats if a.annotator == name]
        agreement = _share(sum(own), len(own)) if own else None
        found.append(AnnotatorQuality(name, count, error.get(name), agreement, len(own)))
    return tuple(found)


def _share(k: int, n: int) -> Estimate:
    """Return k / n with the interval of Jeffreys' prior."""
    posterior = beta(k + 0.5, n - k + 0.5)
    low, high = (float(posterior.ppf((1 + side * LEVEL) / 2)) for side in (-1, 1))
    return Estimate(k / n, low if k else 0.0, high if k < n else 1.0)
