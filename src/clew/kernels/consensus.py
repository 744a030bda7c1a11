"""Clusterings of the same rows: alternating k-medoids, and how often two rows share a group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


@kernel
def count_shared(
    labels: NDArray[np.int32], start: int, stop: int, share: NDArray[np.float32]
) -> None:
    """Compute for rows of a block the share of clusterings in which they are with each row.

    IN labels (n_clusterings, n_rows): groups; start, stop: first row of the block, and the row
    after its last one.
    OUT share (n_rows, n_rows): the rows `start` to `stop` are written.

    Time O(n_clusterings · n_rows) for each row of the block.
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
    """Assign rows to their nearest medoids and move each medoid, in turn.

    IN distances (n_rows, n_rows); max_iter: largest number of assignments.
    INOUT medoids (k,): rows that are the medoids. Each becomes the row of its group with the
    smallest sum of distances to the group.
    Returns (n_rows,): groups.

    Time O(n_rows · k) plus the sum of the squared sizes of groups, for each iteration.
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
