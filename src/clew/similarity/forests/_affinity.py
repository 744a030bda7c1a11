"""Affinities from a grown forest: dense, or sparse with the most similar rows of each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances

from clew._parallel import blocks, in_threads
from clew._units import Units
from clew.forest import AffinityKind, Forest
from clew.graphs import LocalScales, coincide, local_gaussian, local_scales
from clew.kernels.forest.affinity import add_leaf_affinity, add_path_affinity, nearest_by_affinity
from clew.kernels.forest.paths import measure_leaves

__all__ = ["LocalGaussian", "dense_affinity", "nearest_rows", "remixed_graph"]

ROWS_PER_BLOCK = 128
ROWS_PER_SEARCH = 2048
ENTRIES_PER_BLOCK = 1 << 16


def dense_affinity(
    forest: Forest,
    leaf: NDArray[np.int32],
    kind: AffinityKind,
    n_jobs: int | None,
    *,
    is_symmetric: bool = False,
) -> NDArray[np.float32]:
    """Compute the affinity of rows to all fitted rows: the mean over the trees.

    Parameters
    ----------
    forest : Forest
        The forest.
    leaf : ndarray of shape (n_trees, n_rows)
        Leaves of the rows.
    kind : {"adaptive", "uniform", "leaf"}
        Weights of the nodes, see `ClustRF`.
    n_jobs : int or None
        Number of threads.
    is_symmetric : bool, default=False
        Whether the rows are the fitted rows. Then only one triangle is computed.

    Returns
    -------
    ndarray of shape (n_rows, n_fitted), float32
    """
    affinity = np.zeros((leaf.shape[1], forest.leaf.shape[1]), np.float32)
    if kind == "leaf":
        in_threads(
            lambda block: add_leaf_affinity(forest.trees, forest.order, leaf, *block, affinity),
            blocks(len(affinity), ROWS_PER_BLOCK),
            n_jobs=n_jobs,
        )
        is_symmetric = False
    else:
        paths, size = forest.paths(kind), forest.largest_tree

        def add(block: tuple[int, int]) -> None:
            place, line, fork = np.empty((3, size), np.int32)
            column, table = np.empty(affinity.shape[1], np.int32), np.empty(size, np.float32)
            add_path_affinity(
                forest.trees, *paths, forest.leaf, leaf, *block, block[0] if is_symmetric else 0,
                place, line, fork, column, table, affinity,
            )  # fmt: skip

        in_threads(add, blocks(len(affinity), ROWS_PER_BLOCK), n_jobs=n_jobs)
    affinity /= np.float32(forest.n_trees)
    if is_symmetric:
        for start, stop in blocks(len(affinity), ROWS_PER_BLOCK):
            affinity[stop:, start:stop] = affinity[start:stop, stop:].T
    return affinity


def nearest_rows(
    forest: Forest, kind: AffinityKind, k: int, cap: int, seed: int, n_jobs: int | None
) -> csr_array:
    """Find the `k` most similar rows of each fitted row among those that share a small subtree.

    Parameters
    ----------
    forest : Forest
        The forest.
    kind : {"adaptive", "uniform", "leaf"}
        Weights of the nodes, see `ClustRF`.
    k : int
        Number of rows to find for each row.
    cap : int
        Two rows are compared if some subtree of at most `cap` rows holds both.
    seed : int
        In a leaf of more than `cap` rows, a row is compared with `cap` consecutive ones from a
        random position on; this is the seed of the positions.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    csr_array of shape (n_fitted, n_fitted), float32
        Row i holds the affinities to its most similar rows; fewer than `k` if fewer were compared.
    """
    n = forest.leaf.shape[1]
    paths = forest.paths(kind)
    uses_paths = kind != "leaf"
    shape = forest.leaf.shape if uses_paths else (0, 0)
    leaf_depth, leaf_mass = np.empty(shape, np.int32), np.empty(shape, np.float32)
    measure_leaves(forest.trees, 0, len(leaf_depth), paths[1], paths[2], leaf_depth, leaf_mass)
    leaf_of_row = np.ascontiguousarray(forest.leaf.T)
    neighbor, value = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

    def search(block: tuple[int, int]) -> None:
        nearest_by_affinity(
            forest.trees, *paths, forest.order, leaf_of_row, leaf_depth, leaf_mass,
            forest.order[0], *block,
            uses_paths, cap, seed, np.empty(n + 1, np.int32), np.zeros(n, np.float32),
            np.empty(1, np.uint64), neighbor, value,
        )  # fmt: skip

    in_threads(search, blocks(n, ROWS_PER_SEARCH), n_jobs=n_jobs)
    found = neighbor >= 0
    indptr = np.concatenate([[0], found.sum(axis=1).cumsum()])
    graph = csr_array((value[found] / np.float32(forest.n_trees), neighbor[found], indptr), (n, n))
    graph.sort_indices()
    return graph


def remixed_graph(
    proposed: csr_array, rows: NDArray[np.float64], mix: float, n_neighbors: int
) -> csr_array:
    """Mix Gaussian affinities into a neighbor graph, and keep the largest entries of each row.

    Parameters
    ----------
    proposed : csr_array of shape (n, n)
        Candidates of each row, with their affinities in the forest.
    rows : ndarray of shape (n, n_features)
        Features for the distances. The scale of a row comes from its candidates.
    mix : float
        Share of the Gaussian affinities, in [0, 1].
    n_neighbors : int
        Number of candidates to keep in each row.

    Returns
    -------
    csr_array of shape (n, n), float32
    """
    if proposed.nnz == 0:
        return proposed
    row = np.repeat(np.arange(len(rows)), np.diff(proposed.indptr))
    centered = rows - np.median(rows, axis=0)
    distance = np.concatenate([
        np.linalg.norm(centered[row[start:stop]] - centered[proposed.indices[start:stop]], axis=1)
        for start, stop in blocks(proposed.nnz, ENTRIES_PER_BLOCK)
    ])  # fmt: skip
    place = np.arange(proposed.nnz) - proposed.indptr[row]
    length = (centered**2).sum(axis=1)
    is_copy = coincide(distance**2, length[row], length[proposed.indices])
    shape = (len(rows), int(np.diff(proposed.indptr).max()))
    nearest = np.full(shape, np.inf)
    nearest[row[~is_copy], place[~is_copy]] = distance[~is_copy]
    nearest.sort(axis=1)
    scale = local_scales(nearest, np.isfinite(nearest))
    gaussian = local_gaussian(distance, scale[row], scale[proposed.indices])
    value = ((1 - mix) * proposed.data + mix * gaussian).astype(np.float32)
    by_row_and_value = np.lexsort((proposed.indices, -value, row))
    kept = np.sort(by_row_and_value[place < n_neighbors])
    entries = (value[kept], (row[kept], proposed.indices[kept]))
    return csr_array(entries, shape=proposed.shape)


class LocalGaussian:
    """Gaussian affinities of rows, fitted or new, to fitted rows, with local scales.

    Parameters
    ----------
    fitted : ndarray of shape (n_fitted, n_features)
        Fitted rows. The scale of any row is the distance to its 7th neighbor among them, see
        `clew.graphs.LocalScales`.
    """

    def __init__(self, fitted: NDArray[np.float64]) -> None:
        self._units = Units.around_median(fitted)
        self._fitted = self._units.scale(fitted)
        self._scales = LocalScales(self._fitted)
        self._scale = self._scales.of(self._fitted)

    def affinity(self, rows: NDArray[np.float64]) -> NDArray[np.float32]:
        """Compute the affinities of rows to all fitted rows, (n_rows, n_fitted)."""
        rows = self._units.scale(rows)
        scale = self._scales.of(rows)
        affinity = np.empty((len(rows), len(self._fitted)), np.float32)
        for start, stop in blocks(len(rows), ROWS_PER_BLOCK):
            distance = euclidean_distances(rows[start:stop], self._fitted)
            affinity[start:stop] = local_gaussian(distance, scale[start:stop, None], self._scale)
        return affinity
