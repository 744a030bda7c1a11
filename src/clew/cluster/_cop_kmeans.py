"""COP-KMeans: k-means that violates no answer."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._graphs import check_distances
from clew._random import RandomState, derived_seeds
from clew._validation import Allowed, check_features, check_n_clusters, check_parameters
from clew.cluster._cannot_link_graph import MAX_STEPS, CannotLinkGraph
from clew.cluster._centres import Centres, Means, Medoids, Scale, nearest_centres, plus_plus
from clew.constraints import Constraints, Support, check_constraints
from clew.constraints._support import refuse_contradictions
from clew.metrics import n_violated

__all__ = ["COPKMeans"]


class Run(NamedTuple):
    """Where one start led."""

    inertia: float
    labels: NDArray[np.int64]
    centres: NDArray[Any]
    n_iter: int


class COPKMeans(ClusterMixin, BaseEstimator):
    """K-means that keeps every must-link and every cannot-link, or says that it cannot be done.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What `fit` gets: features, whose groups have means for centres, or the distances of every
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
        Means, in the units of the features. There are fewer than `n_clusters` only where there
        are fewer different rows, or fewer must-link components. Not with precomputed distances.
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
        If the constraints are about another number of rows than `X` has.
    InconsistentConstraintsError
        If answers contradict each other; the message has the shortest chain that shows it.
    InfeasibleConstraintsError
        If no grouping into so many groups keeps all answers, or none was found. The message says
        which of the two, names rows, and says how many groups would do.

    Notes
    -----
    Hard: an answer of any weight above 0 binds, and an answer of weight 0 binds nothing. Don't-know
    binds nothing. What must-links join is moved as one.

    Whether there is such a grouping is whether the graph of cannot-links has a colouring with
    `n_clusters` colours. A component with fewer neighbours than there are groups always finds
    room, so it can wait: such components are peeled off again and again, and placed last. What
    stays, the core, is searched: the component with the fewest open groups first, its nearest
    open centre first, and back from dead ends. Swaps of two groups along chains of cannot-links
    then lower the inertia further, and no round ends with more inertia than it began with as
    long as centres are means.

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

    def fit(
        self, X: ArrayLike, y: object = None, *, constraints: Constraints | None = None
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

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        checked = check_features(self, X)
        n = len(checked)
        if self.metric == "precomputed":
            check_distances(checked)
        check_n_clusters(self, n)
        known = Constraints(n) if constraints is None else constraints
        check_constraints(self, known, n, self.supports)
        binding = known.select_pairs(known.pair_weights > 0)
        refuse_contradictions(binding)
        closure = binding.closure()
        graph = CannotLinkGraph(closure, self.n_clusters)
        if self.metric == "precomputed":
            best = self._solve(Medoids(checked, closure.component), graph)
            groups, labels = np.unique(best.labels, return_inverse=True)
            self.medoid_indices_, self.inertia_ = best.centres[groups], best.inertia
        else:
            scale = Scale(checked)
            best = self._solve(Means(scale.inside(checked), closure.component), graph)
            groups, labels = np.unique(best.labels, return_inverse=True)
            self.cluster_centers_ = scale.outside(best.centres[groups])
            self.inertia_ = scale.squared(best.inertia)
        self.labels_, self.n_iter_ = labels[closure.component], best.n_iter
        self.n_violated_ = n_violated(self.labels_, binding)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give new rows the group of the nearest centre; answers say nothing about new rows.

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
        return nearest_centres(checked, self.cluster_centers_)

    def _solve(self, centres: Centres, graph: CannotLinkGraph) -> Run:
        """Start several times and keep the best."""
        run = _run if self.algorithm == "auto" else _paper_run
        seeds = derived_seeds(self.random_state, self.n_init)
        starts = (np.random.RandomState(seed) for seed in seeds)
        runs = [run(centres, graph, self.max_iter, random) for random in starts]
        found = [one for one in runs if one is not None]
        if not found:
            how = f"within {MAX_STEPS} steps" if self.algorithm == "auto" else "in row order"
            raise graph.gave_up(f"{how} from {self.n_init} starts")
        return min(found, key=lambda one: one.inertia)


def _run(
    centres: Centres, graph: CannotLinkGraph, max_iter: int, random: np.random.RandomState
) -> Run | None:
    """Assign and move in turn; None where no assignment was found."""
    at = plus_plus(centres, graph.n_groups, random)
    cost = centres.costs(at)
    each = np.arange(len(cost))
    best: Run | None = None
    labels: NDArray[np.int64] | None = None
    for n_iter in range(1, max_iter + 1):
        now = graph.group(cost, labels)
        if now is None:
            return None
        _fill_empty(now, cost)
        if labels is not None and np.array_equal(now, labels):
            break
        labels, at = now, centres.of_groups(now, at)
        cost = centres.costs(at)
        inertia = float(cost[each, labels].sum())
        if best is None or inertia < best.inertia:
            best = Run(inertia, labels, at, n_iter)
    return best


def _paper_run(
    centres: Centres, graph: CannotLinkGraph, max_iter: int, random: np.random.RandomState
) -> Run | None:
    """Assign greedily in the order of rows; None where one round of it runs into a dead end."""
    n_samples = int(centres.weight.sum())
    at = centres.at_rows(random.choice(n_samples, graph.n_groups, replace=False))
    each = np.arange(len(graph.first_row))
    best: Run | None = None
    labels: NDArray[np.int64] | None = None
    for n_iter in range(1, max_iter + 1):
        now = graph.group_in_row_order(centres.row_costs(graph.first_row, at))
        if now is None:
            return None
        if labels is not None and np.array_equal(now, labels):
            break
        labels, at = now, centres.of_groups(now, at)
        inertia = float(centres.costs(at)[each, labels].sum())
        if best is None or inertia < best.inertia:
            best = Run(inertia, labels, at, n_iter)
    return best


def _fill_empty(labels: NDArray[np.int64], cost: NDArray[np.float64]) -> None:
    """Give each empty group the component that costs most where it is, and violates nothing."""
    size = np.bincount(labels, minlength=cost.shape[1])
    if size.all():
        return
    own = cost[np.arange(len(cost)), labels]
    for group in np.flatnonzero(size == 0):
        gain = np.where(size[labels] > 1, own, 0.0)
        farthest = int(gain.argmax())
        if gain[farthest] <= 0:
            return
        size[labels[farthest]] -= 1
        size[group], labels[farthest], own[farthest] = 1, group, 0.0
