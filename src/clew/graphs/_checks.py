"""Checks of affinities, distances and kernels of every two rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from clew._limits import MAX_DENSE_ROWS
from clew._parallel import blocks
from clew._validation import Allowed
from clew.exceptions import InvalidDataError, InvalidParameterError, TooLargeError

__all__ = [
    "check_affinity",
    "check_dense_size",
    "check_distances",
    "check_n_neighbors",
    "check_square",
]

ROWS_PER_BLOCK = 1024
SYMMETRY_TOLERANCE = 1e-6


def check_affinity(
    affinity: NDArray[np.floating] | csr_array, *, allow_negative: bool = False
) -> None:
    """Refuse what cannot be affinities.

    Parameters
    ----------
    affinity : ndarray or csr_array
        Affinities.
    allow_negative : bool, default=False
        Whether negative ones will do, as negated distances, where they are dense.

    Raises
    ------
    InvalidDataError
        If they are not square and symmetric, or some are negative.
    """
    check_square(affinity, "affinity")
    entries = affinity.data if issparse(affinity) else affinity
    # Of a sparse affinity what is not stored is nil: negative ones would be larger than those.
    is_refused = issparse(affinity) or not allow_negative
    if is_refused and entries.size and entries.min() < 0:
        raise InvalidDataError(
            f"Negative values in data: affinities are 0 at least, got {entries.min():g}; distances "
            "can be turned into affinities by clew.similarity.AdaptiveKNN(metric='precomputed')"
        )


def check_distances(distances: NDArray[np.floating]) -> None:
    """Refuse what cannot be distances.

    Raises
    ------
    InvalidDataError
        If they are not square and symmetric, some are negative, or the diagonal is not nil.
    """
    check_square(distances, "distance matrix")
    if distances.min() < 0:
        raise InvalidDataError(
            f"Negative values in data: distances are 0 at least, got {distances.min():g}"
        )
    farthest = float(np.diagonal(distances).max())
    if farthest > SYMMETRY_TOLERANCE * float(distances.max()):
        raise InvalidDataError(
            f"the distance of a row from itself is 0, got {farthest:g}; is this an affinity?"
        )


def check_square(matrix: NDArray[np.floating] | csr_array, what: str) -> None:
    """Refuse what is not square, or dense and not symmetric.

    Raises
    ------
    InvalidDataError
        Saying `what` it should be.
    """
    rows, columns = matrix.shape
    if rows != columns:
        raise InvalidDataError(
            f"a precomputed {what} is square, got shape ({rows}, {columns}); are these features?"
        )
    if issparse(matrix):  # neighbour graphs are lopsided, and made symmetric later
        return
    gap = max(  # by blocks: a second matrix of this size may not fit
        float(np.abs(matrix[start:stop] - matrix[:, start:stop].T).max())
        for start, stop in blocks(rows, ROWS_PER_BLOCK)
    )
    if gap > SYMMETRY_TOLERANCE * max(-float(matrix.min()), float(matrix.max())):
        raise InvalidDataError(f"a precomputed {what} is symmetric; this one differs by {gap:g}")


def check_dense_size(n_samples: int) -> None:
    """Refuse to make a dense matrix that would fill the memory.

    Raises
    ------
    TooLargeError
        Past 20,000 rows.
    """
    if n_samples > MAX_DENSE_ROWS:
        raise TooLargeError(
            f"a dense affinity of {n_samples} rows would take {4 * n_samples**2 / 2**30:.0f} GiB; "
            f"beyond {MAX_DENSE_ROWS} rows use kneighbors_graph(k)"
        )


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """Check that every row can have so many neighbours.

    Raises
    ------
    InvalidParameterError
        If not.
    """
    if not Allowed(kind=int, low=1, high=n_samples - 1).holds(n_neighbors):
        raise InvalidParameterError(
            f"n_neighbors must be an integer in [1, {n_samples - 1}] for {n_samples} rows, "
            f"got {n_neighbors!r}"
        )
