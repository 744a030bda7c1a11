"""Symmetric matrices of which one triangle is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["mirror_lower"]


@kernel
def mirror_lower(matrix: NDArray[np.float32], block: int) -> None:
    """Copy the lower triangle to the upper one, block by block.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), float32 (INOUT)
        The matrix; what is above its diagonal is overwritten.
    block : int
        Rows and columns of a block; two blocks should fit in the fastest cache.
    """
    n = len(matrix)
    for top in range(0, n, block):
        bottom = min(top + block, n)
        for left in range(0, bottom, block):
            for i in range(top, bottom):
                for j in range(left, min(left + block, i)):
                    matrix[j, i] = matrix[i, j]
