"""Probabilities that pairs of rows are in one group, averaged over the next move of each row.

In one sampled partition, two rows either are in one group or are not: 1 or 0. Averaging the exact
probabilities of its possible next moves instead gives an estimate with less variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.partitions.pairs import below
from clew.kernels.partitions.rows import row_log_odds
from clew.kernels.partitions.tables import Answered, Groups, Scoring, group_sums

__all__ = [
    "BlockScoring",
    "add_same_probabilities",
    "block_probabilities",
    "group_probabilities",
    "row_probabilities",
]

Singles = NDArray[np.float32]


class BlockScoring(NamedTuple):
    """Weights in the log-odds that two groups are one, as fitted to the answers to questions."""

    top_share: float
    smaller: float
    """Weight of the log of the smaller size."""
    larger: float
    """Weight of the log of the larger size."""


@kernel
def row_probabilities(groups: Groups, answered: Answered, scoring: Scoring) -> Singles:
    """Compute the probability of each group for each row, if all other rows stay in theirs.

    Returns an array of shape (n_groups, n_rows). A column sums to 1 minus the probability of a new
    group.
    """
    n, k = len(groups.label), groups.count[0]
    probability = np.zeros((k, n), np.float32)
    score = np.empty(n + 1)
    for i in range(n):
        row_log_odds(groups, i, answered, scoring, score)
        largest = max(score[:k].max(), scoring.alone)
        total = 0.0 if groups.size[groups.label[i]] == 1 else np.exp(scoring.alone - largest)
        for a in range(k):
            score[a] = np.exp(score[a] - largest)
            total += score[a]
        for a in range(k):
            probability[a, i] = score[a] / total
    return probability


@kernel
def group_probabilities(groups: Groups, answered: Answered, scoring: Scoring) -> Singles:
    """Compute the probability that two groups are one.

    It is 0 for two groups of one row each: `row_probabilities` contain that merge.
    """
    k = groups.count[0]
    total, top, evidence = group_sums(groups, answered)
    probability = np.zeros((k, k), np.float32)
    for a in range(k):
        for b in range(k):
            smaller = min(groups.size[a], groups.size[b])
            if a == b or max(groups.size[a], groups.size[b]) == 1:
                continue
            mean = total[a, b] / (groups.size[a] * groups.size[b])
            score = mean + scoring.top_share * (top[a, b] - mean) + evidence[a, b]
            score -= scoring.alone / smaller**2 + scoring.apart
            probability[a, b] = 1.0 / (1.0 + np.exp(-score))
    return probability


@kernel
def block_probabilities(groups: Groups, answered: Answered, scoring: BlockScoring) -> Singles:
    """Compute the probability that two groups are one, by the regression fitted to answers.

    The tables of `groups` hold its log-odds.
    """
    k = groups.count[0]
    total, top, evidence = group_sums(groups, answered)
    probability = np.zeros((k, k), np.float32)
    for a in range(k):
        for b in range(k):
            if a == b:
                continue
            mean = total[a, b] / (groups.size[a] * groups.size[b])
            score = mean + scoring.top_share * (top[a, b] - mean) + evidence[a, b]
            score += scoring.smaller * np.log(min(groups.size[a], groups.size[b]))
            score += scoring.larger * np.log(max(groups.size[a], groups.size[b]))
            probability[a, b] = 1.0 / (1.0 + np.exp(-score))
    return probability


@kernel
def add_same_probabilities(
    groups: Groups,
    of_rows: Singles,
    of_groups: Singles,
    of_blocks: Singles,
    labels: Singles,
    questions: Singles,
) -> None:
    """Add the probability that a pair is in one group, for all pairs, in the order of `below`.

    Rows of one group are together if both stay. Rows of two groups are together if one of the rows
    moves to the other group, or if the groups are one. The probability that groups are one is
    `of_groups` for the sums in `labels`, and `of_blocks` for those in `questions`.
    """
    one = np.float32(1.0)
    apart_groups, apart_blocks = one - of_groups, one - of_blocks
    stays = one - of_rows
    for i in range(len(groups.label)):
        a = groups.label[i]
        stays_out, own = stays[a], of_rows[a, i]
        of_labels, of_questions = below(labels, i), below(questions, i)
        for j in range(i):
            b = groups.label[j]
            if a == b:
                together = own * of_rows[a, j]
                of_labels[j] += together
                of_questions[j] += together
            else:
                apart = stays[b, i] * stays_out[j]
                of_labels[j] += one - apart * apart_groups[a, b]
                of_questions[j] += one - apart * apart_blocks[a, b]
