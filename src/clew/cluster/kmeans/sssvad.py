"""SSSVaD: k-means with feature weights for each group, learned from triplets."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer
from clew._parallel import Progress
from clew._units import Units
from clew._validation import Allowed, RandomState, check_features, check_n_clusters, derived_seeds
from clew.cluster._kmeans import (
    Means,
    best_start,
    costliest_row,
    fill_empty,
    group_means,
    plus_plus,
    warn_of_fewer_groups,
)
from clew.constraints import Constraints, Support
from clew.constraints._meanings import Relations, inequalities_or_refusal
from clew.kernels.means import add_groups
from clew.metrics import n_violated

__all__ = ["SSSVaD"]


Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
#: Steps that improve the weights of a group in each iteration, and halvings of each step.
MAX_STEPS, MAX_HALVINGS = 10, 8


class SSSVaD(ConstrainedClusterer):
    """K-means in which each group weighs the features (spatially variant dissimilarity).

    The weights of a group are high for features in which its rows vary little, and are adjusted so
    that distances from its rows agree with triplets and odd-one-out answers.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    penalty : float, default=10.0
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
        "penalty": Allowed(kind=float, low=0, high=1e6),
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
        n_clusters: int,
        *,
        penalty: float = 10.0,
        power: float = 2.0,
        ridge: float = 0.1,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.power = power
        self.ridge = ridge
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        check_n_clusters(self, len(X))
        relations = inequalities_or_refusal(self, known)
        units = Units.of_ranges(X)
        scaled = units.scale(X)
        comparisons = Comparisons.of(scaled, relations, float(self.penalty))
        variances = scaled.var(axis=0)
        floor = float(self.ridge * (variances[variances > 0].mean() if variances.any() else 1.0))
        best = self._best_run(scaled, comparisons, floor, callback)
        groups, labels = np.unique(best.labels, return_inverse=True)
        self.labels_, self.n_violated_ = labels, n_violated(labels, known)
        self.shares_, self._units = best.shares[groups], units
        self._centers, self._weights = best.centers[groups], self.shares_**self.power
        self._floor = floor
        self.cluster_centers_ = units.unscale(self._centers)
        self.objective_, self.n_iter_ = best.objective, best.n_iter
        warn_of_fewer_groups(self, labels, X)

    def _best_run(
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


class Comparisons(NamedTuple):
    """Comparisons of the distances from one row, the anchor, to two other rows."""

    anchor: Labels
    """The row that is compared with two others, (n_comparisons,)."""
    gap: Floats
    """Squared difference to the row that should be nearer minus that to the other row, for each
    feature, (n_comparisons, n_features). A comparison is violated if its weighted sum is above 0.
    """
    penalty: Floats
    """Penalty for each unit of that sum, (n_comparisons,)."""

    @classmethod
    def of(cls, X: Floats, relations: Relations, penalty: float) -> Self:
        """Make comparisons from answers about three rows."""
        near, far = relations.near, relations.far
        is_anchor = (near[:, :1] == far) | (near[:, 1:] == far)
        anchor = far[is_anchor]
        gap = (X[near[:, 0]] - X[near[:, 1]]) ** 2 - (X[far[:, 0]] - X[far[:, 1]]) ** 2
        return cls(anchor, gap, relations.weight * penalty)

    def costs(self, weights: Floats, n_rows: int) -> Floats:
        """Return the penalties of each row as an anchor in each group, (n_rows, n_groups)."""
        violation = np.maximum(self.gap @ weights.T, 0.0) * self.penalty[:, None]
        cost = np.zeros((n_rows, len(weights)))
        add_groups(violation, np.ones(len(violation)), self.anchor, cost, np.zeros(n_rows))
        return cost


class WeightedRun(NamedTuple):
    """The result of one start."""

    objective: float
    labels: Labels
    centers: Floats
    shares: Floats
    """Share of each feature in each group, (n_groups, n_features); each row sums to 1."""
    n_iter: int


def distances(X: Floats, centers: Floats, weights: Floats) -> Floats:
    """Weighted squared distance of each row from each center, (n_rows, n_groups)."""
    found = (X * X) @ weights.T - 2.0 * X @ (weights * centers).T
    found += (weights * centers * centers).sum(axis=1)
    return np.maximum(found, 0.0, out=found)


def descend_with_weights(
    X: Floats,
    comparisons: Comparisons,
    n_groups: int,
    power: float,
    floor: float,
    max_iter: int,
    seed: int,
) -> WeightedRun:
    """Assign rows, move centers and weigh features in turn, until no row changes its group."""
    n = len(X)
    centers, shares = _start(X, comparisons, n_groups, power, floor, seed)
    labels, n_iter, each = np.full(n, -1), 0, np.arange(n)
    for _ in range(max_iter):
        n_iter += 1
        before = labels
        cost = _costs(X, comparisons, centers, shares**power, floor)
        labels = cost.argmin(axis=1)
        own = cost[each, labels]
        fill_empty(labels, n_groups, costliest_row(labels, own, float(own.min())))
        if np.array_equal(labels, before):
            break
        centers = group_means(X, np.ones(n), labels, centers)
        scatter = _scatter(X, labels, centers, floor)
        for group in np.unique(labels):
            mine = labels[comparisons.anchor] == group
            gap, penalty = comparisons.gap[mine], comparisons.penalty[mine]
            shares[group] = _improved_shares(shares[group], scatter[group], gap, penalty, power)
    cost = _costs(X, comparisons, centers, shares**power, floor)
    objective = float(cost[each, labels].sum())
    return WeightedRun(objective, labels, centers, shares, n_iter)


def _start(
    X: Floats, comparisons: Comparisons, n_groups: int, power: float, floor: float, seed: int
) -> tuple[Floats, Floats]:
    """Weigh features as if all rows were one group, and draw centers under these weights."""
    n, n_features = X.shape
    scatter = ((X - X.mean(axis=0)) ** 2 + floor).sum(axis=0)
    even = np.full(n_features, 1.0 / n_features)
    shares = _improved_shares(even, scatter, comparisons.gap, comparisons.penalty, power)
    scale = shares ** (0.5 * power)
    scaled = Means(X * scale, np.arange(n))
    centers = plus_plus(scaled, n_groups, np.random.RandomState(seed))
    # A feature of weight 0 cannot be scaled back: its centers start at the mean.
    centers = np.divide(centers, scale, out=np.tile(X.mean(axis=0), (n_groups, 1)), where=scale > 0)
    return centers, np.tile(shares, (n_groups, 1))


def _costs(
    X: Floats, comparisons: Comparisons, centers: Floats, weights: Floats, floor: float
) -> Floats:
    """Return the cost of each row in each group: distance from the center, and penalties."""
    cost = distances(X, centers, weights) + comparisons.costs(weights, len(X))
    cost += floor * weights.sum(axis=1)
    return cost


def _scatter(X: Floats, labels: Labels, centers: Floats, floor: float) -> Floats:
    """Sum squared differences of rows from their centers, for each group and feature."""
    scatter = np.zeros_like(centers)
    squares = (X - centers[labels]) ** 2 + floor
    add_groups(squares, np.ones(len(X)), labels, scatter, np.zeros(len(centers)))
    return scatter


def _improved_shares(
    shares: Floats, scatter: Floats, gap: Floats, penalty: Floats, power: float
) -> Floats:
    """Change the shares of a group so that its cost falls, by halved steps."""
    least = float(scatter.min()) * 1e-3

    def cost(tried: Floats) -> float:
        weights = tried**power
        return float(weights @ scatter + penalty @ np.maximum(gap @ weights, 0.0))

    now = cost(shares)
    for _ in range(MAX_STEPS):
        is_violated = gap @ shares**power > 0
        total = np.maximum(scatter + penalty[is_violated] @ gap[is_violated], least)
        best = (total / total.min()) ** (-1.0 / (power - 1.0))
        step = best / best.sum() - shares
        tries = (shares + step / 2.0**halving for halving in range(MAX_HALVINGS))
        found = next(((c, t) for t in tries if (c := cost(t)) < now * (1.0 - 1e-9)), None)
        if found is None:
            break
        now, shares = found
    return shares
