"""Propagation over a sparse graph: many linear systems solved at once by Chebyshev's iteration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel, summing_kernel

__all__ = ["add_symmetric_products", "diffuse"]


@kernel
def _advance(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    share: np.float32,
    remainder: np.float32,
    now: NDArray[np.float32],
    before: NDArray[np.float32],
) -> None:
    """Set `before` to ``share·S @ now + remainder·before`` for a CSR matrix S."""
    width = now.shape[1]
    for row in range(len(indptr) - 1):
        for c in range(width):
            before[row, c] *= remainder
        entry, end = indptr[row], indptr[row + 1]
        # Four entries at a time: each number of `before` is read and written once for all four.
        while entry + 4 <= end:
            i, j = indices[entry], indices[entry + 1]
            k, m = indices[entry + 2], indices[entry + 3]
            of_i, of_j = share * data[entry], share * data[entry + 1]
            of_k, of_m = share * data[entry + 2], share * data[entry + 3]
            for c in range(width):
                before[row, c] += (
                    of_i * now[i, c] + of_j * now[j, c] + of_k * now[k, c] + of_m * now[m, c]
                )
            entry += 4
        while entry < end:
            other, weight = indices[entry], share * data[entry]
            for c in range(width):
                before[row, c] += weight * now[other, c]
            entry += 1


@kernel
def _add_neighbors(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    share: np.float32,
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    value: NDArray[np.float32],
    total: NDArray[np.float32],
) -> None:
    """Add ``share·S @ b`` to `total`, for the sparse b of `diffuse`."""
    for entry in range(len(value)):
        c, part = column[entry], share * value[entry]
        for at in range(indptr[row[entry]], indptr[row[entry] + 1]):
            total[indices[at], c] += part * data[at]


@kernel
def diffuse(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    alpha: float,
    n_steps: int,
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    value: NDArray[np.float32],
    solution: NDArray[np.float32],
    buffer: NDArray[np.float32],
) -> None:
    """Solve ``(I - alpha·S) x = b`` for several sparse b at once, by Chebyshev's iteration.

    Parameters
    ----------
    indptr, indices, data : ndarray (IN)
        CSR arrays of a symmetric matrix S of shape (n, n) with eigenvalues in [-1, 1].
    alpha : float
        In (0, 1).
    n_steps : int
        Number of steps, at least 1.
    row, column, value : ndarray (IN)
        Entries of the right-hand sides, one in each column; those of the same place are summed.
    solution : ndarray of shape (n, width), float32 (OUT)
        A solution in each column.
    buffer : ndarray of shape (n, width), float32 (OUT)
        Buffer.

    Notes
    -----
    The norm of each residual is at most ``1 / cosh(n_steps·arccosh(1 / alpha))`` times that of its
    b. Time O((n + entries of S)·width) for each step.
    """
    # The steps alternate between the two arrays; the last one sets `solution`.
    now, before = (solution, buffer) if n_steps % 2 else (buffer, solution)
    for i in range(now.shape[0]):
        for c in range(now.shape[1]):
            now[i, c] = before[i, c] = 0.0
    for entry in range(len(value)):
        now[row[entry], column[entry]] += value[entry]
    omega = 2.0
    for step in range(1, n_steps):
        omega = 1.0 / (1.0 - alpha * alpha * omega / 4.0)
        share, remainder = np.float32(omega * alpha), np.float32(1.0 - omega)
        if step == 1:  # `now` is as sparse as b, and `before` is 0
            _add_neighbors(indptr, indices, data, share, row, column, value, before)
        else:
            _advance(indptr, indices, data, share, remainder, now, before)
        for entry in range(len(value)):
            before[row[entry], column[entry]] += np.float32(omega) * value[entry]
        now, before = before, now


@summing_kernel
def add_symmetric_products(
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    total: NDArray[np.float64],
) -> None:
    """Add to each edge its entry of ``left @ right.T + right @ left.T``.

    Parameters
    ----------
    row, column : ndarray of shape (n_edges,), int32 (IN)
        The two nodes of each edge.
    left, right : ndarray of shape (n, width), float32 (IN)
        The factors.
    total : ndarray of shape (n_edges,), float64 (INOUT)
        Sum of each edge.

    Notes
    -----
    Time O(n_edges·width); the product itself is not formed.
    """
    width = left.shape[1]
    for edge in range(len(row)):
        i, j = row[edge], column[edge]
        product = np.float32(0.0)
        for c in range(width):
            product += left[i, c] * right[j, c] + right[i, c] * left[j, c]
        total[edge] += product
