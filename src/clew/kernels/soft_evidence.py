"""Groups that maximize evidence, by moves of rows and merges of groups, the best one first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


@kernel
def sums_by_group(
    prior: NDArray[np.float32],
    pairs: NDArray[np.int64],
    evidence: NDArray[np.float64],
    labels: NDArray[np.int64],
    n_groups: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum the prior log-odds and the evidence of each row with each group: (n_rows, n_groups).

    IN prior (n, n): log-odds that two rows are in one group, without answers; 0 on the diagonal;
    pairs (m, 2), evidence (m,): answered pairs and log-odds of their answers; labels (n,): groups.
    """
    n = labels.shape[0]
    prior_sums, evidence_sums = np.zeros((n, n_groups)), np.zeros((n, n_groups))
    for i in range(n):
        for j in range(n):
            prior_sums[i, labels[j]] += prior[i, j]
    for k in range(pairs.shape[0]):
        i, j = pairs[k, 0], pairs[k, 1]
        evidence_sums[i, labels[j]] += evidence[k]
        evidence_sums[j, labels[i]] += evidence[k]
    return prior_sums, evidence_sums


@kernel
def score(total: float, size: int, evidence: float) -> float:
    """Return the mean prior of a row with `size` others plus its evidence; 0 without others."""
    return total / size + evidence if size > 0 else 0.0


@kernel
def best_move(
    prior_sums: NDArray[np.float64],
    evidence_sums: NDArray[np.float64],
    labels: NDArray[np.int64],
    size: NDArray[np.int64],
) -> tuple[float, int, int]:
    """Return the largest gain by moving a row, the row, and its new group (-1: one of its own)."""
    best, row, group = 0.0, -1, -1
    for i in range(labels.shape[0]):
        own = labels[i]
        present = score(prior_sums[i, own], size[own] - 1, evidence_sums[i, own])
        if -present > best:
            best, row, group = -present, i, -1
        for c in range(size.shape[0]):
            if c == own or size[c] == 0:
                continue
            gain = score(prior_sums[i, c], size[c], evidence_sums[i, c]) - present
            if gain > best:
                best, row, group = gain, i, c
    return best, row, group


@kernel
def best_merge(
    prior_sums: NDArray[np.float64],
    evidence_sums: NDArray[np.float64],
    labels: NDArray[np.int64],
    size: NDArray[np.int64],
) -> tuple[float, int, int]:
    """Return the largest gain by merging two groups, and the numbers of these groups.

    The gain is the mean prior times the root of the smaller size, plus the evidence.
    """
    n, n_groups = prior_sums.shape
    prior, evidence = np.zeros((n_groups, n_groups)), np.zeros((n_groups, n_groups))
    for i in range(n):
        for c in range(n_groups):
            prior[labels[i], c] += prior_sums[i, c]
            evidence[labels[i], c] += evidence_sums[i, c]
    best, a, b = 0.0, -1, -1
    for c in range(n_groups):
        for d in range(c):
            if size[c] == 0 or size[d] == 0:
                continue
            mean = prior[c, d] / (size[c] * size[d])
            gain = mean * np.sqrt(min(size[c], size[d])) + evidence[c, d]
            if gain > best:
                best, a, b = gain, c, d
    return best, a, b


@kernel
def move_sums(
    prior: NDArray[np.float32],
    pairs: NDArray[np.int64],
    evidence: NDArray[np.float64],
    row: int,
    group: int,
    sign: int,
    prior_sums: NDArray[np.float64],
    evidence_sums: NDArray[np.float64],
) -> None:
    """Add a row to the sums of a group (sign 1), or take it out (-1)."""
    for i in range(prior.shape[0]):
        prior_sums[i, group] += sign * prior[i, row]
    for k in range(pairs.shape[0]):
        if pairs[k, 0] == row or pairs[k, 1] == row:
            other = pairs[k, 0] + pairs[k, 1] - row
            evidence_sums[other, group] += sign * evidence[k]


@kernel
def improve_groups(
    prior: NDArray[np.float32],
    pairs: NDArray[np.int64],
    evidence: NDArray[np.float64],
    labels: NDArray[np.int64],
    least_gain: float,
    max_moves: int,
) -> None:
    """Move the best row, or if no move gains, merge the best two groups; until neither gains.

    IN prior, pairs, evidence: as in `sums_by_group`; least_gain: smaller gains are ignored.
    INOUT labels (n,): groups; numbers below n. Time O(n²) and O(n · n_groups) for each move.
    """
    n = labels.shape[0]
    n_groups = min(n, labels.max() + 1 + max_moves)
    prior_sums, evidence_sums = sums_by_group(prior, pairs, evidence, labels, n_groups)
    size = np.bincount(labels, minlength=n_groups)
    for _ in range(max_moves):
        gain, row, group = best_move(prior_sums, evidence_sums, labels, size)
        if gain > least_gain:
            if group < 0:
                group = np.argmin(size)
                if size[group] > 0:
                    return
            size[labels[row]] -= 1
            size[group] += 1
            move_sums(prior, pairs, evidence, row, labels[row], -1, prior_sums, evidence_sums)
            move_sums(prior, pairs, evidence, row, group, 1, prior_sums, evidence_sums)
            labels[row] = group
            continue
        gain, a, b = best_merge(prior_sums, evidence_sums, labels, size)
        if gain <= least_gain:
            return
        prior_sums[:, a] += prior_sums[:, b]
        evidence_sums[:, a] += evidence_sums[:, b]
        prior_sums[:, b] = 0.0
        evidence_sums[:, b] = 0.0
        size[a] += size[b]
        size[b] = 0
        for i in range(n):
            if labels[i] == b:
                labels[i] = a
