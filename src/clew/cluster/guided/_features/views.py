"""Views: the features and similarity graphs that members read, each computed once."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.decomposition import PCA

from clew._composition import graph_of
from clew._limits import ALL_PAIRS_ROWS
from clew._once import Once
from clew.constraints import Constraints
from clew.exceptions import InvalidParameterError
from clew.graphs import nearest_graph, resolved_n_neighbors
from clew.similarity import COPRF, AdaptiveKNN, ClustRF
from clew.similarity.graphs import Propagation

__all__ = ["CONSTRAINED_VIEWS", "VIEWS", "Views"]

View = Literal[
    "features",
    "distances",
    "components",
    "neighbors",
    "trees",
    "forest",
    "constrained trees",
    "constrained forest",
]
CONSTRAINED_VIEWS = ("constrained trees", "constrained forest")
VIEWS = ("features", "components", "neighbors", "trees", "forest", *CONSTRAINED_VIEWS)

N_TREES = 150
#: Share of the Gaussian affinities in "forest" and "constrained forest".
EUCLIDEAN = 0.5
MAX_COMPONENTS = 10


class Views:
    """Features, and graphs of similarities that are computed from them and from answers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    seed : int
        Seed of the forests.
    n_jobs : int or None, default=None
        Number of threads.
    distances : ndarray of shape (n_samples, n_samples), default=None
        Distances between all pairs of rows, if they are given; `X` are coordinates then.
    X_of_trees : ndarray of shape (n_samples, n_columns), default=None
        Columns that forests read; None: `X`.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    distances : ndarray of shape (n_samples, n_samples) or None
        Given distances.
    answers : Constraints or None
        Answers that the constrained views follow, converted to pairs.

    Notes
    -----
    "components" are the first ten principal components, "neighbors" is `AdaptiveKNN` (of given
    distances, if there are any), "trees" is `ClustRF`, "forest" is `COPRF` without answers.
    "constrained forest" is `COPRF` with answers,
    and "constrained trees" is the same forest without its Euclidean part. Up to 5,000 rows graphs
    are taken from the dense affinity matrix.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        seed: int,
        n_jobs: int | None = None,
        distances: NDArray[np.floating] | None = None,
        X_of_trees: NDArray[np.float64] | None = None,
    ) -> None:
        self.X, self.distances = X, distances
        self._X_of_trees = X if X_of_trees is None else X_of_trees
        self._seed, self._n_jobs = seed, n_jobs
        self.answers: Constraints | None = None
        #: Results by key: ``once(key, make)`` calls `make` only if there is no result for the key.
        self.once = Once()
        self._parent: Views | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Caches are not pickled: they are computed again from features and seed.
        return {**self.__dict__, "once": Once()}

    def release(self) -> None:
        """Free the matrices of all pairs of rows; they are made again when they are next read."""
        self.once.forget(lambda key: key == "Gaussian" or key[0] == "E2CP")

    def constrained_by(self, answers: Constraints) -> Views:
        """Return views constrained by these answers; unconstrained views are shared with `self`.

        Parameters
        ----------
        answers : Constraints
            Answers of any kind.

        Returns
        -------
        Views
        """
        constrained = Views(self.X, self._seed, self._n_jobs, self.distances, self._X_of_trees)
        constrained.answers, constrained._parent = answers, self
        return constrained

    def of_rows(self, rows: NDArray[np.int64], seed: int) -> Views:
        """Return unconstrained views of some of the rows."""
        distances = None if self.distances is None else self.distances[np.ix_(rows, rows)]
        of_trees = None if self._X_of_trees is self.X else self._X_of_trees[rows]
        return Views(self.X[rows], seed, distances=distances, X_of_trees=of_trees)

    def read(
        self,
        view: View,
        n_neighbors: int | Literal["auto", "paper"] | None = None,
        alpha: float | None = None,
    ) -> Any:
        """Return features, a neighbor graph, or a graph with propagated answers.

        Parameters
        ----------
        view : str
            One of `VIEWS`, or "distances".
        n_neighbors : int, "auto" or "paper", default=None
            Neighbors of each row in a graph.
        alpha : float, default=None
            How far E2CP propagates the answers over the graph; None leaves the graph as it is.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_columns) or (n_samples, n_samples)

        Raises
        ------
        InvalidParameterError
            If the view does not exist, is constrained but there are no answers, or is a graph and
            `n_neighbors` is missing.
        """
        if view not in (*VIEWS, "distances"):
            raise InvalidParameterError(f"view must be one of {', '.join(VIEWS)}; got {view!r}")
        if self.answers is None and (view in CONSTRAINED_VIEWS or alpha is not None):
            raise InvalidParameterError(f"{view!r} needs answers: use `constrained_by(answers)`")
        if alpha is not None:
            propagation = self._propagation(view, n_neighbors, alpha)
            return propagation.fast_affinity(self._pairs, n_jobs=self._n_jobs)
        if self._parent is not None and view not in CONSTRAINED_VIEWS:
            return self._parent.read(view, n_neighbors)
        if view == "features":
            return self.X
        if view == "distances":
            return self._given_distances
        if view == "components":
            return self.once(view, self._components)
        if n_neighbors is None:
            raise InvalidParameterError(f"{view!r} is a graph: give n_neighbors")
        k = resolved_n_neighbors(n_neighbors, len(self.X))
        return self.once((view, k), lambda: self._graph(view, k))

    @property
    def _pairs(self) -> Constraints:
        assert self.answers is not None
        pairs: Constraints = self.once("pairs", self.answers.as_pairs)
        return pairs

    @property
    def _given_distances(self) -> NDArray[np.floating]:
        if self.distances is None:
            raise InvalidParameterError(
                "a member of the pool takes distances, but features are given: use "
                "GuidedClustering(metric='precomputed'), or give that member another metric"
            )
        return self.distances

    def _propagation(self, view: View, n_neighbors: Any, alpha: float) -> Propagation:
        """Return the propagation of answers over a graph; cached for unconstrained graphs."""
        if self._parent is not None and view not in CONSTRAINED_VIEWS:
            return self._parent._propagation(view, n_neighbors, alpha)
        graph = self.read(view, n_neighbors)
        if view in CONSTRAINED_VIEWS:
            return Propagation(graph, alpha)
        return cast(
            Propagation,
            self.once(("E2CP", view, n_neighbors, alpha), lambda: Propagation(graph, alpha)),
        )

    def _graph(self, view: View, n_neighbors: int) -> Any:
        if view in ("forest", "constrained forest") and len(self.X) <= ALL_PAIRS_ROWS:
            return self._graphs_of_forest(view, n_neighbors)[0]
        if view == "constrained trees" and len(self.X) <= ALL_PAIRS_ROWS:
            return self._graphs_of_forest("constrained forest", n_neighbors)[1]
        similarity = self._similarity(view)
        graph = graph_of(similarity, len(self.X), n_neighbors)
        vars(similarity).pop("affinity_matrix_", None)  # large
        return graph

    def _graphs_of_forest(self, view: View, n_neighbors: int) -> tuple[csr_array, csr_array | None]:
        """Return the graph of a forest with Gaussian affinities, or without if it has answers."""
        key = ("graphs", view, n_neighbors)
        return cast(
            tuple[csr_array, csr_array | None],
            self.once(key, lambda: self._made_graphs_of_forest(view, n_neighbors)),
        )

    def _made_graphs_of_forest(self, view: View, n_neighbors: int) -> Any:
        affinity = self._similarity(view).remixed(0.0).affinity_matrix_
        of_trees = nearest_graph(affinity, n_neighbors) if view == "constrained forest" else None
        affinity *= np.float32(1 - EUCLIDEAN)
        affinity += np.float32(EUCLIDEAN) * self._gaussian_affinity()
        return nearest_graph(affinity, n_neighbors), of_trees

    def _gaussian_affinity(self) -> NDArray[np.float32]:
        """Return the Gaussian affinities of the rows, which all views of them share."""
        if self._parent is not None:
            return self._parent._gaussian_affinity()
        found: NDArray[np.float32] = self.once(
            "Gaussian", lambda: self._similarity("forest").euclidean_affinity()
        )
        return found

    def _components(self) -> NDArray[np.float64]:
        n_components = min(MAX_COMPONENTS, *self.X.shape)
        with np.errstate(invalid="ignore"):  # constant features: 0/0 in the explained variance
            components = PCA(n_components, random_state=self._seed).fit_transform(self.X)
        return np.asarray(components / (components.std() or 1.0))

    def _similarity(self, view: View) -> Any:
        return self.once(("similarity", view), lambda: self._fit(view))

    def _fit(self, view: View) -> Any:
        if view == "neighbors" and self.distances is not None:
            return AdaptiveKNN(metric="precomputed").fit(self.distances)
        if view == "neighbors":
            return AdaptiveKNN().fit(self.X)
        if view == "trees":
            forest = ClustRF(N_TREES, random_state=self._seed, n_jobs=self._n_jobs)
            return forest.fit(self._X_of_trees)
        if view == "constrained trees":
            return self._similarity("constrained forest").remixed(0.0)
        mixed = COPRF(
            N_TREES, euclidean=EUCLIDEAN, trust=None, random_state=self._seed, n_jobs=self._n_jobs
        )
        is_constrained = view == "constrained forest"
        return mixed.fit(self._X_of_trees, constraints=self._pairs if is_constrained else None)
