"""Checks of precomputed matrices: affinities and kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from clew._limits import MAX_DENSE_ROWS
from clew._parallel import blocks
from clew._validation import SYMMETRY_TOLERANCE, Allowed
from clew.exceptions import InvalidDataError, InvalidParameterError, TooLargeError

ROWS_PER_BLOCK = 1024


def check_affinity(
    affinity: NDArray[np.floating] | csr_array, *, allow_negative: bool = False
) -> None:
    """Refuse affinities that are not square, dense and not symmetric, or negative.

    Sparse affinities may never be negative: entries that are not stored count as 0, which is more.
    """
    check_square(affinity, "affinity")
    entries = affinity.data if issparse(affinity) else affinity
    is_refused = issparse(affinity) or not allow_negative
    if is_refused and entries.size and entries.min() < 0:
        raise InvalidDataError(
            f"Negative values in data: affinities must be 0 or more, got {entries.min():g}. To use "
            "distances, turn them into affinities by "
            "clew.similarity.AdaptiveKNN(metric='precomputed')"
        )


def check_square(matrix: NDArray[np.floating] | csr_array, what: str) -> None:
    """Refuse a matrix, named `what`, that is not square, or is dense and not symmetric."""
    rows, columns = matrix.shape
    if rows != columns:
        raise InvalidDataError(
            f"a precomputed {what} must be square, got shape ({rows}, {columns}); "
            "are these features?"
        )
    if issparse(matrix):
        return
    gap = max(  # in blocks, as a second matrix of this size may not fit in memory
        float(np.abs(matrix[start:stop] - matrix[:, start:stop].T).max())
        for start, stop in blocks(rows, ROWS_PER_BLOCK)
    )
    if gap > SYMMETRY_TOLERANCE * max(-float(matrix.min()), float(matrix.max())):
        raise InvalidDataError(
            f"a precomputed {what} must be symmetric, but entries (i, j) and (j, i) differ by up "
            f"to {gap:g}"
        )


def check_dense_size(n_samples: int) -> None:
    """Refuse a dense affinity of more than 20,000 rows."""
    if n_samples > MAX_DENSE_ROWS:
        raise TooLargeError(
            f"a dense affinity of {n_samples} rows would take {4 * n_samples**2 / 2**30:.0f} GiB; "
            f"beyond {MAX_DENSE_ROWS} rows use kneighbors_graph(k)"
        )


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """Refuse a number of neighbors that is not between 1 and ``n_samples - 1``."""
    if not Allowed(kind=int, low=1, high=n_samples - 1).holds(n_neighbors):
        raise InvalidParameterError(
            f"n_neighbors must be an integer in [1, {n_samples - 1}] for {n_samples} rows, "
            f"got {n_neighbors!r}"
        )
