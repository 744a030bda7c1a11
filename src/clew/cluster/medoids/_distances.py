"""Distances between rows, computed in blocks: from features and a metric, or from a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import distance_metrics

from clew._parallel import blocks
from clew._units import Units
from clew._validation import check_data, check_matrix, warn_of_distances
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.graphs import check_distances

__all__ = ["Metric", "RowDistances", "checked_distances"]

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


class RowDistances:
    """Distances between the rows of one data set, or from other rows to them.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or all distances.
    metric : str or callable
        Name of a metric, "precomputed", or a function of two rows.
    metric_params : mapping or None
        Further arguments of the metric, such as ``{"p": 3}`` for "minkowski".

    Attributes
    ----------
    unit : float
        About the largest distance. Tables in single precision are divided by it.
    scaled, units
        Features in units in which no square overflows, and these units; for "euclidean" only.
    """

    def __init__(
        self, rows: Rows, metric: Metric, metric_params: Mapping[str, Any] | None = None
    ) -> None:
        self.rows = rows
        self.metric = ALIASES.get(metric, metric) if isinstance(metric, str) else metric
        self.params = dict(metric_params or {})
        if self.metric == "euclidean":
            # In these units no square overflows, and differences lose few digits.
            self.units = Units.around_mean(np.asarray(rows, np.float64))
            self.scaled = self.units.scale(np.asarray(rows, np.float64))
            self._squares = np.einsum("ij,ij->i", self.scaled, self.scaled)
        elif self.metric == "seuclidean":
            # Computed from all rows here, because SciPy would use the variance of each block of
            # rows.
            self.params.setdefault("V", np.var(rows, axis=0, ddof=1))
        elif self.metric == "mahalanobis":
            self.params.setdefault("VI", np.linalg.inv(np.atleast_2d(np.cov(rows.T))))
        farthest = float(self.block(np.zeros(1, np.int64), None).max())
        self.unit = farthest if farthest > 0 else 1.0

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def is_given(self) -> bool:
        """Whether the distances are given, not computed from features."""
        return bool(self.metric == "precomputed")

    def between(self, first: Index, second: Index | None = None) -> NDArray[np.float32]:
        """Return distances between rows of the data, divided by `unit`.

        Parameters
        ----------
        first, second : ndarray of int64
            Row numbers; None for all rows.

        Returns
        -------
        ndarray of shape (len(first), len(second)), float32
            A row's distance to itself is 0.
        """
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
        """Find the nearest of some rows for every row.

        Parameters
        ----------
        medoid : ndarray of shape (k,), int64
            Row numbers.

        Returns
        -------
        nearest : ndarray of shape (n_samples,), int64
            Position in `medoid`, in a tie the first.
        distance : ndarray of shape (n_samples,)
            The distance.
        """
        nearest, distance = np.empty(self.n_samples, np.int64), np.empty(self.n_samples)
        for start, stop in blocks(self.n_samples, max(BLOCK_ENTRIES // len(medoid), 1)):
            table = self.block(np.arange(start, stop), medoid)
            nearest[start:stop] = table.argmin(axis=1)
            distance[start:stop] = table.min(axis=1)
        return nearest, distance

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
    """Return distances between two sets of rows.

    SciPy and `DistanceMetric` compute them: `sklearn.metrics.pairwise_distances` replaces the
    warning filters of the whole process while it runs.

    Raises
    ------
    InvalidDataError
        If a distance is negative or not a number.
    InvalidParameterError
        If the metric does not take `params`.
    """
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
    """Validate `X` for an estimator or, with None, for a function; prepare distances of its rows.

    Returns
    -------
    RowDistances

    Raises
    ------
    InvalidParameterError
        If there is no metric of that name.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.
    ValueError
        If `X` has missing or infinite values (scikit-learn's message).
    """
    if not callable(metric) and metric not in NAMES:
        raise InvalidParameterError(
            f"metric={metric!r}: metric must be a function of two rows or one of "
            f"{', '.join(sorted(map(repr, NAMES)))}"
        )
    if metric == "precomputed":
        rows: Rows = check_distances(X, estimator=estimator, keep_single=True)
    elif estimator is None:
        rows = check_matrix(X)
    else:
        kept = [np.float64, np.float32]  # other types are converted to the first
        rows = check_data(estimator, X, dtype=kept, ensure_min_samples=2)
        warn_of_distances(estimator, rows)
    return RowDistances(rows, metric, metric_params)
