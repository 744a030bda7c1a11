"""Search for nearest rows that does not change the global state of the process."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import KDTree, NearestNeighbors

from clew._parallel import blocks, one_blas_thread
from clew.kernels.nearest import smallest_of_rows

__all__ = ["NeighborSearch"]

Floats = NDArray[np.float64]
#: With more features, a tree visits nearly all rows.
TREE_FEATURES = 15
LEAF_SIZE = 30
ROWS_PER_BLOCK = 2048


class NeighborSearch:
    """Exact search for nearest rows, safe in threads and interruptible.

    It finds the rows that scikit-learn's `NearestNeighbors` finds. `NearestNeighbors` changes the
    warning filters and the number of BLAS threads of the whole process while it runs, and
    cannot be interrupted. A tree is used for up to 15 features, all distances otherwise.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_samples, n_features), or (n_samples, n_samples)
        The rows to search, or the distances of all pairs of them.
    is_distance : bool, default=False
        Whether `rows` are distances.
    """

    def __init__(self, rows: Floats | csr_array, *, is_distance: bool = False) -> None:
        self._rows: Any = rows
        self._is_distance = is_distance
        self._tree: KDTree | None = None

    def __getstate__(self) -> dict[str, Any]:
        # scikit-learn's tree counts its searches, and a search would change the pickled estimator.
        return {**self.__dict__, "_tree": None}

    def nearest(self, rows: Any, n_neighbors: int) -> tuple[Floats, NDArray[np.int64]]:
        """Find the nearest of the searched rows for each given row.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features) or (n_rows, n_samples)
            Rows, or their distances to the searched rows.
        n_neighbors : int
            Number of nearest rows, at most `n_samples`.

        Returns
        -------
        distance : ndarray of shape (n_rows, n_neighbors)
            Distances to the nearest rows, ascending in each row.
        index : ndarray of shape (n_rows, n_neighbors), int64
            Numbers of the nearest rows.
        """
        distance = np.empty((rows.shape[0], n_neighbors))
        index = np.empty((rows.shape[0], n_neighbors), np.int64)
        for start, stop in blocks(rows.shape[0], ROWS_PER_BLOCK):
            found = self._of_block(rows[start:stop], n_neighbors)
            distance[start:stop], index[start:stop] = found
        return distance, index

    def nearest_others(self, n_neighbors: int) -> tuple[Floats, NDArray[np.int64]]:
        """Find the nearest other rows of each searched row.

        Parameters
        ----------
        n_neighbors : int
            Number of nearest rows, at most ``n_samples - 1``.

        Returns
        -------
        distance : ndarray of shape (n_samples, n_neighbors)
            Distances to the nearest rows, ascending in each row.
        index : ndarray of shape (n_samples, n_neighbors), int64
            Numbers of the nearest rows.
        """
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
