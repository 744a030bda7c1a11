"""Answers written straight into affinities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from clew.constraints import Constraints

__all__ = ["entries_at", "net_links", "with_links"]


def net_links(known: Constraints) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Add up what was said of each pair.

    Parameters
    ----------
    known : Constraints
        The answers.

    Returns
    -------
    rows : ndarray of shape (m, 2), int64
        Distinct pairs, the smaller row first, for which something is left.
    strength : ndarray of shape (m,), float64
        In [-1, 1]: the weights of must-links less those of cannot-links, cut off at full belief. A
        pair that is said to be the same and to differ, with equal weights, has none.
    """
    sign = known.is_must_link.astype(np.float64) - known.is_cannot_link
    rows, place = np.unique(known.pairs, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), sign * known.pair_weights, len(rows))
    is_left = total != 0
    return rows[is_left], np.clip(total[is_left], -1.0, 1.0)


def entries_at(
    matrix: NDArray[np.floating] | csr_array, i: NDArray[np.integer], j: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Read single entries; where none are stored or asked for, sparse arrays hand back others."""
    if not isinstance(matrix, np.ndarray) and (matrix.nnz == 0 or len(i) == 0):
        return np.zeros(len(i))
    return np.asarray(matrix[i, j], dtype=np.float64).ravel()


def with_links(affinity: Any, known: Constraints, low: float, high: float) -> Any:
    """Draw affinities of must-linked pairs up to `high`, of cannot-linked ones down to `low`.

    Parameters
    ----------
    affinity : ndarray or csr_array of shape (n, n)
        Symmetric affinities; left alone.
    known : Constraints
        The answers; how far an affinity is drawn is the weight of its answer.
    low, high : float
        Affinities of full belief.

    Returns
    -------
    ndarray or csr_array of shape (n, n)
        The affinities with links; of a sparse one, entries that became nil are gone.
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
    # Adding differences is far faster than setting single entries of a sparse matrix.
    step = coo_array((value - now, (i, j)), shape=affinity.shape).tocsr()
    linked = csr_array(affinity + step + step.T)
    linked.eliminate_zeros()
    return linked
