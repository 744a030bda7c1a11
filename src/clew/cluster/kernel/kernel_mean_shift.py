"""KernelMeanShift: rows climb to where rows are dense, in features or in a kernel's space."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Clusterer, guarded_fit
from clew._limits import EIGENVECTOR_ROWS
from clew._random import RandomState, derived_seeds
from clew._units import Units
from clew._validation import (
    Allowed,
    check_features,
    check_parameters,
)
from clew.cluster._centers import nearest_centers
from clew.cluster.kernel._inner_products import check_kernel
from clew.cluster.kernel._mean_shift import mean_bandwidth, mean_shift
from clew.exceptions import TooLargeError
from clew.graphs import COINCIDENT

__all__ = ["KernelMeanShift"]

Floats = NDArray[np.float64]
#: Rows that the bandwidth is measured on.
ROWS_FOR_BANDWIDTH = 2_000
#: Eigenvalues below this share of the largest are rounding.
ROUNDING = 1e-10


class Coordinates(NamedTuple):
    """Features of which the inner products are a kernel."""

    axes: Floats
    """From inner products with the fitted rows to features, (n_samples, n_components)."""
    fitted: Floats
    """Features of the fitted rows, (n_samples, n_components)."""

    @classmethod
    def of(cls, kernel: Floats) -> Self:
        """Find them; directions of negative length are left out."""
        value, vector = np.linalg.eigh(kernel)
        kept = value > ROUNDING * max(float(value[-1]), 0.0)
        root = np.sqrt(value[kept])
        if not kept.any():
            return cls(np.zeros((len(kernel), 1)), np.zeros((len(kernel), 1)))
        return cls(vector[:, kept] / root, vector[:, kept] * root)

    def coincidence(self) -> float:
        """Return the distance up to which rows may coincide, given rounding of inner products."""
        return float(np.sqrt(2 * COINCIDENT) * np.abs(self.fitted).max())


class KernelMeanShift(Clusterer):
    """Mean shift: rows climb to where rows are dense; the number of groups is found, not given.

    Each row moves to the mean of the rows within the bandwidth, again and again. Rows that end in
    the same place are a group.

    Parameters
    ----------
    bandwidth : float or None, default=None
        Distance within which rows attract each other, in the unit of the features, or of the
        lengths that the kernel gives. None measures it, see `quantile`.
    quantile : float, default=0.2
        The measured bandwidth is the mean distance of a row from the farthest of so large a share
        of all rows that are nearest to it, on 2,000 rows at most. A smaller share gives more
        groups.
    kernel : {"features", "precomputed"}, default="features"
        What `fit` gets: features, or inner products of every two rows.
    max_iter : int, default=300
        Steps of each row at most.
    random_state : int, RandomState or None, default=None
        Draws the rows that the bandwidth is measured on.
    n_jobs : int or None, default=None
        Processes of scikit-learn's search. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row; groups of many rows first.
    n_clusters_ : int
        Number of groups.
    bandwidth_ : float
        The bandwidth.
    n_iter_ : int
        Steps of the row that took most.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    InvalidDataError
        If a kernel is not square and symmetric, or the inner product of two rows is larger than
        their lengths allow.
    TooLargeError
        Past 5,000 rows of a precomputed kernel.

    See Also
    --------
    KernelKMeans : The same with a number of groups.

    Notes
    -----
    With a similarity that learns features from pairs, this is the last step of semi-supervised
    kernel mean shift. The neighborhood is a ball, as in scikit-learn's `MeanShift`, which does
    the work. A precomputed kernel is turned into features by its eigenvectors first; directions
    of negative eigenvalue are left out. Time O(N²·d) for each step; for a kernel O(N³) and memory
    O(N²).

    References
    ----------
    S. Anand, S. Mittal, O. Tuzel and P. Meer, "Semi-supervised kernel mean shift clustering", PAMI
    2014. D. Comaniciu and P. Meer, "Mean shift: a robust approach toward feature space analysis",
    PAMI 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from clew.cluster import KernelMeanShift
    >>> X, _ = make_blobs(150, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    >>> KernelMeanShift(random_state=0).fit(X).n_clusters_
    3
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "bandwidth": Allowed(kind=float, low=0, low_open=True, high_open=True, none=True),
        "quantile": Allowed(kind=float, low=0, high=1, low_open=True),
        "kernel": Allowed(names=("features", "precomputed")),
        "max_iter": Allowed(kind=int, low=1),
        "n_jobs": Allowed(kind=int, none=True),
    }

    n_clusters_: int
    bandwidth_: float
    n_iter_: int
    _into_features: Floats | None
    _peaks: Floats

    def __init__(
        self,
        bandwidth: float | None = None,
        *,
        quantile: float = 0.2,
        kernel: Literal["features", "precomputed"] = "features",
        max_iter: int = 300,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.quantile = quantile
        self.kernel = kernel
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @guarded_fit
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or the kernel.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        rows = check_features(self, X)
        (seed,) = derived_seeds(self.random_state, 1)
        coordinates = self._coordinates(rows) if self.kernel == "precomputed" else None
        features = rows if coordinates is None else coordinates.fitted
        units = Units.around_mean(features)
        least = 0.0 if coordinates is None else coordinates.coincidence()
        inside = units.inside(features)
        if self.bandwidth is None:
            bandwidth = _measured_bandwidth(inside, self.quantile, seed, least / units.unit)
        else:
            bandwidth = float(self.bandwidth) / units.unit
        run = mean_shift(inside, bandwidth, self.max_iter, self.n_jobs)
        groups, labels = np.unique(run.labels, return_inverse=True)
        order = np.argsort(-np.bincount(labels), kind="stable")
        rank = np.argsort(order)
        self.labels_, self.n_clusters_ = rank[labels], len(groups)
        self.bandwidth_, self.n_iter_ = bandwidth * units.unit, max(run.n_iter, 1)
        self._into_features = None if coordinates is None else coordinates.axes
        self._peaks = units.outside(run.peaks[groups][order])
        return self

    def _coordinates(self, kernel: Floats) -> Coordinates:
        if len(kernel) > EIGENVECTOR_ROWS:
            raise TooLargeError(
                f"KernelMeanShift: the eigenvectors of a kernel of {len(kernel)} rows take too "
                f"long beyond {EIGENVECTOR_ROWS} rows; turn it into features first "
                '(sklearn.kernel_approximation), and take kernel="features"'
            )
        check_kernel(kernel)
        return Coordinates.of(kernel)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give rows the group of the nearest place where rows of a group ended.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or (n_rows, n_samples)
            Features; or, for a precomputed kernel, inner products with the fitted rows.

        Returns
        -------
        ndarray of shape (n_rows,), int64
        """
        check_is_fitted(self, "labels_")
        rows = check_features(self, X, reset=False)
        if self._into_features is not None:
            rows = rows @ self._into_features
        return nearest_centers(rows, self._peaks)


def _measured_bandwidth(X: Floats, quantile: float, seed: int, least: float) -> float:
    """Measure how far the nearest rows reach; where they coincide, take half of what is not nil.

    So rows that differ stay apart. Distances up to `least` are nil.
    """
    found = mean_bandwidth(X, quantile, ROWS_FOR_BANDWIDTH, seed)
    if found > least:
        return found
    far = np.linalg.norm(X - X[0], axis=1)
    far = far[far > least]
    return float(far.min()) / 2 if len(far) else max(least, 1.0)
