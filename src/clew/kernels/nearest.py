"""Nearest rows and largest values of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


@kernel
def largest_of_rows(
    table: NDArray[np.floating], columns: NDArray[np.int64], values: NDArray[np.float64]
) -> None:
    """Find the `k` largest entries of each row off the diagonal, in a tie the first.

    IN table (n, n), k < n. OUT columns (n, k): ascending; values (n, k).

    Time O(n²) where few entries are larger than all before them, at most O(n²·log k).
    """
    n, k = columns.shape
    for i in range(n):
        heap = columns[i]  # a binary heap: the smallest entry first, in a tie the last column
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


@kernel
def smallest_of_rows(
    table: NDArray[np.floating],
    above: float,
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
) -> None:
    """Find the `k` smallest entries of each row above a value, ascending; in a tie the first.

    IN table (n_rows, n). OUT columns, values (n_rows, k); 0 and infinite where a row has fewer.

    Time O(n) for each row if few entries are smaller than all before them, at most O(n·log k).
    """
    last = columns.shape[1] - 1
    for i in range(table.shape[0]):
        heap, column = values[i], columns[i]  # the largest entry first, in a tie the last column
        heap[:] = np.inf
        column[:] = 0
        for j in range(table.shape[1]):
            if above < table[i, j] < heap[0]:
                _sift_down(heap, column, last, table[i, j], j)
        for end in range(last, 0, -1):
            value, at = heap[end], column[end]
            heap[end], column[end] = heap[0], column[0]
            _sift_down(heap, column, end - 1, value, at)


@kernel
def _sift_down(
    heap: NDArray[np.float64], column: NDArray[np.int64], last: int, value: float, at: int
) -> None:
    """Replace the first entry of a heap that ends at `last`."""
    place = 0
    while 2 * place + 1 <= last:
        below = 2 * place + 1
        if below < last and (heap[below + 1], column[below + 1]) > (heap[below], column[below]):
            below += 1
        if (heap[below], column[below]) <= (value, at):
            break
        heap[place], column[place] = heap[below], column[below]
        place = below
    heap[place], column[place] = value, at


@kernel
def keep_nearest(
    products: NDArray[np.floating],
    offset: NDArray[np.floating],
    numbers: NDArray[np.int64],
    own: NDArray[np.int64],
    nearest: NDArray[np.integer],
    apart: NDArray[np.floating],
) -> None:
    """Merge a block of rows into the lists of nearest rows; in a tie, the first row stays.

    IN products (n_lists, n_rows): inner products of the lists' owners with the rows; or distances,
    negated; offset (n_rows,): half of each row's squared length; or zeros. Low `offset` minus
    product is near; numbers (n_rows,): row numbers; own (n_lists,): those of the owners, which do
    not enter their own lists; -1: none.
    INOUT nearest (n_lists, n): nearest rows so far, the nearest first; apart (n_lists, n): their
    values; inf where there is none yet.

    Time O(n_lists·n_rows), plus O(n) for each row that enters a list: about n·log(N/n) of N in
    random order.
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
