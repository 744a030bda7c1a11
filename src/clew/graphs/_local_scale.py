"""Gaussian affinities with local scales, which adapt to the density around each row.

L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.extmath import row_norms

from clew._units import Units
from clew.graphs._neighbors import NeighborSearch

Floats = NDArray[np.float64]
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
