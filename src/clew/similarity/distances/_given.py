"""One interface to distances: a matrix, a neighbor graph, or those of features."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.metrics.pairwise import euclidean_distances

from clew._parallel import blocks, one_blas_thread
from clew._units import Units
from clew.graphs import NeighborSearch, check_dense_size

__all__ = ["GivenDistances", "Neighbors", "distances_of", "given_distances"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROWS_PER_BLOCK = 1024


class Neighbors(NamedTuple):
    """The nearest rows of each row, as in a CSR matrix, ascending by distance."""

    indptr: Ints
    indices: Ints
    distance: Floats


class GivenDistances(Protocol):
    """Interface to given distances, in units of the largest one."""

    n_samples: int
    unit: float
    """The largest distance; 1 if all are 0."""

    def of_pairs(self, rows: Ints, others: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the distances of pairs of rows, and which of them are known."""

    def nearest(self, n_neighbors: int) -> Neighbors:
        """Find the nearest rows of each row; fewer where fewer distances are known."""

    def dense(self) -> Floats:
        """Return a new matrix of all distances, (n_samples, n_samples), as given."""

    def to_fitted(self, rows: Floats) -> Floats:
        """Return the distances of rows to all fitted rows."""


class _Matrix:
    """A matrix of distances."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix
        self.n_samples, self.unit = len(matrix), float(matrix.max()) or 1.0

    def of_pairs(self, rows: Ints, others: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        found = self._matrix[rows, others] / self.unit
        return found, np.ones(len(found), np.bool_)

    def nearest(self, n_neighbors: int) -> Neighbors:
        search = NeighborSearch(self._matrix, is_distance=True)
        distance, index = search.nearest_others(n_neighbors)
        return _table(distance / self.unit, index)

    def dense(self) -> Floats:
        return self._matrix.copy()

    def to_fitted(self, rows: Floats) -> Floats:
        return rows / self.unit


class _Graph:
    """A sparse graph of distances; pairs that are not stored are unknown."""

    def __init__(self, graph: csr_array) -> None:
        n = self.n_samples = int(graph.shape[0])
        self._indptr = graph.indptr.astype(np.int64)
        row = np.repeat(np.arange(n), np.diff(self._indptr))
        self._keys = row * n + graph.indices
        self.unit = float(graph.data.max(initial=0.0)) or 1.0
        self._distance = graph.data / self.unit

    def of_pairs(self, rows: Ints, others: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return distances; unknown ones are the largest distance."""
        found = np.ones(len(rows))
        if not len(self._keys):
            return found, np.zeros(len(rows), np.bool_)
        keys = rows * self.n_samples + others
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        is_known = self._keys[at] == keys
        found[is_known] = self._distance[at[is_known]]
        return found, is_known

    def nearest(self, n_neighbors: int) -> Neighbors:
        row, column = np.divmod(self._keys, self.n_samples)
        order = np.lexsort((column, self._distance, row))
        is_kept = np.arange(len(row)) - self._indptr[row] < n_neighbors
        count = np.minimum(np.diff(self._indptr), n_neighbors)
        indptr = np.concatenate([[0], np.cumsum(count)])
        return Neighbors(indptr, column[order][is_kept], self._distance[order][is_kept])

    def dense(self) -> Floats:
        """Return all distances; unknown ones are the largest distance."""
        check_dense_size(self.n_samples)
        found = np.full((self.n_samples, self.n_samples), self.unit)
        i, j = np.divmod(self._keys, self.n_samples)
        found[i, j] = self._distance * self.unit
        np.fill_diagonal(found, 0.0)
        return found

    def to_fitted(self, rows: Floats) -> Floats:
        return rows / self.unit


class _Features:
    """Euclidean distances of features, computed where they are read."""

    def __init__(self, X: Floats) -> None:
        self.n_samples = len(X)
        units = Units.around_median(X)
        rows = units.scale(X)
        largest = max(
            float(_euclidean(rows[start:stop], rows).max())
            for start, stop in blocks(len(rows), ROWS_PER_BLOCK)
        )
        self._rows, self._search = rows / (largest or 1.0), NeighborSearch(rows)
        self._units, self._largest = units, largest or 1.0
        with np.errstate(over="ignore"):
            self.unit = float(self._largest * units.unit)

    def of_pairs(self, rows: Ints, others: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        found = np.empty(len(rows))
        for start, stop in blocks(len(rows), ROWS_PER_BLOCK * 64):
            apart = self._rows[rows[start:stop]] - self._rows[others[start:stop]]
            found[start:stop] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return found, np.ones(len(found), np.bool_)

    def nearest(self, n_neighbors: int) -> Neighbors:
        distance, index = self._search.nearest_others(n_neighbors)
        return _table(distance / self._largest, index)

    def dense(self) -> Floats:
        check_dense_size(self.n_samples)
        with np.errstate(over="ignore"):
            return _euclidean(self._rows, self._rows) * self.unit

    def to_fitted(self, rows: Floats) -> Floats:
        return _euclidean(self._units.scale(rows) / self._largest, self._rows)


def _euclidean(rows: Floats, others: Floats) -> Floats:
    with one_blas_thread():
        found: Floats = euclidean_distances(rows, others)
    return found


def _table(distance: Floats, index: Ints) -> Neighbors:
    indptr = np.arange(0, index.size + 1, max(index.shape[1], 1))
    return Neighbors(indptr, index.ravel(), distance.ravel())


def given_distances(distances: Floats | csr_array) -> GivenDistances:
    """Wrap distances as `check_distances` returns them."""
    return _Graph(distances) if issparse(distances) else _Matrix(distances)


def distances_of(X: Floats) -> GivenDistances:
    """Wrap the Euclidean distances of features; `to_fitted` then takes features."""
    return _Features(X)
