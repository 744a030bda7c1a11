"""How many rows two lists share, and how alike two rows are by the lists that hold them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


@kernel
def index_lists(
    lists: NDArray[np.int64], start: NDArray[np.int64], holder: NDArray[np.int64]
) -> None:
    """List for each row the lists that hold it, ascending.

    IN lists (n_lists, n): row numbers, without repetition in a list.
    OUT start (n_rows + 1,): where the lists of each row begin in `holder`; holder (n_lists * n,):
    numbers of lists, row by row.
    """
    start[:] = 0
    for at in range(lists.shape[0]):
        for j in range(lists.shape[1]):
            start[lists[at, j] + 1] += 1
    for row in range(start.shape[0] - 1):
        start[row + 1] += start[row]
    filled = start[:-1].copy()
    for at in range(lists.shape[0]):
        for j in range(lists.shape[1]):
            row = lists[at, j]
            holder[filled[row]] = at
            filled[row] += 1


@kernel
def count_shared(
    lists: NDArray[np.int64],
    start: NDArray[np.int64],
    holder: NDArray[np.int64],
    shared: NDArray[np.float32],
) -> None:
    """Count the rows that every two lists share; the diagonal becomes 0.

    IN lists (n_lists, n): row numbers; start, holder: as `index_lists` makes them.
    OUT shared (n_lists, n_lists): counts.

    Time O(n_lists² + sum of squares of the numbers of lists that hold a row).
    """
    shared[:] = 0.0
    for at in range(lists.shape[0]):
        for j in range(lists.shape[1]):
            row = lists[at, j]
            for k in range(start[row], start[row + 1]):
                shared[at, holder[k]] += 1.0
        shared[at, at] = 0.0


@kernel
def mean_log_jaccard(
    lists: NDArray[np.int64],
    n_compared: int,
    start: NDArray[np.int64],
    holder: NDArray[np.int64],
    least: float,
    result: NDArray[np.float64],
) -> None:
    """Compare the first row of each list with its next rows by the lists that hold them.

    The similarity of two rows is Jaccard's coefficient of the sets of lists that hold them.

    IN lists (n_lists, n): row numbers; n_compared: number of rows that are compared with the first
    one, less than n; start, holder: as `index_lists` makes them; least: lower similarities count as
    this one, so that the logarithm is finite.
    OUT result (n_lists,): mean of the negated logarithms of the similarities.
    """
    for at in range(lists.shape[0]):
        total = 0.0
        first = lists[at, 0]
        for j in range(1, n_compared + 1):
            row = lists[at, j]
            i, k, both = start[first], start[row], 0
            while i < start[first + 1] and k < start[row + 1]:
                if holder[i] == holder[k]:
                    both += 1
                    i += 1
                    k += 1
                elif holder[i] < holder[k]:
                    i += 1
                else:
                    k += 1
            either = start[first + 1] - start[first] + start[row + 1] - start[row] - both
            total -= np.log(max(both / either, least))
        result[at] = total / n_compared
