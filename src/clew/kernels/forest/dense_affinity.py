"""Affinities of some rows to all fitted rows, summed over trees.

The leaves of a tree in preorder stand in a line. The lowest common ancestor of two leaves is the
first in preorder of those between neighbours on the way from one to the other, so the affinities
of one leaf to all others are two running minima.
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
        Fitted rows, those of a node side by side.
    leaf : ndarray of shape (n_trees, n_rows)
        Leaf of every row.
    first_row, last_row : int
        Rows of `leaf` and of `affinity` to work on.
    affinity : ndarray of shape (n_rows, n_fitted)
        INOUT: the sums.
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
    """Give the leaves of a tree numbers in preorder.

    `place` gives each node's number if it is a leaf, `line` the leaf of each number, and `fork`
    the lowest common ancestor of a leaf and the one before it. Gives the number of leaves.
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
    """Fill `table` with the affinities of leaf number `here` to all leaves of its tree."""
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
    """Add the share of the path that a row has in common with each fitted row, tree by tree.

    Parameters
    ----------
    trees : Trees
        The forest.
    parent, depth, mass : ndarray of shape (n_nodes,)
        From `measure_paths`.
    fitted_leaf : ndarray of shape (n_trees, n_fitted)
        Leaf of every fitted row.
    leaf : ndarray of shape (n_trees, n_rows)
        Leaf of every row.
    first_row, last_row, first_column : int
        The part of `affinity` to work on.
    place, line, fork, table : ndarray
        Buffers, as long as the largest tree has nodes.
    column : ndarray of shape (n_fitted,)
        Buffer.
    affinity : ndarray of shape (n_rows, n_fitted)
        INOUT: the sums.
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
