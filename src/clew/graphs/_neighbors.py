"""Neighbor graphs: the largest affinities of each row, and the search for nearest rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import KDTree, NearestNeighbors

from clew._parallel import blocks, one_blas_thread
from clew.kernels.nearest import largest_of_rows, smallest_of_rows

Floats = NDArray[np.float64]
AUTO_NEIGHBORS = 20
#: Rows whose stored affinities are compared at a time, and rows that are searched at a time.
ROWS_PER_BLOCK, ROWS_PER_SEARCH = 1024, 2048
#: With more features, a tree visits nearly all rows.
TREE_FEATURES = 15
LEAF_SIZE = 30


def resolved_n_neighbors(n_neighbors: int | Literal["auto", "paper"], n_samples: int) -> int:
    """Return a number of neighbors, at most ``n_samples - 1``.

    "paper" is a tenth of the rows; "auto" is the same, limited to between 5 and 20.
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
        n = len(affinity)
        k = min(n_neighbors, n - 1)
        columns, values = np.empty((n, k), np.int64), np.empty((n, k))
        largest_of_rows(np.ascontiguousarray(affinity), columns, values)
        indptr = np.arange(0, n * k + 1, k)
        graph = csr_array((values.ravel(), columns.ravel(), indptr), (n, n))
        graph.eliminate_zeros()
    else:
        graph = largest_stored(affinity, n_neighbors)
    return csr_array(graph.maximum(graph.T))


def largest_entries(table: NDArray[np.floating], k: int) -> NDArray[np.bool_]:
    """Mark the `k` largest entries of each row of a table, in a tie the first; in linear time."""
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
    """Keep the `k` largest stored affinities of each row, in a tie the first; not the diagonal."""
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
    graph.data[~is_kept] = 0.0
    graph.eliminate_zeros()
    return graph


class NeighborSearch:
    """Exact search for nearest rows, safe in threads and interruptible.

    It finds the rows that scikit-learn's `NearestNeighbors` finds. `NearestNeighbors` changes the
    warning filters and the number of BLAS threads of the whole process while it runs, and
    cannot be interrupted. A tree is used for up to 15 features, all distances otherwise.

    The searched rows are features, dense or sparse, or (`is_distance`) the distances of all pairs.
    """

    def __init__(self, rows: Floats | csr_array, *, is_distance: bool = False) -> None:
        self._rows: Any = rows
        self._is_distance = is_distance
        self._tree: KDTree | None = None

    def __getstate__(self) -> dict[str, Any]:
        # scikit-learn's tree counts its searches, and a search would change the pickled estimator.
        return {**self.__dict__, "_tree": None}

    def nearest(self, rows: Any, n_neighbors: int) -> tuple[Floats, NDArray[np.int64]]:
        """Find the nearest searched rows: distances, ascending, and numbers, (n_rows, n_neighbors).

        The given rows are features, or distances to the searched rows.
        """
        distance = np.empty((rows.shape[0], n_neighbors))
        index = np.empty((rows.shape[0], n_neighbors), np.int64)
        for start, stop in blocks(rows.shape[0], ROWS_PER_SEARCH):
            block = slice(start, stop)
            distance[block], index[block] = self._of_block(rows[block], n_neighbors)
        return distance, index

    def nearest_others(self, n_neighbors: int) -> tuple[Floats, NDArray[np.int64]]:
        """Find the nearest other rows of each searched row, as `nearest` returns them."""
        n = self._rows.shape[0]
        distance, index = self.nearest(self._rows, n_neighbors + 1)
        is_other = index != np.arange(n)[:, None]
        # If a row has many copies, it may not be among its own nearest rows: drop a copy instead.
        is_other[is_other.all(axis=1), 0] = False
        return distance[is_other].reshape(n, -1), index[is_other].reshape(n, -1)

    def _of_block(self, block: Any, n_neighbors: int) -> tuple[Floats, NDArray[np.int64]]:
        if self._is_distance:
            distance = np.empty((len(block), n_neighbors))
            index = np.empty(distance.shape, np.int64)
            smallest_of_rows(np.ascontiguousarray(block), -np.inf, index, distance)
            return distance, index
        n, n_features = self._rows.shape
        if not issparse(self._rows) and n_features <= TREE_FEATURES and n_neighbors < n // 2:
            self._tree = self._tree or KDTree(self._rows, leaf_size=LEAF_SIZE)
            distance, index = self._tree.query(block, n_neighbors)
            return distance, index
        search = NearestNeighbors(algorithm="brute")
        with one_blas_thread():
            distance, index = search.fit(self._rows).kneighbors(block, n_neighbors)
        return distance, index
