"""Checks of distances between all pairs of rows, for everything that takes them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator

from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import blocks
from clew._validation import DIAGONAL_TOLERANCE, SYMMETRY_TOLERANCE, check_data, check_matrix
from clew.exceptions import InvalidDataError
from clew.graphs._distance_graphs import checked_graph

__all__ = ["check_distances", "check_distances_to_fitted", "n_rows_of_condensed"]

ROWS_PER_BLOCK = 1024


def check_distances(
    D: Any,
    *,
    estimator: BaseEstimator | None = None,
    accept_sparse: bool = False,
    keep_single: bool = False,
) -> Any:
    """Validate distances between all pairs of rows.

    Parameters
    ----------
    D : array-like of shape (n, n) or (n * (n - 1) / 2,), or sparse array of shape (n, n)
        Distances: square, or condensed in the order of SciPy's ``pdist``. May be memory-mapped. A
        sparse array is a neighbor graph: entries that are not stored are unknown, not 0.
    estimator : estimator, default=None
        The estimator whose `fit` got them; its `n_features_in_` is set.
    accept_sparse : bool, default=False
        Whether neighbor graphs are allowed.
    keep_single : bool, default=False
        Whether distances between more than 5,000 rows stay in single precision if they are given
        so; this halves the memory.

    Returns
    -------
    ndarray of shape (n, n), or csr_array of shape (n, n)
        Exactly symmetric, with zeros on the diagonal: rounding errors are averaged in a copy. `D`
        itself if nothing had to be changed. A pair of a neighbor graph that is stored in one
        direction is stored in both, and stored distances of 0 are kept.

    Raises
    ------
    InvalidDataError
        If they are not square, finite, symmetric within rounding, 0 or more, and 0 on the diagonal.
        The message names the first entry that is wrong.

    Notes
    -----
    Every entry is read once, in blocks. Distances may break the triangle inequality; see
    `check_triangles`.
    """
    if issparse(D) and accept_sparse:
        return checked_graph(D, estimator)
    if _is_condensed(D):
        D = _square(np.asarray(D), keep_single=keep_single)
    options: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": False}
    if estimator is None:
        square = check_matrix(D, **options)
    else:
        square = check_data(estimator, D, ensure_min_samples=2, **options)
    rows, columns = square.shape
    if rows != columns:
        _check_finite(square)
        raise InvalidDataError(
            f"distances must be square, or condensed to one dimension, got shape ({rows}, "
            f"{columns}); are these features?"
        )
    if not keep_single or rows <= ALL_PAIRS_ROWS:
        square = square.astype(np.float64, copy=False)
    scan = _scanned(square)
    _check_entries(square, scan)
    is_exact = scan.gap == 0 and scan.on_diagonal == 0
    return square if is_exact else _symmetrized(square)


def check_distances_to_fitted(estimator: BaseEstimator, D: ArrayLike) -> Any:
    """Validate the distances of rows, new or fitted, to all fitted rows.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator.
    D : array-like of shape (n_rows, n_samples)
        Distances.

    Returns
    -------
    ndarray of shape (n_rows, n_samples), float64

    Raises
    ------
    InvalidDataError
        If a distance is negative.
    ValueError
        If one is not finite, or there is not one column for each fitted row.
    """
    checked = check_data(estimator, D, reset=False, dtype=np.float64)
    _check_not_negative(checked)
    return checked


def n_rows_of_condensed(length: int) -> int:
    """Return the number of rows n of ``n * (n - 1) / 2`` condensed distances.

    Raises
    ------
    InvalidDataError
        If there is no such n.
    """
    n = (1 + math.isqrt(1 + 8 * length)) // 2
    if n * (n - 1) // 2 != length or n < 2:
        raise InvalidDataError(
            f"{length:,} numbers are not the condensed distances of any number of rows: "
            f"n (n - 1) / 2 is {n * (n - 1) // 2:,} for n = {n:,}, and {n * (n + 1) // 2:,} for "
            f"n = {n + 1:,}"
        )
    return n


class _Scan(NamedTuple):
    """Extreme values of a square matrix, found in one pass."""

    largest: float
    least: float
    gap: float
    """Largest difference of two entries (i, j) and (j, i)."""
    on_diagonal: float
    above: float
    """Largest absolute entry above the diagonal."""
    below: float


def _scanned(D: NDArray[np.floating]) -> _Scan:
    diagonal = np.diagonal(D)
    on_diagonal = float(np.abs(diagonal).max())
    largest = least = gap = above = below = 0.0
    for start, stop in blocks(len(D), ROWS_PER_BLOCK):
        for first, last in blocks(len(D), ROWS_PER_BLOCK):
            if first < start:
                continue
            upper, lower = D[start:stop, first:last], D[first:last, start:stop]
            tiles = (upper,) if first == start else (upper, lower)
            largest = max(largest, *(float(tile.max()) for tile in tiles))
            least = min(least, *(float(tile.min()) for tile in tiles))
            if not all(np.isfinite([tile.min(), tile.max()]).all() for tile in tiles):
                _check_finite(D)
            gap = max(gap, float(np.abs(upper - lower.T).max()))
            if first == start:
                upper, lower = np.triu(upper, 1), np.tril(lower, -1)
            above = max(above, float(np.abs(upper).max()))
            below = max(below, float(np.abs(lower).max()))
    return _Scan(largest, least, gap, on_diagonal, above, below)


def _check_entries(D: NDArray[np.floating], scan: _Scan) -> None:
    """Check what a scan found; messages name the first wrong entry."""
    if scan.least < 0:
        _check_not_negative(D)
    size = max(scan.largest, -scan.least)
    if scan.gap > SYMMETRY_TOLERANCE * size:
        half = "upper" if scan.below == 0 else "lower" if scan.above == 0 else None
        if half is not None:
            raise InvalidDataError(
                f"distances must be symmetric, but only the {half} triangle is filled; give "
                "D + D.T, or condensed distances"
            )
        row, column = _place(D, lambda block, start: _differs(D, block, start, size))
        raise InvalidDataError(
            f"distances must be symmetric, but the entry of row {row}, column {column} is "
            f"{D[row, column]:g}, and that of row {column}, column {row} {D[column, row]:g}; "
            "if either may be wrong, use their mean, (D + D.T) / 2"
        )
    if scan.on_diagonal > DIAGONAL_TOLERANCE * max(scan.above, scan.below):
        _raise_of_diagonal(D, scan)


def _raise_of_diagonal(D: NDArray[np.floating], scan: _Scan) -> None:
    diagonal = np.abs(np.diagonal(D))
    row = int(np.argmax(diagonal))
    is_affinity = float(diagonal.min()) >= max(scan.above, scan.below)
    do = (
        "is this an affinity (similarity) matrix? Subtract it from its largest entry, or use an "
        "estimator that takes affinities: SpectralClustering, E2CP('precomputed')"
        if is_affinity
        else "if all else is right, set it to 0: numpy.fill_diagonal(D, 0)"
    )
    raise InvalidDataError(
        f"the diagonal of distances must be 0, but that of row {row} is {D[row, row]:g}; {do}"
    )


def _differs(
    D: NDArray[np.floating], block: NDArray[Any], start: int, size: float
) -> NDArray[np.bool_]:
    mirror = D[:, start : start + len(block)].T
    return np.asarray(np.abs(block - mirror) > SYMMETRY_TOLERANCE * size)


def _place(D: NDArray[np.floating], is_wrong: Any) -> tuple[int, int]:
    """Return row and column of the first wrong entry."""
    for start, stop in blocks(len(D), ROWS_PER_BLOCK):
        wrong = np.argwhere(is_wrong(D[start:stop], start))
        if len(wrong):
            return int(wrong[0, 0]) + start, int(wrong[0, 1])
    return 0, 0


def _check_finite(D: NDArray[np.floating]) -> None:
    n_wrong = sum(
        int((~np.isfinite(D[start:stop])).sum()) for start, stop in blocks(len(D), ROWS_PER_BLOCK)
    )
    if n_wrong == 0:
        return
    row, column = _place(D, lambda block, _: ~np.isfinite(block))
    is_missing = math.isnan(float(D[row, column]))
    name = "NaN" if is_missing else "infinity"
    more = {1: "", 2: ", as is another entry"}.get(n_wrong, f", as are {n_wrong - 1:,} others")
    do = (
        "fill missing distances in, or leave these rows out"
        if is_missing
        else "replace it by a large distance, such as twice the largest finite one"
    )
    raise InvalidDataError(
        f"distances must be finite, but row {row}, column {column} is {name}{more}; {do}"
    )


def _check_not_negative(D: NDArray[np.floating]) -> None:
    for start, stop in blocks(len(D), ROWS_PER_BLOCK):
        if float(D[start:stop].min()) < 0:
            row, column = np.argwhere(D[start:stop] < 0)[0]
            raise InvalidDataError(
                f"Negative values in data: distances must be 0 or more, got "
                f"{D[start + row, column]:g} in row {start + row}, column {column}; subtract "
                "similarities, such as correlations, from the largest one"
            )


def _symmetrized(D: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return a copy with the means of both entries of each pair, and zeros on the diagonal."""
    mean = np.empty(D.shape, D.dtype)
    for start, stop in blocks(len(D), ROWS_PER_BLOCK):
        for first, last in blocks(len(D), ROWS_PER_BLOCK):
            mean[start:stop, first:last] = (
                D[start:stop, first:last] / 2 + D[first:last, start:stop].T / 2
            )
    np.fill_diagonal(mean, 0.0)
    return mean


def _is_condensed(D: Any) -> bool:
    """Whether distances have one dimension, as arrays or as nested sequences."""
    if isinstance(D, list | tuple):
        return len(D) > 0 and np.isscalar(D[0])
    return getattr(D, "ndim", 2) == 1


def _square(condensed: NDArray[Any], *, keep_single: bool) -> NDArray[np.floating]:
    n = n_rows_of_condensed(len(condensed))
    if condensed.dtype.kind not in "buif":
        raise InvalidDataError(f"distances must be numbers, got {condensed.dtype}")
    is_single = keep_single and n > ALL_PAIRS_ROWS
    values: NDArray[np.floating] = condensed.astype(
        np.float32 if is_single else np.float64, copy=False
    )
    return np.asarray(squareform(values, checks=False))
