"""PCKMeans: k-means with a penalty for each violated answer."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer
from clew._parallel import Progress
from clew._units import Units
from clew._validation import Allowed, RandomState, check_features, check_n_clusters, derived_seeds
from clew.cluster._kmeans import Means, nearest_centers, plus_plus, warn_of_fewer_groups
from clew.cluster.kmeans._soft import WeightedPairs, best_soft_run, descend, weighted_pairs
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError
from clew.metrics import n_violated

__all__ = ["PCKMeans"]

#: Iterations of the unconstrained k-means that measures the mean cost of a row.
UNCONSTRAINED_ITERATIONS = 10
#: The largest `penalty`, in squares of the largest difference of a feature from its mean.
MAX_PENALTY = 1e150


class Euclidean:
    """Half the squared distance, and a constant penalty for each violated answer."""

    def __init__(self, means: Means, pairs: WeightedPairs, penalty: float, n_groups: int) -> None:
        self._means = means
        # Half for a must-link, whose penalty is added in both of its groups.
        per_row = np.where(pairs.lists.is_must, 0.5, 1.0) * pairs.weight * penalty
        self._penalties = np.repeat(per_row[:, None], n_groups, axis=1)

    def distances(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return half the squared distance of each row from each center."""
        return 0.5 * self._means.costs(centers)

    def cost_at_center(self, group: int) -> float:
        """Return the cost of a row that is a center: 0."""
        return 0.0

    def penalties(self) -> NDArray[np.float64]:
        """Return the penalty of each pair in each group."""
        return self._penalties

    def learn(self, labels: NDArray[np.int64], centers: NDArray[np.float64]) -> None:
        """Do nothing: distances are fixed."""


class PCKMeans(ConstrainedClusterer):
    """K-means with soft must-links and cannot-links: each violated answer adds a penalty.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    penalty : float or "auto", default="auto"
        Penalty of a violated answer of weight 1. A row costs half its squared distance from its
        center, so the penalty is in squared units of the features, as in the paper. "auto" takes
        the mean cost of a row in unconstrained k-means, which adapts to the units.
    n_init : int, default=10
        Number of starts; the one with the lowest objective is kept. The first, third, fifth and so
        on start from the means of must-link components, the others from k-means++.
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
        Sum of half the squared distances of rows from their centers and of the penalties of
        violated answers, in squared units of the features.
    penalty_ : float
        Penalty of a violated answer of weight 1, in squared units of the features.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means. Empty groups are left out.
    n_iter_ : int
        Number of iterations of the best start.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are more groups than rows, or `penalty` exceeds
        10¹⁵⁰ times the square of the largest difference of a feature from its mean.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because there are fewer different rows, or
        because splitting rows joined by must-links would raise the objective.

    See Also
    --------
    MPCKMeans : Learns a metric as well.
    COPKMeans : Hard answers.

    Notes
    -----
    Answers are soft constraints: they may be violated, and may contradict each other. The penalty
    of an answer is multiplied by its weight; answers of weight 0 and don't-knows are ignored. An
    answer given twice counts twice.

    Rows are reassigned one by one, in random order, to the group of lowest cost given the groups
    of all other rows (iterated conditional modes); then centers move to means. No step raises the
    objective.

    Time O(N·d·K + A·K) for each iteration, for A answers. Memory O(N·(d + K) + A·K).

    References
    ----------
    S. Basu, A. Banerjee and R. Mooney, "Active semi-supervision for pairwise constrained
    clustering", SDM 2004, section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import PCKMeans
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=100, error=0.1, random_state=0)
    >>> PCKMeans(3, random_state=0).fit(X, constraints=c).cluster_centers_.shape
    (3, 4)
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "penalty": Allowed(names=("auto",), kind=float, low=0, high_open=True),
        "n_init": Allowed(kind=int, low=1),
        "max_iter": Allowed(kind=int, low=1),
    }

    cluster_centers_: NDArray[np.float64]
    objective_: float
    penalty_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int,
        *,
        penalty: float | Literal["auto"] = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        n, n_groups = len(X), self.n_clusters
        check_n_clusters(self, n)
        units = Units.around_mean(X)
        scaled = units.scale(X)
        means, pairs = Means(scaled, np.arange(n)), weighted_pairs(known)
        seed, *seeds = derived_seeds(self.random_state, 1 + self.n_init)
        if self.penalty == "auto":
            penalty = _mean_cost(scaled, means, n_groups, seed)
        else:
            penalty = self._scaled_penalty(units)
        run, _ = best_soft_run(
            scaled, known, lambda: Euclidean(means, pairs, penalty, n_groups), n_groups,
            self.max_iter, seeds, callback,
        )  # fmt: skip
        groups, labels = np.unique(run.labels, return_inverse=True)
        self.labels_, self.n_violated_ = labels, n_violated(labels, known)
        self.cluster_centers_ = units.unscale(run.centers[groups])
        self.objective_ = units.unscale_squares(run.objective)
        self.penalty_ = units.unscale_squares(penalty)
        self.n_iter_ = run.n_iter
        warn_of_fewer_groups(self, labels, X)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign rows to the group of the nearest center; answers are not used.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            For a fitted row this differs from `labels_` where answers moved the row to a group
            with a farther center.
        """
        check_is_fitted(self, "labels_")
        return nearest_centers(check_features(self, X, reset=False), self.cluster_centers_)

    def _scaled_penalty(self, units: Units) -> float:
        """Convert `penalty` to the units of the computation."""
        penalty = float(self.penalty / units.unit / units.unit)
        if penalty > MAX_PENALTY:
            raise InvalidParameterError(
                f"PCKMeans(penalty={self.penalty!r}): penalty is in squared units of the features, "
                f"which differ from their means by at most {units.unit:.3g}, so it is too large "
                'to compute with. Use penalty="auto", or scale the features'
            )
        return penalty


def _mean_cost(X: NDArray[np.float64], means: Means, n_groups: int, seed: int) -> float:
    """Return the mean cost of a row in unconstrained k-means."""
    no_pairs, random = weighted_pairs(Constraints(len(X))), np.random.RandomState(seed)
    model = Euclidean(means, no_pairs, 0.0, n_groups)
    centers = plus_plus(means, n_groups, random)
    run = descend(X, no_pairs, model, centers, UNCONSTRAINED_ITERATIONS, random)
    return run.objective / len(X)
