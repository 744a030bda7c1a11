"""Affinities adjusted by propagated answers, as a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["adjust", "collect"]


@kernel
def adjust(
    found: NDArray[np.float32],
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    least: float,
    weight: NDArray[np.float32],
    count: NDArray[np.int64],
) -> None:
    """Replace propagated answers by adjusted affinities, and count those that are large enough.

    Parameters
    ----------
    found : ndarray of shape (n, n), float32 (INOUT)
        Propagated answers above the diagonal; the rest is not read. On return, affinities.
    indptr, indices, data : ndarray (IN)
        CSR arrays of the symmetric affinities before, none negative.
    least : float
        Smaller affinities do not count; positive.
    weight : ndarray of shape (n,), float32 (OUT)
        Buffer.
    count : ndarray of shape (n,), int64 (OUT)
        Number of affinities of each row that are at least `least`.

    Notes
    -----
    With f the propagated answer divided by the largest magnitude, an affinity w becomes
    ``w + f(1 - w)`` if f ≥ 0 and ``w + f·w`` otherwise. Time O(n²).
    """
    n = len(found)
    most = np.float32(0.0)
    for i in range(n):
        for j in range(i + 1, n):
            most = max(most, abs(found[i, j]))
    scale = np.float32(1.0) / most if most > 0 else np.float32(0.0)
    weight[:] = 0.0
    count[:] = 0
    for i in range(n):
        for entry in range(indptr[i], indptr[i + 1]):
            weight[indices[entry]] = data[entry]
        for j in range(i + 1, n):
            strength, w = scale * found[i, j], weight[j]
            w += strength * (np.float32(1.0) - w if strength >= 0 else w)
            found[i, j] = w
            if w >= least:
                count[i] += 1
                count[j] += 1
        for entry in range(indptr[i], indptr[i + 1]):
            weight[indices[entry]] = 0.0


@kernel
def collect(
    affinity: NDArray[np.float32],
    least: float,
    end: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> None:
    """Collect the large entries of a symmetric matrix in CSR form.

    Parameters
    ----------
    affinity : ndarray of shape (n, n), float32 (IN)
        Affinities above the diagonal; the rest is not read.
    least : float
        Smaller affinities are left out; positive.
    end : ndarray of shape (n,), int64 (INOUT)
        Where the entries of each row start; on return, where they end.
    indices : ndarray of shape (n_entries,), int32 (OUT)
        Columns, ascending within each row.
    data : ndarray of shape (n_entries,), float64 (OUT)
        Affinities.
    """
    n = len(affinity)
    for i in range(n):  # row j gets its columns i < j first, in ascending order
        for j in range(i + 1, n):
            w = affinity[i, j]
            if w >= least:
                indices[end[i]], data[end[i]] = j, w
                indices[end[j]], data[end[j]] = i, w
                end[i] += 1
                end[j] += 1
