"""A hierarchical clustering of all rows; one of its cuts is the groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from clew._limits import MANY_ROWS
from clew.cluster._kmeans import kmeans
from clew.cluster.guided._cuts import ward_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: k-means divides large groups into parts of this many rows on average.
PART_SIZE = 2_000
#: Equal heights are separated by this share of the largest height.
STEP = 1e-12


class Merges(NamedTuple):
    """Merges of sets of rows, each set named by one of its rows."""

    rows: Integers
    """(n_merges, 2)"""
    heights: Floats
    """(n_merges,)"""

    def raised(self, by: float) -> Merges:
        """Add a number to all heights."""
        return self._replace(heights=self.heights + by)


def tree_of_positions(labels: Integers, positions: Floats) -> Floats:
    """Join rows by Ward's linkage within groups, then groups by that of their means.

    As `scipy.cluster.hierarchy.linkage` returns it; heights between groups exceed those within.
    """
    return _linkage(_merges_by_group(np.arange(len(labels)), labels, positions), len(labels))


def tree_of_evidence(labels: Integers, log_odds: csr_array) -> Floats:
    """Join rows by single linkage, first within groups, and the most probable matches first."""
    n = len(labels)
    edges = coo_array(log_odds)
    first, second = edges.coords
    is_between = labels[first] != labels[second]
    span = float(np.ptp(edges.data)) + 1.0 if edges.nnz else 1.0
    top = float(edges.data.max()) + 1.0 if edges.nnz else 1.0
    heights = top - edges.data + span * is_between
    chains = np.argsort(labels, kind="stable")
    is_same = labels[chains[1:]] == labels[chains[:-1]]
    # These edges connect all rows: those within a group are shorter than those between groups.
    joints = np.where(is_same, top + span, top + 3 * span)
    graph = coo_array(
        (
            np.concatenate([heights, joints]),
            (np.concatenate([first, chains[:-1]]), np.concatenate([second, chains[1:]])),
        ),
        shape=(n, n),
    )
    tree = coo_array(minimum_spanning_tree(_least(graph)))
    merges = Merges(np.column_stack(tree.coords).astype(np.int64), tree.data)
    return _linkage(merges, n)


def _least(graph: coo_array) -> csr_array:
    """Keep the lowest of repeated entries."""
    first, second = (of.astype(np.int64) for of in graph.coords)
    low, high = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort([graph.data, high, low])
    _, kept = np.unique(low[order] * graph.shape[1] + high[order], return_index=True)
    chosen = order[kept]
    return csr_array((graph.data[chosen], (low[chosen], high[chosen])), shape=graph.shape)


def _merges_by_group(rows: Integers, labels: Integers, positions: Floats) -> Merges:
    """Merge the rows of each group, and then the groups."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(labels[order]) > 0])
    groups = np.split(order, starts[1:])
    within = [_merges(rows[group], positions[group]) for group in groups]
    top = max((float(of.heights.max()) for of in within if len(of.heights)), default=0.0)
    means = np.stack([positions[group].mean(axis=0) for group in groups])
    between = _merges(rows[[group[0] for group in groups]], means).raised(top * (1 + 1e-9) + 1e-12)
    return Merges(
        np.concatenate([of.rows for of in (*within, between)]),
        np.concatenate([of.heights for of in (*within, between)]),
    )


def _merges(rows: Integers, positions: Floats) -> Merges:
    """Merge rows by Ward's linkage; many rows are first divided by k-means."""
    n = len(rows)
    if n == 1:
        return Merges(np.zeros((0, 2), np.int64), np.zeros(0))
    if n > MANY_ROWS:
        parts = kmeans(positions, -(-n // PART_SIZE), n_init=1, random_state=0).labels
        if len(np.unique(parts)) > 1:
            return _merges_by_group(rows, parts, positions)
        chain = np.column_stack([rows[:-1], rows[1:]])  # equal rows
        return Merges(chain, np.zeros(n - 1))
    joined = ward_of(positions)
    of_set = np.concatenate([rows, np.empty(n - 1, np.int64)])
    for at, first in enumerate(joined[:, 0].astype(np.int64)):
        of_set[n + at] = of_set[first]
    return Merges(of_set[joined[:, :2].astype(np.int64)], joined[:, 2])


def _linkage(merges: Merges, n_rows: int) -> Floats:
    """Sort merges by height and number the sets as SciPy does."""
    order = np.argsort(merges.heights, kind="stable")
    # A tree can be cut between two merges only if their heights differ.
    step = STEP * max(float(merges.heights.max(initial=0.0)), STEP)
    heights = merges.heights[order] + step * np.arange(len(order))
    result = np.empty((n_rows - 1, 4))
    parent, size = list(range(n_rows)), [1] * n_rows
    set_of = list(range(n_rows))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    pairs = merges.rows[order].tolist()
    for at, (first, second) in enumerate(pairs):
        a, b = root(first), root(second)
        if size[a] < size[b]:
            a, b = b, a
        low, high = sorted((set_of[a], set_of[b]))
        parent[b], size[a] = a, size[a] + size[b]
        set_of[a] = n_rows + at
        result[at] = low, high, heights[at], size[a]
    return result
