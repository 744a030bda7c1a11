"""What the trees that did not draw a row say about its class."""

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
    """Add, tree by tree, the share of class one in the leaf of every row that was not drawn.

    Parameters
    ----------
    trees : Trees
        The forest.
    leaf, draws : ndarray of shape (n_trees, n_rows)
        Leaf of each row, and how often each tree drew it.
    is_one : ndarray of shape (n_rows,)
        Class of each row, 0 or 1.
    weight, weight_of_ones : ndarray
        Buffers, as long as the largest tree has nodes.
    share_of_ones, n_votes : ndarray of shape (n_rows,)
        INOUT: sum of shares, and number of trees.
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
