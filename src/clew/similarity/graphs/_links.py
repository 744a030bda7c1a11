"""Affinities of answered pairs replaced by the answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from clew.constraints import Constraints

__all__ = ["entries_at", "net_links", "with_links"]


def net_links(known: Constraints) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Add up the answers to each pair.

    Parameters
    ----------
    known : Constraints
        Pair answers.

    Returns
    -------
    rows : ndarray of shape (m, 2), int64
        Distinct pairs, the smaller row first. A pair whose must-links and cannot-links have the
        same total weight is left out.
    strength : ndarray of shape (m,), float64
        Net answer to each pair: the total weight of its must-links minus that of its cannot-links,
        clipped to [-1, 1].
    """
    sign = known.is_must_link.astype(np.float64) - known.is_cannot_link
    rows, place = np.unique(known.pairs, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), sign * known.pair_weights, len(rows))
    is_left = total != 0
    return rows[is_left], np.clip(total[is_left], -1.0, 1.0)


def entries_at(
    matrix: NDArray[np.floating] | csr_array, i: NDArray[np.integer], j: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return ``matrix[i, j]`` as a dense array of shape (len(i),)."""
    # SciPy returns an array of another shape for empty sparse matrices and empty indices.
    if not isinstance(matrix, np.ndarray) and (matrix.nnz == 0 or len(i) == 0):
        return np.zeros(len(i))
    return np.asarray(matrix[i, j], dtype=np.float64).ravel()


def with_links(affinity: Any, known: Constraints, low: float, high: float) -> Any:
    """Raise affinities of must-linked pairs to `high`, and lower those of cannot-links to `low`.

    Parameters
    ----------
    affinity : ndarray or csr_array of shape (n, n)
        Symmetric affinities; not changed.
    known : Constraints
        Pair answers. A pair of net weight w moves by the share w of the way to `high` or `low`.
    low, high : float
        Affinities of pairs with net weight 1.

    Returns
    -------
    ndarray or csr_array of shape (n, n)
        The changed affinities; a sparse array does not store entries that became 0.
    """
    rows, strength = net_links(known)
    i, j = rows.T
    now = entries_at(affinity, i, j)
    target = np.where(strength > 0, high, low)
    value = now + np.abs(strength) * (target - now)
    if isinstance(affinity, np.ndarray):
        changed = affinity.copy()
        changed[i, j] = changed[j, i] = value
        return changed
    # Much faster than setting single entries of a sparse matrix.
    step = coo_array((value - now, (i, j)), shape=affinity.shape).tocsr()
    linked = csr_array(affinity + step + step.T)
    linked.eliminate_zeros()
    return linked
