"""Base class of the similarities from clustering forests."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Transformer
from clew._once import unlocked_property
from clew._parallel import Progress
from clew._validation import Allowed, check_features, check_parameters
from clew.exceptions import InvalidParameterError
from clew.forest import (
    AffinityKind,
    Forest,
    Growth,
    bin_columns,
    bin_edges,
    grow_forest,
    marginal_twin,
)
from clew.graphs import check_dense_size, check_n_neighbors
from clew.kernels.forest.layout import Links
from clew.similarity.forests._affinity import dense_affinity, nearest_rows

__all__ = ["ForestSimilarity"]

LARGEST_SUBTREE = 48
MAX_DRAWS = (1 << 24) - 1


class ForestSimilarity(Transformer):
    """Grow a forest that separates rows from shuffled rows, and compute affinities from it."""

    _allowed: ClassVar[dict[str, Any]] = {
        "n_trees": Allowed(kind=int, low=1),
        "max_features": (
            Allowed(names=("sqrt", "log2"), none=True, kind=int, low=1),
            Allowed(kind=float, low=0, high=1, low_open=True),
        ),
        "min_samples_leaf": Allowed(kind=int, low=1),
        "affinity": Allowed(names=("adaptive", "uniform", "leaf")),
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
    affinity: AffinityKind
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
        """Grow the forest on validated features.

        The first of the two `seeds` shuffles the rows, the second is for the trees. `links` are the
        answers; `share`, `reward` and `is_relative` are passed on to `Growth`.
        """
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
    def affinity_matrix_(self) -> NDArray[np.float32]:
        """Affinities of all pairs of fitted rows, (n_samples, n_samples).

        Computed at the first access.
        """
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
        return nearest_rows(
            self.forest_,
            self.affinity,
            n_neighbors,
            LARGEST_SUBTREE,
            self._window_seed,
            self.n_jobs,
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

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
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

    def _affinity_of_fitted(self) -> NDArray[np.float32]:
        """Compute the affinities of all pairs of fitted rows."""
        return dense_affinity(
            self.forest_, self.forest_.leaf, self.affinity, self.n_jobs, is_symmetric=True
        )

    def _affinity_to_fitted(self, X: NDArray[np.float64]) -> NDArray[np.float32]:
        """Compute the affinities of validated rows to all fitted rows."""
        return dense_affinity(self.forest_, self._leaves_of(X), self.affinity, self.n_jobs)

    def _leaves_of(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Find the leaves of validated rows, (n_trees, n_rows)."""
        return self.forest_.leaves_of(bin_columns(self._cut_features(X), self._edges), self.n_jobs)

    def _cut_features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the features that the trees split on."""
        return X

    def _check(self, X: ArrayLike) -> NDArray[np.float64]:
        """Check parameters and features."""
        check_parameters(self, self._allowed)
        return check_features(self, X)
