"""KernelMeanShift: mean shift on features, or in the feature space of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Clusterer, guarded_fit
from clew._limits import EIGENVECTOR_ROWS
from clew._parallel import blocks, in_threads
from clew._units import Units
from clew._validation import Allowed, RandomState, check_features, check_parameters, derived_seeds
from clew.cluster._kmeans import nearest_centers
from clew.cluster.kernel.kernel_kmeans import check_kernel
from clew.exceptions import TooLargeError
from clew.graphs import COINCIDENT, NeighborSearch

__all__ = ["KernelMeanShift"]

Floats = NDArray[np.float64]
#: Maximum number of rows among which the bandwidth is measured.
ROWS_FOR_BANDWIDTH = 2_000
#: Eigenvalues below this share of the largest are rounding errors.
ROUNDING = 1e-10
#: A row has converged when it moves by at most this share of the bandwidth.
TOLERANCE = 1e-3
#: Number of distances that are computed at once.
BLOCK_ENTRIES = 1 << 22


class Coordinates(NamedTuple):
    """Features whose inner products are a given kernel."""

    axes: Floats
    """Matrix from inner products with the fitted rows to features, (n_samples, n_components)."""
    fitted: Floats
    """Features of the fitted rows, (n_samples, n_components)."""

    @classmethod
    def of(cls, kernel: Floats) -> Self:
        """Compute features from the eigenvectors of positive eigenvalues, in O(n³)."""
        value, vector = np.linalg.eigh(kernel)
        kept = value > ROUNDING * max(float(value[-1]), 0.0)
        root = np.sqrt(value[kept])
        if not kept.any():
            return cls(np.zeros((len(kernel), 1)), np.zeros((len(kernel), 1)))
        return cls(vector[:, kept] / root, vector[:, kept] * root)

    def coincidence(self) -> float:
        """Return the largest distance between equal rows that rounding of the kernel explains."""
        return float(np.sqrt(2 * COINCIDENT) * np.abs(self.fitted).max())


class KernelMeanShift(Clusterer):
    """Mean shift on features or on a kernel; finds the number of groups.

    Each row moves repeatedly to the mean of the rows within the bandwidth. Rows that converge to
    the same peak of density form a group.

    Parameters
    ----------
    bandwidth : float or None, default=None
        Radius within which the mean is taken, in the units of the features or, with a kernel, in
        units of the square root of its entries. None estimates it, see `quantile`.
    quantile : float, default=0.2
        The estimated bandwidth is the mean distance of a row from its k-th nearest row, with k
        this share of all rows, measured among at most 2,000 rows. Lower values find more groups.
    kernel : {"features", "precomputed"}, default="features"
        What `X` is: features, or the kernel matrix, which holds the inner products of all rows.
    max_iter : int, default=300
        Maximum number of steps of each row.
    random_state : int, RandomState or None, default=None
        Seed of the draw of rows for the estimate of the bandwidth.
    n_jobs : int or None, default=None
        Number of threads, with joblib's meaning. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row; groups are numbered by size, the largest first.
    n_clusters_ : int
        Number of groups.
    bandwidth_ : float
        The bandwidth used.
    n_iter_ : int
        Maximum number of steps that a row took.
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
        If a precomputed kernel has more than 5,000 rows.

    See Also
    --------
    KernelKMeans : For a given number of groups.

    Notes
    -----
    Takes no answers. After a similarity that learns a kernel from must-links and cannot-links
    (`clew.similarity.SKMS`), it is the last step of semi-supervised kernel mean shift clustering.

    All rows within the bandwidth weigh alike, as in scikit-learn's `MeanShift`, and the groups are
    the same. A precomputed kernel is first converted to features by its eigenvectors; eigenvectors
    of negative eigenvalues are left out.

    Time O(N²·d) for each step of all rows, and O(N³) for the eigenvectors of a kernel. Memory
    O(N·d), with a kernel O(N²), and about 100 MB for each thread.

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
            Features, or the kernel matrix.
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
        scaled = units.scale(features)
        if self.bandwidth is None:
            bandwidth = _measured_bandwidth(scaled, self.quantile, seed, least / units.unit)
        else:
            bandwidth = float(self.bandwidth) / units.unit
        run = mean_shift(scaled, bandwidth, self.max_iter, self.n_jobs)
        groups, labels = np.unique(run.labels, return_inverse=True)
        order = np.argsort(-np.bincount(labels), kind="stable")
        rank = np.argsort(order)
        self.labels_, self.n_clusters_ = rank[labels], len(groups)
        self.bandwidth_, self.n_iter_ = bandwidth * units.unit, max(run.n_iter, 1)
        self._into_features = None if coordinates is None else coordinates.axes
        self._peaks = units.unscale(run.peaks[groups][order])
        return self

    def _coordinates(self, kernel: Floats) -> Coordinates:
        """Check a kernel matrix, and convert it to features."""
        if len(kernel) > EIGENVECTOR_ROWS:
            raise TooLargeError(
                f'KernelMeanShift(kernel="precomputed"): X has {len(kernel):,} rows, and computing '
                f"eigenvectors takes too long beyond {EIGENVECTOR_ROWS:,} rows; approximate the "
                'kernel by features (sklearn.kernel_approximation) and use kernel="features"'
            )
        check_kernel(kernel)
        return Coordinates.of(kernel)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign rows to the group of the nearest peak.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or (n_rows, n_samples)
            Features; or, with a precomputed kernel, inner products with the fitted rows.

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
    """Estimate the bandwidth; distances up to `least` count as 0."""
    rows = X[np.random.RandomState(seed).permutation(len(X))[:ROWS_FOR_BANDWIDTH]]
    n_neighbors = max(int(len(rows) * quantile), 1)
    distance, _ = NeighborSearch(rows).nearest(rows, n_neighbors)
    found = float(distance[:, -1].mean())
    if found > least:
        return found
    far = np.linalg.norm(X - X[0], axis=1)
    far = far[far > least]
    return float(far.min()) / 2 if len(far) else max(least, 1.0)


class MeanShiftRun(NamedTuple):
    """The result of mean shift."""

    labels: NDArray[np.int64]
    """The nearest peak of each row, (n_samples,)."""
    peaks: Floats
    """Points to which rows converged, the densest first, (n_peaks, n_features)."""
    n_iter: int
    """Number of steps until the last row converged."""


def mean_shift(X: Floats, bandwidth: float, max_iter: int, n_jobs: int | None) -> MeanShiftRun:
    """Move a copy of each row to the mean of the rows within the bandwidth, until it converges.

    Comaniciu and Meer, TPAMI 2002; `MeanShift` changes warning filters of the whole process.
    """
    size = max(BLOCK_ENTRIES // len(X), 1)
    squares = np.einsum("ij,ij->i", X, X)
    parts = in_threads(
        lambda part: _converged(X, squares, X[slice(*part)], bandwidth, max_iter),
        blocks(len(X), size),
        n_jobs=n_jobs,
        what="blocks of rows",
    )
    ends = np.concatenate([end for end, _, _ in parts])
    n_within = np.concatenate([n for _, n, _ in parts])
    peaks = _merged(ends, n_within, bandwidth)
    _, nearest = NeighborSearch(peaks).nearest(X, 1)
    return MeanShiftRun(nearest[:, 0], peaks, max(n_iter for _, _, n_iter in parts))


def _converged(
    X: Floats, squares: Floats, rows: Floats, bandwidth: float, max_iter: int
) -> tuple[Floats, NDArray[np.int64], int]:
    """Return the points to which rows converge, the number of rows near each, and the steps."""
    ends, n_within = rows.copy(), np.zeros(len(rows), np.int64)
    moving = np.arange(len(rows))
    n_iter = 0
    while True:
        at = ends[moving]
        squared = at @ (-2.0 * X.T)
        squared += squares
        squared += np.einsum("ij,ij->i", at, at)[:, None]
        is_within = (squared <= bandwidth**2).astype(np.float64)
        n_within[moving] = is_within.sum(axis=1)
        # Through rounding a point may have no rows within the bandwidth; it then stays.
        is_alone = n_within[moving] == 0
        mean = (is_within @ X) / np.maximum(n_within[moving], 1)[:, None]
        mean[is_alone] = at[is_alone]
        ends[moving] = mean
        shift = np.linalg.norm(mean - at, axis=1)
        moving = moving[shift > TOLERANCE * bandwidth]
        if not len(moving) or n_iter == max_iter:
            break
        n_iter += 1
    return ends, n_within, n_iter


def _merged(ends: Floats, n_within: NDArray[np.int64], bandwidth: float) -> Floats:
    """Drop points that are within the bandwidth of a denser one; return the rest as peaks."""
    different, index = np.unique(ends, axis=0, return_index=True)
    density = n_within[index]
    order = np.lexsort((*different.T[::-1], density))[::-1]
    left = different[order]
    peaks = []
    while len(left):
        peaks.append(left[0])
        left = left[np.linalg.norm(left - left[0], axis=1) > bandwidth]
    return np.array(peaks)
