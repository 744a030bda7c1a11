"""Kernels on graphs: connected components by union-find, shortest paths through links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


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
    """Visit the neighbors of ``queue[begin:end]``; see `shortest_path`.

    Returns the new end of `queue`, and an edge between the two searches, or -1 and -1.
    """
    new_end = end
    for at in range(begin, end):
        node = queue[at]
        for e in range(indptr[node], indptr[node + 1]):
            neighbor = indices[e]
            if visits[neighbor] == other:
                return new_end, node, neighbor
            if visits[neighbor] != own:
                visits[neighbor] = own
                before[neighbor] = node
                queue[new_end] = neighbor
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

    In each step, the search whose last layer is smaller advances by one layer. Both have visited
    all nodes up to some distance, so the first edge between them is on a shortest path.

    IN indptr, indices: neighbors of each node, in both directions; stamp: at least 2 more than in
    the previous call with these buffers, which then need no clearing.
    INOUT visits (n,): all entries below `stamp`, which marks nodes reached from the source, and
    ``stamp + 1`` from the target; before (n,): the node from which each was reached; queues (2, n):
    the nodes that each search visited, in order.
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
    """Return the path through an edge between the two searches, followed back to both ends."""
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


@kernel
def shorten_through(
    indptr: NDArray[np.int64], members: NDArray[np.int64], distances: NDArray[np.float64]
) -> None:
    """Shorten distances (n, n) by paths that visit components of must-linked rows, each as one row.

    IN indptr, members: rows of each component, as in a CSR matrix.
    INOUT distances (n, n): symmetric. Time O(n²) for each component.
    """
    n = len(distances)
    nearest = np.empty(n)
    for component in range(len(indptr) - 1):
        nearest[:] = np.inf
        for at in range(indptr[component], indptr[component + 1]):
            row = distances[members[at]]
            for i in range(n):
                nearest[i] = min(nearest[i], row[i])
        for i in range(n):
            for j in range(n):
                distances[i, j] = min(distances[i, j], nearest[i] + nearest[j])


@kernel
def find_root(parent: NDArray[np.int64], node: int) -> int:
    """Return the root of a node's tree, and halve the path to it.

    INOUT parent (n,): parent of each node; that of a root is the root itself.
    """
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def unite(parent: NDArray[np.int64], size: NDArray[np.int64], a: int, b: int) -> bool:
    """Join the trees of two nodes, the smaller below the larger; False if they were one already.

    INOUT parent (n,): as in `find_root`; size (n,): number of nodes in the tree of each root.
    """
    a = find_root(parent, a)
    b = find_root(parent, b)
    if a == b:
        return False
    if size[a] < size[b]:
        a, b = b, a
    parent[b] = a
    size[a] += size[b]
    return True


@kernel
def component_labels(n_nodes: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Label the connected components 0, 1, ... in the order of their smallest node: (n_nodes,).

    IN edges (m, 2): pairs of nodes. Union-find: nearly linear in nodes and edges.
    """
    parent = np.arange(n_nodes)
    size = np.ones(n_nodes, dtype=np.int64)
    for e in range(edges.shape[0]):
        unite(parent, size, edges[e, 0], edges[e, 1])
    labels = np.full(n_nodes, -1, dtype=np.int64)
    n_components = 0
    for node in range(n_nodes):
        root = find_root(parent, node)
        if labels[root] < 0:
            labels[root] = n_components
            n_components += 1
        if root != node:
            labels[node] = labels[root]
    return labels


@kernel
def pieces_of_groups(
    group: NDArray[np.int64],
    ends: NDArray[np.int64],
    rank: NDArray[np.int64],
    most: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Join neighbors of one group, the nearest first, where they are near for their pieces: (n,).

    IN group (n,): of each node; ends (m, 2): neighbors; rank (m,): how near they are, from 1, in
    increasing order; most (n + 1,): highest rank that joins two pieces, the smaller of so many
    nodes.
    Returns the root of each node's piece. Union-find: nearly linear in nodes and edges.
    """
    n = group.shape[0]
    parent = np.arange(n)
    size = np.ones(n, dtype=np.int64)
    for e in range(ends.shape[0]):
        a, b = ends[e, 0], ends[e, 1]
        if group[a] == group[b]:
            a, b = find_root(parent, a), find_root(parent, b)
            if a != b and rank[e] <= most[min(size[a], size[b])]:
                unite(parent, size, a, b)
    for node in range(n):
        parent[node] = find_root(parent, node)
    return parent


@kernel
def join_along_tree(
    group: NDArray[np.int64], root: NDArray[np.int64], tree: NDArray[np.int64], pure: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Join pieces of one group where a tree merges them, and find groups that it merges next.

    IN group (n,): of each node; root (n,): of its piece, its own root's root; tree (m, 2): merges
    of nodes, and from n on of what earlier merges made; pure: share of a subtree that its most
    frequent group has at least, of those that are known to be in it.
    Returns roots of the pieces (n,), and pairs of groups (k, 2) that are siblings: two subtrees
    that are merged, each of which has at least half of the nodes of its group. Linear in n.
    """
    n, m = group.shape[0], tree.shape[0]
    whole = np.zeros(group.max() + 1, np.int64)
    for node in range(n):
        whole[group[node]] += 1
    parent = root.copy()
    top, part = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
    count, size = np.ones(n + m, np.int64), np.ones(n + m, np.int64)
    top[:n], part[:n] = group, root
    siblings = np.empty((m, 2), np.int64)
    n_siblings = 0
    for at in range(m):
        a, b, node = tree[at, 0], tree[at, 1], n + at
        if count[a] < count[b]:
            a, b = b, a
        size[node] = size[a] + size[b]
        top[node], part[node], count[node] = top[a], part[a], count[a]
        are_pure = count[a] >= pure * size[a] and count[b] >= pure * size[b]
        if top[a] == top[b]:
            count[node] += count[b]
            if are_pure:
                parent[find_root(parent, part[b])] = find_root(parent, part[a])
        elif are_pure and 2 * count[a] >= whole[top[a]] and 2 * count[b] >= whole[top[b]]:
            siblings[n_siblings, 0], siblings[n_siblings, 1] = top[a], top[b]
            n_siblings += 1
    for node in range(n):
        parent[node] = find_root(parent, node)
    return parent, siblings[:n_siblings]
