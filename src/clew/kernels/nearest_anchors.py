"""The nearest of a few thousand anchors, from a block of inner products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["nearest_by_products"]


@kernel
def nearest_by_products(
    products: NDArray[np.float32],
    half_squares: NDArray[np.float32],
    nearest: NDArray[np.int32],
    distance: NDArray[np.float32],
) -> None:
    """Find the anchors nearest to each row, the nearest first, in a tie the lower number.

    Parameters
    ----------
    products : ndarray of shape (n_rows, n_anchors), float32 (IN)
        Inner products of rows and anchors.
    half_squares : ndarray of shape (n_anchors,), float32 (IN)
        Half of the squared length of each anchor.
    nearest : ndarray of shape (n_rows, n_nearest), int32 (OUT)
        Anchors; `n_nearest` is at most `n_anchors`.
    distance : ndarray of shape (n_rows, n_nearest), float32 (OUT)
        Half of their squared distances, minus half of the row's squared length.

    Notes
    -----
    Time O(n_rows·n_anchors): few anchors are nearer than the farthest that is kept.
    """
    last = nearest.shape[1] - 1
    for row in range(products.shape[0]):
        nearest[row] = 0  # a valid number even if all distances are NaN
        distance[row] = np.inf
        for anchor in range(products.shape[1]):
            apart = half_squares[anchor] - products[row, anchor]
            if apart < distance[row, last]:
                place = last
                while place > 0 and distance[row, place - 1] > apart:
                    distance[row, place] = distance[row, place - 1]
                    nearest[row, place] = nearest[row, place - 1]
                    place -= 1
                distance[row, place] = apart
                nearest[row, place] = anchor
