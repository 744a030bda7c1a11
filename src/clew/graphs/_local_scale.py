"""Gaussian affinities on local scales: how near two rows are, beside the rows around both."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.extmath import row_norms

from clew._units import Units
from clew.graphs._search import NeighborSearch

__all__ = [
    "LocalScales",
    "coincide",
    "local_gaussian",
    "local_scale_graph",
    "local_scales",
    "scaled_squares",
]

Floats = NDArray[np.float64]
#: Rows coincide whose squared distance is at most this share of the sum of their squared lengths:
#: it may be rounding alone.
COINCIDENT = 8 * np.finfo(np.float64).eps
#: Which neighbor gives the scale of a row, in the paper on local scales.
N_NEIGHBORS = 7


class LocalScales:
    """The local scale of any row: how far its nearest fitted rows are, copies of it left out.

    Parameters
    ----------
    fitted : ndarray or csr_array of shape (n_samples, n_features)
        Rows in units in which most are near the origin, see `Units.around_median`: lengths say how
        large rounding errors of distances are.
    n_neighbors : int, default=7
        Number of nearest rows.
    uses_mean : bool, default=False
        Whether the scale is the mean of their distances, or the largest.
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
        # One more than needed: a row that was fitted meets itself.
        k = min(self._n_neighbors + 1, len(self._copies))
        distance, which = self._search.nearest(rows, k)
        length = row_norms(rows, squared=True)[:, None]
        is_copy = coincide(distance**2, length, self._length[which])
        count = np.where(is_copy, 0, self._copies[which])
        return local_scales(distance, count, self._n_neighbors, uses_mean=self._uses_mean)


def _distinct_rows(rows: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return the distinct rows, and how often each occurs."""
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
    """Tell whether squared distances may be rounding errors, given both rows' squared lengths."""
    return np.asarray(squared <= COINCIDENT * (length + other))


def local_scales(
    distance: Floats,
    count: NDArray[np.integer] | NDArray[np.bool_],
    n_neighbors: int = N_NEIGHBORS,
    *,
    uses_mean: bool = False,
) -> Floats:
    """Return how far the nearest rows are, (n_rows,); 1 where there are none.

    Parameters
    ----------
    distance : ndarray of shape (n_rows, n_others)
        Distances, ascending in each row.
    count : ndarray of shape (n_rows, n_others)
        How many rows each of them stands for; 0 for rows that coincide and for no row at all.
    n_neighbors : int, default=7
        Number of nearest rows; all of them where there are fewer.
    uses_mean : bool, default=False
        Whether the scale is the mean of their distances, or the largest.
    """
    taken = np.clip(n_neighbors - (count.cumsum(axis=1) - count), 0, count)
    near = np.where(taken > 0, distance, 0.0)
    total = taken.sum(axis=1)
    found = (taken * near).sum(axis=1) if uses_mean else near.max(axis=1)
    scale = np.ones(len(near))
    np.divide(found, total if uses_mean else 1, out=scale, where=total > 0)
    return scale


def scaled_squares(distance: Floats, scale: Floats, other: Floats) -> Floats:
    """Return ``d² / (s·t)`` for rows with scales s and t; arguments broadcast."""
    with np.errstate(over="ignore"):  # where scales are tiny, all the rest is far
        return np.asarray((distance / scale) * (distance / other))


def local_gaussian(distance: Floats, scale: Floats, other: Floats) -> Floats:
    """Return the Gaussian affinity on local scales, ``exp(-d² / (s·t))``; arguments broadcast.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """
    return np.asarray(np.exp(-scaled_squares(distance, scale, other)))


def local_scale_graph(X: Floats, n_neighbors: int) -> csr_array:
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
        Made symmetric; scales are distances to the 7th neighbor, see `LocalScales`. Where rows are
        repeated, to the 7th for each distinct row, so that repeating all rows changes no scale.
    """
    n, rows = len(X), Units.around_median(X).inside(X)
    n_distinct = len(np.unique(rows, axis=0))
    scale = LocalScales(rows, -(-N_NEIGHBORS * n // n_distinct)).of(rows)
    distance, column = NeighborSearch(rows).nearest_others(min(n_neighbors, n - 1))
    value = local_gaussian(distance, scale[:, None], scale[column])
    indptr = np.arange(0, value.size + 1, value.shape[1])
    graph = csr_array((value.ravel(), column.ravel(), indptr), (n, n))
    return csr_array(graph.maximum(graph.T))
