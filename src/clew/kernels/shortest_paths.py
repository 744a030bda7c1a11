"""Shortest paths in an unweighted graph, from both ends at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["shortest_path"]


@kernel
def _grow(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    visits: NDArray[np.int64],
    before: NDArray[np.int64],
    queue: NDArray[np.int64],
    begin: int,
    end: int,
    own: int,
    other: int,
) -> tuple[int, int, int]:
    """Visit all that is one step from ``queue[begin:end]``; see `shortest_path`.

    Returns
    -------
    end : int
        Where the new nodes end in `queue`; they begin where the old ones ended.
    here, there : int
        An edge between both searches, or -1 and -1.
    """
    new_end = end
    for at in range(begin, end):
        node = queue[at]
        for e in range(indptr[node], indptr[node + 1]):
            neighbour = indices[e]
            if visits[neighbour] == other:
                return new_end, node, neighbour
            if visits[neighbour] != own:
                visits[neighbour] = own
                before[neighbour] = node
                queue[new_end] = neighbour
                new_end += 1
    return new_end, -1, -1


@kernel
def shortest_path(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    source: int,
    target: int,
    visits: NDArray[np.int64],
    before: NDArray[np.int64],
    queues: NDArray[np.int64],
    stamp: int,
) -> NDArray[np.int64]:
    """Return a shortest path between two different nodes, both included; empty if there is none.

    The search whose last layer is smaller grows by one whole layer. Each side has visited all
    within its radius, so the first edge between the sides closes a shortest path.

    Parameters
    ----------
    indptr, indices : ndarray, int64 (IN)
        The symmetric graph in CSR form.
    source, target : int
        The ends, different from each other.
    visits : ndarray of shape (n,), int64 (INOUT)
        Scratch: below `stamp` everywhere. Nodes are marked `stamp` (reached from the source) and
        ``stamp + 1`` (from the target), so that calls with growing stamps need no clearing.
    before : ndarray of shape (n,), int64 (INOUT)
        Scratch: whence each node was reached.
    queues : ndarray of shape (2, n), int64 (INOUT)
        Scratch: nodes in order of visit, from either end.
    stamp : int
        Larger by at least 2 than in the call before.
    """
    visits[source], visits[target] = stamp, stamp + 1
    before[source] = before[target] = -1
    queues[0, 0], queues[1, 0] = source, target
    begin, end = np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)
    here = there = -1
    side = 0
    while here < 0:
        side = 0 if end[0] - begin[0] <= end[1] - begin[1] else 1
        if begin[side] == end[side]:
            return np.empty(0, dtype=np.int64)
        own, other = stamp + side, stamp + 1 - side
        new_end, here, there = _grow(
            indptr, indices, visits, before, queues[side], begin[side], end[side], own, other
        )
        begin[side], end[side] = end[side], new_end
    if side == 1:
        here, there = there, here
    path: NDArray[np.int64] = _joined(before, here, there)
    return path


@kernel
def _joined(before: NDArray[np.int64], here: int, there: int) -> NDArray[np.int64]:
    """Walk back from both ends of the edge that closed the path."""
    length = 0
    for start in (here, there):
        node = start
        while node >= 0:
            length += 1
            node = before[node]
    path = np.empty(length, dtype=np.int64)
    at, node = 0, here
    while node >= 0:
        path[at] = node
        at += 1
        node = before[node]
    path[:at] = path[:at][::-1].copy()
    node = there
    while node >= 0:
        path[at] = node
        at += 1
        node = before[node]
    return path
