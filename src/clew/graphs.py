"""Affinities and the neighbour graphs that are made of them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import NearestNeighbors

from clew._parallel import blocks
from clew._validation import Allowed
from clew.exceptions import InvalidDataError, InvalidParameterError, TooLargeError

__all__ = [
    "check_affinity",
    "check_dense_size",
    "check_distances",
    "check_n_neighbors",
    "check_square",
    "largest_stored",
    "local_scale_graph",
    "nearest_graph",
    "resolved_n_neighbors",
]

LOCAL_SCALE_NEIGHBOUR = 7
ROWS_PER_BLOCK = 1024
AUTO_NEIGHBORS = 20
MAX_DENSE_ROWS = 20_000
SYMMETRY_TOLERANCE = 1e-6


def resolved_n_neighbors(n_neighbors: int | Literal["auto", "paper"], n_samples: int) -> int:
    """Turn a choice of neighbours into a number below `n_samples`.

    Parameters
    ----------
    n_neighbors : int, "auto" or "paper"
        "paper" is a tenth of the rows, "auto" the same but 20 at most and 5 at least.
    n_samples : int
        Number of rows.

    Returns
    -------
    int
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
        graph = largest_stored(affinity, n_neighbors)
    return csr_array(graph.maximum(graph.T))


def _largest_entries(affinity: NDArray[np.floating], k: int) -> csr_array:
    n = len(affinity)
    k = min(k, n - 1)
    columns, values = np.empty((n, k), np.int64), np.empty((n, k))
    for start in range(0, n, ROWS_PER_BLOCK):
        block = np.array(affinity[start : start + ROWS_PER_BLOCK], dtype=np.float64)
        block[np.arange(len(block)), start + np.arange(len(block))] = -1.0
        kept = _is_largest(block, k)
        columns[start : start + len(block)] = np.nonzero(kept)[1].reshape(-1, k)
        values[start : start + len(block)] = block[kept].reshape(-1, k)
    indptr = np.arange(0, n * k + 1, k)
    graph = csr_array((values.ravel(), columns.ravel(), indptr), (n, n))
    graph.eliminate_zeros()
    return graph


def _is_largest(table: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Mark the `k` largest entries of each row, of equal ones the first."""
    width = table.shape[1]
    if width <= k:
        return np.ones(table.shape, dtype=np.bool_)
    least = np.partition(table, width - k, axis=1)[:, width - k, None]
    is_above, is_tied = table > least, table == least
    room = k - is_above.sum(axis=1, keepdims=True)
    return np.asarray(is_above | (is_tied & (is_tied.cumsum(axis=1) <= room)))


def largest_stored(affinity: csr_array, k: int) -> csr_array:
    """Keep the largest stored affinities of each row, off the diagonal; the graph may be lopsided.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        Affinities.
    k : int
        How many to keep in each row; of equal ones the first.

    Returns
    -------
    csr_array of shape (n, n), float64
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
        is_kept[here] = _is_largest(table, k)[is_filled]
    if is_kept.all():
        return graph
    graph.data[~is_kept] = 0.0
    graph.eliminate_zeros()
    return graph


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


def check_affinity(
    affinity: NDArray[np.floating] | csr_array, *, allow_negative: bool = False
) -> None:
    """Refuse what cannot be affinities.

    Parameters
    ----------
    affinity : ndarray or csr_array
        Affinities.
    allow_negative : bool, default=False
        Whether negative ones will do, as negated distances, where they are dense.

    Raises
    ------
    InvalidDataError
        If they are not square and symmetric, or some are negative.
    """
    check_square(affinity, "affinity")
    entries = affinity.data if issparse(affinity) else affinity
    # Of a sparse affinity what is not stored is nil: negative ones would be larger than those.
    is_refused = issparse(affinity) or not allow_negative
    if is_refused and entries.size and entries.min() < 0:
        raise InvalidDataError(
            f"Negative values in data: affinities are 0 at least, got {entries.min():g}; distances "
            "can be turned into affinities by clew.similarity.AdaptiveKNN(metric='precomputed')"
        )


def check_distances(distances: NDArray[np.floating]) -> None:
    """Refuse what cannot be distances.

    Raises
    ------
    InvalidDataError
        If they are not square and symmetric, some are negative, or the diagonal is not nil.
    """
    check_square(distances, "distance matrix")
    if distances.min() < 0:
        raise InvalidDataError(
            f"Negative values in data: distances are 0 at least, got {distances.min():g}"
        )
    farthest = float(np.diagonal(distances).max())
    if farthest > SYMMETRY_TOLERANCE * float(distances.max()):
        raise InvalidDataError(
            f"the distance of a row from itself is 0, got {farthest:g}; is this an affinity?"
        )


def check_square(matrix: NDArray[np.floating] | csr_array, what: str) -> None:
    """Refuse what is not square, or dense and not symmetric.

    Raises
    ------
    InvalidDataError
        Saying `what` it should be.
    """
    rows, columns = matrix.shape
    if rows != columns:
        raise InvalidDataError(
            f"a precomputed {what} is square, got shape ({rows}, {columns}); are these features?"
        )
    if issparse(matrix):  # neighbour graphs are lopsided, and made symmetric later
        return
    gap = max(  # by blocks: a second matrix of this size may not fit
        float(np.abs(matrix[start:stop] - matrix[:, start:stop].T).max())
        for start, stop in blocks(rows, ROWS_PER_BLOCK)
    )
    if gap > SYMMETRY_TOLERANCE * max(-float(matrix.min()), float(matrix.max())):
        raise InvalidDataError(f"a precomputed {what} is symmetric; this one differs by {gap:g}")


def check_dense_size(n_samples: int) -> None:
    """Refuse to make a dense matrix that would fill the memory.

    Raises
    ------
    TooLargeError
        Past 20,000 rows.
    """
    if n_samples > MAX_DENSE_ROWS:
        raise TooLargeError(
            f"a dense affinity of {n_samples} rows would take {4 * n_samples**2 / 2**30:.0f} GiB; "
            f"beyond {MAX_DENSE_ROWS} rows use kneighbors_graph(k)"
        )


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """Check that every row can have so many neighbours.

    Raises
    ------
    InvalidParameterError
        If not.
    """
    if not Allowed(kind=int, low=1, high=n_samples - 1).holds(n_neighbors):
        raise InvalidParameterError(
            f"n_neighbors must be an integer in [1, {n_samples - 1}] for {n_samples} rows, "
            f"got {n_neighbors!r}"
        )
