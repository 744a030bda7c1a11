"""Medoids: the change of cost for all of them at once, swaps, shared rows, alternation.

E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering", Information Systems 101,
2021: the changes of the cost by exchanging any of K medoids for a row take one pass over the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


class Assignment(NamedTuple):
    """The nearest and second nearest medoid of each row, (n_rows,)."""

    nearest: NDArray[np.int64]
    second: NDArray[np.int64]
    apart: NDArray[np.float64]
    """Distance to the nearest medoid."""
    apart_second: NDArray[np.float64]
    """Distance to the second nearest one; `far` for a single medoid."""


@kernel
def assign(
    table: NDArray[np.floating], medoids: NDArray[np.int64], far: float, a: Assignment
) -> None:
    """Find the nearest two medoids of all rows.

    IN table (n_candidates, n_rows): distances; medoids (n_clusters,): rows of the table; far: more
    than any distance. OUT a.
    """
    a.apart[:] = far
    a.apart_second[:] = far
    for k in range(len(medoids)):
        for row in range(table.shape[1]):
            _enter(table[medoids[k], row], k, row, a)


@kernel
def swap_eagerly(
    table: NDArray[np.floating],
    medoids: NDArray[np.int64],
    far: float,
    tolerance: float,
    max_iter: int,
    a: Assignment,
) -> tuple[int, int]:
    """Make the best swap of each candidate in turn as soon as it lowers the cost.

    IN table, far: as `assign` takes them; tolerance: swaps must lower the sum of distances by more;
    max_iter: largest number of passes. INOUT medoids, a.
    Returns n_iter, n_swaps. Time O(n_candidates·(n_rows + n_clusters)) for each pass.
    """
    is_medoid, loss, change = _buffers(table, medoids, a)
    n_swaps, n_kept, n_iter = 0, 0, 0
    while n_kept < len(table) and n_iter < max_iter:
        n_iter += 1
        for candidate in range(len(table)):
            if n_kept == len(table):
                break
            n_kept += 1
            if is_medoid[candidate]:
                continue
            _changes(table[candidate], a, loss, change)
            at = int(change.argmin())
            if change[at] < -tolerance:
                _swap(table, medoids, at, candidate, far, is_medoid, a)
                _losses(a, loss)
                n_swaps += 1
                n_kept = 0
    return n_iter, n_swaps


@kernel
def swap_best(
    table: NDArray[np.floating],
    medoids: NDArray[np.int64],
    far: float,
    tolerance: float,
    max_iter: int,
    a: Assignment,
) -> tuple[int, int]:
    """As `swap_eagerly`, but with the best of all swaps in each pass."""
    is_medoid, loss, change = _buffers(table, medoids, a)
    n_swaps = 0
    for n_iter in range(1, max_iter + 1):
        lowest, best_at, best = -tolerance, -1, -1
        for candidate in range(len(table)):
            if is_medoid[candidate]:
                continue
            _changes(table[candidate], a, loss, change)
            at = change.argmin()
            if change[at] < lowest:
                lowest, best_at, best = change[at], at, candidate
        if best < 0:
            return n_iter, n_swaps
        _swap(table, medoids, best_at, best, far, is_medoid, a)
        _losses(a, loss)
        n_swaps += 1
    return max_iter, n_swaps


@kernel
def try_swaps(
    tried: NDArray[np.floating],
    numbers: NDArray[np.int64],
    positions: NDArray[np.int64],
    near: NDArray[np.floating],
    medoids: NDArray[np.int64],
    far: float,
    tolerance: float,
    n_failed: int,
    max_failed: int,
    a: Assignment,
) -> tuple[int, int]:
    """Try to exchange one medoid for one row, again and again; make swaps that lower the cost.

    IN tried (n_tried, n_rows): distances from rows that are tried; numbers (n_tried,): their row
    numbers; positions (n_tried,): the medoid that each would replace; far, tolerance: as for
    `swap_eagerly`; n_failed, max_failed: successive swaps so far that did not lower the cost, and
    the number that ends the search.
    INOUT near (n_clusters, n_rows): distances from the medoids; medoids (n_clusters,); a.
    Returns n_failed, n_swaps.
    """
    every, n_swaps = np.arange(len(medoids)), 0
    for i in range(len(tried)):
        if n_failed >= max_failed:
            break
        at, change = positions[i], 0.0
        for row in range(tried.shape[1]):
            if a.nearest[row] == at:
                change += min(np.float64(tried[i, row]), a.apart_second[row]) - a.apart[row]
            elif tried[i, row] < a.apart[row]:
                change += tried[i, row] - a.apart[row]
        n_failed += 1
        if change < -tolerance and not (medoids == numbers[i]).any():
            near[at] = tried[i]
            medoids[at] = numbers[i]
            _move(near, every, at, far, a)
            n_failed = 0
            n_swaps += 1
    return n_failed, n_swaps


@kernel
def _buffers(
    table: NDArray[np.floating], medoids: NDArray[np.int64], a: Assignment
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Mark the medoids, sum the losses, and make room for changes."""
    is_medoid = np.zeros(len(table), np.bool_)
    for medoid in medoids:
        is_medoid[medoid] = True
    loss, change = np.empty(len(medoids)), np.empty(len(medoids))
    _losses(a, loss)
    return is_medoid, loss, change


@kernel
def _losses(a: Assignment, loss: NDArray[np.float64]) -> None:
    """Compute for each medoid how much the cost grows if it is removed."""
    loss[:] = 0.0
    for row in range(len(a.nearest)):
        loss[a.nearest[row]] += a.apart_second[row] - a.apart[row]


@kernel
def _changes(
    candidate: NDArray[np.floating],
    a: Assignment,
    loss: NDArray[np.float64],
    change: NDArray[np.float64],
) -> None:
    """Compute the change of the cost for exchanging each medoid for a candidate."""
    change[:] = loss
    gain = 0.0
    for row in range(len(candidate)):
        d = np.float64(candidate[row])
        if d < a.apart[row]:
            gain += d - a.apart[row]
            change[a.nearest[row]] += a.apart[row] - a.apart_second[row]
        elif d < a.apart_second[row]:
            change[a.nearest[row]] += d - a.apart_second[row]
    change += gain


@kernel
def _swap(
    table: NDArray[np.floating],
    medoids: NDArray[np.int64],
    at: int,
    new: int,
    far: float,
    is_medoid: NDArray[np.bool_],
    a: Assignment,
) -> None:
    """Exchange a medoid for a candidate."""
    is_medoid[medoids[at]], is_medoid[new] = False, True
    medoids[at] = new
    _move(table, medoids, at, far, a)


@kernel
def _move(
    table: NDArray[np.floating], medoids: NDArray[np.int64], at: int, far: float, a: Assignment
) -> None:
    """Update the assignment after one medoid has changed."""
    for row in range(table.shape[1]):
        if a.nearest[row] == at or a.second[row] == at:
            a.apart[row] = a.apart_second[row] = far
            for k in range(len(medoids)):
                _enter(table[medoids[k], row], k, row, a)
        else:
            _enter(table[medoids[at], row], at, row, a)


@kernel
def _enter(distance: float, k: int, row: int, a: Assignment) -> None:
    """Update the nearest two medoids of a row with one more medoid."""
    if distance < a.apart[row]:
        a.second[row], a.apart_second[row] = a.nearest[row], a.apart[row]
        a.nearest[row], a.apart[row] = k, distance
    elif distance < a.apart_second[row]:
        a.second[row], a.apart_second[row] = k, distance


@kernel
def index_lists(
    lists: NDArray[np.int64], start: NDArray[np.int64], holder: NDArray[np.int64]
) -> None:
    """List for each row the lists that hold it, ascending.

    IN lists (n_lists, n): row numbers, without repetition in a list.
    OUT start (n_rows + 1,): where the lists of each row begin in `holder` (n_lists * n,).
    """
    start[:] = 0
    for at in range(lists.shape[0]):
        for j in range(lists.shape[1]):
            start[lists[at, j] + 1] += 1
    for row in range(start.shape[0] - 1):
        start[row + 1] += start[row]
    filled = start[:-1].copy()
    for at in range(lists.shape[0]):
        for j in range(lists.shape[1]):
            row = lists[at, j]
            holder[filled[row]] = at
            filled[row] += 1


@kernel
def count_shared(
    lists: NDArray[np.int64],
    start: NDArray[np.int64],
    holder: NDArray[np.int64],
    shared: NDArray[np.float32],
) -> None:
    """Count the rows that every two lists share, (n_lists, n_lists); the diagonal becomes 0.

    IN lists (n_lists, n): row numbers; start, holder: as `index_lists` makes them.
    """
    shared[:] = 0.0
    for at in range(lists.shape[0]):
        for j in range(lists.shape[1]):
            row = lists[at, j]
            for k in range(start[row], start[row + 1]):
                shared[at, holder[k]] += 1.0
        shared[at, at] = 0.0


@kernel
def mean_log_jaccard(
    lists: NDArray[np.int64],
    n_compared: int,
    start: NDArray[np.int64],
    holder: NDArray[np.int64],
    least: float,
    result: NDArray[np.float64],
) -> None:
    """Compare the first row of each list with the next by Jaccard's coefficient of their lists.

    IN lists (n_lists, n): row numbers; n_compared: number of next rows, less than n; start, holder:
    as `index_lists` makes them; least: lower similarities count as this one: the logarithm is
    finite.
    OUT result (n_lists,): mean of the negated logarithms of the similarities.
    """
    for at in range(lists.shape[0]):
        total = 0.0
        first = lists[at, 0]
        for j in range(1, n_compared + 1):
            row = lists[at, j]
            i, k, both = start[first], start[row], 0
            while i < start[first + 1] and k < start[row + 1]:
                if holder[i] == holder[k]:
                    both += 1
                    i += 1
                    k += 1
                elif holder[i] < holder[k]:
                    i += 1
                else:
                    k += 1
            either = start[first + 1] - start[first] + start[row + 1] - start[row] - both
            total -= np.log(max(both / either, least))
        result[at] = total / n_compared


@kernel
def count_together(
    labels: NDArray[np.int32], start: int, stop: int, share: NDArray[np.float32]
) -> None:
    """Compute for the rows ``start:stop`` the share of clusterings in which they are with each row.

    IN labels (n_clusterings, n_rows): groups. OUT share (n_rows, n_rows): the rows of the block.
    """
    n_runs, n = labels.shape
    count = np.empty(n, np.int32)
    for i in range(start, stop):
        count[:] = 0
        for s in range(n_runs):
            own = labels[s, i]
            for j in range(n):
                count[j] += labels[s, j] == own
        for j in range(n):
            share[i, j] = count[j] / n_runs


@kernel
def alternate_medoids(
    distances: NDArray[np.float64], medoids: NDArray[np.int64], max_iter: int
) -> NDArray[np.int32]:
    """Assign rows to their nearest medoids and move each medoid, in turn; return groups (n_rows,).

    IN distances (n_rows, n_rows); max_iter: largest number of assignments.
    INOUT medoids (k,): each becomes the row of its group nearest to the group.
    """
    n, k = distances.shape[0], medoids.shape[0]
    labels = np.full(n, -1, np.int32)
    lowest = np.empty(k)
    for _ in range(max_iter):
        has_changed = False
        for i in range(n):
            best = 0
            for c in range(1, k):
                if distances[i, medoids[c]] < distances[i, medoids[best]]:
                    best = c
            has_changed |= labels[i] != best
            labels[i] = best
        if not has_changed:
            break
        lowest[:] = np.inf
        for i in range(n):
            total = 0.0
            for j in range(n):
                if labels[j] == labels[i]:
                    total += distances[i, j]
            if total < lowest[labels[i]]:
                lowest[labels[i]] = total
                medoids[labels[i]] = i
    return labels
