"""Colorings of a graph of cannot-links: greedy, exact, and repaired by Kempe chains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

#: Sort key of colored nodes, behind all others.
COLORED = np.iinfo(np.int64).max


@kernel
def peeling_rounds(
    indptr: NDArray[np.int64], indices: NDArray[np.int64], n_colors: int
) -> NDArray[np.int64]:
    """Remove nodes with fewer than `n_colors` neighbors, round by round; the rest is the core.

    If the core is colored first and then the rounds, from the last to the first, a color remains
    for each node.

    IN indptr, indices: neighbors of each node.
    Returns (n_nodes,): the round in which each node is removed, from 0; -1 for the core. Linear
    time.
    """
    n = indptr.shape[0] - 1
    rounds = np.full(n, -1, dtype=np.int64)
    degree = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    stop = 0
    for node in range(n):
        degree[node] = indptr[node + 1] - indptr[node]
        if degree[node] < n_colors:
            rounds[node] = 0
            queue[stop] = node
            stop += 1
    start = 0
    while start < stop:
        node = queue[start]
        start += 1
        for at in range(indptr[node], indptr[node + 1]):
            other = indices[at]
            degree[other] -= 1
            if rounds[other] < 0 and degree[other] < n_colors:
                rounds[other] = rounds[node] + 1
                queue[stop] = other
                stop += 1
    return rounds


@bare_kernel
def set_leaf(least: NDArray[np.int64], at: int, value: int) -> None:
    """Set a leaf of a tree of minima; its root is 1, the children of k are 2·k and 2·k + 1."""
    at += least.shape[0] // 2
    least[at] = value
    while at > 1:
        at //= 2
        smaller = min(least[2 * at], least[2 * at + 1])
        if least[at] == smaller:
            break
        least[at] = smaller


@bare_kernel
def sort_key(node: int, n_open: int, place: int, m: int, indptr: NDArray[np.int64]) -> int:
    """Return the sort key of a node: by allowed colors, neighbors, and place, ``key % m``."""
    degree = indptr[node + 1] - indptr[node]
    return np.int64((n_open * indptr.shape[0] - degree) * m + place)


@bare_kernel
def paint(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    node: int,
    color: int,
    step: int,
    n_blocking: NDArray[np.int32],
    n_open: NDArray[np.int64],
    labels: NDArray[np.int64],
    place: NDArray[np.int64],
    least: NDArray[np.int64],
) -> None:
    """Forbid a node's color to its neighbors (`step` 1), or undo that (`step` -1)."""
    for at in range(indptr[node], indptr[node + 1]):
        other = indices[at]
        was_open = n_blocking[other, color] == 0
        n_blocking[other, color] += step
        is_open = n_blocking[other, color] == 0
        if is_open != was_open:
            n_open[other] += np.int64(is_open) - np.int64(was_open)
            if labels[other] < 0 and place[other] >= 0:
                key = sort_key(other, n_open[other], place[other], least.shape[0] // 2, indptr)
                set_leaf(least, place[other], key)


@kernel
def place_in_order(
    order: NDArray[np.int64],
    cost: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> int:
    """Color nodes one by one, each with the cheapest color that no neighbor has.

    IN order (m,): the nodes to color; cost (n_nodes, n_colors); indptr, indices: neighbors.
    INOUT labels (n_nodes,): the color of each node, -1 for none yet.
    Returns number of nodes colored; fewer than `m` if a node had neighbors of every color.
    """
    n_colors = cost.shape[1]
    taken_by = np.full(n_colors, -1, dtype=np.int64)
    for k in range(order.shape[0]):
        node = order[k]
        for at in range(indptr[node], indptr[node + 1]):
            if labels[indices[at]] >= 0:
                taken_by[labels[indices[at]]] = node
        best = -1
        for color in range(n_colors):
            is_open = taken_by[color] != node
            if is_open and (best < 0 or cost[node, color] < cost[node, best]):
                best = color
        if best < 0:
            return k
        labels[node] = best
    return order.shape[0]


@bare_kernel
def next_color(
    cost: NDArray[np.float64],
    n_blocking: NDArray[np.int32],
    n_used: NDArray[np.int64],
    tried: NDArray[np.bool_],
    node: int,
    was_fresh: bool,
) -> int:
    """Choose the cheapest allowed color not tried yet; of unused colors only one is tried."""
    best = -1
    for color in range(cost.shape[1]):
        if tried[color] or n_blocking[node, color] > 0 or (was_fresh and n_used[color] == 0):
            continue
        if best < 0 or cost[node, color] < cost[node, best]:
            best = color
    return best


@kernel
def color_connected(
    nodes: NDArray[np.int64],
    cost: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    max_steps: int,
    labels: NDArray[np.int64],
) -> tuple[int, int]:
    """Color nodes by DSATUR with backtracking: the node with the fewest allowed colors first.

    IN nodes (m,): the nodes to color; neither they nor their neighbors have a color; cost (n_nodes,
    n_colors): cheap colors are tried first; indptr, indices: neighbors; max_steps: maximum number
    of colors tried.
    INOUT labels (n_nodes,): the color of each node, -1 for none. Partly colored unless `found` is
    1.
    Returns found: 1 if all nodes are colored, 0 if no coloring exists, -1 if `max_steps` was
    reached; n_steps.

    Time O(degree·log m + n_colors) for each step; memory O((n_nodes + m)·n_colors). D. Brélaz, "New
    methods to color the vertices of a graph", Communications of the ACM 22, 1979.
    """
    n, n_colors = cost.shape
    m = nodes.shape[0]
    n_blocking = np.zeros((n, n_colors), dtype=np.int32)
    n_open = np.full(n, n_colors)
    n_used = np.zeros(n_colors, dtype=np.int64)
    stack = np.empty(m, dtype=np.int64)
    tried = np.zeros((m, n_colors), dtype=np.bool_)
    was_fresh = np.zeros(m, dtype=np.bool_)
    place = np.full(n, -1)
    least = np.full(2 * m, COLORED)
    for k in range(m):
        place[nodes[k]] = k
        set_leaf(least, k, sort_key(nodes[k], n_colors, k, m, indptr))
    depth = 0
    n_steps = 0
    stack[0] = nodes[least[1] % m]
    while depth >= 0:
        node = stack[depth]
        if labels[node] >= 0:
            color = labels[node]
            n_used[color] -= 1
            labels[node] = -1
            key = sort_key(node, n_open[node], place[node], m, indptr)
            set_leaf(least, place[node], key)
            paint(indptr, indices, node, color, -1, n_blocking, n_open, labels, place, least)
        color = next_color(cost, n_blocking, n_used, tried[depth], node, was_fresh[depth])
        if color < 0:
            depth -= 1
            continue
        if n_steps == max_steps:
            return -1, n_steps
        n_steps += 1
        tried[depth, color] = True
        # Unused colors are interchangeable: if one fails, so do the others.
        was_fresh[depth] |= n_used[color] == 0
        labels[node] = color
        n_used[color] += 1
        set_leaf(least, place[node], COLORED)
        paint(indptr, indices, node, color, 1, n_blocking, n_open, labels, place, least)
        depth += 1
        if depth == m:
            return 1, n_steps
        stack[depth] = nodes[least[1] % m]
        tried[depth] = False
        was_fresh[depth] = False
    return 0, n_steps


@bare_kernel
def follow_chain(
    start: int,
    color: int,
    cost: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    labels: NDArray[np.int64],
    stamp: int,
    visits: NDArray[np.int64],
    chain: NDArray[np.int64],
) -> tuple[int, float]:
    """Return the length of the chain, 0 if it does not fit into `chain`, and what it saves."""
    own = labels[start]
    chain[0] = start
    visits[start] = stamp
    stop = 1
    saved = 0.0
    at_node = 0
    while at_node < stop:
        node = chain[at_node]
        at_node += 1
        other_color = own + color - labels[node]
        saved += cost[node, labels[node]] - cost[node, other_color]
        for at in range(indptr[node], indptr[node + 1]):
            other = indices[at]
            if labels[other] == other_color and visits[other] != stamp:
                if stop == chain.shape[0]:
                    return 0, 0.0
                visits[other] = stamp
                chain[stop] = other
                stop += 1
    return stop, saved


@kernel
def swap_chains(
    cost: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    max_length: int,
    max_sweeps: int,
    least: float,
    labels: NDArray[np.int64],
) -> int:
    """Swap colors along chains as long as that lowers the cost; a node may be a chain by itself.

    IN cost (n_nodes, n_colors); indptr, indices: neighbors of each node, in both directions;
    max_length: longer chains are not swapped; max_sweeps: a sweep without a swap is the last;
    least: a swap must save more than this.
    INOUT labels (n_nodes,): the color of each node: a valid coloring before and after.
    Returns number of swaps. A sweep follows at most one chain for each node and cheaper color.
    """
    n, n_colors = cost.shape
    visits = np.zeros(n, dtype=np.int64)
    chain = np.empty(min(max_length, n), dtype=np.int64)
    stamp = 0
    n_swaps = 0
    for _ in range(max_sweeps):
        before = n_swaps
        for node in range(n):
            for color in range(n_colors):
                own = labels[node]
                if cost[node, own] - cost[node, color] <= least:
                    continue
                stamp += 1
                length, saved = follow_chain(
                    node, color, cost, indptr, indices, labels, stamp, visits, chain
                )
                if length > 0 and saved > least:
                    for k in range(length):
                        labels[chain[k]] = own + color - labels[chain[k]]
                    n_swaps += 1
        if n_swaps == before:
            break
    return n_swaps
