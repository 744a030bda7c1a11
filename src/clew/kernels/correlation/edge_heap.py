"""A binary heap of edges: the largest score first, then the smallest edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

__all__ = ["Heap", "pop", "push", "with_room"]


class Heap(NamedTuple):
    """Scores and edges; the number of entries is kept by the caller."""

    scores: NDArray[np.float64]
    edges: NDArray[np.int64]


@kernel
def with_room(heap: Heap, n_entries: int) -> Heap:
    """Return the heap, in larger arrays if it has less room than for these entries."""
    n_more = n_entries - len(heap.scores)
    if n_more <= 0:
        return heap
    n_more = max(n_more, len(heap.scores))
    return Heap(
        np.concatenate((heap.scores, np.empty(n_more))),
        np.concatenate((heap.edges, np.empty(n_more, np.int64))),
    )


@bare_kernel
def push(heap: Heap, size: int, score: float, edge: int) -> None:
    """Add an entry to a heap of `size` entries."""
    scores, edges = heap
    at = size
    while at > 0:
        above = (at - 1) // 2
        if scores[above] > score or (scores[above] == score and edges[above] <= edge):
            break
        scores[at], edges[at] = scores[above], edges[above]
        at = above
    scores[at], edges[at] = score, edge


@bare_kernel
def pop(heap: Heap, size: int) -> None:
    """Remove the first of the `size` entries."""
    scores, edges = heap
    last = size - 1
    score, edge = scores[last], edges[last]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        right = below + 1
        if right < last and (
            scores[right] > scores[below]
            or (scores[right] == scores[below] and edges[right] < edges[below])
        ):
            below = right
        if score > scores[below] or (score == scores[below] and edge <= edges[below]):
            break
        scores[at], edges[at] = scores[below], edges[below]
        at = below
    scores[at], edges[at] = score, edge
