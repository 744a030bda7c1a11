"""PCKMeans: k-means in which violated answers cost something."""

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
from clew.cluster._centers import Means, nearest_centers, plus_plus
from clew.cluster._n_groups import warn_of_fewer_groups
from clew.cluster.kmeans._soft import Answers, answers_of, best_start, descend
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.exceptions import InvalidParameterError
from clew.metrics import n_violated

__all__ = ["PCKMeans"]

#: Rounds of the k-means that tells how large distances are.
ROUNDS_WITHOUT_ANSWERS = 10
#: The largest price, in squares of the largest difference of a feature from its mean.
MAX_WEIGHT = 1e150


class Euclidean:
    """Half the squared distance, and a fixed price for each violated answer.

    Parameters
    ----------
    means : Means
        The rows.
    answers : Answers
        Must-links and cannot-links.
    weight : float
        Price of an answer of weight 1.
    n_groups : int
        Number of groups.
    """

    def __init__(self, means: Means, answers: Answers, weight: float, n_groups: int) -> None:
        self._means = means
        # A must-link pays in both of its groups.
        paid = np.where(answers.lists.is_must, 0.5, 1.0) * answers.weight * weight
        self._price = np.repeat(paid[:, None], n_groups, axis=1)

    def base(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give half the squared distance of each row from each center."""
        return 0.5 * self._means.costs(centers)

    def alone(self, group: int) -> float:
        """Give the cost of a row that is a center: none."""
        return 0.0

    def price(self) -> NDArray[np.float64]:
        """Give the price of each answer in each group."""
        return self._price

    def learn(self, labels: NDArray[np.int64], centers: NDArray[np.float64]) -> None:
        """Leave distances as they are."""


class PCKMeans(ConstrainedClusterer):
    """K-means in which every violated answer costs something: answers lead, and may be wrong.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of groups.
    weight : float or "auto", default="auto"
        Price of a violated answer of weight 1, beside half the squared distance of each row from
        its center. A number is in squared units of the features, as in the paper. "auto" does
        not depend on units: a violated answer costs what a row costs on average in k-means
        without answers, which is half its mean squared distance.
    n_init : int, default=10
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
        Half the squared distances from the centers, and the prices of violated answers.
    weight_ : float
        Price of a violated answer of weight 1, in squared units of the features.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means. Groups that have no rows are left out.
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are more groups than rows, or `weight` is beyond
        10¹⁵⁰ times the square of the largest difference of a feature from its mean.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because fewer rows differ, or because answers
        hold rows together and one more group would not pay.

    Notes
    -----
    Soft: answers may be violated, and contradict each other. The weight of an answer multiplies
    its price; one of weight 0 counts for nothing, nor does don't-know. An answer given twice
    counts twice.

    No step raises the objective: rows take the cheapest group one by one, in random order, given
    those of all others (iterated conditional modes), and centers move to means.

    Time O(N·d·K + A·K) for each round of a start, for A answers. Memory O(N·(d + K) + A·K).

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
        "weight": Allowed(names=("auto",), kind=float, low=0, high_open=True),
        "n_init": Allowed(kind=int, low=1),
        "max_iter": Allowed(kind=int, low=1),
    }

    cluster_centers_: NDArray[np.float64]
    objective_: float
    weight_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float | Literal["auto"] = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
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
        n, n_groups = len(features), self.n_clusters
        check_n_clusters(self, n)
        known = answers_for(self, constraints, n)
        units = Units.around_mean(features)
        inside = units.inside(features)
        means, answers = Means(inside, np.arange(n)), answers_of(known)
        seed, *seeds = derived_seeds(self.random_state, 1 + self.n_init)
        if self.weight == "auto":
            weight = _mean_cost(inside, means, n_groups, seed)
        else:
            weight = self._weight_inside(units)
        run, _ = best_start(
            inside, known, lambda: Euclidean(means, answers, weight, n_groups), n_groups,
            self.max_iter, seeds, callback,
        )  # fmt: skip
        groups, labels = np.unique(run.labels, return_inverse=True)
        self.labels_, self.n_violated_ = labels, n_violated(labels, known)
        self.cluster_centers_ = units.outside(run.centers[groups])
        self.objective_ = units.squared_outside(run.objective)
        self.weight_ = units.squared_outside(weight)
        self.n_iter_ = run.n_iter
        warn_of_fewer_groups(self, labels, features)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give new rows the group of the nearest center; answers say nothing about new rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            For the fitted rows this is `labels_` only where no answer led elsewhere.
        """
        check_is_fitted(self, "labels_")
        return nearest_centers(check_features(self, X, reset=False), self.cluster_centers_)

    def _weight_inside(self, units: Units) -> float:
        """Bring the weight into the units that are computed in."""
        weight = float(self.weight / units.unit / units.unit)
        if weight > MAX_WEIGHT:
            raise InvalidParameterError(
                f"PCKMeans(weight={self.weight!r}): weight is in squared units of the features, "
                f"which differ from their means by {units.unit:.3g} at most; beside that it is too "
                'large to compute with. Take weight="auto", or other units'
            )
        return weight


def _mean_cost(X: NDArray[np.float64], means: Means, n_groups: int, seed: int) -> float:
    """Measure what a row costs in k-means on average."""
    nothing, random = answers_of(Constraints(len(X))), np.random.RandomState(seed)
    space = Euclidean(means, nothing, 0.0, n_groups)
    centers = plus_plus(means, n_groups, random)
    run = descend(X, nothing, space, centers, ROUNDS_WITHOUT_ANSWERS, random)
    return run.objective / len(X)
