"""Inner products of rows, given as a matrix or computed column by column."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import blocks
from clew.exceptions import InvalidDataError
from clew.graphs import SYMMETRY_TOLERANCE, check_square
from clew.similarity.kernels.feature_maps import KernelFunction, computed_kernel

__all__ = ["KernelFunction", "Products", "check_kernel", "products_of", "weighted_products"]

Floats = NDArray[np.float64]
ROWS_PER_BLOCK = 1024


class Products(Protocol):
    """Inner products of n rows."""

    diagonal: Floats

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Give the inner products of all rows with some, of shape (n, len(which))."""


class GivenProducts:
    """Inner products given as a matrix.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Symmetric.
    """

    def __init__(self, kernel: Floats) -> None:
        self._kernel = kernel
        self.diagonal = np.maximum(np.diagonal(kernel), 0.0)

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Give the inner products of all rows with some."""
        return np.asarray(self._kernel[which].T)


class ComputedProducts:
    """Inner products that a function computes where they are asked for.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Features.
    kernel : callable
        See `KernelFunction`.
    """

    def __init__(self, X: Floats, kernel: KernelFunction) -> None:
        self._X, self._kernel = X, kernel
        self.diagonal = np.empty(len(X))
        for a, b in blocks(len(X), ROWS_PER_BLOCK):
            self.diagonal[a:b] = np.diagonal(self._between(X[a:b], X[a:b]))

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Give the inner products of all rows with some."""
        return self._between(self._X, self._X[which])

    def dense(self) -> Floats:
        """Compute all."""
        return self._between(self._X, self._X)

    def _between(self, rows: Floats, others: Floats) -> Floats:
        return computed_kernel(self._kernel, rows, others)


class Remembered(ComputedProducts):
    """Computed inner products of few rows, all kept."""

    def __init__(self, X: Floats, kernel: KernelFunction) -> None:
        super().__init__(X, kernel)
        self._dense = self.dense()
        check_kernel(self._dense)

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Give the inner products of all rows with some."""
        return np.asarray(self._dense[which].T)


def weighted_products(
    rows: Floats, fitted: Floats | None, kernel: KernelFunction | str, weight: Floats
) -> Floats:
    """Give the sums of the weighted inner products of some rows with all fitted ones.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features) or (n_rows, n)
        Features, or inner products with the fitted rows.
    fitted : ndarray of shape (n, n_features) or None
        Features of the fitted rows, for a callable.
    kernel : callable or "precomputed"
        Where inner products come from.
    weight : ndarray of shape (n, n_sums)
        Weights.

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
    """Refuse what cannot be inner products.

    Raises
    ------
    InvalidDataError
        If they are not square and symmetric, some row has a negative length, or two rows have a
        larger inner product than their lengths allow.
    """
    check_square(kernel, "kernel")
    square = np.diagonal(kernel)
    most = float(square.max())
    if square.min() < -SYMMETRY_TOLERANCE * abs(most):
        raise InvalidDataError(
            f"the inner product of a row with itself is 0 at least, got {square.min():g}: this is "
            "no kernel"
        )
    length = np.sqrt(np.maximum(square, 0.0))
    for start, stop in blocks(len(kernel), ROWS_PER_BLOCK):
        excess = np.abs(kernel[start:stop]) - length[start:stop, None] * length
        if excess.max() > SYMMETRY_TOLERANCE * most:
            row, column = np.unravel_index(excess.argmax(), excess.shape)
            raise InvalidDataError(
                f"rows {start + row} and {column} have the inner product "
                f"{kernel[start + row, column]:g}, more than their lengths allow: this is no "
                "kernel; are these distances?"
            )


def products_of(X: Floats, kernel: KernelFunction | str) -> Products:
    """Give the inner products of rows, checked.

    Parameters
    ----------
    X : ndarray of shape (n, n) or (n, n_features)
        Inner products, or the features that `kernel` makes them of.
    kernel : callable or "precomputed"
        Where they come from.

    Returns
    -------
    Products

    Raises
    ------
    InvalidDataError
        If they cannot be inner products.
    """
    if not callable(kernel):
        check_kernel(X)
        return GivenProducts(X)
    return (Remembered if len(X) <= ALL_PAIRS_ROWS else ComputedProducts)(X, kernel)
