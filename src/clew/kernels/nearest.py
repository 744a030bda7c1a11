"""The largest entries of each row of a square matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["largest_of_rows"]


@kernel
def largest_of_rows(
    table: NDArray[np.floating],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
) -> None:
    """Find the `k` largest entries of each row beside the diagonal; of equal entries the first.

    Parameters
    ----------
    table : ndarray of shape (n, n) (IN)
        Entries, k < n.
    columns : ndarray of shape (n, k), int64 (OUT)
        Their columns, ascending.
    values : ndarray of shape (n, k), float64 (OUT)
        Their values.

    Notes
    -----
    Time O(n²) where few entries are larger than all before them, at most O(n²·log k).
    """
    n, k = columns.shape
    for i in range(n):
        heap = columns[i]  # a binary heap: the smallest entry first, of equal ones the last
        size = 0
        for j in range(n):
            if j == i:
                continue
            if size < k:
                at = size
                size += 1
                while at > 0 and _is_worse(table, i, j, heap[(at - 1) // 2]):
                    heap[at] = heap[(at - 1) // 2]
                    at = (at - 1) // 2
                heap[at] = j
            elif table[i, j] > table[i, heap[0]]:
                at = 0
                while 2 * at + 1 < k:
                    below = 2 * at + 1
                    if below + 1 < k and _is_worse(table, i, heap[below + 1], heap[below]):
                        below += 1
                    if not _is_worse(table, i, heap[below], j):
                        break
                    heap[at] = heap[below]
                    at = below
                heap[at] = j
        heap.sort()
        for at in range(k):
            values[i, at] = table[i, heap[at]]


@kernel
def _is_worse(table: NDArray[np.floating], i: int, first: int, second: int) -> bool:
    """Whether entry `first` of row `i` is smaller than `second`, or equal and later."""
    if table[i, first] == table[i, second]:
        return first > second
    return bool(table[i, first] < table[i, second])
