"""COP-KMeans: k-means that violates no answer."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer, guarded_fit
from clew._parallel import Progress
from clew._random import RandomState, derived_seeds
from clew._units import Units
from clew._validation import (
    Allowed,
    check_features,
    check_n_clusters,
    check_parameters,
)
from clew.cluster._centers import Centers, Means, Medoids, nearest_centers
from clew.cluster._n_groups import check_n_components, warn_of_fewer_groups
from clew.cluster.kmeans._cannot_link_graph import MAX_STEPS, CannotLinkGraph
from clew.cluster.kmeans._hard import Run, run_ahead, run_in_row_order
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for, binding_answers
from clew.graphs import check_distances
from clew.metrics import n_violated

__all__ = ["COPKMeans"]


class COPKMeans(ConstrainedClusterer):
    """K-means that keeps every must-link and every cannot-link, or says that it cannot be done.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What `fit` gets: features, whose groups have means for centers, or the distances of every
        two rows, whose groups have medoids.
    algorithm : {"auto", "paper"}, default="auto"
        "paper" goes through the rows in order, gives each the nearest group left to it, and ends
        a start at the first row that finds none. "auto" looks ahead, goes back from dead ends,
        and improves on what it found.
    n_init : int, default=10
        Number of starts; the one with the smallest inertia is kept.
    max_iter : int, default=100
        Rounds of each start at most.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row.
    n_violated_ : int
        Answers that bind and are violated: always 0.
    inertia_ : float
        Sum of the squared distances of rows from the means of their groups; of the distances,
        not squared, from their medoids.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means, in the units of the features; fewer than `n_clusters` where a warning says so. Not
        with precomputed distances.
    medoid_indices_ : ndarray of shape (n_groups,), int64
        Row that is the medoid of each group. Only with precomputed distances.
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InvalidDataError
        If precomputed distances are not square and symmetric, or some are negative.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidConstraintsError
        If must-links leave fewer groups than `n_clusters`, or the constraints are about another
        number of rows than `X` has.
    InconsistentConstraintsError
        If answers contradict each other; the message has the shortest chain that shows it.
    InfeasibleConstraintsError
        If no grouping into so many groups keeps all answers, or none was found. The message says
        which of the two, names rows, and says how many groups would do.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because fewer rows differ or, with
        ``algorithm="paper"``, because one lost all its rows.

    Notes
    -----
    Hard: an answer of any weight above 0 binds, and an answer of weight 0 binds nothing. Don't-know
    binds nothing. What must-links join is moved as one.

    Whether there is such a grouping is whether the graph of cannot-links has a coloring with
    `n_clusters` colors. A component with fewer neighbors than there are groups always finds
    room, so it can wait: such components are peeled off again and again, and placed last. What
    stays, the core, is searched: the component with the fewest open groups first, its nearest
    open center first, and back from dead ends. Swaps of two groups along chains of cannot-links
    then lower the inertia further, and no round ends with more inertia than it began with as
    long as centers are means.

    Time O(N·d·K) for each round of a start, beside O(L·K) for L components with cannot-links and
    the search of the core, of 100,000 steps at most. Memory O(N·(d + K)); with distances as much
    again as they take, if there are must-links.

    References
    ----------
    K. Wagstaff, C. Cardie, S. Rogers and S. Schrödl, "Constrained k-means clustering with
    background knowledge", ICML 2001. D. Brélaz, "New methods to color the vertices of a graph",
    Communications of the ACM 22, 1979.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import COPKMeans
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=100, random_state=0)
    >>> model = COPKMeans(3, random_state=0).fit(X, constraints=c)
    >>> model.n_violated_
    0
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "algorithm": Allowed(names=("auto", "paper")),
        "n_init": Allowed(kind=int, low=1),
        "max_iter": Allowed(kind=int, low=1),
    }

    cluster_centers_: NDArray[np.float64]
    medoid_indices_: NDArray[np.int64]
    inertia_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        algorithm: Literal["auto", "paper"] = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.algorithm = algorithm
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags

    @guarded_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or distances of every two rows.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said; None is nothing.
        callback : callable, default=None
            Called after each start with the number of starts done and of all.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        checked = check_features(self, X)
        binding = self._binding(checked, constraints)
        closure = binding.closure()
        check_n_components(self, closure.n_components)
        graph = CannotLinkGraph(closure, self.n_clusters)
        if self.metric == "precomputed":
            best = self._solve(Medoids(checked, closure.component), graph, callback)
        else:
            inside = Units.around_mean(checked).inside(checked)
            best = self._solve(Means(inside, closure.component), graph, callback)
        groups, labels = np.unique(best.labels, return_inverse=True)
        best = best._replace(labels=labels[closure.component], centers=best.centers[groups])
        self.labels_, self.n_iter_ = best.labels, best.n_iter
        self.n_violated_ = n_violated(best.labels, binding)
        if self.metric == "precomputed":
            self.medoid_indices_, self.inertia_ = best.centers, best.inertia
        else:
            units = Units.around_mean(checked)
            self.cluster_centers_ = units.outside(best.centers)
            self.inertia_ = units.squared_outside(best.inertia)
        warn_of_fewer_groups(self, best.labels, checked)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give new rows the group of the nearest center; answers say nothing about new rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or (n_rows, n_samples)
            Features, or distances from the fitted rows.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            For the fitted rows this is `labels_` only where no answer led elsewhere.
        """
        check_is_fitted(self, "labels_")
        checked = check_features(self, X, reset=False)
        if self.metric == "precomputed":
            return np.asarray(checked[:, self.medoid_indices_].argmin(axis=1))
        return nearest_centers(checked, self.cluster_centers_)

    def _binding(self, X: NDArray[np.float64], constraints: Constraints | None) -> Constraints:
        """Check data and answers, and take the answers that bind."""
        n = len(X)
        if self.metric == "precomputed":
            check_distances(X)
        check_n_clusters(self, n)
        return binding_answers(answers_for(self, constraints, n))

    def _solve(self, centers: Centers, graph: CannotLinkGraph, callback: Progress | None) -> Run:
        """Start several times and keep the best."""
        run = run_ahead if self.algorithm == "auto" else run_in_row_order
        seeds = derived_seeds(self.random_state, self.n_init)
        found: list[Run] = []
        for done, seed in enumerate(seeds, start=1):
            one = run(centers, graph, self.max_iter, np.random.RandomState(seed))
            found += [] if one is None else [one]
            if callback is not None:
                callback(done, self.n_init)
        if not found:
            how = f"within {MAX_STEPS} steps" if self.algorithm == "auto" else "in row order"
            raise graph.gave_up(f"{how} from {self.n_init} starts")
        return min(found, key=lambda one: one.inertia)
