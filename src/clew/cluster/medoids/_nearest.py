"""The nearest rows of some rows, in blocks: no table of all distances is made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew._parallel import blocks, in_threads, one_blas_thread
from clew.cluster.medoids._distances import RowDistances
from clew.kernels.nearest import keep_nearest

__all__ = ["nearest_rows"]

Index = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Number of lists in a task, and of rows in a block of distances.
LISTS_PER_TASK, ROWS_PER_BLOCK = 256, 2048
#: Error of squared distances in single precision, as a share of the squared length of a row.
SINGLE_PRECISION = 2e-5


def nearest_rows(
    distances: RowDistances,
    owners: Index,
    n: int,
    among: Index | None = None,
    n_jobs: int | None = None,
) -> tuple[Index, Floats]:
    """Find the nearest other rows of some rows.

    Parameters
    ----------
    distances : RowDistances
        The data.
    owners : ndarray of shape (n_owners,), int64
        Row numbers.
    n : int
        Number of nearest rows, fewer than there are to choose from.
    among : ndarray of int64, default=None
        Row numbers to choose from; None for all rows.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.

    Returns
    -------
    nearest : ndarray of shape (n_owners, n), int64
        Row numbers, the nearest first.
    distance : ndarray of shape (n_owners, n)
        Their distances.

    Notes
    -----
    Time O(n_owners·n_rows·n_features) and memory of a few blocks of 4 MB. Euclidean neighbors are
    found by products of rows in single precision; rows whose neighbors are too near for that are
    searched again in double precision. The returned distances are computed from differences.
    """
    others = np.arange(distances.n_samples) if among is None else among
    is_euclidean = distances.metric == "euclidean"
    if not is_euclidean:
        return _in_tasks(lambda part: _by_distances(distances, part, n, others), owners, n_jobs)
    single = distances.scaled.astype(np.float32)
    with one_blas_thread():
        nearest, apart = _in_tasks(
            lambda part: _by_products(distances, single, part, n, others), owners, n_jobs
        )
        squares = np.einsum("ij,ij->i", distances.scaled[owners], distances.scaled[owners])
        unsure = np.flatnonzero(apart[:, -1] ** 2 < SINGLE_PRECISION * squares)
        if len(unsure):
            nearest[unsure], apart[unsure] = _in_tasks(
                lambda part: _by_products(distances, distances.scaled, part, n, others),
                owners[unsure],
                n_jobs,
            )
    return nearest, apart * distances.units.unit


def _in_tasks(find, owners: Index, n_jobs: int | None) -> tuple[Index, Floats]:  # type: ignore[no-untyped-def]
    """Find the nearest rows of blocks of owners, in threads."""
    parts = [owners[start:stop] for start, stop in blocks(len(owners), LISTS_PER_TASK)]
    found = in_threads(find, parts, n_jobs=n_jobs)
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def _by_distances(
    distances: RowDistances, owners: Index, n: int, others: Index
) -> tuple[Index, Floats]:
    """Find nearest rows from blocks of distances."""
    nearest, apart = np.zeros((len(owners), n), np.int64), np.full((len(owners), n), np.inf)
    for start, stop in blocks(len(others), ROWS_PER_BLOCK):
        rows = others[start:stop]
        table = -np.ascontiguousarray(distances.block(owners, rows))
        keep_nearest(table, np.zeros(len(rows), table.dtype), rows, owners, nearest, apart)
    return nearest, apart


def _by_products(
    distances: RowDistances, X: NDArray[np.floating], owners: Index, n: int, others: Index
) -> tuple[Index, Floats]:
    """Find nearest rows from blocks of inner products, and their distances from differences."""
    nearest, apart = np.zeros((len(owners), n), np.int64), np.full((len(owners), n), np.inf)
    is_all = len(others) == len(X)
    first = X[owners]
    for start, stop in blocks(len(others), ROWS_PER_BLOCK):
        rows = others[start:stop]
        block = X[start:stop] if is_all else X[rows]
        half = np.einsum("ij,ij->i", block, block) / 2
        keep_nearest(first @ block.T, half, rows, owners, nearest, apart)
    for start, stop in blocks(len(owners), 16):
        gap = distances.scaled[nearest[start:stop]]
        gap -= distances.scaled[owners[start:stop], None]
        apart[start:stop] = np.sqrt(np.einsum("ijk,ijk->ij", gap, gap))
    order = np.argsort(apart, axis=1, kind="stable")
    return np.take_along_axis(nearest, order, 1), np.take_along_axis(apart, order, 1)
