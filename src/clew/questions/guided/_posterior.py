"""A posterior over partitions: a few samples, continued after each batch of answers."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from clew._parallel import blocks, in_threads
from clew.kernels.partitions.pairs import (
    BlockScoring,
    add_same_probabilities,
    block_probabilities,
    fill_below,
    group_probabilities,
    number_of_pairs,
    row_probabilities,
)
from clew.kernels.partitions.sampling import advance
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
#: Partitions whose probabilities are summed in one array, in one thread.
PER_BLOCK = 4
#: Rows that are copied at once.
ROWS_AT_ONCE = 256


class SameProbabilities(NamedTuple):
    """Probability that a pair of rows is in one group, for all pairs; symmetric."""

    labels: Singles
    """For the labels, (n_rows, n_rows), 1 on the diagonal."""
    questions: Singles
    """For choosing questions; the probability that two groups are one is fitted to the answers."""


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
        """Move each partition on by one step, in parts; yield the share that is done after each.

        `factors` (n_partitions,) multiply the evidence of the answers. The probabilities are
        averages over the partitions after this step and the one before.
        """
        partitions, states = self.partitions.copy(), self.states.copy()

        def advanced(index: int, own: Answered) -> Groups:
            groups = _groups(partitions[index])
            advance(groups, views.pairs, own, SCORING, N_TRIES, states[index])
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
