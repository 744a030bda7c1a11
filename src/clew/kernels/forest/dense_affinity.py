"""Affinities of some rows to all fitted rows, summed over trees.

The leaves of a tree are numbered in preorder. The *fork* of a leaf is its lowest common ancestor
with the leaf before it. The lowest common ancestor of leaves i < j is the smallest of the forks of
leaves i + 1 to j, because nodes are numbered in preorder too. So the affinities of one leaf to all
others follow from two running minima.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Trees
from clew.kernels.forest.paths import fraction

__all__ = ["add_leaf_affinity", "add_path_affinity"]


@bare_kernel
def add_leaf_affinity(
    trees: Trees,
    order: NDArray[np.int32],
    leaf: NDArray[np.int32],
    first_row: int,
    last_row: int,
    affinity: NDArray[np.float32],
) -> None:
    """Add 1 for each tree in which a row shares the leaf of a fitted row.

    Parameters
    ----------
    trees : Trees
        The forest.
    order : ndarray of shape (n_trees, n_fitted)
        Fitted rows in such an order that those of each node are consecutive.
    leaf : ndarray of shape (n_trees, n_rows)
        Leaf of each row.
    first_row, last_row : int
        The affinities of rows from `first_row` to ``last_row - 1`` are computed.
    affinity : ndarray of shape (n_rows, n_fitted) (INOUT)
        The sums.

    Notes
    -----
    Time for each tree and row is the number of fitted rows in the leaf.
    """
    for tree in range(leaf.shape[0]):
        base = trees.offset[tree]
        for row in range(first_row, last_row):
            node = base + leaf[tree, row]
            for k in range(trees.start[node], trees.stop[node]):
                affinity[row, np.uint32(order[tree, k])] += np.float32(1.0)


@bare_kernel
def line_up_leaves(
    trees: Trees,
    tree: int,
    parent: NDArray[np.int32],
    place: NDArray[np.int32],
    line: NDArray[np.int32],
    fork: NDArray[np.int32],
) -> int:
    """Assign numbers to the leaves of a tree, in preorder.

    Parameters
    ----------
    trees : Trees (IN)
        The forest.
    tree : int
        Number of the tree.
    parent : ndarray of shape (n_nodes,), int32 (IN)
        From `measure_paths`.
    place : ndarray, int32 (OUT)
        Number of each node that is a leaf.
    line : ndarray, int32 (OUT)
        Node of each leaf, by number.
    fork : ndarray, int32 (OUT)
        Lowest common ancestor of each leaf and the one before it, by number.

    Returns
    -------
    int
        Number of leaves.
    """
    base = trees.offset[tree]
    n_leaves = 0
    above = np.int32(0)
    for node in range(trees.offset[tree + 1] - base):
        if node > 0 and parent[base + node] != node - 1:
            above = parent[base + node]
        if trees.feature[base + node] < 0:
            place[node] = n_leaves
            line[n_leaves] = node
            fork[n_leaves] = above
            n_leaves += 1
    return n_leaves


@bare_kernel
def affinities_of_leaf(
    here: int,
    n_leaves: int,
    base: int,
    depth: NDArray[np.int32],
    mass: NDArray[np.float32],
    line: NDArray[np.int32],
    fork: NDArray[np.int32],
    table: NDArray[np.float32],
) -> None:
    """Set `table` to the affinities of leaf number `here` to all leaves of its tree."""
    own_depth = depth[base + line[here]]
    own_mass = mass[base + line[here]]
    table[here] = 1.0
    lowest = np.int32(2**31 - 1)
    for other in range(here - 1, -1, -1):
        lowest = min(lowest, fork[other + 1])
        node = base + line[other]
        table[other] = fraction(mass[base + lowest], own_depth, own_mass, depth[node], mass[node])
    lowest = np.int32(2**31 - 1)
    for other in range(here + 1, n_leaves):
        lowest = min(lowest, fork[other])
        node = base + line[other]
        table[other] = fraction(mass[base + lowest], own_depth, own_mass, depth[node], mass[node])


@bare_kernel
def add_path_affinity(
    trees: Trees,
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    mass: NDArray[np.float32],
    fitted_leaf: NDArray[np.int32],
    leaf: NDArray[np.int32],
    first_row: int,
    last_row: int,
    first_column: int,
    place: NDArray[np.int32],
    line: NDArray[np.int32],
    fork: NDArray[np.int32],
    column: NDArray[np.int32],
    table: NDArray[np.float32],
    affinity: NDArray[np.float32],
) -> None:
    """Add, for each tree, the share of the path that a row has in common with each fitted row.

    Parameters
    ----------
    trees : Trees
        The forest.
    parent, depth, mass : ndarray of shape (n_nodes,)
        From `measure_paths`.
    fitted_leaf : ndarray of shape (n_trees, n_fitted)
        Leaf of each fitted row.
    leaf : ndarray of shape (n_trees, n_rows)
        Leaf of each row.
    first_row, last_row, first_column : int
        The affinities of rows from `first_row` to ``last_row - 1`` to fitted rows from
        `first_column` on are computed.
    place, line, fork, table : ndarray
        Buffers, with an entry for each node of the largest tree.
    column : ndarray of shape (n_fitted,)
        Buffer.
    affinity : ndarray of shape (n_rows, n_fitted) (INOUT)
        The sums.

    Notes
    -----
    Time O(n_fitted + leaves) for each tree and row.
    """
    n_fitted = fitted_leaf.shape[1]
    for tree in range(leaf.shape[0]):
        base = trees.offset[tree]
        n_leaves = line_up_leaves(trees, tree, parent, place, line, fork)
        for k in range(first_column, n_fitted):
            column[k] = place[fitted_leaf[tree, k]]
        last = -1
        for row in range(first_row, last_row):
            here = place[leaf[tree, row]]
            if here != last:
                affinities_of_leaf(here, n_leaves, base, depth, mass, line, fork, table)
                last = here
            for k in range(first_column, n_fitted):
                affinity[row, k] += table[np.uint32(column[k])]
