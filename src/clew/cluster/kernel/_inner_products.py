"""Inner products of rows: a given kernel matrix, or columns computed by a kernel function."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import blocks
from clew._validation import SYMMETRY_TOLERANCE
from clew.exceptions import InvalidDataError
from clew.graphs import check_square
from clew.similarity.kernels.feature_maps import KernelFunction, computed_kernel

__all__ = ["KernelFunction", "Products", "check_kernel", "products_of", "weighted_products"]

Floats = NDArray[np.float64]
#: Rows of inner products that are computed at once.
ROWS_PER_BLOCK = 1024


class Products(Protocol):
    """Inner products of n rows."""

    diagonal: Floats
    """Inner product of each row with itself, (n,)."""

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return the inner products of all rows with some rows, (n, len(which))."""


class GivenProducts:
    """Inner products from a kernel matrix.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Symmetric.
    """

    def __init__(self, kernel: Floats) -> None:
        self._kernel = kernel
        self.diagonal = np.maximum(np.diagonal(kernel), 0.0)

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return the inner products of all rows with some rows."""
        return np.asarray(self._kernel[which].T)


class ComputedProducts:
    """Inner products that a kernel function computes on demand.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Features.
    kernel : callable
        ``kernel(X, Y)`` returns the inner products of all rows of X with all rows of Y.
    """

    def __init__(self, X: Floats, kernel: KernelFunction) -> None:
        self._X, self._kernel = X, kernel
        self.diagonal = np.empty(len(X))
        for a, b in blocks(len(X), ROWS_PER_BLOCK):
            self.diagonal[a:b] = np.diagonal(self._between(X[a:b], X[a:b]))

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return the inner products of all rows with some rows."""
        return self._between(self._X, self._X[which])

    def dense(self) -> Floats:
        """Return all inner products, (n, n)."""
        return self._between(self._X, self._X)

    def _between(self, rows: Floats, others: Floats) -> Floats:
        return computed_kernel(self._kernel, rows, others)


class CachedProducts(ComputedProducts):
    """Inner products that a kernel function computes once; memory O(n²).

    Raises
    ------
    InvalidDataError
        If the function is not a kernel, see `check_kernel`.
    """

    def __init__(self, X: Floats, kernel: KernelFunction) -> None:
        super().__init__(X, kernel)
        self._dense = self.dense()
        check_kernel(self._dense)

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return the inner products of all rows with some rows."""
        return np.asarray(self._dense[which].T)


def weighted_products(
    rows: Floats, fitted: Floats | None, kernel: KernelFunction | str, weight: Floats
) -> Floats:
    """Compute weighted sums of the inner products of some rows with the fitted rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features) or (n_rows, n)
        Features, or inner products with the fitted rows.
    fitted : ndarray of shape (n, n_features) or None
        Features of the fitted rows, for a callable kernel.
    kernel : callable or "precomputed"
        The kernel function, or "precomputed" if `rows` are inner products.
    weight : ndarray of shape (n, n_sums)
        Weights of the fitted rows in each sum.

    Returns
    -------
    ndarray of shape (n_rows, n_sums)
    """
    if fitted is None or not callable(kernel):
        return np.asarray(rows @ weight)
    parts = [
        computed_kernel(kernel, rows[start:stop], fitted) @ weight
        for start, stop in blocks(len(rows), ROWS_PER_BLOCK)
    ]
    return np.concatenate(parts)


def check_kernel(kernel: Floats) -> None:
    """Raise if a matrix cannot be a kernel.

    Checks the Cauchy-Schwarz inequality for every two rows; positive semidefiniteness is not
    checked.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Inner products.

    Raises
    ------
    InvalidDataError
        If the matrix is not square and symmetric, an entry of the diagonal is negative, or two rows
        have a larger inner product than their lengths allow.
    """
    check_square(kernel, "kernel")
    square = np.diagonal(kernel)
    most = float(square.max())
    if square.min() < -SYMMETRY_TOLERANCE * abs(most):
        raise InvalidDataError(
            "this is not a kernel: the inner product of a row with itself must not be negative, "
            f"got {square.min():g}"
        )
    length = np.sqrt(np.maximum(square, 0.0))
    for start, stop in blocks(len(kernel), ROWS_PER_BLOCK):
        excess = np.abs(kernel[start:stop]) - length[start:stop, None] * length
        if excess.max() > SYMMETRY_TOLERANCE * most:
            row, column = np.unravel_index(excess.argmax(), excess.shape)
            raise InvalidDataError(
                f"this is not a kernel: rows {start + row} and {column} have the inner product "
                f"{kernel[start + row, column]:g}, more than their lengths allow; if X holds "
                "distances, convert them to similarities first"
            )


def products_of(X: Floats, kernel: KernelFunction | str) -> Products:
    """Return checked inner products of rows.

    Parameters
    ----------
    X : ndarray of shape (n, n) or (n, n_features)
        The kernel matrix, or features.
    kernel : callable or "precomputed"
        The kernel function of features, or "precomputed" if `X` is the kernel matrix.

    Returns
    -------
    Products
        With a kernel function and up to 5,000 rows, all inner products are computed once. For more
        rows they are computed on demand, and only checked to be finite.

    Raises
    ------
    InvalidDataError
        If `X` or the function is not a kernel, see `check_kernel`.
    """
    if not callable(kernel):
        check_kernel(X)
        return GivenProducts(X)
    return (CachedProducts if len(X) <= ALL_PAIRS_ROWS else ComputedProducts)(X, kernel)
