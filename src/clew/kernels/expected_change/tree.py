"""The tree of merges of constrained Kruskal, and its cut at a number of groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


class Tree(NamedTuple):
    """Merges of items, in the order of edges; nodes below `n_items` are items.

    An item is a must-link component, or a single row. `n_nodes` is the number of items and merges.
    """

    first: NDArray[np.uint16]
    """Items of each edge, in order: one edge between each two items without a cannot-link."""
    second: NDArray[np.uint16]
    children: NDArray[np.int64]
    """(n_merges, 2); merge m makes node ``n_items + m``."""
    times: NDArray[np.int64]
    """Position of the edge of each merge, (n_merges + 1,); at the end the number of edges."""
    parent: NDArray[np.int64]
    """(n_nodes,); -1 for roots."""
    size: NDArray[np.int64]
    """Number of rows of each node, (n_nodes,)."""
    items: NDArray[np.int64]
    """Items, so that those of a node are contiguous, (n_items,)."""
    start: NDArray[np.int64]
    """Position in `items` of the first item of each node, (n_nodes,)."""
    stop: NDArray[np.int64]
    """Position after its last item, (n_nodes,)."""
    reached: NDArray[np.int64]
    """Position of the edge after which k groups are left, (n_items + 1,); -1 for ``n_items``, and
    the last edge for numbers that are not reached."""
    n_same: NDArray[np.int64]
    """Number of pairs of rows in one group when k groups are left, (n_items + 1,)."""
    fewest: int
    """Number of groups after the last merge."""


@kernel
def grow_tree(
    first: NDArray[np.uint16],
    second: NDArray[np.uint16],
    children: NDArray[np.int64],
    edge_of_merge: NDArray[np.int64],
    item_sizes: NDArray[np.int64],
) -> Tree:
    """Compute the fields of `Tree` from the merges.

    IN first, second (n_edges,): items of the edges, in order; children (n_merges, 2): from
    `merge_in_order`; edge_of_merge (n_merges,): from `merge_in_order`; item_sizes (n_items,):
    number of rows of each item.

    Time and memory O(n_items).
    """
    n, n_merges, n_edges = item_sizes.shape[0], children.shape[0], first.shape[0]
    parent = np.full(n + n_merges, -1, np.int64)
    size = np.empty(n + n_merges, np.int64)
    times = np.full(n_merges + 1, n_edges, np.int64)
    reached = np.full(n + 1, n_edges - 1, np.int64)
    n_same = np.zeros(n + 1, np.int64)
    size[:n] = item_sizes
    reached[n] = -1
    for i in range(n):
        n_same[n] += item_sizes[i] * (item_sizes[i] - 1) // 2
    for m in range(n_merges):
        a, b = children[m, 0], children[m, 1]
        parent[a] = n + m
        parent[b] = n + m
        size[n + m] = size[a] + size[b]
        times[m] = edge_of_merge[m]
        reached[n - m - 1] = edge_of_merge[m]
        n_same[n - m - 1] = n_same[n - m] + size[a] * size[b]
    items, start, stop = order_items(children, parent, n)
    return Tree(
        first, second, children, times, parent, size, items, start, stop, reached, n_same,
        n - n_merges,
    )  # fmt: skip


@kernel
def order_items(
    children: NDArray[np.int64], parent: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Order items so that those of a node are contiguous; return them with starts and stops."""
    n_nodes = parent.shape[0]
    items = np.empty(n, np.int64)
    start, stop, count = (
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.ones(n_nodes, np.int64),
    )
    for m in range(children.shape[0]):
        count[n + m] = count[children[m, 0]] + count[children[m, 1]]
    position = 0
    for node in range(n_nodes - 1, -1, -1):
        if parent[node] < 0:
            start[node] = position
            position += count[node]
        stop[node] = start[node] + count[node]
        if node < n:
            items[start[node]] = node
        else:
            a, b = children[node - n, 0], children[node - n, 1]
            start[a] = start[node]
            start[b] = start[node] + count[a]
    return items, start, stop


@kernel
def nodes_of_cut(tree: Tree, n_groups: int) -> NDArray[np.int64]:
    """Return for each item its node when `n_groups` are left, (n_items,).

    IN tree: the merges; n_groups: between `fewest` and the number of items.
    Returns (n_items,).
    """
    n = tree.items.shape[0]
    n_present = n + n - n_groups
    node = np.arange(n_present)
    for x in range(n_present - 1, -1, -1):
        above = tree.parent[x]
        if 0 <= above < n_present:
            node[x] = node[above]
    return node[:n]
