"""SSSVaD: k-means with feature weights for each group, learned from triplets."""

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
from clew.cluster._starts import best_start
from clew.cluster.kmeans._weighted_features import (
    Comparisons,
    WeightedRun,
    descend_with_weights,
    distances,
)
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.metrics import n_violated
from clew.similarity._comparisons import inequalities_or_refusal

__all__ = ["SSSVaD"]


class SSSVaD(ConstrainedClusterer):
    """K-means in which each group weighs the features (spatially variant dissimilarity).

    The weights of a group are high for features in which its rows vary little, and are adjusted so
    that distances from its rows agree with triplets and odd-one-out answers.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of groups.
    weight : float, default=10.0
        Penalty of a violated comparison, for each unit by which the squared distance that should
        be smaller exceeds the other. A unit of squared distance from a center costs 1.
    power : float, default=2.0
        The weight of a feature is its share in the group to this power, above 1. Near 1 few
        features have all the weight; with a large power all features weigh alike.
    ridge : float, default=0.1
        Variance added to each feature in each group, as a share of the mean variance of the
        features that vary. It keeps a feature in which a group does not vary from taking all the
        weight.
    n_init : int, default=10
        Number of starts from k-means++; the one with the lowest objective is kept.
    max_iter : int, default=100
        Maximum number of iterations of each start.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row.
    n_violated_ : int
        Number of answers that the groups violate, see `clew.metrics.n_violated`.
    shares_ : ndarray of shape (n_groups, n_features)
        Share of each feature in each group, for features divided by their ranges; each row sums
        to 1.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means. Empty groups are left out.
    objective_ : float
        Sum of weighted squared distances of rows from their centers and of the penalties of
        violated comparisons, for features divided by their ranges.
    n_iter_ : int
        Number of iterations of the best start.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    UnsupportedConstraintError
        If there are pairs, or odd-one-out answers "all alike", which compare no distances.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InvalidDataError
        If the range of a feature is above 10¹⁵³, or below 10⁻¹⁵⁰ but not 0.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because there are fewer different rows.

    See Also
    --------
    MPCKMeans : K-means with learned metrics, from pairs.

    Notes
    -----
    A reconstruction, because the full paper of Kumar and Kummamuru was not available. Its abstract
    states that compact clusters and a spatially variant dissimilarity are learned together from
    comparisons "x is closer to y than to z"; the unsupervised measure that it extends has a share
    of each feature in each group. The treatment of violated comparisons is clew's own: a
    comparison uses the weights of the group of x, and its penalty is proportional to the excess of
    the first squared distance over the second. Initial shares are those of a single group of all
    rows and comparisons.

    Answers are soft constraints: they may be violated, and may contradict each other. A triplet
    makes one comparison and an odd-one-out answer two, each with the weight of the answer.
    Don't-knows are ignored. Features are divided by their ranges first, so results do not depend on
    their units. No iteration raises the objective.

    Time O((N + A)·d·K) for each iteration, for A answers. Memory O((N + A)·(d + K)).

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
            Triplets and odd-one-out answers; None for no answers.
        callback : callable, default=None
            Called after each start with the number of finished starts and `n_init`.

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
        scaled = units.scale(features)
        comparisons = Comparisons.of(scaled, relations, float(self.weight))
        variances = scaled.var(axis=0)
        floor = float(self.ridge * (variances[variances > 0].mean() if variances.any() else 1.0))
        best = self._solve(scaled, comparisons, floor, callback)
        groups, labels = np.unique(best.labels, return_inverse=True)
        self.labels_, self.n_violated_ = labels, n_violated(labels, known)
        self.shares_, self._units = best.shares[groups], units
        self._centers, self._weights = best.centers[groups], self.shares_**self.power
        self._floor = floor
        self.cluster_centers_ = units.unscale(self._centers)
        self.objective_, self.n_iter_ = best.objective, best.n_iter
        warn_of_fewer_groups(self, labels, features)
        return self

    def _solve(
        self,
        scaled: NDArray[np.float64],
        comparisons: Comparisons,
        floor: float,
        callback: Progress | None,
    ) -> WeightedRun:
        """Return the best of all starts."""
        best = best_start(
            lambda seed: descend_with_weights(
                scaled, comparisons, self.n_clusters, self.power, floor, self.max_iter, seed
            ),
            derived_seeds(self.random_state, self.n_init),
            lambda run: run.objective,
            callback,
        )
        assert best is not None  # n_init is at least 1, and no start fails
        return best

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign rows to the group of the nearest center; answers are not used.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            Distances are under the weights of each group. For a fitted row the group differs from
            `labels_` where answers moved the row to a group with a farther center.
        """
        check_is_fitted(self, "labels_")
        scaled = self._units.scale(check_features(self, X, reset=False))
        cost = distances(scaled, self._centers, self._weights)
        return np.asarray((cost + self._floor * self._weights.sum(axis=1)).argmin(axis=1))
