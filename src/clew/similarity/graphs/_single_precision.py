"""Inverses and products of symmetric matrices in single precision, without the GIL.

SciPy's own functions for these LAPACK and BLAS routines hold the GIL while they compute. Called by
their addresses through `ctypes`, the same routines release it, and the results are the same.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

from clew.kernels.propagation import mirror_lower

__all__ = ["inverse", "upper_of_product_sum"]

#: Side of the blocks in which a triangle is copied; two blocks fit in a cache of 32 KiB.
BLOCK = 64

Singles = NDArray[np.float32]


def inverse(matrix: Singles) -> Singles:
    """Invert a symmetric positive definite matrix in place.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), float32, contiguous
        The matrix, overwritten by its inverse.

    Returns
    -------
    ndarray of shape (n, n), float32
        The same array.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    info = ctypes.c_int()
    # LAPACK reads the transpose: its upper triangle is the lower one here.
    for routine in ("spotrf", "spotri"):
        n = _integer(len(matrix))
        _routine("cython_lapack", routine)(b"U", n, matrix.ctypes, n, ctypes.byref(info))
        if info.value:
            raise np.linalg.LinAlgError(f"{routine} failed: {info.value}")
    mirror_lower(matrix, BLOCK)
    return matrix


def upper_of_product_sum(a: Singles, b: Singles) -> Singles:
    """Compute the upper triangle of ``aᵀb + bᵀa``.

    Parameters
    ----------
    a, b : ndarray of shape (k, n), float32, contiguous
        The factors.

    Returns
    -------
    ndarray of shape (n, n), float32
        0 below the diagonal.
    """
    k, n = a.shape
    found = np.zeros((n, n), np.float32)
    one, columns = ctypes.byref(ctypes.c_float(1.0)), _integer(n)
    # BLAS reads transposes; the lower triangle of its result is the upper one here.
    _routine("cython_blas", "ssyr2k")(
        b"L", b"N", columns, _integer(k), one, a.ctypes, columns, b.ctypes, columns,
        ctypes.byref(ctypes.c_float(0.0)), found.ctypes, columns,
    )  # fmt: skip
    return found


def _integer(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


@cache
def _routine(module: str, name: str) -> Any:
    """Return a routine that takes the addresses of all its arguments."""
    return ctypes.CFUNCTYPE(None)(get_cython_function_address(f"scipy.linalg.{module}", name))
