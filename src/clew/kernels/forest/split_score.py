"""The best cut of one feature at one node of a two-class tree.

A row has a *bin* (0..255) for the feature, a bootstrap weight and one of two classes.
A cut at bin ``c`` sends the bins up to ``c`` left. Its score is the Gini gain relative to
the node's Gini impurity, ``(l1·t - l·t1)² / (l·(t - l)·t1·(t - t1))``, with ``t`` the weight
of the node, ``l`` the weight that goes left, and ``t1``, ``l1`` the same for class one:
1 for a split into two pure children, 0 for one that tells nothing.

One rule holds on every path: the highest score wins, ties go to the lowest bin, and the
cut lies in the middle of the bins that give the same two children.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel

__all__ = ["best_cut_counts", "best_cut_links", "best_cut_sorted"]


@bare_kernel
def highest(score: NDArray[np.float64], n: int) -> int:
    """Give the place of the first maximum of `n` scores, none below 0.

    Floats that are not negative are ordered as their bits are, and a maximum of
    integers is vectorised where one of floats is not.
    """
    bits = score.view(np.int64)
    best = np.int64(0)
    for k in range(n):
        best = max(best, bits[k])
    k = 0
    while bits[k] != best:
        k += 1
    return k


@bare_kernel
def score_prefixes(
    prefix: NDArray[np.int64],
    n: int,
    total: int,
    total_ones: int,
    smallest: int,
    score: NDArray[np.float64],
) -> None:
    """Score the cut after each of `n` prefixes; 0 where a child is under `smallest`."""
    t = np.float64(total)
    t1 = np.float64(total_ones)
    least = np.float64(smallest)
    impurity = t1 * (t - t1)
    for k in range(n):
        left = np.float64(np.int32(prefix[k] >> 24))
        number = np.float64(np.int32(prefix[k] & 0xFFFFFF)) * t - left * t1
        value = number * number / (left * (t - left) * impurity)
        score[k] = value if (left >= least) & (t - left >= least) else 0.0


@bare_kernel
def best_cut_sorted(
    keys: NDArray[np.int64], n: int, total: int, total_ones: int, smallest: int
) -> tuple[float, int]:
    """Find the best cut of a handful of rows by insertion sort.

    A key is ``bin << 48 | weight << 24 | weight·class``; `keys` ends up sorted.
    """
    for i in range(1, n):
        key = keys[i]
        k = i - 1
        while k >= 0 and keys[k] > key:
            keys[k + 1] = keys[k]
            k -= 1
        keys[k + 1] = key
    t = np.float64(total)
    t1 = np.float64(total_ones)
    impurity = t1 * (t - t1)
    best = 0.0
    cut = np.int64(-1)
    running = np.int64(0)
    for i in range(n - 1):
        here = keys[i] >> 48
        after = keys[i + 1] >> 48
        running += keys[i] & 0xFFFFFFFFFFFF
        weight = running >> 24
        if here != after and weight >= smallest and total - weight >= smallest:
            left = np.float64(weight)
            number = np.float64(running & 0xFFFFFF) * t - left * t1
            value = number * number / (left * (t - left) * impurity)
            if value > best:
                best = value
                cut = (here + after - 1) >> 1
    return best, cut


@bare_kernel
def best_cut_counts(
    counts: NDArray[np.int64],
    n_bins: int,
    total: int,
    total_ones: int,
    smallest: int,
    prefix: NDArray[np.int64],
    filled: NDArray[np.int64],
    score: NDArray[np.float64],
) -> tuple[float, int]:
    """Find the best cut from the counts of each bin, ``weight << 24 | weight·class``.

    `counts` is zero again afterwards.
    """
    n = 0
    running = np.int64(0)
    for b in range(n_bins):
        running += counts[b]
        prefix[n] = running
        filled[n] = b
        n += counts[b] != 0
    counts[:n_bins] = 0
    if n < 2:
        return 0.0, -1
    # Up to the next full vector: what lies past n - 1 is scored too, and never looked at.
    score_prefixes(prefix, (n + 6) & ~7, total, total_ones, smallest, score)
    k = highest(score, n - 1)
    if score[k] <= 0.0:
        return 0.0, -1
    return score[k], (filled[k] + filled[k + 1] - 1) >> 1


@bare_kernel
def best_cut_links(
    counts: NDArray[np.int64],
    links: NDArray[np.int64],
    n_bins: int,
    total: int,
    total_ones: int,
    smallest: int,
    reward: float,
    prefix: NDArray[np.int64],
    score: NDArray[np.float64],
) -> tuple[float, int]:
    """Find the cut with the highest sum of relative gain and reward for the links it separates.

    `links` is a difference array: the links that the cut at bin ``b`` separates have the
    total weight ``Σ links[:b + 1]``, negative for must-links. A cut without gain, or with a
    sum not above 0, is none. Both `counts` and `links` are zero again afterwards.
    """
    running = np.int64(0)
    for b in range(n_bins):
        running += counts[b]
        counts[b] = 0
        prefix[b] = running
    score_prefixes(prefix, n_bins, total, total_ones, smallest, score)
    best = 0.0
    first = -1
    last = -1
    net = np.int64(0)
    best_net = np.int64(0)
    for b in range(n_bins):
        net += links[b]
        links[b] = 0
        value = score[b] + reward * np.float64(net)
        if score[b] > 0.0 and value > best:
            best = value
            first = b
            last = b
            best_net = net
        elif first >= 0 and last == b - 1 and prefix[b] == prefix[last] and net == best_net:
            last = b
    return best, (first + last) >> 1
