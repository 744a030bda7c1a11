"""The sampled triangles: each has an answered pair and a pair of neighbors among its sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.exceptions import TooLargeError
from clew.similarity.distances._given import Neighbors

__all__ = ["Sampled", "sampled_triangles", "symmetric_neighbors"]

Ints = NDArray[np.int64]
#: Up to this, the three rows of a triangle fit in one integer of 64 bits.
MAX_ROWS = 2_000_000


class Sampled(NamedTuple):
    """Distances that may change, and the triangles among them."""

    keys: Ints
    """``i·n + j`` of each distance, where i < j: first those of answered pairs, ascending."""
    n_links: int
    """Number of answered pairs."""
    sides: NDArray[np.int32]
    """Positions in `keys` of the three sides of each triangle, (n_triangles, 3)."""


def symmetric_neighbors(nearest: Neighbors, n_samples: int) -> csr_array:
    """Link two rows if either is among the nearest of the other."""
    ones = np.ones(len(nearest.indices), np.int8)
    graph = csr_array((ones, nearest.indices, nearest.indptr), (n_samples, n_samples))
    return csr_array(graph + graph.T)


def sampled_triangles(links: Ints, answered: Ints, neighbors: csr_array) -> Sampled:
    """List the triangles of an answered pair and a neighbor of either of its rows, each once.

    Parameters
    ----------
    links : ndarray of shape (n_links,), int64
        ``i·n + j`` of each answered pair whose bound does not hold.
    answered : ndarray of shape (n_answered,), int64
        The same of all answered pairs, ascending.
    neighbors : csr_array of shape (n_samples, n_samples)
        The graph of `symmetric_neighbors`.

    Returns
    -------
    Sampled
        The distances are `links` and the sides of all triangles.

    Raises
    ------
    TooLargeError
        Above 2,000,000 rows.
    """
    n = neighbors.shape[0]
    if n > MAX_ROWS:
        raise TooLargeError(f"there are {n} rows, but at most {MAX_ROWS} are possible")
    i, j = np.divmod(links, n)
    corners = np.concatenate([_with_neighbors(i, j, neighbors), _with_neighbors(j, i, neighbors)])
    a, b, c = np.sort(corners, axis=1).T
    triangle = np.unique((a * n + b) * n + c)
    pair, c = np.divmod(triangle, n)
    a, b = np.divmod(pair, n)
    sides = np.stack([pair, a * n + c, b * n + c], axis=1)
    keys, at = np.unique(np.concatenate([sides.ravel(), links]), return_inverse=True)
    is_link = np.isin(keys, answered, assume_unique=True)
    place = np.empty(len(keys), np.int32)
    order = np.argsort(~is_link, kind="stable")
    place[order] = np.arange(len(keys))
    numbered = np.sort(place[at[: sides.size]].reshape(-1, 3), axis=1)
    # Triangles of one answered pair follow each other, so that its distance stays in the cache.
    return Sampled(
        keys[order], int(is_link.sum()), numbered[np.argsort(numbered[:, 0], kind="stable")]
    )


def _with_neighbors(row: Ints, other: Ints, neighbors: csr_array) -> Ints:
    """Combine each pair with each neighbor of its first row, except the second row."""
    start = neighbors.indptr[row].astype(np.int64)
    count = neighbors.indptr[row + 1] - start
    pair = np.repeat(np.arange(len(row)), count)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    third = neighbors.indices[start[pair] + within].astype(np.int64)
    is_other = third != other[pair]
    corners: Ints = np.stack([row[pair], other[pair], third], axis=1)[is_other]
    return corners
