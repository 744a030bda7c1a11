"""Lists of the nearest rows of some rows, updated by one block of distances after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["keep_nearest"]


@kernel
def keep_nearest(
    products: NDArray[np.floating],
    offset: NDArray[np.floating],
    numbers: NDArray[np.int64],
    own: NDArray[np.int64],
    nearest: NDArray[np.int64],
    apart: NDArray[np.float64],
) -> None:
    """Merge a block of rows into the lists of nearest rows; in a tie, the first row stays.

    Parameters
    ----------
    products : ndarray of shape (n_lists, n_rows) (IN)
        Inner products of the lists' owners with the rows of the block; or distances, negated.
    offset : ndarray of shape (n_rows,) (IN)
        Half of each row's squared length; or zeros. A row is nearer if `offset` minus the product
        is lower.
    numbers : ndarray of shape (n_rows,), int64 (IN)
        Row numbers of the block.
    own : ndarray of shape (n_lists,), int64 (IN)
        Row numbers of the owners, which do not enter their own lists.
    nearest : ndarray of shape (n_lists, n), int64 (INOUT)
        Nearest rows so far, the nearest first.
    apart : ndarray of shape (n_lists, n), float64 (INOUT)
        Their values; inf where there is none yet.

    Notes
    -----
    Time O(n_lists·n_rows), plus O(n) for each row that enters a list: of N rows in random order
    about n·log(N/n) do.
    """
    last = nearest.shape[1] - 1
    for at in range(products.shape[0]):
        limit = apart[at, last]
        for j in range(products.shape[1]):
            value = offset[j] - products[at, j]
            if value < limit and numbers[j] != own[at]:
                place = last
                while place > 0 and apart[at, place - 1] > value:
                    apart[at, place] = apart[at, place - 1]
                    nearest[at, place] = nearest[at, place - 1]
                    place -= 1
                apart[at, place] = value
                nearest[at, place] = numbers[j]
                limit = apart[at, last]
