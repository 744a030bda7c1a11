"""ClustRF: affinities from an unsupervised clustering forest, and the base class of forests."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Transformer, guarded_fit
from clew._parallel import Progress, blocks, in_threads, unlocked_property
from clew._validation import (
    Allowed,
    AllowedValues,
    RandomState,
    check_features,
    check_parameters,
    derived_seeds,
)
from clew.exceptions import InvalidParameterError
from clew.forest import (
    Forest,
    Growth,
    Proximity,
    bin_columns,
    bin_edges,
    grow_forest,
    marginal_twin,
)
from clew.graphs import check_dense_size, check_n_neighbors
from clew.kernels.forest.affinity import add_leaf_affinity, add_path_affinity, nearest_by_affinity
from clew.kernels.forest.layout import Links, measure_leaves

__all__ = ["ClustRF"]

ROWS_PER_BLOCK, ROWS_PER_SEARCH = 128, 2048
#: Two rows are compared in `kneighbors_graph` if a subtree of at most this many rows holds both.
LARGEST_SUBTREE = 48
MAX_DRAWS = (1 << 24) - 1
Singles = NDArray[np.float32]


class ForestSimilarity(Transformer):
    """Grow a forest that separates rows from shuffled rows, and compute affinities from it."""

    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "n_trees": Allowed(kind=int, low=1),
        "max_features": (
            Allowed(names=("sqrt", "log2"), none=True, kind=int, low=1),
            Allowed(kind=float, low=0, high=1, low_open=True),
        ),
        "min_samples_leaf": Allowed(kind=int, low=1),
        "proximity": Allowed(names=("adaptive", "uniform", "leaf")),
        "max_samples": (
            Allowed(kind=int, low=2, none=True),
            Allowed(kind=float, low=0, high=1, low_open=True),
        ),
        "n_jobs": (Allowed(kind=int, low=1, none=True), Allowed(kind=int, high=-1)),
        "verbose": Allowed(kind=int, low=0),
    }

    n_trees: int
    max_features: str | float | None
    min_samples_leaf: int
    proximity: Proximity
    max_samples: float | None
    n_jobs: int | None
    verbose: int

    forest_: Forest
    _edges: list[NDArray[np.float64]]
    _window_seed: int

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # affinities are float32
        return tags

    def _check(self, X: ArrayLike) -> NDArray[np.float64]:
        check_parameters(self, self._allowed)
        return check_features(self, X)

    def _grow(
        self,
        X: NDArray[np.float64],
        seeds: list[int],
        *,
        links: Links | None = None,
        share: float = 1.0,
        reward: float = 0.0,
        is_relative: bool = False,
        callback: Progress | None = None,
    ) -> Self:
        """Grow on validated features; seeds of the rows' order and of trees; rest: `Growth`."""
        growth = Growth(
            n_trees=self.n_trees,
            n_draws=self._n_draws(len(X)),
            n_candidates=self._n_candidates(X.shape[1]),
            min_samples_leaf=self.min_samples_leaf,
            share=share,
            reward=reward,
            is_relative=is_relative,
        )
        edges = bin_edges(X)
        bins = bin_columns(X, edges)
        twin = marginal_twin(bins, np.random.RandomState(seeds[0]))
        forest = grow_forest(
            np.hstack([bins, twin]),
            np.array([len(thresholds) + 1 for thresholds in edges]),
            np.repeat(np.array([0, 1], np.uint8), len(X)),
            growth,
            n_rows=len(X),
            seed=seeds[1],
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            callback=callback,
            links=links,
        )
        self._edges, self.forest_, self._window_seed = edges, forest, seeds[1]
        self._n_features_out = len(X)
        return self

    def _n_draws(self, n_samples: int) -> int:
        """Convert `max_samples` to a number of draws."""
        whole = n_samples if self.max_samples is None else self.max_samples
        n = whole if isinstance(whole, (int, np.integer)) else max(2, round(whole * n_samples))
        most = min(2 * n_samples, MAX_DRAWS)
        if not 2 <= n <= most:
            raise InvalidParameterError(
                f"{type(self).__name__}(max_samples={self.max_samples!r}) means {n} draws for "
                f"each tree; for {n_samples} rows it must be 2 to {most}"
            )
        return int(n)

    def _n_candidates(self, n_features: int) -> int:
        """Convert `max_features` to a number of features."""
        if self.max_features is None:
            return n_features
        if self.max_features == "sqrt":
            return max(1, int(np.sqrt(n_features)))
        if self.max_features == "log2":
            return max(1, int(np.log2(n_features)))
        if isinstance(self.max_features, (int, np.integer)):
            return min(int(self.max_features), n_features)
        return max(1, int(self.max_features * n_features))

    @unlocked_property
    def affinity_matrix_(self) -> Singles:
        """Affinities of all pairs of fitted rows, (n_samples, n_samples); computed when read."""
        check_is_fitted(self, "forest_")
        check_dense_size(self.forest_.leaf.shape[1])
        return self._affinity_of_fitted()

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Find the most similar rows of each fitted row, without a dense matrix.

        Parameters
        ----------
        n_neighbors : int, default=20
            Number of rows to find for each row.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float32
            Row i holds the affinities to the `n_neighbors` rows most similar to it, without itself;
            fewer if it was compared with fewer rows.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.

        Notes
        -----
        Two rows are compared if a subtree of at most 48 rows holds both, and nodes above such
        subtrees, which add little, are left out. With at most 48 rows in all, the graph therefore
        has the entries of `affinity_matrix_`. Time at most O(T·n·48) for n rows and T trees, memory
        O(T·n).
        """
        check_is_fitted(self, "forest_")
        n = self.forest_.leaf.shape[1]
        check_n_neighbors(n_neighbors, n)
        return _nearest_rows(
            self.forest_, self.proximity, n_neighbors, self._window_seed, self.n_jobs
        )

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows, n_trees), int32
            Number of the leaf among the nodes of its tree, which are numbered in preorder.
        """
        check_is_fitted(self, "forest_")
        return self._leaves_of(check_features(self, X, reset=False)).T

    def transform(self, X: ArrayLike) -> Singles:
        """Compute the affinities of rows to all fitted rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows, n_samples), float32
            Affinities in [0, 1].
        """
        check_is_fitted(self, "forest_")
        return self._affinity_to_fitted(check_features(self, X, reset=False))

    def _affinity_of_fitted(self) -> Singles:
        """Compute the affinities of all pairs of fitted rows."""
        return _dense_affinity(
            self.forest_, self.forest_.leaf, self.proximity, self.n_jobs, is_symmetric=True
        )

    def _affinity_to_fitted(self, X: NDArray[np.float64]) -> Singles:
        """Compute the affinities of validated rows to all fitted rows."""
        return _dense_affinity(self.forest_, self._leaves_of(X), self.proximity, self.n_jobs)

    def _leaves_of(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Find the leaves of validated rows, (n_trees, n_rows)."""
        return self.forest_.leaves_of(bin_columns(self._cut_features(X), self._edges), self.n_jobs)

    def _cut_features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the features that the trees split on."""
        return X


class ClustRF(ForestSimilarity):
    """Clustering random forest: affinities without answers, robust to uninformative features.

    Each tree is a classifier of two classes, the rows and as many pseudo rows whose features are
    drawn independently of each other. It therefore splits on features that depend on each other,
    and seldom on noise. The affinity of two rows is the share of their paths through the trees
    that is common to both.

    Parameters
    ----------
    n_trees : int, default=1000
        Number of trees.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features tried at each node; a float is a share of all features, None is all.
    min_samples_leaf : int, default=1
        Least number of bootstrap draws in each child of a node.
    proximity : {"adaptive", "uniform", "leaf"}, default="adaptive"
        "leaf" is the share of trees in which two rows have the same leaf (ClustRF-Bi in the paper).
        "uniform" is the share of the nodes on their paths that both have (ClustRF-Strct-Unfm).
        "adaptive" is that share with nodes weighted by one over their number of rows
        (ClustRF-Strct-Adpt).
    max_samples : int, float or None, default=None
        Number of bootstrap draws for each tree, from rows and pseudo rows together; a float is a
        share of the number of rows, None is the number of rows.
    random_state : int, RandomState or None, default=None
        Seed of the pseudo rows and the trees.
    n_jobs : int or None, default=None
        Number of threads, as joblib counts them. The result does not depend on it.
    verbose : int, default=0
        1 logs progress to the logger "clew", 2 logs more.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Affinities of all pairs of rows, in [0, 1]; computed at the first access.
    forest_ : Forest
        The trees.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if `X` had names.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    ValueError
        If `X` is not finite, or has fewer than two rows.
    TooLargeError
        From `affinity_matrix_`, above 20,000 rows.

    See Also
    --------
    COPRF : The same forest, constrained by answers.

    Notes
    -----
    Time O(T·n·√d·log n) for n rows, d features and T trees; memory O(T·n). `affinity_matrix_`
    takes O(T·n²) time and O(n²) memory; `kneighbors_graph` does not. Features with more than 256
    distinct values are split at quantiles only.

    The affinity of two rows in one tree is the weight of their common path over the weight of the
    longer of their two paths. If both paths have the same length, the one of larger weight is
    taken, so that the matrix is symmetric.

    References
    ----------
    X. Zhu, C. C. Loy and S. Gong, "Constructing robust affinity graphs for spectral clustering",
    CVPR 2014. The pseudo two-class forest: T. Shi and S. Horvath, "Unsupervised learning with
    random forest predictors", JCGS 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.similarity import ClustRF
    >>> X, y = load_iris(return_X_y=True)
    >>> A = ClustRF(n_trees=100, random_state=0).fit(X).affinity_matrix_
    >>> A.shape
    (150, 150)
    >>> bool(A[:50, :50].mean() > 3 * A[:50, 50:].mean())
    True
    """

    def __init__(
        self,
        n_trees: int = 1000,
        *,
        max_features: str | float | None = "sqrt",
        min_samples_leaf: int = 1,
        proximity: Proximity = "adaptive",
        max_samples: float | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.proximity = proximity
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @guarded_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, callback: Progress | None = None
    ) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. Units do not matter: only the order of the values of each feature counts.
        y : ignored
            Present for compatibility with scikit-learn.
        callback : callable, default=None
            Called as ``callback(n_done, n_blocks)`` while blocks of trees are grown.

        Returns
        -------
        self
        """
        features = self._check(X)
        return self._grow(features, derived_seeds(self.random_state, 2), callback=callback)


def _dense_affinity(
    forest: Forest, leaf: NDArray[np.int32], kind: Proximity, n_jobs: int | None, *,
    is_symmetric: bool = False,
) -> Singles:  # fmt: skip
    """Compute the affinities of rows to all fitted rows, (n_rows, n_fitted)."""
    affinity = np.zeros((leaf.shape[1], forest.leaf.shape[1]), np.float32)
    if kind == "leaf":
        in_threads(
            lambda block: add_leaf_affinity(forest.trees, forest.order, leaf, *block, affinity),
            blocks(len(affinity), ROWS_PER_BLOCK),
            n_jobs=n_jobs,
        )
        is_symmetric = False
    else:
        paths, size = forest.paths(kind), forest.largest_tree

        def add(block: tuple[int, int]) -> None:
            place, line, fork = np.empty((3, size), np.int32)
            column, table = np.empty(affinity.shape[1], np.int32), np.empty(size, np.float32)
            add_path_affinity(
                forest.trees, *paths, forest.leaf, leaf, *block, block[0] if is_symmetric else 0,
                place, line, fork, column, table, affinity,
            )  # fmt: skip

        in_threads(add, blocks(len(affinity), ROWS_PER_BLOCK), n_jobs=n_jobs)
    affinity /= np.float32(forest.n_trees)
    if is_symmetric:
        for start, stop in blocks(len(affinity), ROWS_PER_BLOCK):
            affinity[stop:, start:stop] = affinity[start:stop, stop:].T
    return affinity


def _nearest_rows(
    forest: Forest, kind: Proximity, k: int, seed: int, n_jobs: int | None
) -> csr_array:
    """Find the `k` most similar rows; in large leaves, consecutive ones from a random place."""
    n = forest.leaf.shape[1]
    paths = forest.paths(kind)
    uses_paths = kind != "leaf"
    shape = forest.leaf.shape if uses_paths else (0, 0)
    leaf_depth, leaf_mass = np.empty(shape, np.int32), np.empty(shape, np.float32)
    measure_leaves(forest.trees, 0, len(leaf_depth), paths[1], paths[2], leaf_depth, leaf_mass)
    leaf_of_row = np.ascontiguousarray(forest.leaf.T)
    neighbor, value = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

    def search(block: tuple[int, int]) -> None:
        nearest_by_affinity(
            forest.trees, *paths, forest.order, leaf_of_row, leaf_depth, leaf_mass,
            forest.order[0], *block,
            uses_paths, LARGEST_SUBTREE, seed, np.empty(n + 1, np.int32), np.zeros(n, np.float32),
            np.empty(1, np.uint64), neighbor, value,
        )  # fmt: skip

    in_threads(search, blocks(n, ROWS_PER_SEARCH), n_jobs=n_jobs)
    is_row = neighbor >= 0
    indptr = np.concatenate([[0], is_row.sum(axis=1).cumsum()])
    graph = csr_array(
        (value[is_row] / np.float32(forest.n_trees), neighbor[is_row], indptr), (n, n)
    )
    graph.sort_indices()
    return graph
