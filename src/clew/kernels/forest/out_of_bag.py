"""Out-of-bag predictions: the class of a row by the trees that did not draw it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Trees

__all__ = ["add_votes"]


@bare_kernel
def add_votes(
    trees: Trees,
    leaf: NDArray[np.int32],
    draws: NDArray[np.uint8],
    is_one: NDArray[np.uint8],
    weight: NDArray[np.float64],
    weight_of_ones: NDArray[np.float64],
    share_of_ones: NDArray[np.float64],
    n_votes: NDArray[np.int64],
) -> None:
    """Add, for each tree, the share of class 1 in the leaf of each row that was not drawn.

    Parameters
    ----------
    trees : Trees
        The forest.
    leaf, draws : ndarray of shape (n_trees, n_rows)
        Leaf of each row in each tree, and how often the tree drew the row.
    is_one : ndarray of shape (n_rows,)
        Class of each row, 0 or 1.
    weight, weight_of_ones : ndarray
        Buffers, with an entry for each node of the largest tree.
    share_of_ones, n_votes : ndarray of shape (n_rows,) (INOUT)
        For each row, the sum of these shares, and the number of trees summed.

    Notes
    -----
    Time O(n_trees·n_rows).
    """
    n_trees, n_rows = leaf.shape
    for tree in range(n_trees):
        for node in range(trees.offset[tree + 1] - trees.offset[tree]):
            weight[node] = 0.0
            weight_of_ones[node] = 0.0
        for row in range(n_rows):
            weight[leaf[tree, row]] += draws[tree, row]
            weight_of_ones[leaf[tree, row]] += draws[tree, row] * is_one[row]
        for row in range(n_rows):
            here = leaf[tree, row]
            if draws[tree, row] == 0 and weight[here] > 0.0:
                share_of_ones[row] += weight_of_ones[here] / weight[here]
                n_votes[row] += 1
