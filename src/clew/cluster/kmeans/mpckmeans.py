"""MPCKMeans: k-means with penalties for violated answers and a learned metric."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer
from clew._parallel import Progress
from clew._units import Units
from clew._validation import Allowed, RandomState, check_features, check_n_clusters, derived_seeds
from clew.cluster._kmeans import warn_of_fewer_groups
from clew.cluster.kmeans._soft import WeightedPairs, best_soft_run, weighted_pairs
from clew.constraints import Constraints, Support
from clew.metrics import n_violated

__all__ = ["MPCKMeans"]


#: Steps in the search for the two rows farthest apart; each goes to the row farthest from the last.
N_STEPS = 4


class MPCKMeans(ConstrainedClusterer):
    """PCKMeans with a learned metric, which weighs the features that separate the groups.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    diagonal : bool, default=True
        Whether a metric is one weight for each feature, or a full matrix.
    per_cluster : bool, default=False
        Whether each group has its own metric. A common metric needs fewer rows and answers.
    penalty : float, default=0.1
        Factor of the penalties. It has no unit, because distances are relative to the learned
        variances. The paper uses 1, with which wrong answers do more harm.
    ridge : float, default=0.1
        Variance added to each direction, as a share of the mean variance of the features that
        vary, each divided by its range. It keeps metrics finite if a group does not vary in some
        direction.
    n_init : int, default=4
        Number of starts; the one with the lowest objective is kept. The first, third and so on
        start from the means of must-link components, the others from k-means++.
    max_iter : int, default=100
        Maximum number of iterations of each start.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of the order in which rows are assigned.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row.
    n_violated_ : int
        Number of must-links between groups and cannot-links within groups, of any weight.
    objective_ : float
        Sum over rows of the squared distance from the center minus the log determinant of the
        metric, plus the penalties of violated answers; for features divided by their ranges.
    metrics_ : ndarray of shape (n_metrics, n_features) or (n_metrics, n_features, n_features)
        Diagonals or full matrices A of the squared distance (x − z)ᵀ A (x − z), in inverse squared
        units of the features. `n_metrics` is `n_groups` with `per_cluster`, otherwise 1.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means. Empty groups are left out.
    n_iter_ : int
        Number of iterations of the best start.
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
        If the range of a feature is above 10¹⁵³, or below 10⁻¹⁵⁰ but not 0: metrics, in inverse
        squared units, would overflow.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because there are fewer different rows, or
        because splitting rows joined by must-links would raise the objective.

    See Also
    --------
    PCKMeans : The same without a learned metric.
    SSSVaD : Weights of features for each group, from triplets.

    Notes
    -----
    Answers are soft constraints: they may be violated, and may contradict each other. The penalty
    of an answer is multiplied by its weight; answers of weight 0 and don't-knows are ignored. The
    penalty of a violated must-link grows with the distance between its rows; that of a violated
    cannot-link shrinks with it.

    Features are divided by their ranges first, so results do not depend on their units. An outlier
    enlarges the range of a feature, and so lowers the influence of that feature.

    The largest squared distance, from which the penalty of a cannot-link is measured, is found
    approximately: from a row far from the mean, the search steps four times to the row farthest
    from the last one, in O(N·d) instead of O(N²·d).

    Time for each iteration, for A answers: O((N + A)·d·K) with diagonals and
    O((N + A)·d²·K + d³·K) with full matrices. Memory O((N + A)·(d + K)), and O(d²·K) for full
    matrices.

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
        "diagonal": Allowed(kind=bool),
        "per_cluster": Allowed(kind=bool),
        "penalty": Allowed(kind=float, low=0, high_open=True),
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
        n_clusters: int,
        *,
        diagonal: bool = True,
        per_cluster: bool = False,
        penalty: float = 0.1,
        ridge: float = 0.1,
        n_init: int = 4,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.diagonal = diagonal
        self.per_cluster = per_cluster
        self.penalty = penalty
        self.ridge = ridge
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        check_n_clusters(self, len(X))
        units = Units.of_ranges(X)
        scaled, pairs = units.scale(X), weighted_pairs(known)

        def new_model() -> LearnedMetrics:
            return LearnedMetrics(
                scaled, pairs, self.penalty, self.ridge, self.n_clusters,
                is_full=not self.diagonal, is_per_group=bool(self.per_cluster),
            )  # fmt: skip

        seeds = derived_seeds(self.random_state, self.n_init)
        run, model = best_soft_run(
            scaled, known, new_model, self.n_clusters, self.max_iter, seeds, callback
        )
        groups, labels = np.unique(run.labels, return_inverse=True)
        self.labels_, self.n_violated_ = labels, n_violated(labels, known)
        self._units, self._centers = units, run.centers[groups]
        self._metrics = model.metrics[groups] if self.per_cluster else model.metrics
        self.cluster_centers_ = units.unscale(self._centers)
        self.metrics_ = units.unscale_metrics(self._metrics)
        self.objective_, self.n_iter_ = run.objective, run.n_iter
        warn_of_fewer_groups(self, labels, X)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign rows to the group of lowest cost; answers are not used.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            The cost is the squared distance from the center under the group's metric, minus the
            metric's log determinant. For a fitted row the group differs from `labels_` where
            answers moved the row to a group of higher cost.
        """
        check_is_fitted(self, "labels_")
        scaled = self._units.scale(check_features(self, X, reset=False))
        return np.asarray(costs_at(scaled, self._centers, self._metrics).argmin(axis=1))


class LearnedMetrics:
    """Squared distances and penalties under metrics (n_metrics, n_features[, n_features])."""

    def __init__(
        self,
        X: NDArray[np.float64],
        pairs: WeightedPairs,
        penalty: float,
        ridge: float,
        n_groups: int,
        *,
        is_full: bool,
        is_per_group: bool,
    ) -> None:
        self._X, self._pairs, self._n_groups = X, pairs, n_groups
        self._weight = penalty * pairs.weight
        self._between = X[pairs.rows[:, 0]] - X[pairs.rows[:, 1]]
        variances = X.var(axis=0)
        varies = variances > 0
        variance = float(variances[varies].mean()) if varies.any() else 1.0
        self._floor = ridge * variance
        n_features = X.shape[1]
        one = np.eye(n_features) if is_full else np.ones(n_features)
        # The learned metrics are inverse variances too.
        self.metrics = np.repeat(one[None] / variance, n_groups if is_per_group else 1, axis=0)
        self._outlier = X[np.einsum("ij,ij->i", X, X).argmax()]
        self._measure()

    def distances(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared distance of each row from each center, minus the metric's log det."""
        return costs_at(self._X, centers, self.metrics)

    def cost_at_center(self, group: int) -> float:
        """Return the cost of a row that is the center of a group: minus the metric's log det."""
        return -log_det(self.metrics[group % len(self.metrics)])

    def penalties(self) -> NDArray[np.float64]:
        """Return the penalty of each pair in each group, half for a must-link."""
        is_must = self._pairs.lists.is_must[:, None]
        penalty = np.where(is_must, 0.5 * self._squared, self._largest - self._squared)
        penalty *= self._weight[:, None]
        return np.repeat(penalty, self._n_groups // len(self.metrics), axis=1)

    def learn(self, labels: NDArray[np.int64], centers: NDArray[np.float64]) -> None:
        """Learn metrics from the groups and from the answers that they violate."""
        residual = self._X - centers[labels]
        first, second = labels[self._pairs.rows].T
        is_must, is_apart = self._pairs.lists.is_must, first != second
        if len(self.metrics) == 1:  # one metric is learned as if all rows were in group 0
            labels, first, second = (np.zeros_like(groups) for groups in (labels, first, second))
        metrics = self.metrics.copy()
        for number in np.unique(labels):
            ends = (first == number).astype(np.float64) + (second == number)
            by_must_links = 0.5 * ends * self._weight * (is_must & is_apart)
            by_cannot_links = self._weight * (~is_must & ~is_apart & (first == number))
            inside = residual[labels == number]
            scatter = self._outer(inside, np.ones(len(inside)))
            scatter += self._outer(self._between, by_must_links - by_cannot_links)
            far = self._far[number : number + 1]
            scatter += self._outer(far, by_cannot_links.sum(keepdims=True))
            metrics[number] = inverse_scatter(scatter / len(inside), self._floor)
        self.metrics = metrics
        self._measure()

    def _measure(self) -> None:
        """Compute squared distances of pairs, and of the farthest rows, under the new metrics."""
        self._squared = np.column_stack([squares(self._between, metric) for metric in self.metrics])
        self._far = np.array([self._farthest_difference(metric) for metric in self.metrics])
        far = [squares(self._far[k : k + 1], metric) for k, metric in enumerate(self.metrics)]
        self._largest = np.concatenate(far)

    def _farthest_difference(self, metric: NDArray[np.float64]) -> NDArray[np.float64]:
        """Search for the two rows farthest apart, and return their difference."""
        here, most = self._outlier, 0.0
        best: NDArray[np.float64] = np.zeros_like(here)
        for _ in range(N_STEPS):
            away = squares(self._X - here, metric)
            there = self._X[away.argmax()]
            if away.max() > most:
                best, most = there - here, float(away.max())
            here = there
        # The search may miss the farthest rows, and a penalty must not be negative.
        own = squares(self._between, metric)
        if len(own) and own.max() > most:
            best = self._between[own.argmax()]
        return best

    def _outer(self, rows: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum weighted squares of rows, or weighted outer products for full matrices."""
        weighted = weight[:, None] * rows
        is_full = self.metrics.ndim == 3
        return np.asarray(weighted.T @ rows if is_full else (weighted * rows).sum(axis=0))


def costs_at(
    X: NDArray[np.float64], centers: NDArray[np.float64], metrics: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distance of rows from centers, minus the metric's log det, (n_rows, n_groups)."""
    cost = np.empty((len(X), len(centers)))
    for group, center in enumerate(centers):
        metric = metrics[group % len(metrics)]
        cost[:, group] = squares(X - center, metric) - log_det(metric)
    return cost


def squares(rows: NDArray[np.float64], metric: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the squared length of each row under a diagonal or full metric."""
    if metric.ndim == 1:
        return np.asarray((rows * rows) @ metric)
    return np.asarray(np.einsum("ij,ij->i", rows @ metric, rows))


def log_det(metric: NDArray[np.float64]) -> float:
    """Compute the log determinant of a diagonal or full metric."""
    return float(np.log(metric).sum() if metric.ndim == 1 else np.linalg.slogdet(metric)[1])


def inverse_scatter(scatter: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Invert scatter, (n_features,) or a matrix; negative eigenvalues are set to 0 first."""
    if scatter.ndim == 1:
        return np.asarray(1.0 / (np.maximum(scatter, 0.0) + floor))
    value, vector = np.linalg.eigh(scatter)
    return np.asarray((vector / (np.maximum(value, 0.0) + floor)) @ vector.T)
