"""The features that members read: scaled, dense, and at most a few hundred columns."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svd
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import svd_flip
from sklearn.utils.sparsefuncs import mean_variance_axis

from clew._units import LEAST_DEVIATION, Units

__all__ = ["MAX_WIDTH", "FeatureSpace", "Metric", "principal_axes"]

Floats = NDArray[np.float64]
Metric = Literal["euclidean", "cosine"]

#: Features of more than `MAX_WIDTH` columns are replaced by `N_COMPONENTS` principal components.
MAX_WIDTH: Final = 256
N_COMPONENTS: Final = 100
#: Extra columns and power iterations of the randomized decomposition.
OVERSAMPLING, N_ITERATIONS = 20, 4
#: Directions with a smaller share of the largest singular value are rounding errors.
LEAST_SHARE = 1e-10
#: Columns that differ from their most common value in fewer rows may be equal by accident.
LEAST_UNCOMMON = 10


class FeatureSpace(NamedTuple):
    """Map features to the columns that members read; fitted by `fit`, applied by `transform`."""

    units: Units
    metric: Metric
    center: Floats | float
    """Subtracted after the rows were scaled."""
    axes: Floats | None
    """Principal axes, (n_features, n_components); None for narrow features."""

    @classmethod
    def fit(
        cls,
        X: Floats | csr_array,
        metric: Metric = "euclidean",
        standardize: bool | Literal["auto"] = "auto",
        seed: int = 0,
    ) -> Self:
        """Choose units and principal axes.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Features.
        metric : {"euclidean", "cosine"}, default="euclidean"
            "cosine" scales rows to length 1.
        standardize : bool or "auto", default="auto"
            Whether features are divided by their standard deviations, see
            `Units.standardized`. "auto" does so for dense features under the Euclidean metric only.
        seed : int, default=0
            Seed of the randomized decomposition.

        Returns
        -------
        FeatureSpace

        Notes
        -----
        Of several equal columns, one has an effect. Wide sparse features are never made dense:
        means are subtracted within the products, and equal columns count repeatedly. Time O(nnz·r)
        and memory O((n + d)·r) for r components.
        """
        is_wide = X.shape[1] > MAX_WIDTH
        if issparse(X) and not is_wide:
            return cls.fit(_dense(X), metric, standardize is True, seed)
        if metric == "cosine" or issparse(X):
            units = _units_that_keep_zeros(X, is_standardized=standardize is True)
        else:
            units = Units.standardized(X, standardize)
        if isinstance(X, np.ndarray):
            units = _counting_once(units, X)
        space = cls(units, metric, 0.0, None)
        rows = space._scaled(X)
        center = np.asarray(rows.mean(axis=0))
        if is_wide:
            return space._replace(center=center, axes=principal_axes(rows, center, seed=seed))
        # Euclidean units are centered already.
        return space._replace(center=center) if metric == "cosine" else space

    def transform(self, X: Floats | csr_array) -> Floats:
        """Map rows, dense or sparse, to the dense columns that members read.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        if self.axes is None:
            rows: Floats = self._scaled(_dense(X))
            rows -= self.center
            return rows
        return np.asarray(self._scaled(X) @ self.axes - self.center @ self.axes)

    def _scaled(self, X: Any) -> Any:
        if np.ndim(self.units.center):  # fitted to dense features, and centered
            X = _dense(X)
        rows: Any = self.units.scale(X) if isinstance(X, np.ndarray) else X / self.units.unit
        if self.metric == "cosine":
            rows = normalize(rows)
        return rows if isinstance(rows, np.ndarray) else csr_array(rows)


def principal_axes(
    X: Floats | csr_array, center: Floats, n_components: int = N_COMPONENTS, seed: int = 0
) -> Floats:
    """Compute the leading principal axes of rows by a randomized decomposition.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Rows; sparse ones stay sparse.
    center : ndarray of shape (n_features,)
        Their mean.
    n_components : int, default=100
        Number of axes, `n_features` at most.
    seed : int, default=0
        Seed of the starting directions.

    Returns
    -------
    ndarray of shape (n_features, n_components)
        Orthonormal columns, the one of the largest variance first; fewer than asked for where the
        rows span fewer dimensions.

    References
    ----------
    N. Halko, P.-G. Martinsson and J. A. Tropp, "Finding structure with randomness", SIAM Review
    2011, algorithms 4.4 and 5.1.
    """
    n, d = X.shape
    width = min(n_components + OVERSAMPLING, n, d)
    basis = np.random.RandomState(seed).normal(size=(d, width))
    for _ in range(N_ITERATIONS):
        scores = _orthonormal(X @ basis - center @ basis)
        basis = _orthonormal(X.T @ scores - np.outer(center, scores.sum(axis=0)))
    left, value, right = svd(X @ basis - center @ basis, full_matrices=False)
    _, right = svd_flip(left, right)
    n_kept = min(n_components, max(np.count_nonzero(value > LEAST_SHARE * value[0]), 1))
    return np.ascontiguousarray(basis @ right[:n_kept].T)


def _dense(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.toarray()


def _orthonormal(columns: Floats) -> Floats:
    return np.asarray(qr(columns, mode="economic", check_finite=False)[0])


def _units_that_keep_zeros(X: Floats | csr_array, *, is_standardized: bool) -> Units:
    """Return each feature's standard deviation, or one number, to divide by."""
    largest = float(np.abs(X if isinstance(X, np.ndarray) else X.data).max(initial=0.0)) or 1.0
    if not is_standardized:
        return Units(0.0, largest)
    _, variance = mean_variance_axis(csr_array(X / largest), axis=0)
    deviation = np.sqrt(variance)
    return Units(0.0, np.where(deviation > LEAST_DEVIATION, deviation, 1.0) * largest)


def _counting_once(units: Units, X: Floats) -> Units:
    """Give all but one of several equal columns an infinite unit."""
    total = np.random.RandomState(0).normal(size=len(X)) @ (X / (np.abs(X).max() or 1.0))
    order = np.argsort(total)
    # Sums of equal columns may differ by rounding.
    near = np.flatnonzero(np.diff(total[order]) <= LEAST_SHARE * (np.abs(total).max() or 1.0))
    is_repeated = np.zeros(X.shape[1], np.bool_)
    for first, second in zip(order[near], order[near + 1], strict=True):
        if np.array_equal(X[:, first], X[:, second]):
            most_common = np.unique(X[:, first], return_counts=True)[1].max()
            is_repeated[second] = len(X) - most_common >= LEAST_UNCOMMON
    if not is_repeated.any():
        return units
    unit = np.where(is_repeated, np.inf, units.unit)
    return units._replace(unit=unit, center=np.where(is_repeated, 0.0, units.center))
