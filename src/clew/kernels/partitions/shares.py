"""Probabilities of pairs from answers alone: shares that groups have of the rows still open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.partitions.pairs import below
from clew.kernels.partitions.tables import Answered, Groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
#: Range of probabilities to which the evidence of answers is added.
LEAST, MOST = 1e-4, 0.95


class SharePrior(NamedTuple):
    """Beta prior of the share of the open rows that a group holds."""

    mean: float
    """Of all rows; more, up to `most`, of those that larger groups leave."""
    weight: float
    """As if so many rows had been compared."""
    most: float


@kernel
def add_share_probabilities(
    groups: Groups, answered: Answered, prior: SharePrior, same: Singles
) -> None:
    """Add the probability that a pair is in one group, for all pairs, in the order of `below`.

    Rows of two groups are together if the groups are one (`merge_probabilities`), rows of one group
    if both stay. The prior probability that a row stays is the share of all rows that the others of
    its group have, or the prior mean of the group's share. The two rows of a group of two stay or
    go together.
    """
    n, k = len(groups.label), groups.count[0]
    size, evidence, of_own = np.zeros(k, np.int64), np.zeros((k, k)), np.zeros(n)
    for i in range(n):
        a = groups.label[i]
        size[a] += 1
        for p in range(answered.start[i], answered.start[i + 1]):
            b = groups.label[answered.other[p]]
            evidence[a, b] += answered.evidence[p]
            if a == b:
                of_own[i] += answered.evidence[p]
    is_one, priors = merge_probabilities(size, evidence, n, prior)
    stays = np.empty(n, np.float32)
    for i in range(n):
        a = groups.label[i]
        before = max((size[a] - 1) / n, priors[a])
        stays[i] = _posterior(before, of_own[i])
    for i in range(n):
        a = groups.label[i]
        to = below(same, i)
        for j in range(i):
            b = groups.label[j]
            if a != b:
                to[j] += np.float32(is_one[a, b])
            elif size[a] == 2:
                to[j] += stays[i]
            else:
                to[j] += stays[i] * stays[j]


@kernel
def merge_probabilities(
    size: Ints, evidence: Floats, n_rows: int, prior: SharePrior
) -> tuple[Floats, Floats]:
    """Compute the probability that two groups are one, and the prior mean of each one's share.

    A group's share is its size, less the row to be placed, over this plus the rows of groups that
    are kept apart from it and no larger, shrunk to the prior. It is multiplied by 1 minus the share
    of larger groups that may still hold the other group. Then the answers between both update it.

    IN size (n_groups,), evidence (n_groups, n_groups): log-likelihood ratio of the answers between
    two groups. Returns (n_groups, n_groups), 0 on the diagonal; (n_groups,).
    """
    k = len(size)
    shares, priors, larger = _shares(size, evidence, n_rows, prior)
    merge = np.zeros((k, k))
    for a in range(k):
        for b in range(a):
            p = shares[b] * (1 - min(larger[a, b], 0.99))
            q = shares[a] * (1 - min(larger[b, a], 0.99))
            if size[a] == size[b]:
                p = min(p, q)
            elif size[a] > size[b]:
                p = q
            merge[a, b] = merge[b, a] = _posterior(p, evidence[a, b])
    return merge, priors


@kernel
def _shares(
    size: Ints, evidence: Floats, n_rows: int, prior: SharePrior
) -> tuple[Floats, Floats, Floats]:
    """Compute the share of each group, its prior mean, and what larger groups may hold of others.

    The last, (n_groups, n_groups): the share of all rows in groups larger than the second one,
    other than those of which the first is surely not a part.
    """
    k = len(size)
    shares, priors, larger = np.empty(k), np.empty(k), np.empty((k, k))
    order = np.argsort(-size, kind="mergesort")
    for a in range(k):
        outside, compared = 0.0, 0.0
        held, of_equal, last = 0.0, 0.0, -1
        for at in range(k):
            b = order[at]
            if size[b] != last:  # groups of one size do not count for one another
                held += of_equal
                of_equal, last = 0.0, size[b]
            larger[a, b] = held
            if a == b:
                continue
            apart = 1 - np.exp(min(evidence[a, b], 0.0))
            of_equal += (1 - apart) * size[b] / n_rows
            if size[b] > size[a]:
                outside += apart * size[b] / n_rows
            else:
                compared += apart * size[b]
        priors[a] = min(prior.mean / max(1 - outside, 1e-3), prior.most)
        shares[a] = (size[a] - 1 + prior.weight * priors[a]) / (
            size[a] - 1 + compared + prior.weight
        )
    return shares, priors, larger


@kernel
def _posterior(probability: float, evidence: float) -> float:
    """Update a probability by the log-likelihood ratio of answers."""
    p = min(max(probability, LEAST), MOST)
    return p / (p + (1 - p) * np.exp(-evidence))
