"""Greedy merges, from single rows on, while the log-odds that two groups are one are positive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["greedy_merges"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]

NONE = -1e300


@kernel
def greedy_merges(log_odds: NDArray[np.float32], top_share: float) -> Ints:
    """Merge the groups with the largest log-odds while these are positive; return the labels."""
    n = len(log_odds)
    mean, top = log_odds.astype(np.float64), log_odds.copy()
    size = np.ones(n)
    label = np.arange(n)
    best, most = np.zeros(n, np.int64), np.full(n, NONE)
    for a in range(n):
        _find_best(mean, top, size, top_share, a, best, most)
    while True:
        a = np.argmax(most)
        if most[a] <= 0:
            break
        b = best[a]
        _merge(mean, top, size, a, b)
        label[label == b] = a
        most[b] = NONE
        for c in range(n):
            if size[c] == 0:
                continue
            if c == a or best[c] == a or best[c] == b:
                _find_best(mean, top, size, top_share, c, best, most)
            else:
                score = mean[c, a] + top_share * (top[c, a] - mean[c, a])
                if score > most[c]:
                    best[c], most[c] = a, score
    return label


@kernel
def _find_best(
    mean: Floats, top: Singles, size: Floats, top_share: float, a: int, best: Ints, most: Floats
) -> None:
    """Find the group with the largest log-odds of being the same as group a."""
    most[a] = NONE
    for b in range(len(size)):
        if b != a and size[b] > 0:
            score = mean[a, b] + top_share * (top[a, b] - mean[a, b])
            if score > most[a]:
                best[a], most[a] = b, score


@kernel
def _merge(mean: Floats, top: Singles, size: Floats, a: int, b: int) -> None:
    """Add group b to group a."""
    share = size[a] / (size[a] + size[b])
    for c in range(len(size)):
        if size[c] > 0 and c != a and c != b:
            mean[a, c] = mean[c, a] = share * mean[a, c] + (1 - share) * mean[b, c]
            top[a, c] = top[c, a] = max(top[a, c], top[b, c])
    size[a] += size[b]
    size[b] = 0.0
