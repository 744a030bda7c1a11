"""KernelKMeans: k-means on features, or on inner products of rows (a kernel)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Clusterer, guarded_fit
from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import blocks, one_blas_thread
from clew._units import Units
from clew._validation import (
    SYMMETRY_TOLERANCE,
    Allowed,
    RandomState,
    check_features,
    check_n_clusters,
    check_parameters,
    derived_seeds,
)
from clew.cluster._kmeans import (
    KMeansRun,
    best_start,
    costliest_row,
    fill_empty,
    kmeans,
    nearest_centers,
    plus_plus,
    warn_of_fewer_groups,
)
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.graphs import check_square
from clew.similarity.kernels.feature_maps import KernelFunction, computed_kernel

__all__ = ["KernelKMeans"]


Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
#: Maximum number of columns of inner products that are computed at once, and of their entries.
COLUMNS_PER_BLOCK, ENTRIES_PER_BLOCK = 1024, 1 << 22
#: Largest rounding error of the inertia, as a share of the kernel's trace.
ROUNDING = 1e-12
#: Rows of inner products that are computed at once.
ROWS_PER_BLOCK = 1024


class KernelKMeans(Clusterer):
    """K-means on features, or on a kernel: the inner products of rows in some feature space.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    kernel : {"features", "precomputed"} or callable, default="features"
        What `X` is. "features": features, for ordinary k-means. "precomputed": the kernel matrix.
        A callable: features, of which ``kernel(X, Y)`` returns the inner products of all rows of X
        with all rows of Y, such as `sklearn.metrics.pairwise.rbf_kernel`.
    n_init : int, default=10
        Number of starts from k-means++; the one with the lowest inertia is kept.
    max_iter : int, default=300
        Maximum number of iterations of each start.
    tol : float, default=1e-4
        Tolerance of convergence. On a kernel, an iteration that lowers the inertia by at most this
        share is the last. On features, as in scikit-learn's `KMeans`.
    batch_size : int or None, default=None
        Number of rows in a batch, for very many rows; only with ``kernel="features"``. None uses
        all rows in each iteration.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row.
    inertia_ : float
        Sum of squared distances of rows from the means of their groups.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means. Only with ``kernel="features"``.
    n_iter_ : int
        Number of iterations of the best start.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are more groups than rows, or `batch_size` is
        given with a kernel.
    InvalidDataError
        If a kernel is not square and symmetric, or the inner product of two rows is larger than
        their lengths allow.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because there are fewer different rows.

    See Also
    --------
    KernelMeanShift : Finds the number of groups.

    Notes
    -----
    Takes no answers; a similarity that learns features or a kernel from answers can come first.

    On features this is k-means, and with `batch_size` scikit-learn's `MiniBatchKMeans`. On a
    kernel, squared distances from means are computed from sums of inner products. No iteration
    raises the inertia.

    A kernel that is not positive semidefinite is accepted if no inner product exceeds what the
    lengths of its two rows allow. A start then ends before an iteration that would raise the
    inertia. No constant is added to the diagonal to make the kernel positive semidefinite: it would
    change the inertia of all partitions by the same amount.

    An empty group gets the row that is farthest from its mean.

    Time for each iteration: on features O(N·d·K); on a kernel O(N·m + N·K) for m rows that moved,
    in the first iteration all N. Memory O(N·d) on features and O(N²) on a kernel. Beyond 5,000
    rows, a callable is called again for columns of the kernel in each iteration, and memory is
    O(N·K) and about 100 MB.

    References
    ----------
    I. S. Dhillon, Y. Guan and B. Kulis, "Kernel k-means: spectral clustering and normalized cuts",
    KDD 2004. D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding",
    SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from clew.cluster import KernelKMeans
    >>> X, y = make_circles(100, factor=0.3, noise=0.02, random_state=0)
    >>> model = KernelKMeans(
    ...     2,
    ...     kernel=lambda X, Y: (X @ Y.T) ** 2 + (X**2).sum(1)[:, None] * (Y**2).sum(1),
    ...     random_state=0,
    ... ).fit(X)
    >>> sorted(np.bincount(model.labels_).tolist())
    [50, 50]
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "kernel": Allowed(names=("features", "precomputed")),
        "n_init": Allowed(kind=int, low=1),
        "max_iter": Allowed(kind=int, low=1),
        "tol": Allowed(kind=float, low=0),
        "batch_size": Allowed(kind=int, low=1, none=True),
    }

    inertia_: float
    cluster_centers_: NDArray[np.float64]
    n_iter_: int
    _fitted_rows: NDArray[np.float64] | None
    _weight: NDArray[np.float64]
    _offset: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int,
        *,
        kernel: Literal["features", "precomputed"] | KernelFunction = "features",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        batch_size: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.random_state = random_state

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
        is_named = not callable(self.kernel)
        allowed = {name: a for name, a in self._allowed.items() if is_named or name != "kernel"}
        check_parameters(self, allowed)
        on_features = is_named and self.kernel == "features"
        if self.batch_size is not None and not on_features:
            raise InvalidParameterError(
                f'KernelKMeans(batch_size={self.batch_size}) needs kernel="features"; for many '
                "rows, approximate the kernel by features first (sklearn.kernel_approximation)"
            )
        rows = check_features(self, X)
        check_n_clusters(self, len(rows))
        if on_features:
            self._fit_features(rows)
        else:
            self._fit_kernel(rows)
        warn_of_fewer_groups(self, self.labels_, rows)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign rows to the group of the nearest mean.

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
        if hasattr(self, "cluster_centers_"):
            return nearest_centers(rows, self.cluster_centers_)
        with_means = weighted_products(rows, self._fitted_rows, self.kernel, self._weight)
        return np.asarray((self._offset - 2.0 * with_means).argmin(axis=1))

    def _fit_features(self, X: NDArray[np.float64]) -> None:
        """Fit features, in units in which squares neither overflow nor underflow."""
        (seed,) = derived_seeds(self.random_state, 1)
        given = Units.around_mean(X)
        # Batches are for rows of which a copy may not fit into memory.
        units = None if self.batch_size is not None and given.are_needless else given
        rows = X if units is None else units.scale(X)
        run = self._run(rows, seed)
        groups, labels = np.unique(run.labels, return_inverse=True)
        inertia, centers = run.inertia, run.centers[groups]
        self.labels_, self.n_iter_ = labels, run.n_iter
        self.inertia_ = inertia if units is None else units.unscale_squares(inertia)
        self.cluster_centers_ = centers if units is None else units.unscale(centers)

    def _run(self, rows: NDArray[np.float64], seed: int) -> KMeansRun:
        """Run k-means on all rows or on batches."""
        shared: dict[str, Any] = {
            "n_init": self.n_init, "max_iter": self.max_iter, "tol": self.tol, "random_state": seed
        }  # fmt: skip
        if self.batch_size is None:
            return kmeans(rows, self.n_clusters, **shared)
        model = MiniBatchKMeans(self.n_clusters, batch_size=self.batch_size, **shared)
        with one_blas_thread():
            model.fit(rows)
        labels = model.labels_.astype(np.int64)
        return KMeansRun(labels, model.cluster_centers_, float(model.inertia_), int(model.n_iter_))

    def _fit_kernel(self, X: NDArray[np.float64]) -> None:
        """Run kernel k-means from all starts, and keep what `predict` needs of the best."""
        products, k = products_of(X, self.kernel), self.n_clusters

        def run_from(seed: int) -> KernelRun:
            start = start_in_kernel(products, k, np.random.RandomState(seed))
            return descend_in_kernel(products, start, k, self.max_iter, self.tol)

        seeds = derived_seeds(self.random_state, self.n_init)
        best = best_start(run_from, seeds, lambda run: run.inertia)
        assert best is not None  # n_init is at least 1, and no start fails
        _, labels = np.unique(best.labels, return_inverse=True)
        n_groups = int(labels.max()) + 1
        size = np.bincount(labels)
        sums = group_sums(products, labels, n_groups)
        within = np.bincount(labels, sums[np.arange(len(labels)), labels])
        self.labels_, self.inertia_, self.n_iter_ = labels, best.inertia, best.n_iter
        self._fitted_rows = X.copy() if callable(self.kernel) else None
        self._weight = (labels[:, None] == np.arange(n_groups)) / size
        self._offset = within / size**2


class KernelRun(NamedTuple):
    """The result of one start."""

    inertia: float
    labels: Labels
    n_iter: int


class RowSeeds:
    """Rows as candidates for k-means++; a cost is a squared distance in the kernel's space."""

    def __init__(self, products: Products) -> None:
        self._products = products
        self.weight = np.ones(len(products.diagonal))

    def costs(self, centers: Labels) -> Floats:
        """Return the squared distance of each row from some rows, (n, n_centers)."""
        square = self._products.diagonal
        squared = square[:, None] + square[centers] - 2.0 * self._products.columns(centers)
        return np.maximum(squared, 0.0)

    def at_components(self, which: Labels) -> Labels:
        """Return the rows: each is a center."""
        return which


class Sums(NamedTuple):
    """For each row and group, the sum of inner products of the row with the group's rows."""

    products: Products
    labels: Labels
    """Group of each row, (n,)."""
    table: Floats
    """The sums, (n, n_groups)."""
    size: Labels
    """Number of rows of each group, (n_groups,)."""

    @classmethod
    def of(cls, products: Products, labels: Labels, n_groups: int) -> Self:
        """Compute the sums from all rows."""
        table = group_sums(products, labels, n_groups)
        return cls(products, labels, table, np.bincount(labels, minlength=n_groups))

    def within(self) -> Floats:
        """Return the sum of inner products within each group, (n_groups,)."""
        own = self.table[np.arange(len(self.labels)), self.labels]
        return np.bincount(self.labels, own, len(self.size)).astype(np.float64)

    def inertia(self) -> float:
        """Return the sum of squared distances of rows from the means of their groups."""
        means = self.within() / np.maximum(self.size, 1)
        return float(self.products.diagonal.sum() - means.sum())

    def costs(self) -> Floats:
        """Return the squared distance of each row from each mean; infinite for empty groups."""
        size = np.maximum(self.size, 1)
        cost = self.table * (-2.0 / size)
        cost += self.products.diagonal[:, None]
        cost += self.within() / size**2
        cost[:, self.size == 0] = np.inf
        return cost

    def moved_to(self, labels: Labels) -> Self:
        """Return the sums for other labels; if few rows moved, only their columns are computed."""
        n_groups = len(self.size)
        moved = np.flatnonzero(labels != self.labels)
        if 2 * len(moved) > len(labels):
            return self.of(self.products, labels, n_groups)
        table = self.table.copy()
        for start, stop in blocks(len(moved), _block_size(len(labels))):
            which = moved[start:stop]
            change = _indicator(labels[which], n_groups) - _indicator(self.labels[which], n_groups)
            table += self.products.columns(which) @ change
        return self._replace(
            labels=labels, table=table, size=np.bincount(labels, minlength=n_groups)
        )


def group_sums(products: Products, labels: Labels, n_groups: int) -> Floats:
    """Sum each row's inner products with the rows of each group, (n, n_groups)."""
    table = np.zeros((len(labels), n_groups))
    for start, stop in blocks(len(labels), _block_size(len(labels))):
        which = np.arange(start, stop)
        table += products.columns(which) @ _indicator(labels[which], n_groups)
    return table


def start_in_kernel(products: Products, n_groups: int, random: np.random.RandomState) -> Labels:
    """Choose rows by k-means++, and assign each row to the nearest of them. Returns (n,)."""
    seeds = RowSeeds(products)
    centers = plus_plus(seeds, n_groups, random)
    return np.asarray(seeds.costs(centers).argmin(axis=1))


def descend_in_kernel(
    products: Products, labels: Labels, n_groups: int, max_iter: int, tol: float
) -> KernelRun:
    """Assign rows to the nearest mean until none moves or the inertia hardly falls."""
    now = Sums.of(products, labels, n_groups)
    inertia, n_iter = now.inertia(), 0
    slack = ROUNDING * float(products.diagonal.sum())
    for _ in range(max_iter):
        n_iter += 1
        after = _assigned(now.costs(), now.labels)
        if np.array_equal(after, now.labels):
            break
        moved = now.moved_to(after)
        fell = inertia - moved.inertia()
        if fell < -slack:
            break
        now, inertia = moved, inertia - fell
        if fell <= tol * inertia:
            break
    exact = Sums.of(products, now.labels, n_groups)  # moves add up rounding errors
    return KernelRun(max(exact.inertia(), 0.0), now.labels, n_iter)


def _block_size(n_rows: int) -> int:
    """Return the number of columns of `n_rows` entries that are computed at once."""
    return max(min(COLUMNS_PER_BLOCK, ENTRIES_PER_BLOCK // n_rows), 1)


def _assigned(cost: Floats, before: Labels) -> Labels:
    """Assign each row to the nearest mean, in a tie to the previous one; fill empty groups."""
    each = np.arange(len(before))
    labels = cost.argmin(axis=1)
    stays = cost[each, before] <= cost[each, labels]
    labels = np.where(stays, before, labels)
    own = cost[each, labels]
    least = ROUNDING * max(float(own.max()), 0.0)
    fill_empty(labels, cost.shape[1], costliest_row(labels, own, least))
    return labels


def _indicator(labels: Labels, n_groups: int) -> Floats:
    """Return the one-hot encoding of labels, (n_labels, n_groups)."""
    return np.asarray(labels[:, None] == np.arange(n_groups), dtype=np.float64)


class Products(Protocol):
    """Inner products of n rows."""

    diagonal: Floats
    """Inner product of each row with itself, (n,)."""

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return the inner products of all rows with some rows, (n, len(which))."""


class GivenProducts:
    """Inner products from a kernel matrix. kernel (n, n)."""

    def __init__(self, kernel: Floats) -> None:
        self._kernel = kernel
        self.diagonal = np.maximum(np.diagonal(kernel), 0.0)

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return the inner products of all rows with some rows."""
        return np.asarray(self._kernel[which].T)


class ComputedProducts:
    """Inner products that a kernel function computes on demand. X (n, n_features)."""

    def __init__(self, X: Floats, kernel: KernelFunction) -> None:
        self._X, self._kernel = X, kernel
        self.diagonal = np.empty(len(X))
        for a, b in blocks(len(X), ROWS_PER_BLOCK):
            self.diagonal[a:b] = np.diagonal(self._between(X[a:b], X[a:b]))

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return the inner products of all rows with some rows."""
        return self._between(self._X, self._X[which])

    def dense(self) -> Floats:
        """Return all inner products, (n, n)."""
        return self._between(self._X, self._X)

    def _between(self, rows: Floats, others: Floats) -> Floats:
        return computed_kernel(self._kernel, rows, others)


class CachedProducts(ComputedProducts):
    """Inner products that a kernel function computes once; memory O(n²)."""

    def __init__(self, X: Floats, kernel: KernelFunction) -> None:
        super().__init__(X, kernel)
        self._dense = self.dense()
        check_kernel(self._dense)

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return the inner products of all rows with some rows."""
        return np.asarray(self._dense[which].T)


def weighted_products(
    rows: Floats, fitted: Floats | None, kernel: KernelFunction | str, weight: Floats
) -> Floats:
    """Sum inner products with fitted rows by weight (n, n_sums), to (n_rows, n_sums)."""
    if fitted is None or not callable(kernel):
        return np.asarray(rows @ weight)
    parts = [
        computed_kernel(kernel, rows[start:stop], fitted) @ weight
        for start, stop in blocks(len(rows), ROWS_PER_BLOCK)
    ]
    return np.concatenate(parts)


def check_kernel(kernel: Floats) -> None:
    """Raise if a matrix is asymmetric or against Cauchy-Schwarz; definiteness is not checked."""
    check_square(kernel, "kernel")
    square = np.diagonal(kernel)
    most = float(square.max())
    if square.min() < -SYMMETRY_TOLERANCE * abs(most):
        raise InvalidDataError(
            "this is not a kernel: the inner product of a row with itself must not be negative, "
            f"got {square.min():g}"
        )
    length = np.sqrt(np.maximum(square, 0.0))
    for start, stop in blocks(len(kernel), ROWS_PER_BLOCK):
        excess = np.abs(kernel[start:stop]) - length[start:stop, None] * length
        if excess.max() > SYMMETRY_TOLERANCE * most:
            row, column = np.unravel_index(excess.argmax(), excess.shape)
            raise InvalidDataError(
                f"this is not a kernel: rows {start + row} and {column} have the inner product "
                f"{kernel[start + row, column]:g}, more than their lengths allow; if X holds "
                "distances, convert them to similarities first"
            )


def products_of(X: Floats, kernel: KernelFunction | str) -> Products:
    """Prepare inner products, at once for up to 5,000 rows; raise if they are no kernel."""
    if not callable(kernel):
        check_kernel(X)
        return GivenProducts(X)
    return (CachedProducts if len(X) <= ALL_PAIRS_ROWS else ComputedProducts)(X, kernel)
