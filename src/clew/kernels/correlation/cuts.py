"""Sums over the pairs of nodes that each edge of a tree separates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["cut_sums"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def cut_sums(
    order: Ints,
    above: Ints,
    first: Ints,
    second: Ints,
    values: Floats,
    sums: Floats,
    size: Floats,
) -> None:
    """Sum values of pairs over the cut that each edge of a tree makes when it is removed.

    Parameters
    ----------
    order : ndarray of shape (n_nodes,), int64 (IN)
        Nodes of the tree, each after its parent; the root first.
    above : ndarray of shape (n_nodes,), int64 (IN)
        Parent of each node; that of the root is not read.
    first, second : ndarray of shape (n_pairs,), int64 (IN)
        Nodes of each pair.
    values : ndarray of shape (n_pairs, n_values), float64 (IN)
        Values of each pair.
    sums : ndarray of shape (n_nodes, n_values), float64 (OUT)
        For each node, sums over the pairs of which exactly one node is in its subtree.
    size : ndarray of shape (n_nodes,), float64 (OUT)
        Number of nodes in each subtree.
    """
    n, n_values = len(order), values.shape[1]
    depth = np.zeros(n, np.int64)
    sums[:] = 0.0
    size[:] = 1.0
    for at in range(1, n):
        depth[order[at]] = depth[above[order[at]]] + 1
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        for column in range(n_values):
            sums[a, column] += values[pair, column]
            sums[b, column] += values[pair, column]
        while a != b:
            if depth[a] < depth[b]:
                a, b = b, a
            a = above[a]
        for column in range(n_values):
            sums[a, column] -= 2.0 * values[pair, column]
    for at in range(n - 1, 0, -1):
        node = order[at]
        size[above[node]] += size[node]
        for column in range(n_values):
            sums[above[node], column] += sums[node, column]
