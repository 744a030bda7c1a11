"""Checks of distances and affinities, and coordinates from distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator

from clew._limits import ALL_PAIRS_ROWS, MAX_DENSE_ROWS
from clew._parallel import blocks
from clew._validation import (
    DIAGONAL_TOLERANCE,
    SYMMETRY_TOLERANCE,
    Allowed,
    check_data,
    check_matrix,
)
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


#: Number of rows whose triangles are checked, and the relative rounding error that is allowed.
TRIANGLE_ROWS, TRIANGLE_TOLERANCE = 120, 1e-6
Matrix = NDArray[np.floating]


def check_distances(
    D: Any,
    *,
    estimator: BaseEstimator | None = None,
    accept_sparse: bool = False,
    keep_single: bool = False,
) -> Any:
    """Validate distances between all pairs of rows: square, condensed, or a neighbor graph.

    `D` is (n, n), or condensed in the order of SciPy's ``pdist``, and may be memory-mapped. In a
    sparse neighbor graph, entries that are not stored are unknown, not 0. `estimator` is the one
    whose `fit` got them; its `n_features_in_` is set. With `keep_single`, distances between more
    than 5,000 rows stay in single precision if they are given so; this halves the memory.

    The result is exactly symmetric, with zeros on the diagonal: rounding errors are averaged in a
    copy; `D` itself if nothing had to be changed. A pair of a graph that is stored in one direction
    is stored in both, and stored distances of 0 are kept. Messages name the first entry that is
    wrong. Every entry is read once, in blocks. Triangle inequalities may be broken.
    """
    if issparse(D) and accept_sparse:
        return _checked_graph(D, estimator)
    first = D[0] if isinstance(D, list | tuple) and D else None
    if np.isscalar(first) or getattr(D, "ndim", 2) == 1:
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


def check_distances_to_fitted(estimator: BaseEstimator, D: ArrayLike) -> NDArray[np.float64]:
    """Validate the distances of rows, new or fitted, to all fitted rows, (n_rows, n_samples)."""
    checked: NDArray[np.float64] = check_data(estimator, D, reset=False, dtype=np.float64)
    _check_not_negative(checked)
    return checked


def n_rows_of_condensed(length: int) -> int:
    """Return the n of ``n * (n - 1) / 2`` condensed distances; refuse a length that has none."""
    n = (1 + math.isqrt(1 + 8 * length)) // 2
    if n * (n - 1) // 2 != length or n < 2:
        raise InvalidDataError(
            f"{length:,} numbers are not the condensed distances of any number of rows: "
            f"n (n - 1) / 2 is {n * (n - 1) // 2:,} for n = {n:,}, and {n * (n + 1) // 2:,} for "
            f"n = {n + 1:,}"
        )
    return n


def _square(condensed: NDArray[Any], *, keep_single: bool) -> Matrix:
    n = n_rows_of_condensed(len(condensed))
    if condensed.dtype.kind not in "buif":
        raise InvalidDataError(f"distances must be numbers, got {condensed.dtype}")
    is_single = keep_single and n > ALL_PAIRS_ROWS
    values: Matrix = condensed.astype(np.float32 if is_single else np.float64, copy=False)
    return np.asarray(squareform(values, checks=False))


class _Scan(NamedTuple):
    """Extreme values of a square matrix, found in one pass."""

    largest: float
    least: float
    gap: float  # largest difference of two entries (i, j) and (j, i)
    on_diagonal: float
    above: float  # largest absolute entry above the diagonal
    below: float


def _scanned(D: Matrix) -> _Scan:
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


def _check_entries(D: Matrix, scan: _Scan) -> None:
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

        def differs(block: Matrix, start: int) -> NDArray[np.bool_]:
            mirror = D[:, start : start + len(block)].T
            return np.asarray(np.abs(block - mirror) > SYMMETRY_TOLERANCE * size)

        row, column = _place(D, differs)
        raise InvalidDataError(
            f"distances must be symmetric, but the entry of row {row}, column {column} is "
            f"{D[row, column]:g}, and that of row {column}, column {row} {D[column, row]:g}; "
            "if either may be wrong, use their mean, (D + D.T) / 2"
        )
    off_diagonal = max(scan.above, scan.below)
    if scan.on_diagonal > DIAGONAL_TOLERANCE * off_diagonal:
        diagonal = np.abs(np.diagonal(D))
        row = int(np.argmax(diagonal))
        do = (
            "is this an affinity (similarity) matrix? Subtract it from its largest entry, or use "
            "an estimator that takes affinities: SpectralClustering, E2CP('precomputed')"
            if float(diagonal.min()) >= off_diagonal
            else "if all else is right, set it to 0: numpy.fill_diagonal(D, 0)"
        )
        raise InvalidDataError(
            f"the diagonal of distances must be 0, but that of row {row} is {D[row, row]:g}; {do}"
        )


def _place(D: Matrix, is_wrong: Callable[[Matrix, int], NDArray[np.bool_]]) -> tuple[int, int]:
    """Return row and column of the first wrong entry."""
    for start, stop in blocks(len(D), ROWS_PER_BLOCK):
        wrong = np.argwhere(is_wrong(D[start:stop], start))
        if len(wrong):
            return int(wrong[0, 0]) + start, int(wrong[0, 1])
    return 0, 0


def _check_finite(D: Matrix) -> None:
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


def _check_not_negative(D: Matrix) -> None:
    for start, stop in blocks(len(D), ROWS_PER_BLOCK):
        if float(D[start:stop].min()) < 0:
            row, column = np.argwhere(D[start:stop] < 0)[0]
            raise InvalidDataError(
                f"Negative values in data: distances must be 0 or more, got "
                f"{D[start + row, column]:g} in row {start + row}, column {column}; subtract "
                "similarities, such as correlations, from the largest one"
            )


def _symmetrized(D: Matrix) -> Matrix:
    """Return a copy with the means of both entries of each pair, and zeros on the diagonal."""
    mean = np.empty(D.shape, D.dtype)
    for start, stop in blocks(len(D), ROWS_PER_BLOCK):
        for first, last in blocks(len(D), ROWS_PER_BLOCK):
            mean[start:stop, first:last] = (
                D[start:stop, first:last] / 2 + D[first:last, start:stop].T / 2
            )
    np.fill_diagonal(mean, 0.0)
    return mean


def _checked_graph(D: Any, estimator: BaseEstimator | None) -> csr_array:
    """Validate a neighbor graph, and store every pair twice, zeros too; see `check_distances`."""
    options: dict[str, Any] = {
        "dtype": np.float64,
        "accept_sparse": "csr",
        "ensure_all_finite": False,
    }
    if estimator is None:
        checked = check_matrix(D, **options)
    else:
        checked = check_data(estimator, D, ensure_min_samples=2, **options)
    graph = coo_array(checked)
    n, n_columns = graph.shape
    if n != n_columns:
        raise InvalidDataError(
            f"a neighbor graph of distances must be square, got shape ({n}, {n_columns})"
        )
    row, column = (axis.astype(np.int64) for axis in graph.coords)
    wrong = np.flatnonzero(~np.isfinite(graph.data) | (graph.data < 0))
    if len(wrong):
        raise InvalidDataError(
            f"distances must be finite and 0 or more, but row {row[wrong[0]]}, column "
            f"{column[wrong[0]]} is {graph.data[wrong[0]]:g}"
        )
    is_pair = row != column
    if (graph.data[~is_pair] > 0).any():
        raise InvalidDataError("the diagonal of distances must be 0; is this an affinity graph?")
    low, high = np.minimum(row, column)[is_pair], np.maximum(row, column)[is_pair]
    value = graph.data[is_pair]
    order = np.lexsort([value, high, low])
    low, high, value = low[order], high[order], value[order]
    first = np.flatnonzero(np.r_[True, (np.diff(low) != 0) | (np.diff(high) != 0)][: len(low)])
    last = np.r_[first[1:], len(low)] - 1
    tolerance = SYMMETRY_TOLERANCE * float(value.max(initial=0.0))
    if len(first) and (value[last] - value[first]).max() > tolerance:
        at = int(np.argmax(value[last] - value[first]))
        raise InvalidDataError(
            f"distances must be symmetric, but rows {low[first[at]]} and {high[first[at]]} have "
            f"the distances {value[first[at]]:g} and {value[last[at]]:g}"
        )
    low, high, value = low[first], high[first], (value[first] + value[last]) / 2
    row, column = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort([column, row])
    indptr = np.r_[0, np.cumsum(np.bincount(row, minlength=n))]
    return csr_array((np.tile(value, 2)[order], column[order], indptr), shape=(n, n))


class TriangleCheck(NamedTuple):
    """How many sampled distances are longer than the path over a third row."""

    n_violated: int
    n_checked: int

    @property
    def share(self) -> float:
        """Share of the checked inequalities that do not hold, in [0, 1]."""
        return self.n_violated / self.n_checked if self.n_checked else 0.0

    def __str__(self) -> str:
        if self.n_violated == 0:
            return "the triangle inequality holds"
        share = f"{self.share:.1%}" if self.share >= 0.001 else "less than 0.1%"
        return (
            f"{share} of {self.n_checked:,} checked triples break the triangle inequality, which "
            "is allowed"
        )


def check_triangles(D: Matrix) -> TriangleCheck:
    """Count broken ``d(i, j) <= d(i, k) + d(k, j)``, up to rounding, among 120 rows at most."""
    n = len(D)
    rows = np.arange(n)
    if n > TRIANGLE_ROWS:
        rows = np.sort(np.random.RandomState(0).choice(n, TRIANGLE_ROWS, replace=False))
    near = np.asarray(D[rows][:, rows], dtype=np.float64)
    m = len(near)
    slack = TRIANGLE_TOLERANCE * float(near.max(initial=0.0))
    n_violated = sum(
        int((near > near[:, third, None] + near[third] + slack).sum()) for third in range(m)
    )
    return TriangleCheck(n_violated // 2, m * (m - 1) * max(m - 2, 0) // 2)


Floats = NDArray[np.float64]

#: Number of landmarks: the axes are computed from the distances among these rows.
N_LANDMARKS = 2_000
N_COMPONENTS = 100
ROWS_MAPPED = 2048
#: Directions with a smaller share of the largest eigenvalue are rounding errors.
LEAST_SHARE = 1e-10


def inner_products(squared: Floats) -> Floats:
    """Return the inner products of centered rows from squared distances, (n, n), by Torgerson."""
    mean = squared.mean(axis=0)
    products: Floats = -0.5 * (squared - mean - mean[:, None] + mean.mean())
    return products


class DistanceSpace(NamedTuple):
    """Map distances to the fitted rows to coordinates; fitted by `fit`, applied by `transform`."""

    landmarks: NDArray[np.int64]
    mean_squares: Floats  # mean squared distance of each landmark to all landmarks
    axes: Floats  # (n_landmarks, n_components)

    @classmethod
    def fit(cls, distances: NDArray[np.floating], seed: int = 0) -> Self:
        """Find coordinates with about these distances (n, n), from at most 2,000 landmarks: O(L³).

        Directions of negative eigenvalues are left out: distances need not be Euclidean. V. de
        Silva, J. B. Tenenbaum, "Sparse multidimensional scaling using landmark points", 2004.
        """
        n = len(distances)
        chosen = np.random.RandomState(seed).choice(n, min(n, N_LANDMARKS), replace=False)
        landmarks = np.sort(chosen).astype(np.int64)
        scale = float(distances.max()) or 1.0  # squares of very large distances would overflow
        near = distances[np.ix_(landmarks, landmarks)].astype(np.float64)
        squared = (near / scale) ** 2
        mean = squared.mean(axis=0)
        value, vectors = np.linalg.eigh(inner_products(squared))
        n_kept = int((value > LEAST_SHARE * value[-1]).sum()) if value[-1] > 0 else 0
        n_kept = max(1, min(n_kept, N_COMPONENTS))
        top, vectors = value[::-1][:n_kept], vectors[:, ::-1][:, :n_kept]
        axes = vectors / np.sqrt(np.maximum(top, np.finfo(float).tiny)) / scale
        axes = axes if value[-1] > 0 else np.zeros_like(axes)
        return cls(landmarks, mean * scale**2, axes)

    def transform(self, distances: NDArray[np.floating]) -> Floats:
        """Map distances to all fitted rows to coordinates, (n_rows, n_components)."""
        scale = float(np.sqrt(self.mean_squares.max())) or 1.0
        axes = self.axes * scale**2
        positions = np.empty((len(distances), axes.shape[1]))
        for start, stop in blocks(len(distances), ROWS_MAPPED):
            near = distances[start:stop, self.landmarks].astype(np.float64, copy=False)
            squared = (near / scale) ** 2
            positions[start:stop] = -0.5 * ((squared - self.mean_squares / scale**2) @ axes)
        return positions
