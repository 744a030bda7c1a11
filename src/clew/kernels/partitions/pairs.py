"""Pairs of rows, each once, as (1, 0), (2, 0), (2, 1): features, probabilities and questions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.partitions.sampling import row_log_odds
from clew.kernels.partitions.tables import Answered, Groups, Scoring, group_sums

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


@kernel
def number_of_pairs(n_rows: int) -> int:
    """Count the pairs of so many rows; also the position of the first pair of row `n_rows`."""
    return n_rows * (n_rows - 1) // 2


@kernel
def below(of_pairs: Singles, row: int) -> Singles:
    """Return the part about a row and the rows before it."""
    start = number_of_pairs(row)
    return of_pairs[start : start + row]


@kernel
def fill_below(first: Singles, second: Singles, divisor: np.float32, square: Singles) -> None:
    """Divide sums of two numbers of each pair, and put them below the diagonal of a matrix."""
    at = 0
    for i in range(len(square)):
        for j in range(i):
            square[i, j] = (first[at] + second[at]) / divisor
            at += 1


@kernel
def fill_log_odds(
    features: Singles,
    ratio: Singles,
    weights: Singles,
    low: float,
    high: float,
    block_weights: Singles,
    block_limit: float,
    pairs: Singles,
    blocks: Singles,
) -> None:
    """Compute two weighted sums of the features of all pairs, below the diagonals.

    IN features (n_pairs, n_features), ratio (n_pairs,): one more feature; weights, block_weights
    (n_features + 2,): intercept, weights of the features, and of `ratio`; low, high: beyond these,
    the first sum grows logarithmically; block_limit: the second is clipped to ± this.
    OUT pairs, blocks (n_rows, n_rows).
    """
    n_features = features.shape[1]
    at = 0
    for i in range(len(pairs)):
        for j in range(i):
            first, second = weights[0], block_weights[0]
            for k in range(n_features):
                first += weights[k + 1] * features[at, k]
                second += block_weights[k + 1] * features[at, k]
            first += weights[n_features + 1] * ratio[at]
            second += block_weights[n_features + 1] * ratio[at]
            if first < low:
                first = np.float32(low - np.log1p(low - first))
            elif first > high:
                first = np.float32(high + np.log1p(first - high))
            pairs[i, j] = first
            blocks[i, j] = min(max(second, np.float32(-block_limit)), np.float32(block_limit))
            at += 1


@kernel
def core_features(
    features: Singles,
    ratio: Singles,
    log_odds: Singles,
    first: Ints,
    second: Ints,
    top_share: float,
    mixed: NDArray[np.float64],
) -> None:
    """Mix the mean features of all pairs between two sets with those of their nearest pair.

    IN features (n_pairs, n_features), ratio (n_pairs,): one more feature; log_odds (n_rows,
    n_rows): largest for the nearest pair; first, second: rows of the two disjoint sets; top_share:
    share of the nearest pair.
    OUT mixed (n_features + 1,).
    """
    n_features = features.shape[1]
    mixed[:] = 0.0
    nearest, most = 0, -np.inf
    for i in first:
        for j in second:
            at = number_of_pairs(max(i, j)) + min(i, j)
            for k in range(n_features):
                mixed[k] += features[at, k]
            mixed[n_features] += ratio[at]
            if log_odds[i, j] > most:
                nearest, most = at, log_odds[i, j]
    mixed *= (1 - top_share) / (len(first) * len(second))
    for k in range(n_features):
        mixed[k] += top_share * features[nearest, k]
    mixed[n_features] += top_share * ratio[nearest]


ONE, HALF = np.float32(1.0), np.float32(0.5)
#: A number minus what this multiple of it leaves keeps 11 bits (Veltkamp's splitting).
SPLIT = np.float32(2**13 + 1)
#: Smaller numbers of half precision are multiples of 2⁻²⁴.
SMALL = np.float32(2.0**-14)


@kernel
def add_average(
    labels: Singles,
    questions: Singles,
    share: np.float32,
    start: Ints,
    start_share: np.float32,
    weight: np.float32,
    average: Singles,
) -> Singles:
    """Average new probabilities with older ones, in half precision: (n_rows, n_rows).

    The new ones, 1 on the diagonal, are the mean of `labels` and `questions` (share `share`) and of
    1 where `start` has a pair in one group (`start_share`). They weigh `weight`, and `average` the
    rest.
    """
    n = len(average)
    result = np.empty((n, n), np.float32)
    for i in range(n):
        for j in range(n):
            new = (ONE - share) * labels[i, j] + share * questions[i, j]
            if i == j:
                new = ONE
            together = ONE if start[i] == start[j] else np.float32(0.0)
            new = (ONE - start_share) * new + start_share * together
            mean = weight * new + (ONE - weight) * average[i, j]
            if mean < SMALL:
                result[i, j] = (mean + HALF) - HALF
            else:
                split = SPLIT * mean
                result[i, j] = split - (split - mean)
    return result


@kernel
def expected_pairs(same: Singles, labels: Ints) -> tuple[float, float, float]:
    """Sum probabilities of pairs: those within groups, their number, and of all pairs."""
    found, total = 0.0, 0.0
    n_within = 0
    for i in range(len(labels)):
        for j in range(i):
            total += same[i, j]
            if labels[i] == labels[j]:
                found += same[i, j]
                n_within += 1
    return found, float(n_within), total


class BlockScoring(NamedTuple):
    """Weights in the log-odds that two groups are one, as fitted to the answers to questions."""

    top_share: float
    smaller: float
    """Weight of the log of the smaller size."""
    larger: float
    """Weight of the log of the larger size."""


@kernel
def row_probabilities(groups: Groups, answered: Answered, scoring: Scoring) -> Singles:
    """Compute the probability of each group for each row, if all others stay: (n_groups, n_rows).

    A column sums to 1 minus the probability of a new group.
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
    """Compute the probability that two groups are one, by log-odds in the tables of `groups`."""
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

    Rows of one group are together if both stay; others if one moves to the other's group, or if the
    groups are one, by `of_groups` in `labels` and by `of_blocks` in `questions`.
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


#: Weight of the log-odds from features, which break ties: near pairs come first.
TIE_BREAK = 1e-4


@kernel
def question_values(
    same: Singles,
    log_odds: Singles,
    taken: NDArray[np.bool_],
    weight: Singles,
    central: Singles,
    error: float,
    value: Singles,
) -> None:
    """Compute the mutual information of an answer and the truth, weighted, for all pairs.

    IN same, log_odds (n_rows, n_rows): probability, and log-odds from features, that a pair is in
    one group; taken (n_rows, n_rows): asked pairs; weight (n_rows,): the value is multiplied by the
    smaller of two; central (n_rows,): and by 1 plus the entries of both rows; error: probability of
    a wrong answer.
    OUT value (n_rows, n_rows): below the diagonal; -1 elsewhere and for asked pairs.
    """
    noise = -error * np.log(error) - (1 - error) * np.log(1 - error)
    for i in range(len(same)):
        value[i, i:] = -1.0
        for j in range(i):
            if taken[i, j]:
                value[i, j] = -1.0
                continue
            p = min(max(same[i, j], 1e-6), 1 - 1e-6)
            given = p * (1 - error) + (1 - p) * error
            entropy = -given * np.log(given) - (1 - given) * np.log(1 - given)
            score = (entropy - noise) * min(weight[i], weight[j]) + TIE_BREAK * log_odds[i, j]
            value[i, j] = score * (1 + central[i] + central[j])
