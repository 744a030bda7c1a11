"""Neighbor graphs: the largest affinities of each row."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.kernels.nearest import largest_of_rows

__all__ = ["largest_entries", "largest_stored", "nearest_graph", "resolved_n_neighbors"]

ROWS_PER_BLOCK = 1024
AUTO_NEIGHBORS = 20


def resolved_n_neighbors(n_neighbors: int | Literal["auto", "paper"], n_samples: int) -> int:
    """Convert a choice of neighbors to a number.

    Parameters
    ----------
    n_neighbors : int, "auto" or "paper"
        "paper" is a tenth of the rows; "auto" is the same, limited to between 5 and 20.
    n_samples : int
        Number of rows.

    Returns
    -------
    int
        The number of neighbors, at most ``n_samples - 1``.
    """
    tenth = max(1, round(n_samples / 10))
    if n_neighbors == "paper":
        wanted = tenth
    elif n_neighbors == "auto":
        wanted = min(max(tenth, 5), AUTO_NEIGHBORS)
    else:
        wanted = n_neighbors
    return min(wanted, n_samples - 1)


def nearest_graph(affinity: NDArray[np.floating] | csr_array, n_neighbors: int) -> csr_array:
    """Keep the largest affinities of each row, and make the graph symmetric.

    Parameters
    ----------
    affinity : ndarray or sparse array of shape (n, n)
        Affinities, none negative. The diagonal is ignored.
    n_neighbors : int
        Number of affinities to keep in each row; in a tie, the first ones.

    Returns
    -------
    csr_array of shape (n, n), float64
        Symmetric: each entry is the larger of those kept at (i, j) and (j, i). The diagonal is
        empty.
    """
    if isinstance(affinity, np.ndarray):
        graph = _largest_entries(affinity, n_neighbors)
    else:
        graph = largest_stored(affinity, n_neighbors)
    return csr_array(graph.maximum(graph.T))


def _largest_entries(affinity: NDArray[np.floating], k: int) -> csr_array:
    n = len(affinity)
    k = min(k, n - 1)
    columns, values = np.empty((n, k), np.int64), np.empty((n, k))
    largest_of_rows(np.ascontiguousarray(affinity), columns, values)
    indptr = np.arange(0, n * k + 1, k)
    graph = csr_array((values.ravel(), columns.ravel(), indptr), (n, n))
    graph.eliminate_zeros()
    return graph


def largest_entries(table: NDArray[np.floating], k: int) -> NDArray[np.bool_]:
    """Mark the `k` largest entries of each row of a table, in a tie the first.

    Takes O(n) time for each row of n entries.
    """
    width = table.shape[1]
    if width <= k:
        return np.ones(table.shape, dtype=np.bool_)
    least = np.partition(table, width - k, axis=1)[:, width - k, None]
    is_kept = table >= least
    tied = np.flatnonzero(is_kept.sum(axis=1) > k)
    if len(tied):
        is_above, is_tied = table[tied] > least[tied], table[tied] == least[tied]
        room = k - is_above.sum(axis=1, keepdims=True)
        is_kept[tied] = is_above | (is_tied & (is_tied.cumsum(axis=1) <= room))
    return np.asarray(is_kept)


def largest_stored(affinity: csr_array, k: int) -> csr_array:
    """Keep the largest stored affinities of each row, without the diagonal.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        Affinities.
    k : int
        Number of affinities to keep in each row; in a tie, the first ones.

    Returns
    -------
    csr_array of shape (n, n), float64
        In general not symmetric.
    """
    graph = csr_array(affinity).astype(np.float64, copy=True)
    graph.sort_indices()
    graph.data[graph.indices == np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))] = 0.0
    graph.eliminate_zeros()
    count = np.diff(graph.indptr)
    is_kept = np.ones(graph.nnz, dtype=np.bool_)
    for start in range(0, len(count), ROWS_PER_BLOCK):
        here = slice(graph.indptr[start], graph.indptr[min(start + ROWS_PER_BLOCK, len(count))])
        width = count[start : start + ROWS_PER_BLOCK, None]
        is_filled = np.arange(width.max(initial=0)) < width
        table = np.full(is_filled.shape, -np.inf)
        table[is_filled] = graph.data[here]
        is_kept[here] = largest_entries(table, k)[is_filled]
    if is_kept.all():
        return graph
    graph.data[~is_kept] = 0.0
    graph.eliminate_zeros()
    return graph
