"""Neighbor graphs: the search for nearest rows, and Gaussian affinities with local scales."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import KDTree, NearestNeighbors
from sklearn.utils.extmath import row_norms

from clew._parallel import blocks, one_blas_thread
from clew._units import Units
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
    """Keep the largest affinities of each row, in a tie the first, and make them symmetric.

    The result has the larger of those kept at (i, j) and (j, i), and an empty diagonal.
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


#: Two rows coincide if their squared distance, over the sum of their squared lengths, is at most
#: this: it may be a rounding error.
COINCIDENT = 8 * np.finfo(np.float64).eps
#: The neighbor whose distance is the scale of a row, in the paper on local scales.
N_NEIGHBORS = 7


class LocalScales:
    """Local scale of each row: the distance to its n-th nearest fitted row, copies left out.

    With `uses_mean`, it is the mean distance to the n nearest. Fitted rows are dense or sparse, and
    centered near the origin (`Units.around_median`), because rounding errors of distances grow with
    the lengths of the rows.
    """

    def __init__(
        self, fitted: Floats | csr_array, n_neighbors: int = N_NEIGHBORS, *, uses_mean: bool = False
    ) -> None:
        distinct, self._copies = _distinct_rows(fitted)
        self._length = row_norms(distinct, squared=True)
        self._search = NeighborSearch(distinct)
        self._n_neighbors, self._uses_mean = n_neighbors, uses_mean

    def of(self, rows: Floats | csr_array) -> Floats:
        """Return the scales of rows, fitted or new, (n_rows,)."""
        # One more than needed, because the nearest fitted row of a fitted row is itself.
        k = min(self._n_neighbors + 1, len(self._copies))
        distance, which = self._search.nearest(rows, k)
        length = row_norms(rows, squared=True)[:, None]
        is_copy = coincide(distance**2, length, self._length[which])
        count = np.where(is_copy, 0, self._copies[which])
        return local_scales(distance, count, self._n_neighbors, uses_mean=self._uses_mean)


def _distinct_rows(rows: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return the distinct rows, and the number of copies of each."""
    if isinstance(rows, np.ndarray):
        return np.unique(rows, axis=0, return_counts=True)
    first: dict[tuple[bytes, bytes], int] = {}
    copies: dict[int, int] = {}
    for at, (start, stop) in enumerate(pairwise(rows.indptr)):
        key = (rows.indices[start:stop].tobytes(), rows.data[start:stop].tobytes())
        leader = first.setdefault(key, at)
        copies[leader] = copies.get(leader, 0) + 1
    return rows[list(copies)], np.array(list(copies.values()))


def coincide(squared: Floats, length: Floats, other: Floats) -> NDArray[np.bool_]:
    """Test whether squared distances may be rounding errors, given both rows' squared lengths."""
    return np.asarray(squared <= COINCIDENT * (length + other))


def local_scales(
    distance: Floats,
    count: NDArray[np.integer] | NDArray[np.bool_],
    n_neighbors: int = N_NEIGHBORS,
    *,
    uses_mean: bool = False,
) -> Floats:
    """Compute local scales from distances to other rows, ascending, and their numbers of copies.

    Both are (n_rows, n_others). Each copy counts as one row; a count of 0 leaves the row out. The
    scale is 1 for a row without any others.
    """
    taken = np.clip(n_neighbors - (count.cumsum(axis=1) - count), 0, count)
    near = np.where(taken > 0, distance, 0.0)
    total = taken.sum(axis=1)
    size = (taken * near).sum(axis=1) if uses_mean else near.max(axis=1)
    scale = np.ones(len(near))
    np.divide(size, total if uses_mean else 1, out=scale, where=total > 0)
    return scale


def scaled_squares(distance: Floats, scale: Floats, other: Floats) -> Floats:
    """Return ``d² / (s·t)`` for distances d and scales s and t, which are broadcast."""
    with np.errstate(over="ignore"):  # infinite if scales are tiny: the affinity is then 0
        return np.asarray((distance / scale) * (distance / other))


def local_gaussian(distance: Floats, scale: Floats, other: Floats) -> Floats:
    """Return ``exp(-d² / (s·t))`` for distances d and scales s and t, which are broadcast."""
    return np.asarray(np.exp(-scaled_squares(distance, scale, other)))


def local_scale_graph(X: Floats, n_neighbors: int, *, is_distance: bool = False) -> csr_array:
    """Link each row to its nearest rows by Gaussian affinities, (n, n), symmetric.

    `X` are features, or distances between all pairs. The scale of a row is the distance to its 7th
    neighbor. If there are c copies of each row on average, it is the distance to its (7·c)th, so
    that repeating all rows changes no scale.
    """
    n = len(X)
    if is_distance:
        rows, scale = X, _scales_of_distances(X)
    else:
        rows = Units.around_median(X).scale(X)
        n_distinct = len(np.unique(rows, axis=0))
        scale = LocalScales(rows, -(-N_NEIGHBORS * n // n_distinct)).of(rows)
    search = NeighborSearch(rows, is_distance=is_distance)
    distance, column = search.nearest_others(min(n_neighbors, n - 1))
    value = local_gaussian(distance, scale[:, None], scale[column])
    indptr = np.arange(0, value.size + 1, value.shape[1])
    graph = csr_array((value.ravel(), column.ravel(), indptr), (n, n))
    return csr_array(graph.maximum(graph.T))


def _scales_of_distances(D: Floats) -> Floats:
    """Return the local scales of rows by their distances; rows at distance 0 are copies."""
    # A row is counted unless an earlier row coincides with it.
    n_distinct = sum(not (row[:at] == 0).any() for at, row in enumerate(D))
    n_neighbors = -(-N_NEIGHBORS * len(D) // n_distinct)
    scale = np.ones(len(D))
    for at, row in enumerate(D):
        near = row[row > 0]
        if len(near) > n_neighbors:
            near = np.partition(near, n_neighbors - 1)[:n_neighbors]
        if len(near):
            scale[at] = near.max()
    return scale
