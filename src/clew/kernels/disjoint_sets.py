"""Union-find: the connected components of a list of edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["component_labels", "find_root", "unite"]


@kernel
def find_root(parent: NDArray[np.int64], node: int) -> int:
    """Return the root of a node's tree, and halve the path to it.

    Parameters
    ----------
    parent : ndarray of shape (n,), int64 (INOUT)
        Parent of each node; that of a root is the root itself.
    node : int
        The node.

    Returns
    -------
    int
    """
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def unite(parent: NDArray[np.int64], size: NDArray[np.int64], a: int, b: int) -> bool:
    """Join the trees of two nodes, the smaller below the larger.

    Parameters
    ----------
    parent : ndarray of shape (n,), int64 (INOUT)
        Parent of each node; that of a root is the root itself.
    size : ndarray of shape (n,), int64 (INOUT)
        Number of nodes in the tree of each root.
    a, b : int
        The nodes.

    Returns
    -------
    bool
        False if the nodes were in one tree already.
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

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    edges : ndarray of shape (m, 2), int64 (IN)
        Edges, as pairs of nodes.

    Returns
    -------
    ndarray of shape (n_nodes,), int64
        The component of each node.

    Notes
    -----
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
