"""Union-find: the connected components of a list of edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


@kernel
def find_root(parent: NDArray[np.int64], node: int) -> int:
    """Return the root of a node's tree, and halve the path to it.

    IN node.
    INOUT parent (n,): parent of each node; that of a root is the root itself.
    """
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def unite(parent: NDArray[np.int64], size: NDArray[np.int64], a: int, b: int) -> bool:
    """Join the trees of two nodes, the smaller below the larger.

    IN a, b: the nodes.
    INOUT parent (n,): parent of each node; that of a root is the root itself; size (n,): number of
    nodes in the tree of each root.
    Returns false if the nodes were in one tree already.
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
    """Label the connected components 0, 1, ... in the order of their smallest node.

    IN n_nodes: number of nodes; edges (m, 2): edges, as pairs of nodes.
    Returns (n_nodes,): the component of each node.

    Union-find: time nearly linear in nodes and edges, memory O(n_nodes).
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
