"""Neighbour graphs: the sparse affinities that spectral clustering works on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors

__all__ = ["local_scale_graph", "nearest_graph"]

LOCAL_SCALE_NEIGHBOUR = 7
ROWS_PER_BLOCK = 1024


def nearest_graph(affinity: NDArray[np.floating] | csr_array, n_neighbors: int) -> csr_array:
    """Keep the largest affinities of each row, and make the graph symmetric.

    Parameters
    ----------
    affinity : ndarray or sparse array of shape (n, n)
        Affinities, none negative. The diagonal is left out, and so is what a sparse array does
        not store.
    n_neighbors : int
        How many to keep in each row; of equal ones the first.

    Returns
    -------
    csr_array of shape (n, n), float64
        The larger of both directions where rows disagree.
    """
    if isinstance(affinity, np.ndarray):
        graph = _largest_entries(affinity, n_neighbors)
    else:
        graph = _largest_stored(affinity, n_neighbors)
    return csr_array(graph.maximum(graph.T))


def _largest_entries(affinity: NDArray[np.floating], k: int) -> csr_array:
    n = len(affinity)
    k = min(k, n - 1)
    columns, values = np.empty((n, k), np.int64), np.empty((n, k))
    for start in range(0, n, ROWS_PER_BLOCK):
        block = np.array(affinity[start : start + ROWS_PER_BLOCK], dtype=np.float64)
        block[np.arange(len(block)), start + np.arange(len(block))] = -1.0
        least = np.partition(block, n - k, axis=1)[:, n - k, None]
        is_above, is_tied = block > least, block == least
        room = k - is_above.sum(axis=1, keepdims=True)
        kept = is_above | (is_tied & (is_tied.cumsum(axis=1) <= room))
        columns[start : start + len(block)] = np.nonzero(kept)[1].reshape(-1, k)
        values[start : start + len(block)] = block[kept].reshape(-1, k)
    indptr = np.arange(0, n * k + 1, k)
    graph = csr_array((values.ravel(), columns.ravel(), indptr), (n, n))
    graph.eliminate_zeros()
    return graph


def _largest_stored(affinity: csr_array, k: int) -> csr_array:
    graph = csr_array(affinity).astype(np.float64, copy=True)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    by_row_and_value = np.lexsort((graph.indices, -graph.data, row))
    rank = np.arange(graph.nnz) - graph.indptr[row]
    kept = by_row_and_value[rank < k]
    entries = (graph.data[kept], (row[kept], graph.indices[kept]))
    return csr_array(entries, shape=graph.shape)


def local_scale_graph(X: NDArray[np.float64], n_neighbors: int) -> csr_array:
    """Link each row to its nearest rows, with Gaussian affinities on local scales.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    n_neighbors : int
        How many.

    Returns
    -------
    csr_array of shape (n_samples, n_samples), float64
        ``exp(-d_ij² / (s_i · s_j))``, with ``s`` the distance to the 7th of the neighbours that
        do not coincide with the row, made symmetric.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """
    n = len(X)
    scale = _scales_among_distinct(X)
    distance, column = NearestNeighbors(n_neighbors=min(n_neighbors, n - 1)).fit(X).kneighbors()
    with np.errstate(over="ignore"):  # where scales are tiny, all the rest is far
        value = np.exp(-(distance / scale[:, None]) * (distance / scale[column]))
    indptr = np.arange(0, value.size + 1, value.shape[1])
    graph = csr_array((value.ravel(), column.ravel(), indptr), (n, n))
    return csr_array(graph.maximum(graph.T))


def _scales_among_distinct(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give each row's distance to its 7th neighbour, copies counted once; 1 if all coincide."""
    distinct, copy_of = np.unique(X, axis=0, return_inverse=True)
    if len(distinct) == 1:
        return np.ones(len(X))
    k = min(LOCAL_SCALE_NEIGHBOUR, len(distinct) - 1)
    distance, _ = NearestNeighbors(n_neighbors=k).fit(distinct).kneighbors()
    # Distinct rows may still be closer than floating point can tell.
    scale = np.maximum(distance[:, -1], np.finfo(np.float64).tiny ** 0.5)
    return np.asarray(scale[copy_of.reshape(len(X))])
