"""One partition: by moves of rows from probabilities of all pairs, and by greedy merges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Smaller gains are rounding errors.
LEAST_GAIN = 1e-3


@kernel
def best_partition(
    same: NDArray[np.float32], start: Ints, threshold: float, max_iter: int
) -> tuple[Ints, float]:
    """Maximize the sum of ``same - threshold`` over the pairs within groups, from a start.

    Returns the groups, numbered from 0, and the sum.
    """
    label = start.copy()
    gain = np.empty((len(label) + 1, len(label)))
    for step in range(max_iter + 1):
        count = _gains(same, label, threshold, gain)
        if step == max_iter:
            break
        n_moved, count = _move_rows(same, label, threshold, gain, count)
        n_moved += _merge(label, gain[:count])
        if n_moved == 0:
            break
    value = 0.0
    for i in range(len(label)):
        value += gain[label[i], i] / 2
    return label, value


@kernel
def _gains(same: NDArray[np.float32], label: Ints, threshold: float, gain: Floats) -> int:
    """Sum ``same - threshold`` of each row and the other rows of each group; return how many.

    Groups are renumbered from 0, in the order of their first rows.
    """
    number = np.full(label.max() + 1, -1)
    count = 0
    for i in range(len(label)):
        if number[label[i]] < 0:
            number[label[i]] = count
            gain[count] = 0.0
            count += 1
        label[i] = number[label[i]]
        _add(gain[label[i]], same[i], i, threshold, 1.0)
    return count


@kernel
def _add(gain: Floats, same: NDArray[np.float32], row: int, threshold: float, sign: float) -> None:
    """Add a row to the gains of its group, or subtract it, for all other rows."""
    own = gain[row]
    for j in range(len(same)):
        gain[j] += sign * (same[j] - threshold)
    gain[row] = own


@kernel
def _move_rows(
    same: NDArray[np.float32], label: Ints, threshold: float, gain: Floats, count: int
) -> tuple[int, int]:
    """Move each row to its best group, or to a new one; return how many moved, and groups."""
    n = len(label)
    size = np.zeros(n + 1, np.int64)
    for i in range(n):
        size[label[i]] += 1
    n_moved = 0
    for i in range(n):
        own = label[i]
        best, most, empty = own, gain[own, i] + LEAST_GAIN, count
        for a in range(count):
            if size[a] == 0:
                empty = a
            elif a != own and gain[a, i] > most:
                best, most = a, gain[a, i]
        if most < 0 and size[own] > 1:
            best = empty
            gain[best] = 0.0
            count = max(count, empty + 1)
        if best != own:
            size[own] -= 1
            size[best] += 1
            label[i] = best
            _add(gain[own], same[i], i, threshold, -1.0)
            _add(gain[best], same[i], i, threshold, 1.0)
            n_moved += 1
    return n_moved, count


@kernel
def _merge(label: Ints, gain_of_rows: Floats) -> int:
    """Make the merge with the largest gain until none is positive; return the number of merges."""
    n, count = len(label), len(gain_of_rows)
    gain = np.zeros((count, count))
    for b in range(count):
        for i in range(n):
            if label[i] != b:
                gain[label[i], b] += gain_of_rows[b, i]
    into = np.arange(count)
    n_merged = 0
    while True:
        a, b = _largest(gain)
        if gain[a, b] <= LEAST_GAIN:
            break
        n_merged += 1
        into[a] = b
        gain[b] += gain[a]
        gain[:, b] += gain[:, a]
        gain[a], gain[:, a] = -np.inf, -np.inf
        gain[b, b] = 0.0
    for i in range(n):
        while into[label[i]] != label[i]:
            label[i] = into[label[i]]
    return n_merged


@kernel
def _largest(gain: Floats) -> tuple[int, int]:
    """Return the position of the largest entry off the diagonal; (0, 0) if there is none."""
    best, first, second = 0.0, 0, 0
    for a in range(len(gain)):
        for b in range(a):
            if gain[a, b] > best:
                best, first, second = gain[a, b], a, b
    return first, second


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
        _join(mean, top, size, a, b)
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
def _join(mean: Floats, top: Singles, size: Floats, a: int, b: int) -> None:
    """Add group b to group a."""
    share = size[a] / (size[a] + size[b])
    for c in range(len(size)):
        if size[c] > 0 and c != a and c != b:
            mean[a, c] = mean[c, a] = share * mean[a, c] + (1 - share) * mean[b, c]
            top[a, c] = top[c, a] = max(top[a, c], top[b, c])
    size[a] += size[b]
    size[b] = 0.0
