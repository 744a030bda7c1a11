"""Pairs of rows in the order of their distances, and constrained Kruskal on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from clew.constraints import Closure
from clew.kernels.disjoint_sets import component_labels
from clew.kernels.linkage import first_edges, merge_in_order

#: Takes a row, and returns the distances to the rows after it.
DistancesFrom = Callable[[int], NDArray[np.float64]]
#: Weight of the distances, which are added to 1 - P to order pairs of equal probability.
WEIGHT_OF_DISTANCES = 1e-3
KEYS_PER_BLOCK = 1 << 16


class Edges(NamedTuple):
    """All pairs of rows, the nearest first; the rank of a pair is its position."""

    first: NDArray[np.uint16]
    second: NDArray[np.uint16]
    n_rows: int


def edges_in_order(distances_from: DistancesFrom, n_rows: int) -> Edges:
    """Sort pairs of rows by distance, in single precision; ties by row numbers."""
    # 32 bits of a distance above 16 bits of each row: numbers are sorted like distances.
    keys = np.empty(n_rows * (n_rows - 1) // 2, np.uint64)
    rows = np.arange(n_rows, dtype=np.uint64)
    stop = 0
    for i in range(n_rows - 1):
        start, stop = stop, stop + n_rows - i - 1
        # + 0.0 turns -0.0, whose bits are large, into 0.0.
        keys[start:stop] = (distances_from(i) + 0.0).astype(np.float32).view(np.uint32)
        keys[start:stop] <<= np.uint64(32)
        keys[start:stop] |= rows[i + 1 :] | np.uint64(i << 16)
    keys.sort()
    pairs = _lower_halves(keys)
    first, second = np.empty(len(pairs), np.uint16), np.empty(len(pairs), np.uint16)
    for start in range(0, len(pairs), KEYS_PER_BLOCK):
        block = slice(start, start + KEYS_PER_BLOCK)
        first[block] = pairs[block] >> np.uint32(16)
        second[block] = pairs[block] & np.uint32(0xFFFF)
    return Edges(first, second, n_rows)


def _lower_halves(keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the lower 32 bits of all keys, in the first half of their memory; frees the other."""
    n = len(keys)
    halves = keys.view(np.uint32)
    for start in range(0, n, KEYS_PER_BLOCK):
        block = slice(start, min(start + KEYS_PER_BLOCK, n))
        halves[block] = keys[block] & np.uint64(0xFFFFFFFF)
    del halves
    keys.resize((n + 1) // 2, refcheck=False)
    return keys.view(np.uint32)[:n]


def given(D: NDArray[np.float64]) -> DistancesFrom:
    """Return the distances of a matrix, relative to the largest."""
    largest = float(D.max(initial=0.0)) or 1.0
    return lambda row: D[row, row + 1 :] / largest


def euclidean(X: NDArray[np.float64]) -> DistancesFrom:
    """Return the Euclidean distances between rows, relative to the largest."""
    unit = X / (np.abs(X).max(initial=0.0) or 1.0)

    def distances_from(row: int) -> NDArray[np.float64]:
        return np.asarray(cdist(unit[row : row + 1], unit[row + 1 :])[0])

    largest = max((distances_from(row).max() for row in range(len(X) - 1)), default=0.0) or 1.0
    return lambda row: distances_from(row) / largest


def consensus(distances_from: DistancesFrom, probabilities: NDArray[np.float32]) -> DistancesFrom:
    """Return 1 - P plus a thousandth of relative distances."""
    return lambda row: (
        1.0 - probabilities[row, row + 1 :] + WEIGHT_OF_DISTANCES * distances_from(row)
    )


def cut(edges: Edges, closure: Closure, n_clusters: int) -> tuple[NDArray[np.int64], bool]:
    """Cut the forest of constrained Kruskal; return labels (n_rows,), and if n_clusters is met."""
    n_items = closure.n_components
    is_apart = np.zeros((n_items, n_items), np.bool_)
    i, j = closure.cannot_link_components.T
    is_apart[i, j] = is_apart[j, i] = True
    kept = np.empty_like(edges.first), np.empty_like(edges.second)
    component = closure.component.astype(np.int32)
    n_kept = first_edges(edges.first, edges.second, component, is_apart.copy(), *kept)
    children = np.empty((max(n_items - 1, 0), 2), np.int64)
    times = np.empty(max(n_items - 1, 0), np.int64)
    n_merges = merge_in_order(kept[0][:n_kept], kept[1][:n_kept], is_apart, children, times)
    wanted = min(max(n_items - n_clusters, 0), n_merges)
    links = np.column_stack([kept[0][times[:wanted]], kept[1][times[:wanted]]]).astype(np.int64)
    labels = component_labels(n_items, links)[closure.component]
    # Components are numbered by their first rows, so the groups are too.
    return labels, n_items - wanted == n_clusters
