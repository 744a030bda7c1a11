"""Shortest paths through must-linked rows: one step of the Floyd-Warshall algorithm a component."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["shorten_through"]


@kernel
def shorten_through(
    indptr: NDArray[np.int64], members: NDArray[np.int64], distances: NDArray[np.float64]
) -> None:
    """Shorten all distances by paths that visit components of must-linked rows.

    Within a component all distances are 0, so that it counts as one row.

    Parameters
    ----------
    indptr, members : ndarray, int64 (IN)
        Rows of each component, as in a CSR matrix.
    distances : ndarray of shape (n, n), float64 (INOUT)
        Symmetric.

    Notes
    -----
    Time O(n²) for each component.
    """
    n = len(distances)
    nearest = np.empty(n)
    for component in range(len(indptr) - 1):
        nearest[:] = np.inf
        for at in range(indptr[component], indptr[component + 1]):
            row = distances[members[at]]
            for i in range(n):
                nearest[i] = min(nearest[i], row[i])
        for i in range(n):
            for j in range(n):
                distances[i, j] = min(distances[i, j], nearest[i] + nearest[j])
