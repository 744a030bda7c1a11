"""KernelKMeans: k-means where rows are known by features, or by their inner products alone."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Clusterer, guarded_fit
from clew._parallel import one_blas_thread
from clew._random import RandomState, derived_seeds
from clew._units import Units
from clew._validation import (
    Allowed,
    check_features,
    check_n_clusters,
    check_parameters,
)
from clew.cluster._centers import nearest_centers
from clew.cluster._kmeans import KMeansRun, kmeans
from clew.cluster._n_groups import warn_of_fewer_groups
from clew.cluster.kernel._descent import descend_in_kernel, group_sums, start_in_kernel
from clew.cluster.kernel._inner_products import KernelFunction, products_of, weighted_products
from clew.exceptions import InvalidParameterError

__all__ = ["KernelKMeans"]


class KernelKMeans(Clusterer):
    """K-means on features, or on a kernel: the inner products of rows in some space of features.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of groups.
    kernel : {"features", "precomputed"} or callable, default="features"
        What `fit` gets: features, of which the inner products are the kernel; the kernel itself;
        or features of which ``kernel(X, Y)`` makes the inner products of all rows of X with all
        of Y, such as `sklearn.metrics.pairwise.rbf_kernel`.
    n_init : int, default=10
        Number of starts, by k-means++; the one with the lowest inertia is kept.
    max_iter : int, default=300
        Rounds of each start at most.
    tol : float, default=1e-4
        On a kernel, rounds end where one lowers the inertia by a smaller share; on features, where
        centers move less, as scikit-learn has it.
    batch_size : int or None, default=None
        Rows of a batch, for very many rows; on features alone. None takes all rows in each round.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row.
    inertia_ : float
        Sum of the squared distances of rows from the means of their groups.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means; on features alone.
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are more groups than rows, or batches are asked
        for on a kernel.
    InvalidDataError
        If a kernel is not square and symmetric, or the inner product of two rows is larger than
        their lengths allow.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because fewer rows differ.

    See Also
    --------
    KernelMeanShift : The same without a number of groups.

    Notes
    -----
    On features this is k-means, with `batch_size` scikit-learn's `MiniBatchKMeans`. On a kernel,
    distances from means follow from sums of inner products, and no iteration raises the inertia.
    A kernel that is not positive semidefinite is used as it is if every two rows could have these
    inner products; a start then ends where an iteration would raise the inertia. Adding a number
    to the diagonal, which makes any kernel positive semidefinite, would change the inertia of all
    partitions by the same amount, so it is not done.

    A group that loses all its rows gets the one farthest from its mean.

    Time of each round of a start, for N rows: on d features O(N·d·K); on a kernel O(N·m) for m rows
    that moved, at first all. A callable is asked for all inner products once up to 5,000 rows;
    beyond, memory stays O(N·K) and some 100 MB, and columns are asked for again in every round.

    References
    ----------
    I. S. Dhillon, Y. Guan and B. Kulis, "Kernel k-means: spectral clustering and normalized cuts",
    KDD 2004. D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding",
    SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.metrics.pairwise import polynomial_kernel
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
        n_clusters: int = 8,
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
            Features, or the kernel.
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
                f'KernelKMeans(batch_size={self.batch_size}) goes with kernel="features" alone; '
                "for many rows, turn the kernel into features first (sklearn.kernel_approximation)"
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
        """Give rows the group of the nearest mean.

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
        if hasattr(self, "cluster_centers_"):
            return nearest_centers(rows, self.cluster_centers_)
        toward = weighted_products(rows, self._fitted_rows, self.kernel, self._weight)
        return np.asarray((self._offset - 2.0 * toward).argmin(axis=1))

    def _fit_features(self, X: NDArray[np.float64]) -> None:
        """Fit features, in a range where squares neither overflow nor vanish."""
        (seed,) = derived_seeds(self.random_state, 1)
        given = Units.around_mean(X)
        # Of very many rows a copy may not fit.
        units = None if self.batch_size is not None and given.are_needless else given
        rows = X if units is None else units.inside(X)
        run = self._run(rows, seed)
        groups, labels = np.unique(run.labels, return_inverse=True)
        inertia, centers = run.inertia, run.centers[groups]
        self.labels_, self.n_iter_ = labels, run.n_iter
        self.inertia_ = inertia if units is None else units.squared_outside(inertia)
        self.cluster_centers_ = centers if units is None else units.outside(centers)

    def _run(self, rows: NDArray[np.float64], seed: int) -> KMeansRun:
        """Find the groups, from all rows at once or from batches."""
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
        """Start often, and keep the lowest inertia."""
        products = products_of(X, self.kernel)
        k = self.n_clusters
        runs = (
            descend_in_kernel(
                products,
                start_in_kernel(products, k, np.random.RandomState(seed)),
                k,
                self.max_iter,
                self.tol,
            )
            for seed in derived_seeds(self.random_state, self.n_init)
        )
        best = min(runs, key=lambda run: run.inertia)
        _, labels = np.unique(best.labels, return_inverse=True)
        n_groups = int(labels.max()) + 1
        size = np.bincount(labels)
        sums = group_sums(products, labels, n_groups)
        within = np.bincount(labels, sums[np.arange(len(labels)), labels])
        self.labels_, self.inertia_, self.n_iter_ = labels, best.inertia, best.n_iter
        self._fitted_rows = X.copy() if callable(self.kernel) else None
        self._weight = (labels[:, None] == np.arange(n_groups)) / size
        self._offset = within / size**2
