"""Propagation over a sparse graph: linear systems solved by conjugate gradients, many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["add_symmetric_products", "diffuse"]


@kernel
def _multiply(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    alpha: float,
    vectors: NDArray[np.float32],
    product: NDArray[np.float32],
) -> None:
    """Set `product` to ``(I - alpha·S) @ vectors`` for a CSR matrix S."""
    share = np.float32(alpha)
    width = vectors.shape[1]
    for row in range(len(indptr) - 1):
        for c in range(width):
            product[row, c] = vectors[row, c]
        for entry in range(indptr[row], indptr[row + 1]):
            other = indices[entry]
            weight = share * data[entry]
            for c in range(width):
                product[row, c] -= weight * vectors[other, c]


@kernel
def _inner(
    left: NDArray[np.float32], right: NDArray[np.float32], result: NDArray[np.float64]
) -> None:
    """Set `result` to the inner product of each column of `left` with that of `right`."""
    result[:] = 0.0
    for row in range(left.shape[0]):
        for c in range(left.shape[1]):
            result[c] += left[row, c] * right[row, c]


@kernel
def diffuse(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    alpha: float,
    tol: float,
    max_iter: int,
    solution: NDArray[np.float32],
    residual: NDArray[np.float32],
    direction: NDArray[np.float32],
    image: NDArray[np.float32],
    numbers: NDArray[np.float64],
) -> bool:
    """Solve ``(I - alpha·S) x = b`` for several b at once.

    Parameters
    ----------
    indptr, indices, data : ndarray (IN)
        CSR arrays of a symmetric matrix S of shape (n, n) with eigenvalues in [-1, 1].
    alpha : float
        In (0, 1).
    tol : float
        Converged if the norm of each residual is at most this share of that of its b.
    max_iter : int
        Maximum number of steps.
    solution : ndarray of shape (n, width), float32 (OUT)
        A solution in each column.
    residual : ndarray of shape (n, width), float32 (INOUT)
        A right-hand side b in each column, then its residual.
    direction, image : ndarray of shape (n, width), float32 (OUT)
        Buffers.
    numbers : ndarray of shape (4, width), float64 (OUT)
        Buffer.

    Returns
    -------
    bool
        Whether all systems converged.

    Notes
    -----
    Time O((n + entries of S)·width) for each step.
    """
    length, before, inner, enough = numbers[0], numbers[1], numbers[2], numbers[3]
    n, width = solution.shape
    solution[:] = 0.0
    # A loop, because Numba takes seconds to compile ``direction[:] = residual``.
    for row in range(n):
        for c in range(width):
            direction[row, c] = residual[row, c]
    _inner(residual, residual, length)
    for c in range(width):
        enough[c] = tol * tol * length[c]
    for _ in range(max_iter):
        is_done = True
        for c in range(width):
            is_done = is_done and length[c] <= enough[c]
        if is_done:
            return True
        _multiply(indptr, indices, data, alpha, direction, image)
        _inner(direction, image, inner)
        for c in range(width):
            inner[c] = length[c] / inner[c] if inner[c] > 0.0 else 0.0
            before[c] = length[c]
        for row in range(n):
            for c in range(width):
                step = np.float32(inner[c])
                solution[row, c] += step * direction[row, c]
                residual[row, c] -= step * image[row, c]
        _inner(residual, residual, length)
        for c in range(width):
            inner[c] = length[c] / before[c] if before[c] > 0.0 else 0.0
        for row in range(n):
            for c in range(width):
                direction[row, c] = residual[row, c] + np.float32(inner[c]) * direction[row, c]
    return False


@kernel
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
