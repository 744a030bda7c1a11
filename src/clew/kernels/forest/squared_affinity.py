"""Sums of squared leaf affinities, without a matrix of rows by rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.forest.layout import Trees

__all__ = ["list_leaves", "sum_squared_affinities"]


@kernel
def list_leaves(
    trees: Trees,
    leaf: NDArray[np.int32],
    rows: NDArray[np.int64],
    start: NDArray[np.int64],
    member: NDArray[np.int32],
) -> None:
    """List some rows by the leaf that they fall into.

    Parameters
    ----------
    trees : Trees (IN)
        The forest.
    leaf : ndarray of shape (n_trees, n_rows), int32 (IN)
        Leaf of each row.
    rows : ndarray of shape (n_listed,), int64 (IN)
        The rows.
    start : ndarray of shape (n_nodes + 1,), int64 (OUT)
        Where the list of each node, counted over all trees, begins and ends; 0 at first.
    member : ndarray of shape (n_trees · n_listed,), int32 (OUT)
        Positions in `rows`.
    """
    n_trees, n_listed = leaf.shape[0], rows.shape[0]
    for tree in range(n_trees):
        for k in range(n_listed):
            start[trees.offset[tree] + leaf[tree, rows[k]] + 1] += 1
    for node in range(start.shape[0] - 1):
        start[node + 1] += start[node]
    # Fill each list, which moves its start to its end; then shift all back by one.
    for tree in range(n_trees):
        for k in range(n_listed):
            node = trees.offset[tree] + leaf[tree, rows[k]]
            member[start[node]] = k
            start[node] += 1
    for node in range(start.shape[0] - 1, 0, -1):
        start[node] = start[node - 1]
    start[0] = 0


@bare_kernel
def add_shared_leaves(
    offset: NDArray[np.int64],
    leaf: NDArray[np.int32],
    row: int,
    start: NDArray[np.int64],
    member: NDArray[np.int32],
    shared: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> int:
    """Count in how many trees a row shares the leaf of each listed row; return how many it met."""
    n_met = 0
    for tree in range(leaf.shape[0]):
        node = offset[tree] + leaf[tree, row]
        for at in range(start[node], start[node + 1]):
            k = member[at]
            if shared[k] == 0:
                touched[n_met] = k
                n_met += 1
            shared[k] += 1
    return n_met


@kernel
def sum_squared_affinities(
    trees: Trees,
    leaf: NDArray[np.int32],
    first_row: int,
    last_row: int,
    rows: NDArray[np.int64],
    weight: NDArray[np.float64],
    start: NDArray[np.int64],
    member: NDArray[np.int32],
    total: NDArray[np.float64],
) -> None:
    """Sum over listed rows their weight times the squared share of trees with a common leaf.

    Parameters
    ----------
    trees : Trees (IN)
        The forest.
    leaf : ndarray of shape (n_trees, n_rows), int32 (IN)
        Leaf of each row.
    first_row, last_row : int
        Which rows to sum for.
    rows : ndarray of shape (n_listed,), int64 (IN)
        The listed rows; none is summed for itself.
    weight : ndarray of shape (n_listed,), float64 (IN)
        Their weights.
    start, member
        See `list_leaves`.
    total : ndarray of shape (n_rows,), float64 (OUT)
        The sums, from `first_row` to `last_row`.
    """
    shared = np.zeros(rows.shape[0], np.int32)
    touched = np.empty(rows.shape[0], np.int32)
    for row in range(first_row, last_row):
        total[row] = 0.0
        n_met = add_shared_leaves(trees.offset, leaf, row, start, member, shared, touched)
        for at in range(n_met):
            k = touched[at]
            if rows[k] != row:
                share = shared[k] / leaf.shape[0]
                total[row] += weight[k] * share * share
            shared[k] = 0
