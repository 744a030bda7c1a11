"""Distances between rows and their nearest rows, in blocks: from features or from a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import distance_metrics

from clew._parallel import blocks, in_threads, one_blas_thread
from clew._units import Units
from clew._validation import check_data, check_matrix, warn_of_distances
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.graphs import check_distances
from clew.kernels.nearest import keep_nearest

Rows = NDArray[np.floating]
Index = NDArray[np.int64]
#: Name of a metric, or a function of two rows.
Metric = str | Callable[[NDArray[np.float64], NDArray[np.float64]], float]
#: Number of distances that are computed at once.
BLOCK_ENTRIES = 1 << 22
#: scikit-learn's other names of SciPy's metrics.
ALIASES = {"l1": "cityblock", "manhattan": "cityblock", "l2": "euclidean"}
#: Names of metrics: those of scikit-learn and SciPy, without missing values.
NAMES = {
    *(set(distance_metrics()) - {"nan_euclidean"}),
    *("braycurtis", "canberra", "chebyshev", "correlation", "dice", "hamming", "jaccard"),
    *("mahalanobis", "minkowski", "rogerstanimoto", "russellrao", "seuclidean"),
    *("sokalsneath", "sqeuclidean", "yule"),
}
Floats = NDArray[np.float64]
#: Number of lists in a task, and of rows in a block of distances.
LISTS_PER_TASK, ROWS_PER_BLOCK = 256, 2048
#: Error of squared distances in single precision, as a share of the squared length of a row.
SINGLE_PRECISION = 2e-5


class RowDistances:
    """Distances between fitted rows or to them; single-precision tables are divided by `unit`."""

    def __init__(
        self, rows: Rows, metric: Metric, metric_params: Mapping[str, Any] | None = None
    ) -> None:
        self.rows = rows
        self.metric = ALIASES.get(metric, metric) if isinstance(metric, str) else metric
        self.params = dict(metric_params or {})
        if self.metric == "euclidean":
            # In these units no square overflows, and differences lose few digits.
            self.set_units(Units.around_mean(np.asarray(rows, np.float64)))
        elif self.metric == "seuclidean":
            # Computed from all rows here, because SciPy would use the variance of each block of
            # rows.
            self.params.setdefault("V", np.var(rows, axis=0, ddof=1))
        elif self.metric == "mahalanobis":
            self.params.setdefault("VI", np.linalg.inv(np.atleast_2d(np.cov(rows.T))))
        farthest = float(self.block(np.zeros(1, np.int64), None).max())
        self.unit = farthest if farthest > 0 else 1.0

    def set_units(self, units: Units) -> None:
        """Scale the rows; Euclidean distances are computed in these units."""
        self.units = units
        self.scaled = units.scale(np.asarray(self.rows, np.float64))
        self._squares = np.einsum("ij,ij->i", self.scaled, self.scaled)

    def of(self, rows: Rows) -> RowDistances:
        """Return distances between other rows, in the same units."""
        found = RowDistances.__new__(RowDistances)
        found.rows, found.metric, found.params = rows, self.metric, self.params
        found.unit = self.unit
        if self.metric == "euclidean":
            found.set_units(self.units)
        return found

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def is_given(self) -> bool:
        """Whether the distances are given, not computed from features."""
        return bool(self.metric == "precomputed")

    def between(self, first: Index, second: Index | None = None) -> NDArray[np.float32]:
        """Return distances between rows of the data, (n_first, n_second), divided by `unit`."""
        n_second = self.n_samples if second is None else len(second)
        table = np.empty((len(first), n_second), np.float32)
        for start, stop in blocks(len(first), max(BLOCK_ENTRIES // max(n_second, 1), 1)):
            np.divide(
                self.block(first[start:stop], second),
                self.unit,
                out=table[start:stop],
                casting="same_kind",
            )
        return table

    def to_nearest(self, medoid: Index) -> tuple[Index, NDArray[np.float64]]:
        """Nearest of rows `medoid` (k,) for every row, and its distance, both (n_samples,)."""
        nearest, distance = np.empty(self.n_samples, np.int64), np.empty(self.n_samples)
        for start, stop in blocks(self.n_samples, max(BLOCK_ENTRIES // len(medoid), 1)):
            table = self.block(np.arange(start, stop), medoid)
            nearest[start:stop] = table.argmin(axis=1)
            distance[start:stop] = table.min(axis=1)
        return nearest, distance

    def nearest(
        self, owners: Index, n: int, among: Index | None = None, n_jobs: int | None = None
    ) -> tuple[Index, Floats]:
        """Nearest `n` other rows of owners, among all or some; both (n_owners, n)."""
        others = np.arange(self.n_samples) if among is None else among
        if self.metric != "euclidean":
            return _in_tasks(lambda part: _by_distances(self, part, n, others), owners, n_jobs)
        single = self.scaled.astype(np.float32)
        with one_blas_thread():
            nearest, apart = _in_tasks(
                lambda part: _by_products(self, single, part, n, others), owners, n_jobs
            )
            squares = np.einsum("ij,ij->i", self.scaled[owners], self.scaled[owners])
            unsure = np.flatnonzero(apart[:, -1] ** 2 < SINGLE_PRECISION * squares)
            if len(unsure):
                nearest[unsure], apart[unsure] = _in_tasks(
                    lambda part: _by_products(self, self.scaled, part, n, others),
                    owners[unsure],
                    n_jobs,
                )
        return nearest, apart * self.units.unit

    def of_others(self, others: Rows) -> NDArray[np.float64]:
        """Return distances from other rows to all rows, (n_others, n_samples)."""
        return measured(others, self.rows, self.metric, self.params)

    def part(self, chosen: Index) -> Self:
        """Return the same distances for some of the rows, given as features."""
        return type(self)(self.rows[chosen], self.metric, self.params)

    def block(self, first: Index, second: Index | None) -> Rows:
        """Return distances between rows as one block, not divided by `unit`."""
        if self.is_given:
            chosen = first if second is None else np.ix_(first, second)
            return np.asarray(self.rows[chosen])
        if self.metric == "euclidean":
            return self._euclidean_block(first, second)
        others = self.rows if second is None else self.rows[second]
        table = measured(self.rows[first], others, self.metric, self.params)
        return _without_own(table, first, second)

    def _euclidean_block(self, first: Index, second: Index | None) -> Rows:
        every = slice(None) if second is None else second
        table = self.scaled[first] @ (-2.0 * self.scaled[every].T)
        table += self._squares[first, None]
        table += self._squares[every]
        np.sqrt(np.maximum(table, 0.0, out=table), out=table)
        table *= self.units.unit
        return _without_own(np.asarray(table), first, second)


def _without_own(table: Rows, first: Index, second: Index | None) -> Rows:
    """Set each row's distance to itself to 0: rounding leaves another number."""
    if second is None:
        table[np.arange(len(first)), first] = 0.0
    else:
        table[first[:, None] == second] = 0.0
    return table


def measured(
    first: Rows, second: Rows, metric: Metric, params: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Return distances between two sets of rows; keeps the warning filters of the process."""
    try:
        if metric == "haversine":
            table = DistanceMetric.get_metric(metric, **params).pairwise(first, second)
        else:
            table = cdist(first, second, cast(Any, metric), **params)
    except TypeError as error:
        raise InvalidParameterError(
            f"metric={metric!r} does not take metric_params={dict(params)!r}: {error}"
        ) from error
    if not (table >= 0).all():  # False for NaN, too
        raise InvalidDataError(
            f"metric={metric!r} returns a distance that is negative or not a number; with "
            '"cosine" and "correlation", no row may be constant or 0'
        )
    return np.asarray(table, np.float64)


def checked_distances(
    estimator: BaseEstimator | None, X: Any, metric: Metric, metric_params: Mapping[str, Any] | None
) -> RowDistances:
    """Validate `X` for an estimator (or, with None, a function); prepare distances of its rows."""
    check_metric(metric)
    if metric == "precomputed":
        rows: Rows = check_distances(X, estimator=estimator, keep_single=True)
    elif estimator is None:
        rows = check_matrix(X)
    else:
        kept = [np.float64, np.float32]  # other types are converted to the first
        rows = check_data(estimator, X, dtype=kept, ensure_min_samples=2)
        warn_of_distances(estimator, rows)
    return RowDistances(rows, metric, metric_params)


def check_metric(metric: Metric) -> None:
    """Refuse unknown names of metrics."""
    if not callable(metric) and metric not in NAMES:
        raise InvalidParameterError(
            f"metric={metric!r}: metric must be a function of two rows or one of "
            f"{', '.join(sorted(map(repr, NAMES)))}"
        )


def _in_tasks(
    find: Callable[[Index], tuple[Index, Floats]], owners: Index, n_jobs: int | None
) -> tuple[Index, Floats]:
    """Find the nearest rows of blocks of owners, in threads."""
    parts = [owners[start:stop] for start, stop in blocks(len(owners), LISTS_PER_TASK)]
    found = in_threads(find, parts, n_jobs=n_jobs)
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def _by_distances(
    distances: RowDistances, owners: Index, n: int, others: Index
) -> tuple[Index, Floats]:
    """Find nearest rows from blocks of distances."""
    nearest, apart = np.zeros((len(owners), n), np.int64), np.full((len(owners), n), np.inf)
    for start, stop in blocks(len(others), ROWS_PER_BLOCK):
        rows = others[start:stop]
        table = -np.ascontiguousarray(distances.block(owners, rows))
        keep_nearest(table, np.zeros(len(rows), table.dtype), rows, owners, nearest, apart)
    return nearest, apart


def _by_products(
    distances: RowDistances, X: NDArray[np.floating], owners: Index, n: int, others: Index
) -> tuple[Index, Floats]:
    """Find nearest rows from blocks of inner products, and their distances from differences."""
    nearest, apart = np.zeros((len(owners), n), np.int64), np.full((len(owners), n), np.inf)
    is_all = len(others) == len(X)
    first = X[owners]
    for start, stop in blocks(len(others), ROWS_PER_BLOCK):
        rows = others[start:stop]
        block = X[start:stop] if is_all else X[rows]
        half = np.einsum("ij,ij->i", block, block) / 2
        keep_nearest(first @ block.T, half, rows, owners, nearest, apart)
    for start, stop in blocks(len(owners), 16):
        gap = distances.scaled[nearest[start:stop]]
        gap -= distances.scaled[owners[start:stop], None]
        apart[start:stop] = np.sqrt(np.einsum("ijk,ijk->ij", gap, gap))
    order = np.argsort(apart, axis=1, kind="stable")
    return np.take_along_axis(nearest, order, 1), np.take_along_axis(apart, order, 1)
