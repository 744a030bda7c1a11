"""COPKMeans: k-means under hard must-links and cannot-links."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer, OfDistances, guarded_fit
from clew._parallel import Progress
from clew._units import Units
from clew._validation import (
    Allowed,
    RandomState,
    check_features,
    check_n_clusters,
    check_parameters,
    derived_seeds,
)
from clew.cluster._groups import (
    best_start,
    check_n_components,
    costliest_row,
    fill_empty,
    warn_of_fewer_groups,
)
from clew.cluster._kmeans import Centers, Means, Medoids, nearest_centers, plus_plus
from clew.cluster.kmeans._cannot_link_graph import MAX_STEPS, CannotLinkGraph
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for, binding_answers
from clew.graphs import check_distances, check_distances_to_fitted
from clew.metrics import n_violated

__all__ = ["COPKMeans"]


class COPKMeans(OfDistances, ConstrainedClusterer):
    """K-means that keeps every must-link and every cannot-link, or raises if that is impossible.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What `X` is: features, with means as centers, or a matrix of distances between rows, with
        medoids as centers.
    algorithm : {"auto", "paper"}, default="auto"
        How rows are assigned in each iteration. "paper" assigns them in order, each to the nearest
        group that no cannot-link forbids, and a start fails at the first row without such a group.
        "auto" searches with backtracking for a valid assignment, and then improves it.
    n_init : int, default=10
        Number of starts; the one with the lowest inertia is kept.
    max_iter : int, default=100
        Maximum number of iterations of each start.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row.
    n_violated_ : int
        Number of violated answers of positive weight: always 0.
    inertia_ : float
        Sum of squared distances from each row to the mean of its group; with precomputed
        distances, sum of distances (not squared) from each row to the medoid of its group.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means, in the units of the features. `n_groups` is `n_clusters`, or fewer after a
        `FewerGroupsWarning`. Only with ``metric="euclidean"``.
    medoid_indices_ : ndarray of shape (n_groups,), int64
        Row number of each group's medoid. Only with ``metric="precomputed"``.
    n_iter_ : int
        Number of iterations of the best start.
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
        If answers contradict each other; the message contains a shortest contradictory chain.
    InfeasibleConstraintsError
        If no assignment to `n_clusters` groups keeps all answers, or the search found none. The
        message distinguishes the two cases, names rows, and gives a sufficient number of groups.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because there are fewer different rows or,
        with ``algorithm="paper"``, because a group lost all its rows.

    See Also
    --------
    PCKMeans : Soft answers: each violated answer adds a penalty.
    ConstrainedLinkage : Hard answers in agglomerative clustering.

    Notes
    -----
    Answers are hard constraints: every must-link and cannot-link of positive weight is kept.
    Answers of weight 0 and don't-knows are ignored. Rows joined by must-links form a component,
    which is assigned as a whole.

    A valid assignment is a coloring of the graph of cannot-links between components, with
    `n_clusters` colors. A component with fewer than `n_clusters` neighbors can always be colored
    last, so such components are peeled off repeatedly and assigned at the end. The rest, the core,
    is colored by DSATUR with backtracking: the component with the fewest allowed groups first, and
    its nearest allowed group first. Then pairs of groups are swapped along chains of cannot-links
    as long as that lowers the inertia. With means as centers, the inertia never rises.

    Time O(N·d·K) for each iteration, O(L·K + A·log L) for A cannot-links between L components, and
    at most 100,000 search steps in each connected part of the core. Memory O(N·(d + K)); must-links
    with precomputed distances need as much memory again as the distances.

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
        n_clusters: int,
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
            Features, or distances between rows.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            Must-links and cannot-links; None for no answers.
        callback : callable, default=None
            Called after each start with the number of finished starts and `n_init`.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        is_given = self.metric == "precomputed"
        checked = check_distances(X, estimator=self) if is_given else check_features(self, X)
        hard = self._hard_answers(checked, constraints)
        closure = hard.closure()
        check_n_components(self, closure.n_components)
        graph = CannotLinkGraph(closure, self.n_clusters)
        if is_given:
            best = self._solve(Medoids(checked, closure.component), graph, callback)
            self.inertia_ = best.inertia
        else:
            units = Units.around_mean(checked)
            best = self._solve(Means(units.scale(checked), closure.component), graph, callback)
            self.inertia_ = units.unscale_squares(best.inertia)
        groups, labels = np.unique(best.labels, return_inverse=True)
        self.labels_, self.n_iter_ = labels[closure.component], best.n_iter
        self.n_violated_ = n_violated(self.labels_, hard)
        if is_given:
            self.medoid_indices_ = best.centers[groups]
        else:
            self.cluster_centers_ = units.unscale(best.centers[groups])
        warn_of_fewer_groups(self, self.labels_, checked)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign rows to the group of the nearest center; answers are not used.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or (n_rows, n_samples)
            Features, or distances from these rows to the fitted rows.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            For a fitted row this differs from `labels_` where answers keep the row out of the
            nearest group.
        """
        check_is_fitted(self, "labels_")
        if self.metric == "precomputed":
            checked = check_distances_to_fitted(self, X)
            return np.asarray(checked[:, self.medoid_indices_].argmin(axis=1))
        return nearest_centers(check_features(self, X, reset=False), self.cluster_centers_)

    def _hard_answers(self, X: NDArray[np.float64], constraints: Constraints | None) -> Constraints:
        """Check data and answers; return the must-links and cannot-links of positive weight."""
        n = len(X)
        check_n_clusters(self, n)
        return binding_answers(answers_for(self, constraints, n))

    def _solve(self, centers: Centers, graph: CannotLinkGraph, callback: Progress | None) -> Run:
        """Return the best of all starts; raise if every start failed."""
        run = run_with_search if self.algorithm == "auto" else run_in_row_order
        best = best_start(
            lambda seed: run(centers, graph, self.max_iter, np.random.RandomState(seed)),
            derived_seeds(self.random_state, self.n_init),
            lambda one: one.inertia,
            callback,
        )
        if best is None:
            how = f"within {MAX_STEPS} steps" if self.algorithm == "auto" else "in row order"
            raise graph.not_found(f"{how} from {self.n_init} starts")
        return best


class Run(NamedTuple):
    """The best iteration of one start."""

    inertia: float
    labels: NDArray[np.int64]
    """Group of each must-link component, (n_components,)."""
    centers: NDArray[Any]
    n_iter: int


def run_with_search(
    centers: Centers, graph: CannotLinkGraph, max_iter: int, random: np.random.RandomState
) -> Run | None:
    """Run ``algorithm="auto"`` once; None if the search for a first valid assignment gave up."""
    at = plus_plus(centers, graph.n_groups, random)
    cost = centers.costs(at)
    each = np.arange(len(cost))
    best: Run | None = None
    labels: NDArray[np.int64] | None = None
    for n_iter in range(1, max_iter + 1):
        now = graph.assign(cost, labels)
        if now is None:
            return None
        # A component alone in its group violates no cannot-link.
        fill_empty(now, graph.n_groups, costliest_row(now, cost[each, now], 0.0))
        if labels is not None and np.array_equal(now, labels):
            break
        labels, at = now, centers.of_groups(now, at)
        cost = centers.costs(at)
        inertia = float(cost[each, labels].sum())
        if best is None or inertia < best.inertia:
            best = Run(inertia, labels, at, n_iter)
    return best


def run_in_row_order(
    centers: Centers, graph: CannotLinkGraph, max_iter: int, random: np.random.RandomState
) -> Run | None:
    """Run ``algorithm="paper"`` once: components are assigned greedily, in the order of rows.

    None if every group is forbidden to a component.
    """
    n_samples = int(centers.weight.sum())
    at = centers.at_rows(random.choice(n_samples, graph.n_groups, replace=False))
    each = np.arange(len(graph.first_row))
    best: Run | None = None
    labels: NDArray[np.int64] | None = None
    for n_iter in range(1, max_iter + 1):
        now = graph.assign_in_row_order(centers.row_costs(graph.first_row, at))
        if now is None:
            return None
        if labels is not None and np.array_equal(now, labels):
            break
        labels, at = now, centers.of_groups(now, at)
        inertia = float(centers.costs(at)[each, labels].sum())
        if best is None or inertia < best.inertia:
            best = Run(inertia, labels, at, n_iter)
    return best
