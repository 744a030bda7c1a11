"""A posterior over partitions: a few samples, continued after each batch of answers; labels."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from clew._parallel import blocks, in_threads
from clew.kernels.partitions.labels import best_partition
from clew.kernels.partitions.pairs import (
    BlockScoring,
    add_same_probabilities,
    block_probabilities,
    expected_pairs,
    fill_below,
    group_probabilities,
    number_of_pairs,
    row_probabilities,
)
from clew.kernels.partitions.sampling import advance
from clew.kernels.partitions.shares import SharePrior, add_share_probabilities
from clew.kernels.partitions.tables import Answered, Groups, Scoring, fill_tables
from clew.kernels.random_bits import seed_stream

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
T = TypeVar("T")
N_PARTITIONS = 16
#: Number of proposed splits of each group in a step.
N_TRIES = 2
#: Weight of the nearest pair in the log-odds of two sets of rows: in partitions, in questions.
TOP_SHARE = 0.65
BLOCK_TOP_SHARE = 0.7
SCORING = Scoring(top_share=TOP_SHARE, alone=-2.0, apart=2.0, temperature=0.7)
#: Without features one answer joins two rows.
ANSWERS_SCORING = SCORING._replace(alone=0.0, apart=0.0)
#: Log-odds of all pairs without features; divided by this plus the log of the number of rows, they
#: are the temperature at which about one row in fifty joins another without an answer.
EQUAL_LOG_ODDS, COOLING = -1.6, 4.0
SHARES = SharePrior(mean=0.25, weight=6.0, most=0.8)
#: Partitions whose probabilities are summed in one array, in one thread.
PER_BLOCK = 4
#: Rows that are copied at once.
ROWS_AT_ONCE = 256
#: The core of a row holds the rows that are in its group with a larger probability than this.
CORE = 0.7
MAX_ITER = 30
#: Labels from another start are used if their ``sum(P - t)`` is higher by more than this, so that
#: labels do not change without a reason.
LEAST_GAIN = 0.5
#: Labels change if the expected index J rises by at least this share of ``1 - J``: smaller changes
#: are mostly undone by the next answers.
LEAST_SHARE = 0.03
LOWEST, HIGHEST = 0.2, 0.98
#: Pairs that are added to those joined by both when labels are compared. Without them, labels that
#: join no rows would have an index of 0, even where all answers are "different".
PRIOR_PAIRS = 1.0
#: Labels are computed from a moving average of probabilities. Old probabilities keep `KEPT_SHARE`
#: of their weight after `KEPT_ANSWERS` answers a row, or, if answers may be wrong, after `KEPT_MIN`
#: plus the share of wrong answers.
KEPT_SHARE, KEPT_ANSWERS, KEPT_MIN = 0.6, 0.02, 0.01
#: Limit of the share of wrong answers in this sum: `MOST_ERROR` up to one answer a row, less by
#: `FALL_PER_ROUND` for each further answer a row, but at least `LEAST_LIMIT`.
MOST_ERROR, FALL_PER_ROUND, LEAST_LIMIT = 0.2, 0.13, 0.07
#: Weight of the probabilities for questions in labels, after one answer a row.
QUESTIONS_SHARE = 0.5
#: Factor of distances within groups.
WITHIN = 1e-3


class JaccardLabels(NamedTuple):
    """Labels that maximize the expected Jaccard index of pairs, updated after each batch.

    The index is a ratio. The labels that maximize it also maximize ``sum(P - t)`` over the pairs
    within groups, with ``t = J / (1 + J)`` for their own index J.
    """

    labels: NDArray[np.int64]
    """(n_rows,)"""
    average: NDArray[np.float32]
    """Probabilities of pairs, averaged over the last batches with decreasing weights."""
    jaccard: float = 0.7
    """Expected Jaccard index of the labels."""

    @classmethod
    def of(cls, labels: NDArray[np.int64], average: NDArray[np.float32]) -> Self:
        """Take labels as they are, with the probabilities of pairs."""
        return cls(labels, average, _clipped(expected_jaccard(average, labels)))

    def updated(self, same: NDArray[np.float32], start: NDArray[np.int64]) -> JaccardLabels:
        """Labels for a new average (n_rows, n_rows), from the present ones or `start`."""
        threshold = self.jaccard / (1 + self.jaccard)
        labels, value = best_partition(same, self.labels, threshold, MAX_ITER)
        others, other_value = best_partition(same, start, threshold, MAX_ITER)
        if other_value > value + LEAST_GAIN:
            labels = others
        first = _clipped(expected_jaccard(same, labels, PRIOR_PAIRS))
        labels, _ = best_partition(same, labels, first / (1 + first), MAX_ITER)
        before = expected_jaccard(same, self.labels, PRIOR_PAIRS)
        after = expected_jaccard(same, labels, PRIOR_PAIRS)
        if after < before + LEAST_SHARE * (1 - before):
            labels, after = self.labels, before
        return JaccardLabels(labels, same, _clipped(after))


class SameProbabilities(NamedTuple):
    """Probability that a pair of rows is in one group, for all pairs; symmetric."""

    labels: Singles
    """For the labels, (n_rows, n_rows), 1 on the diagonal."""
    questions: Singles
    """For choosing questions; the probability that two groups are one is fitted to the answers.
    Without features these are `labels`."""


class PairSums(NamedTuple):
    """Sums of both over partitions, one entry a pair: (n_pairs,)."""

    labels: Singles
    questions: Singles


class Views(NamedTuple):
    """Log-odds of all pairs of rows from features, each (n_rows, n_rows)."""

    pairs: Singles
    """For partitions."""
    blocks: Singles
    """For questions about two groups."""
    smaller: float
    """Weight of the log size of the smaller of two groups, in questions."""
    larger: float
    has_features: bool
    """Whether they tell pairs apart; else all are equal."""


class Posterior(NamedTuple):
    """Sampled partitions of rows, with the state of their random streams; never changed."""

    partitions: Ints
    """(n_partitions, n_rows)"""
    states: NDArray[np.uint64]
    last: PairSums | None = None
    """Sums over the partitions, after the last step; None before the first one."""

    @classmethod
    def start(cls, labels: Ints, seed: int) -> Self:
        """Start all partitions from one, (n_rows,)."""
        states = np.zeros((N_PARTITIONS, 1), np.uint64)
        for stream, state in enumerate(states):
            seed_stream(state, seed, stream)
        return cls(np.repeat(labels[None, :], N_PARTITIONS, axis=0), states)

    def stepping(
        self, views: Views, answered: Answered, factors: Floats, n_jobs: int | None = None
    ) -> Generator[float, None, tuple[Posterior, SameProbabilities]]:
        """Move partitions one step; yield the share done, return means of two steps."""
        partitions, states = self.partitions.copy(), self.states.copy()
        scoring = SCORING
        if not views.has_features:
            temperature = -EQUAL_LOG_ODDS / (COOLING + np.log(partitions.shape[1]))
            scoring = ANSWERS_SCORING._replace(temperature=float(temperature))

        def advanced(index: int, own: Answered) -> Groups:
            groups = _groups(partitions[index])
            advance(groups, views.pairs, own, scoring, N_TRIES, states[index])
            partitions[index] = groups.label
            return groups

        total = yield from _summing(advanced, views, answered, factors, n_jobs)
        same = averaged(self.last, total, partitions.shape[1])
        return Posterior(partitions, states, total), same


def averaged(before: PairSums | None, last: PairSums, n_rows: int) -> SameProbabilities:
    """Average over the partitions after the last step, and those after the step before."""
    both = zip(before or last, last, strict=True)
    labels, questions = (square_of(*sums, 2 * N_PARTITIONS, n_rows) for sums in both)
    np.fill_diagonal(labels, 1)
    return SameProbabilities(labels, questions)


def square_of(first: Singles, second: Singles, divisor: float, n_rows: int) -> Singles:
    """Return the symmetric matrix of the sums of two numbers a pair, divided; 0 on the diagonal."""
    square = np.empty((n_rows, n_rows), np.float32)
    fill_below(first, second, np.float32(divisor), square)
    mirror(square)
    return square


def sums_of(
    partitions: Ints, views: Views, answered: Answered, factors: Floats, n_jobs: int | None
) -> PairSums:
    """Sum the probabilities of partitions again, as the step that they are from did."""
    given = views, answered, factors, n_jobs
    return run(_summing(lambda index, _: _groups(partitions[index]), *given))


def run(parts: Generator[float, None, T]) -> T:
    """Compute all parts that are left, and return the result."""
    while True:
        try:
            next(parts)
        except StopIteration as end:
            result: T = end.value
            return result


def _summing(
    groups_of: Callable[[int, Answered], Groups],
    views: Views,
    answered: Answered,
    factors: Floats,
    n_jobs: int | None,
) -> Generator[float, None, PairSums]:
    n_pairs = number_of_pairs(len(views.pairs))

    def of_block(block: tuple[int, int]) -> PairSums:
        total = PairSums(np.zeros(n_pairs, np.float32), np.zeros(n_pairs, np.float32))
        for index in range(*block):
            own = answered._replace(evidence=answered.evidence * factors[index])
            _add_probabilities(groups_of(index, own), views, own, total)
        return total

    totals: PairSums | None = None
    tasks = blocks(N_PARTITIONS, PER_BLOCK)
    n_at_once = max(1, min(effective_n_jobs(n_jobs), len(tasks)))
    for start, stop in blocks(len(tasks), n_at_once):
        for part in in_threads(of_block, tasks[start:stop], n_jobs=n_jobs):
            if totals is None:
                totals = part
                continue
            for total, more in zip(totals, part, strict=True):
                total += more
        del part
        yield stop / len(tasks)
    assert totals is not None
    return totals


def _add_probabilities(groups: Groups, views: Views, answered: Answered, total: PairSums) -> None:
    if not views.has_features:
        add_share_probabilities(groups, answered, SHARES, total.labels)
        total.questions[:] = total.labels
        return
    fill_tables(groups, views.pairs)  # computed again: rounding errors add up while rows move
    of_rows = row_probabilities(groups, answered, SCORING)
    of_groups = group_probabilities(groups, answered, SCORING)
    fill_tables(groups, views.blocks)
    scoring = BlockScoring(BLOCK_TOP_SHARE, views.smaller, views.larger)
    of_blocks = block_probabilities(groups, answered, scoring)
    add_same_probabilities(groups, of_rows, of_groups, of_blocks, *total)


def mirror(lower: Singles) -> None:
    """Copy the lower triangle to the upper one, block by block; let the diagonal be 0."""
    for start, stop in blocks(len(lower), ROWS_AT_ONCE):
        lower[:start, start:stop] = lower[start:stop, :start].T
        square = np.tril(lower[start:stop, start:stop], -1)
        lower[start:stop, start:stop] = square + square.T


def _groups(labels: Ints) -> Groups:
    n = len(labels)
    _, label = np.unique(labels, return_inverse=True)
    return Groups(
        label.astype(np.int64),
        np.empty(n + 1, np.int64),
        np.array([label.max() + 1]),
        np.empty(n + 1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n + 1, n), np.float32),
        np.empty((n + 1, n), np.float32),
    )


def cores(same: Singles, i: int, j: int) -> tuple[Ints, Ints]:
    """Return the rows that are surely in the group of i, and those in that of j; disjoint."""
    near = same[[i, j]] > CORE
    both = near[0] & near[1]
    of_first = both & (same[i] >= same[j])
    near[0, both & ~of_first] = False
    near[1, of_first] = False
    near[0, i], near[1, j] = True, True
    near[0, j], near[1, i] = False, False
    return np.flatnonzero(near[0]), np.flatnonzero(near[1])


def cut_at(
    same: NDArray[np.float32],
    log_odds: NDArray[np.float32],
    labels: NDArray[np.int64],
    n_clusters: int,
) -> NDArray[np.int64]:
    """Merge or split the groups `labels` (n_rows,) until there are `n_clusters`.

    A cut of Ward's linkage of `same` and `log_odds` (n_rows, n_rows): small groups merge first, so
    a few odd rows take no group's place. Distances within groups are divided by 1,000: they come
    first.
    """
    n = len(labels)
    if labels.max() + 1 == n_clusters or n == 1:
        return labels
    far = (log_odds.max() - log_odds.astype(np.float64)) / max(float(np.ptp(log_odds)), 1e-9)
    distance = (1.0 - same) * (1 + far) / 2
    distance[labels[:, None] == labels[None, :]] *= WITHIN
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(np.clip(distance, 0.0, 1.0), checks=False), "ward")
    return fcluster(tree, n_clusters, "maxclust").astype(np.int64) - 1


def expected_jaccard(
    same: NDArray[np.float32], labels: NDArray[np.int64], prior: float = 0.0
) -> float:
    """Return expected pairs joined by both over those by either, each plus `prior`; else 1."""
    found, n_within, total = expected_pairs(same, labels)
    union = n_within + total - found + prior
    return min(max((found + prior) / union, 0.0), 1.0) if union > 1e-9 else 1.0


def weight_of_new(n_answers: int, n_rows: int, error: float | None = None, n_all: int = 0) -> float:
    """Return the weight of new probabilities in the average from which labels are computed.

    The more answers are wrong (`error`), the longer the average, until others contradict them;
    after many answers (`n_all`) there mostly are others. `n_answers` came since the last
    probabilities.
    """
    kept = KEPT_ANSWERS
    if error is not None:
        rounds = max(n_all / n_rows - 1, 0.0)
        limit = max(MOST_ERROR - FALL_PER_ROUND * rounds, LEAST_LIMIT)
        kept = KEPT_MIN + min(error, limit)
    return float(1 - KEPT_SHARE ** (n_answers / (kept * n_rows)))


def share_of_questions(n_answers: int, n_rows: int) -> float:
    """Return the weight, from 0 to 1, of the probabilities for questions; labels have the rest.

    They hold the probability, fitted to answers, that two groups are one: better where groups look
    different but are one.
    """
    return QUESTIONS_SHARE * min(1.0, n_answers / n_rows)


def _clipped(jaccard: float) -> float:
    return min(max(jaccard, LOWEST), HIGHEST)
