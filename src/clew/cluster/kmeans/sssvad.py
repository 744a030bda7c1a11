"""SSSVaD: k-means with a weighting of features for each group, learned from comparisons."""

from __future__ import annotations

from typing import Any, ClassVar, Self

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
from clew.cluster.kmeans._weighted_features import (
    Comparisons,
    WeighedRun,
    distances,
    weigh_and_group,
)
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.metrics import n_violated
from clew.similarity._comparisons import inequalities_or_refusal

__all__ = ["SSSVaD"]


class SSSVaD(ConstrainedClusterer):
    """Semi-supervised spatially variant dissimilarity: k-means that weighs features by group.

    Each group weighs the features by how little its rows spread in them, and so that distances
    from its rows are as people compared them.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of groups.
    weight : float, default=10.0
        Price of a comparison that does not hold, for each unit by which the one squared distance
        exceeds the other; a unit of squared distance from a center costs 1.
    power : float, default=2.0
        A feature counts by this power of its share in a group, above 1; near 1 few features
        count, and for large ones all count alike.
    ridge : float, default=0.1
        Variance added to each feature in each group, in units of the mean variance of the features
        that have any: no feature gets all the weight because a group does not vary in it.
    n_init : int, default=10
        Number of starts, by k-means++; the one with the lowest objective is kept.
    max_iter : int, default=100
        Rounds of each start at most.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row.
    n_violated_ : int
        Answers that the groups go against, see `clew.metrics.n_violated`.
    shares_ : ndarray of shape (n_groups, n_features)
        Share of each feature, divided by its range, in each group; rows add up to 1.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means. Groups that have no rows are left out.
    objective_ : float
        Squared distances from centers, and the price of comparisons that do not hold; with each
        feature divided by its range.
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    UnsupportedConstraintError
        If there are pairs, or odd-one-out answers "none differs", which compare no distances.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InvalidDataError
        If the range of a feature is too large or too small to compute with.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because fewer rows differ.

    See Also
    --------
    MPCKMeans : K-means with learned metrics, from pairs.

    Notes
    -----
    Rebuilt: the paper could not be had. Known of it are the abstract (a spatially variant
    dissimilarity and compact clusters are learned at once, from comparisons "x is closer to y
    than to z") and the unsupervised measure it extends, with a share of each feature in each
    group. How violated comparisons enter is clew's reading: a comparison is judged by the
    weights of the group of x, and costs what its first squared distance exceeds the second. Shares
    start from what all rows and comparisons would give a single group.

    Soft: comparisons may fail, and contradict each other. A triplet makes one comparison, an odd
    one out two, each of the weight of the answer. Don't-knows say nothing. Each feature is divided
    by its range first, so its unit does not matter. No round raises the objective.

    Time O((N + A)·d·K) for each round of a start, for A answers. Memory O((N + A)·(d + K)).

    References
    ----------
    N. Kumar and K. Kummamuru, "Semisupervised clustering with metric learning using relative
    comparisons", IEEE TKDE 20(4), 2008. K. Kummamuru, R. Krishnapuram and R. Agrawal, "Learning
    spatially variant dissimilarity (SVaD) measures", KDD 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import SSSVaD
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_triplets([(0, 1, 60), (70, 80, 120)], [0, 0], n_samples=150)
    >>> SSSVaD(3, random_state=0).fit(X, constraints=c).shares_.shape
    (3, 4)
    """

    supports: ClassVar[Support] = Support(triplets=True, odd_one_out=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "weight": Allowed(kind=float, low=0, high=1e6),
        "power": Allowed(kind=float, low=1, low_open=True, high=100),
        "ridge": Allowed(kind=float, low=0, low_open=True, high_open=True),
        "n_init": Allowed(kind=int, low=1),
        "max_iter": Allowed(kind=int, low=1),
    }

    cluster_centers_: NDArray[np.float64]
    shares_: NDArray[np.float64]
    objective_: float
    n_iter_: int
    _units: Units
    _centers: NDArray[np.float64]
    _weights: NDArray[np.float64]
    _floor: float

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float = 10.0,
        power: float = 2.0,
        ridge: float = 0.1,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.power = power
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
        """Find the groups and the weights of features.

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
        check_n_clusters(self, len(features))
        known = answers_for(self, constraints, len(features))
        relations = inequalities_or_refusal(self, known)
        units = Units.of_ranges(features)
        inside = units.inside(features)
        comparisons = Comparisons.of(inside, relations, float(self.weight))
        variances = inside.var(axis=0)
        floor = float(self.ridge * (variances[variances > 0].mean() if variances.any() else 1.0))
        best = self._best_start(inside, comparisons, floor, callback)
        groups, labels = np.unique(best.labels, return_inverse=True)
        self.labels_, self.n_violated_ = labels, n_violated(labels, known)
        self.shares_, self._units = best.shares[groups], units
        self._centers, self._weights = best.centers[groups], self.shares_**self.power
        self._floor = floor
        self.cluster_centers_ = units.outside(self._centers)
        self.objective_, self.n_iter_ = best.objective, best.n_iter
        warn_of_fewer_groups(self, labels, features)
        return self

    def _best_start(
        self,
        inside: NDArray[np.float64],
        comparisons: Comparisons,
        floor: float,
        callback: Progress | None,
    ) -> WeighedRun:
        """Start often, and keep the lowest objective."""
        runs = []
        for seed in derived_seeds(self.random_state, self.n_init):
            run = weigh_and_group(
                inside, comparisons, self.n_clusters, self.power, floor, self.max_iter, seed
            )
            runs.append(run)
            if callback is not None:
                callback(len(runs), self.n_init)
        return min(runs, key=lambda run: run.objective)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give new rows the group of the nearest center; answers say nothing about new rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            By the weights of each group. For the fitted rows this is `labels_` only where no
            answer led elsewhere.
        """
        check_is_fitted(self, "labels_")
        inside = self._units.inside(check_features(self, X, reset=False))
        cost = distances(inside, self._centers, self._weights)
        return np.asarray((cost + self._floor * self._weights.sum(axis=1)).argmin(axis=1))
