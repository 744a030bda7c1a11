"""The best cut of one feature at one node of a two-class tree.

A row has a *bin* (0..255) of the feature, a bootstrap weight and one of two classes. A cut at bin
``c`` sends the bins up to ``c`` left. Its score is the Gini gain divided by the node's Gini
impurity, ``(l1·t - l·t1)² / (l·(t - l)·t1·(t - t1))``, where ``t`` is the weight of the node, ``l``
the weight that goes left, and ``t1`` and ``l1`` are the same for class 1. The score is 1 for two
pure children, and 0 if both children have the class shares of the node.

All functions here agree: the highest score wins, in a tie the lowest bin, and the cut is in
the middle of the bins with the same two children.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel

__all__ = ["best_cut_counts", "best_cut_links", "best_cut_sorted"]


@bare_kernel
def highest(score: NDArray[np.float64], n: int) -> int:
    """Return the index of the first maximum of `n` scores, none of them negative.

    Scores are compared as integers: nonnegative floats have the order of their bits, and compilers
    vectorize a maximum of integers but not of floats.
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
    """Compute the score of the cut after each of `n` prefixes; 0 if a child is below `smallest`."""
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
    """Find the best cut of a few rows by insertion sort, in O(n²).

    Parameters
    ----------
    keys : ndarray, int64 (INOUT)
        For each of `n` rows, ``bin << 48 | weight << 24 | weight·class``; sorted afterwards.
    n : int
        Number of rows.
    total, total_ones : int
        Weight of all rows, and of those of class 1.
    smallest : int
        Minimum weight of a child.

    Returns
    -------
    score : float
        0 if no cut has a gain.
    cut : int
        -1 then.
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
    """Find the best cut from the counts of each bin, in O(n_bins).

    Parameters
    ----------
    counts : ndarray of shape (256,), int64 (INOUT)
        Sum of ``weight << 24 | weight·class`` in each bin; zeros afterwards.
    n_bins : int
        Number of bins.
    total, total_ones : int
        Weight of all rows, and of those of class 1.
    smallest : int
        Minimum weight of a child.
    prefix, filled, score : ndarray (OUT)
        Buffers, see `layout.Scratch`.

    Returns
    -------
    score : float
        0 if no cut has a gain.
    cut : int
        -1 then.
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
    # Rounded up to full vectors; the scores past n - 1 are not used.
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
    """Find the cut with the highest score plus reward for the links that it separates.

    Cuts without gain, or with a sum that is not positive, are not considered. Time O(n_bins).

    Parameters
    ----------
    counts : ndarray of shape (256,), int64 (INOUT)
        Sum of ``weight << 24 | weight·class`` in each bin; zeros afterwards.
    links : ndarray of shape (256,), int64 (INOUT)
        The links that a cut at bin b separates have the total weight ``links[:b + 1].sum()``,
        negative for must-links; zeros afterwards.
    n_bins : int
        Number of bins.
    total, total_ones : int
        Weight of all rows, and of those of class 1.
    smallest : int
        Minimum weight of a child.
    reward : float
        Reward for each unit of link weight.
    prefix, score : ndarray (OUT)
        Buffers, see `layout.Scratch`.

    Returns
    -------
    value : float
        The sum; 0 if there is no such cut.
    cut : int
        -1 then.
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
