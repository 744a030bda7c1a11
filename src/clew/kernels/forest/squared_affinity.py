"""Sums of squared leaf affinities, without an affinity matrix."""

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
    """List some rows by their leaves.

    Parameters
    ----------
    trees : Trees (IN)
        The forest.
    leaf : ndarray of shape (n_trees, n_rows), int32 (IN)
        Leaf of each row.
    rows : ndarray of shape (n_listed,), int64 (IN)
        The rows.
    start : ndarray of shape (n_nodes + 1,), int64 (OUT)
        The list of a node, numbered over all trees, is ``member[start[node]:start[node + 1]]``;
        must be 0 before.
    member : ndarray of shape (n_trees · n_listed,), int32 (OUT)
        Positions in `rows`.

    Notes
    -----
    Time O(n_trees·n_listed + n_nodes).
    """
    n_trees, n_listed = leaf.shape[0], rows.shape[0]
    for tree in range(n_trees):
        for k in range(n_listed):
            start[trees.offset[tree] + leaf[tree, rows[k]] + 1] += 1
    for node in range(start.shape[0] - 1):
        start[node + 1] += start[node]
    # Filling a list moves its start to its end; afterwards all starts are shifted back by one.
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
    """Count the trees in which a row shares the leaf of each listed row.

    Returns the number of listed rows with a count above 0, which are listed in `touched`.
    """
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
    """Sum, over listed rows, the weight times the squared affinity, for each of some rows.

    The affinity of two rows is the share of trees in which they are in one leaf.

    Parameters
    ----------
    trees : Trees (IN)
        The forest.
    leaf : ndarray of shape (n_trees, n_rows), int32 (IN)
        Leaf of each row.
    first_row, last_row : int
        Sums are computed for rows from `first_row` to ``last_row - 1``.
    rows : ndarray of shape (n_listed,), int64 (IN)
        The listed rows; a row is left out of its own sum.
    weight : ndarray of shape (n_listed,), float64 (IN)
        Weight of each listed row.
    start, member : ndarray (IN)
        From `list_leaves`.
    total : ndarray of shape (n_rows,), float64 (OUT)
        The sums; other entries are not changed.

    Notes
    -----
    Time for each row is the number of listed rows in its leaves, summed over trees.
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
