"""Gibbs sampling of whole groups: each group stays as it is, or joins another one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.partitions.draws import draw, random_order
from clew.kernels.partitions.tables import (
    Answered,
    Groups,
    Scoring,
    fill_tables,
    group_sums,
)

__all__ = ["draw_blocks"]

Floats = NDArray[np.float64]

IMPOSSIBLE = -1e300


@kernel
def draw_blocks(
    groups: Groups,
    log_odds: NDArray[np.float32],
    answered: Answered,
    scoring: Scoring,
    state: NDArray[np.uint64],
) -> None:
    """Draw for each group, in random order, whether it joins another group, and which."""
    k = groups.count[0]
    total, top, evidence = group_sums(groups, answered)
    size = groups.size[:k].astype(np.float64)
    into = np.arange(k)
    order = np.arange(k)
    random_order(order, state)
    score = np.empty(k + 1)
    for a in order:
        if into[a] != a:
            continue
        for b in range(k):
            mean = total[a, b] / (size[a] * size[b])
            between = mean + scoring.top_share * (top[a, b] - mean) + evidence[a, b]
            score[b] = IMPOSSIBLE if b == a or into[b] != b else between
        score[k] = scoring.alone / size[a] ** 2 + scoring.apart
        b = draw(score, k + 1, scoring.temperature, state)
        if b < k:
            into[a] = b
            _add_group(total, top, evidence, a, b)
            size[b] += size[a]
    if (into != np.arange(k)).any():
        _apply(groups, into)
        fill_tables(groups, log_odds)


@kernel
def _add_group(total: Floats, top: Floats, evidence: Floats, a: int, b: int) -> None:
    """Add the sums of group a to those of group b."""
    for c in range(len(total)):
        if c != b:
            total[b, c] += total[a, c]
            total[c, b] += total[c, a]
            evidence[b, c] += evidence[a, c]
            evidence[c, b] += evidence[c, a]
            top[b, c] = max(top[b, c], top[a, c])
            top[c, b] = top[b, c]


@kernel
def _apply(groups: Groups, into: NDArray[np.int64]) -> None:
    """Relabel the rows after the merges; groups are numbered from 0."""
    number = np.full(len(into), -1)
    count = 0
    for i in range(len(groups.label)):
        a = groups.label[i]
        while into[a] != a:
            a = into[a]
        if number[a] < 0:
            number[a] = count
            count += 1
        groups.label[i] = number[a]
    groups.count[0] = count
