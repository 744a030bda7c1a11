"""The tree of merges of constrained Kruskal, its cut, and the blocks that an answer may change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


class Tree(NamedTuple):
    """Merges of items (must-link components or single rows), in the order of edges.

    Nodes below `n_items` are items; `n_nodes` is the number of items and merges.
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
    """Compute the fields of `Tree` from the merges, in time and memory O(n_items).

    IN first, second (n_edges,): items of the edges, in order; children (n_merges, 2), edge_of_merge
    (n_merges,): from `merge_in_order`; item_sizes (n_items,): number of rows of each item.
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
    """Return the node of each item when `n_groups` are left, `fewest` at least: (n_items,)."""
    n = tree.items.shape[0]
    n_present = n + n - n_groups
    node = np.arange(n_present)
    for x in range(n_present - 1, -1, -1):
        above = tree.parent[x]
        if 0 <= above < n_present:
            node[x] = node[above]
    return node[:n]


class Candidates(NamedTuple):
    """Blocks of pairs: an answer to any pair of a block changes the groups in the same way."""

    nodes: NDArray[np.int64]
    """The two nodes whose rows are the pairs, (n, 2)."""
    merges: NDArray[np.int64]
    """The merge at which the groups begin to differ, (n,)."""
    rows: NDArray[np.int64]
    """The pair with the extreme probability, (n, 2); -1 if all pairs were asked about."""
    probability: NDArray[np.float64]
    """Its probability, (n,)."""


@kernel
def extreme_pair(
    P: NDArray[np.float32], rows: NDArray[np.int64], ranges: tuple[int, int, int, int], sign: int
) -> tuple[float, int, int]:
    """Find the pair with the largest (sign 1) or smallest (-1) probability between two ranges.

    `ranges` has the start and stop of each in `rows`. NaN entries are skipped.
    """
    best, i, j = -np.inf, -1, -1
    for p in range(ranges[0], ranges[1]):
        of_row = P[rows[p]]
        for q in range(ranges[2], ranges[3]):
            value = sign * of_row[rows[q]]
            if value > best:
                best, i, j = value, rows[p], rows[q]
    return sign * best, i, j


@kernel
def fill(
    found: Candidates,
    at: int,
    nodes: tuple[int, int],
    merge: int,
    P: NDArray[np.float32],
    rows: NDArray[np.int64],
    bounds: NDArray[np.int64],
    sign: int,
) -> None:
    """Write one block."""
    a, b = nodes
    ranges = (bounds[a, 0], bounds[a, 1], bounds[b, 0], bounds[b, 1])
    value, i, j = extreme_pair(P, rows, ranges, sign)
    found.nodes[at, 0], found.nodes[at, 1] = a, b
    found.merges[at] = merge
    found.rows[at, 0], found.rows[at, 1] = i, j
    found.probability[at] = value


@kernel
def empty_candidates(n: int) -> Candidates:
    """Return `n` blocks to be written."""
    return Candidates(
        np.empty((n, 2), np.int64), np.empty(n, np.int64), np.empty((n, 2), np.int64), np.empty(n)
    )


@kernel
def splits(
    tree: Tree, n_present: int, P: NDArray[np.float32], rows: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> Candidates:  # fmt: skip
    """List cannot-links within present groups: all that forbid one merge are one block.

    IN n_present: number of present groups; P (n_rows, n_rows): probabilities; NaN for asked pairs;
    rows (n_rows,): so that those of a node are contiguous; bounds (n_nodes, 2): their start and
    stop.
    Returns the blocks, with the least probable pair of each.
    """
    n = tree.items.shape[0]
    found = empty_candidates(n - n_present)
    for m in range(n - n_present):
        pair = (tree.children[m, 0], tree.children[m, 1])
        fill(found, m, pair, m, P, rows, bounds, -1)
    return found


@kernel
def free_joins(
    group: NDArray[np.int64], piece: NDArray[np.int64], is_apart: NDArray[np.bool_],
    P: NDArray[np.float32], rows: NDArray[np.int64], bounds: NDArray[np.int64],
) -> Candidates:  # fmt: skip
    """List must-links between groups that no cannot-link separates: one block for each two pieces.

    A must-link joins two groups, so one merge fewer is needed: pieces are groups of that cut.

    IN group (n_nodes,): present group of each piece; piece (n_pieces,): nodes of the cut with one
    group more; is_apart (n_pieces, n_pieces): whether a cannot-link is between two; P, rows,
    bounds: as in `splits`.
    Returns the blocks, with the most probable pair of each; `merges` is -1.
    """
    n = piece.shape[0]
    found = empty_candidates(n * (n - 1) // 2)
    at = 0
    for a in range(n):
        for b in range(a):
            if group[piece[a]] != group[piece[b]] and not is_apart[a, b]:
                fill(found, at, (piece[a], piece[b]), -1, P, rows, bounds, 1)
                at += 1
    return Candidates(found.nodes[:at], found.merges[:at], found.rows[:at], found.probability[:at])


@kernel
def blocked_joins(
    tree: Tree, links: NDArray[np.int64], tops: NDArray[np.int64],
    P: NDArray[np.float32], rows: NDArray[np.int64], bounds: NDArray[np.int64], capacity: int,
) -> tuple[Candidates, int]:  # fmt: skip
    """List must-links between two pieces that cannot-links separate.

    The later of two nodes with cannot-links between them is split into its two children, until no
    cannot-link is left between the two: the merge undone last is the first one that a must-link
    between their rows forbids. Pairs of single items with a cannot-link are left out: they are
    known to differ.

    IN tops (m, 2): the two pieces of each; P, rows, bounds: as in `splits`; capacity: largest
    number of blocks returned.
    INOUT links (m, 2): items of all cannot-links between two pieces of different groups, the item
    in the piece with the smaller node first, sorted by pieces. Reordered.
    Returns the blocks, with the most probable pair of each; n_found: above `capacity`, some are
    missing.
    """
    found = empty_candidates(capacity)
    stack = np.empty((2 * links.shape[0] + 2, 4), np.int64)
    at, end = 0, 0
    for begin in range(links.shape[0]):
        if begin < end:
            continue
        end = begin + 1
        while end < links.shape[0] and (
            tops[end, 0] == tops[begin, 0] and tops[end, 1] == tops[begin, 1]
        ):
            end += 1
        depth = push(stack, 0, (tops[begin, 0], tops[begin, 1]), begin, end)
        while depth > 0:
            depth -= 1
            pair, low, high = (stack[depth, 0], stack[depth, 1]), stack[depth, 2], stack[depth, 3]
            side = 0 if pair[0] > pair[1] else 1
            if pair[side] < tree.items.shape[0]:
                continue
            merge = pair[side] - tree.items.shape[0]
            middle = partition(tree, links, side, tree.children[merge, 0], low, high)
            for which in range(2):
                child = tree.children[merge, which]
                part = (child, pair[1]) if side == 0 else (pair[0], child)
                first, last = (low, middle) if which == 0 else (middle, high)
                if first < last:
                    depth = push(stack, depth, part, first, last)
                    continue
                if at < capacity:
                    fill(found, at, part, merge, P, rows, bounds, 1)
                at += 1
    n = min(at, capacity)
    return Candidates(found.nodes[:n], found.merges[:n], found.rows[:n], found.probability[:n]), at


@kernel
def push(stack: NDArray[np.int64], depth: int, pair: tuple[int, int], first: int, last: int) -> int:
    """Put two nodes and the range of their cannot-links on a stack; return the new depth."""
    stack[depth, 0], stack[depth, 1] = pair
    stack[depth, 2], stack[depth, 3] = first, last
    return depth + 1


@kernel
def partition(
    tree: Tree, links: NDArray[np.int64], side: int, node: int, first: int, last: int
) -> int:
    """Move links whose item on one side is in a node to the front; return the end of these."""
    middle = first
    for k in range(first, last):
        position = tree.start[links[k, side]]
        if tree.start[node] <= position < tree.stop[node]:
            for column in range(2):
                links[k, column], links[middle, column] = links[middle, column], links[k, column]
            middle += 1
    return middle
