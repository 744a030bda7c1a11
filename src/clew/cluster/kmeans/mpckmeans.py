"""MPCKMeans: k-means in which violated answers cost something and teach what is far."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
from clew.cluster._n_groups import warn_of_fewer_groups
from clew.cluster.kmeans._learned_metrics import LearnedMetrics, costs_at
from clew.cluster.kmeans._soft import answers_of, best_start
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.metrics import n_violated

__all__ = ["MPCKMeans"]


class MPCKMeans(ConstrainedClusterer):
    """PCKMeans that learns a metric too: which features, or directions, tell the groups apart.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of groups.
    metric : {"diagonal", "full"}, default="diagonal"
        Whether a metric weighs features, or has a whole matrix.
    per_cluster : bool, default=False
        Whether each group has its own metric. One for all needs fewer rows and answers.
    weight : float, default=0.1
        Price of violated answers beside distances. It has no unit: distances are in units of the
        learned spread. The paper takes 1, which wrong answers upset.
    ridge : float, default=0.1
        Variance added to each direction, in units of the mean variance of the features, each
        divided by its range. It keeps metrics positive definite where groups are flat.
    n_init : int, default=4
        Number of starts; the one with the lowest objective is kept. The first and every second
        one after it are from what must-links join, the others are those of k-means++.
    max_iter : int, default=100
        Rounds of each start at most.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of the order in which rows are assigned.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row.
    n_violated_ : int
        Must-links between groups and cannot-links within them, whatever their weights.
    objective_ : float
        Squared distances from the centers less log determinants of the metrics, and the prices
        of violated answers. It has no unit: features are divided by their ranges. Starts compare
        by it.
    metrics_ : ndarray of shape (n_metrics, n_features) or (n_metrics, n_features, n_features)
        Diagonals or matrices A of the squared distance (x − z)ᵀ A (x − z), in inverse squared
        units of the features: one, or one for each group.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means. Groups that have no rows are left out.
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InvalidDataError
        If the range of a feature is below 10⁻¹⁵⁰ or above 10¹⁵³, but not 0: metrics are in inverse
        squared units, and would be beyond what numbers can hold.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because fewer rows differ, or because answers
        hold rows together and one more group would not pay.

    Notes
    -----
    Soft: answers may be violated, and contradict each other. The weight of an answer multiplies
    its price; one of weight 0 counts for nothing, nor does don't-know. A violated must-link costs
    the more the farther its rows are apart, a violated cannot-link the more the nearer they are.

    Features are divided by their ranges first, so that their units do not matter. A row far out
    in a feature makes all else there look alike, and the feature count for less.

    The farthest pair of rows under a metric is found by steps from a row to the one farthest from
    it, which may miss the very farthest, and costs O(N·d) in place of O(N²·d).

    Time for each round of a start O(N·d·K + A·d) with diagonals and O((N + A)·d²·K + d³·K) with
    matrices, for A answers. Memory O(N·(d + K) + A·(d + K)), and K·d² for matrices.

    References
    ----------
    M. Bilenko, S. Basu and R. Mooney, "Integrating constraints and metric learning in
    semi-supervised clustering", ICML 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import MPCKMeans
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=100, random_state=0)
    >>> MPCKMeans(3, random_state=0).fit(X, constraints=c).metrics_.shape
    (1, 4)
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("diagonal", "full")),
        "per_cluster": Allowed(kind=bool),
        "weight": Allowed(kind=float, low=0, high_open=True),
        "ridge": Allowed(kind=float, low=0, low_open=True, high_open=True),
        "n_init": Allowed(kind=int, low=1),
        "max_iter": Allowed(kind=int, low=1),
    }

    cluster_centers_: NDArray[np.float64]
    metrics_: NDArray[np.float64]
    objective_: float
    n_iter_: int
    _units: Units
    _centers: NDArray[np.float64]
    _metrics: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Literal["diagonal", "full"] = "diagonal",
        per_cluster: bool = False,
        weight: float = 0.1,
        ridge: float = 0.1,
        n_init: int = 4,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.per_cluster = per_cluster
        self.weight = weight
        self.ridge = ridge
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
        """Find the groups and the metrics.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
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
        features = check_features(self, X)
        n = len(features)
        check_n_clusters(self, n)
        known = answers_for(self, constraints, n)
        units = Units.of_ranges(features)
        inside, answers = units.inside(features), answers_of(known)

        def new_space() -> LearnedMetrics:
            return LearnedMetrics(
                inside, answers, self.weight, self.ridge, self.n_clusters,
                is_full=self.metric == "full", is_per_group=bool(self.per_cluster),
            )  # fmt: skip

        seeds = derived_seeds(self.random_state, self.n_init)
        run, space = best_start(
            inside, known, new_space, self.n_clusters, self.max_iter, seeds, callback
        )
        groups, labels = np.unique(run.labels, return_inverse=True)
        self.labels_, self.n_violated_ = labels, n_violated(labels, known)
        self._units, self._centers = units, run.centers[groups]
        self._metrics = space.metrics[groups] if self.per_cluster else space.metrics
        self.cluster_centers_ = units.outside(self._centers)
        self.metrics_ = units.metrics_outside(self._metrics)
        self.objective_, self.n_iter_ = run.objective, run.n_iter
        warn_of_fewer_groups(self, labels, features)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give new rows the group that costs least; answers say nothing about new rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            By squared distance under the group's metric, less its log determinant. For the
            fitted rows this is `labels_` only where no answer led elsewhere.
        """
        check_is_fitted(self, "labels_")
        inside = self._units.inside(check_features(self, X, reset=False))
        return np.asarray(costs_at(inside, self._centers, self._metrics).argmin(axis=1))
