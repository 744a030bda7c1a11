"""ITML: the metric nearest to a given one that bounds the distances of pairs."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew._random import RandomState, derived_seeds
from clew._validation import Allowed
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError
from clew.similarity.log_det._distance_constraints import PairBounds, Skipped, percentile_bounds
from clew.similarity.log_det._pair_bounds import learn_from_pairs
from clew.similarity.metrics._base import Learned, LinearMetric

__all__ = ["ITML"]

Floats = NDArray[np.float64]
#: Directions in which rows vary by less than such a share of the largest variance are flat.
FLAT = 1e-10
#: How many times the mean variance bounds may be; what is beyond cannot be computed with.
SMALLEST, LARGEST = 1e-100, 1e100


class ITML(LinearMetric):
    """Information-theoretic metric learning: must-linked rows near, cannot-linked rows far apart.

    The learned metric is the nearest to a given one under which the squared distances of
    must-linked rows are below an upper bound, and those of cannot-linked rows above a lower one.

    Parameters
    ----------
    gamma : float, default=1.0
        Price of moving a bound, beside that of changing the metric; infinite where no bound moves.
    bounds : (upper, lower) or None, default=None
        Bounds of squared distances, in squared units of the features. None takes percentiles.
    percentiles : (low, high), default=(5, 95)
        Must-links stay below so many per cent of the squared distances of all rows under the given
        metric, cannot-links above; without meaning where there are `bounds`.
    prior : {"identity", "covariance"}, default="identity"
        The given metric: Euclidean, or the inverse covariance of the features (Mahalanobis).
    tol : float, default=1e-3
        By what share distances may miss their bounds, moved as they are.
    max_iter : int, default=1000
        Sweeps over the pairs at most.
    random_state : int, RandomState or None, default=None
        Samples the distances that percentiles are of, and orders the projections.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M: the squared distance of x and y is ``(x - y)ᵀ M (x - y)``.
    components_ : ndarray of shape (n_features, n_features)
        L with ``LᵀL = M``.
    embedding_ : ndarray of shape (n_samples, n_features)
        The fitted rows under L.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities of the embedding, see `AdaptiveKNN`; computed when asked for.
    bounds_ : tuple of float
        The upper and the lower bound, in squared units of the features.
    multipliers_ : ndarray of shape (n_pairs,)
        How hard each pair pulls; don't-knows, answers of weight 0 and skipped ones have none.
    skipped_ : list of (kind, answer, reason)
        Cannot-links between rows that coincide, by their position.
    duality_gap_ : float
        How far the objective may be above the least possible one, relative to that.
    n_iter_ : int
        Sweeps; 1 also where none was needed.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers; `Constraints.as_pairs` turns them into pairs.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InconsistentConstraintsError
        If `gamma` is infinite and answers contradict each other.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached.

    See Also
    --------
    SKMS : The same in the features of a kernel.
    SKLR : A kernel from comparisons of distances.

    Notes
    -----
    Soft: contradictory answers move each other's bounds. The weight of an answer multiplies
    `gamma` for it; don't-know says nothing. Without answers the metric is the given one.

    Time O(m·d²) a sweep for m answers, memory O(d² + m).

    References
    ----------
    J. V. Davis, B. Kulis, P. Jain, S. Sra and I. S. Dhillon, "Information-theoretic metric
    learning", ICML 2007, algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import ITML
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, 60, random_state=0)
    >>> weight = ITML(random_state=0).fit(X, constraints=c).metric_.diagonal()
    >>> int(weight.argmax())  # the width of petals tells the species
    3
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "gamma": Allowed(kind=float, low=0, low_open=True),
        "prior": Allowed(names=("identity", "covariance")),
        "tol": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
        "max_iter": Allowed(kind=int, low=1),
    }

    bounds_: tuple[float, float]
    multipliers_: Floats
    skipped_: list[Skipped]
    duality_gap_: float
    n_iter_: int

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        bounds: tuple[float, float] | None = None,
        percentiles: tuple[float, float] = (5.0, 95.0),
        prior: Literal["identity", "covariance"] = "identity",
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: RandomState = None,
    ) -> None:
        self.gamma = gamma
        self.bounds = bounds
        self.percentiles = percentiles
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(
        self, X: Floats, unit: float, known: Constraints, callback: Progress | None
    ) -> Learned:
        self._check_two("percentiles", self.percentiles, 100.0)
        sample, order = derived_seeds(self.random_state, 2)
        is_euclidean = self.prior == "identity"
        white = np.eye(X.shape[1]) if is_euclidean else _whitening(X)
        features = np.ascontiguousarray(X @ white)
        # Under the covariance, distances have no unit.
        with np.errstate(over="ignore"):
            square = float(np.square(unit)) if is_euclidean else 1.0
        if self.bounds is None:
            low, high = self.percentiles
            pair_bounds = percentile_bounds(features, low, high, sample)
        else:
            self._check_two("bounds", self.bounds, np.inf)
            pair_bounds = PairBounds(*(float(bound) / square for bound in self.bounds))
            if pair_bounds.upper < SMALLEST or pair_bounds.lower > LARGEST:
                raise InvalidParameterError(
                    f"ITML(bounds={self.bounds!r}): bounds must be within {SMALLEST:g} and "
                    f"{LARGEST:g} of {square:.3g}, the mean squared deviation of the features"
                )
        A = learn_from_pairs(self, features, known, pair_bounds, order, callback)
        self.bounds_ = (float(pair_bounds.upper * square), float(pair_bounds.lower * square))
        if is_euclidean:
            return Learned(A)
        # Under the covariance, directions in which no rows differ do not count.
        return Learned(white @ A @ white.T / unit / unit, outside=0.0)

    def _check_two(self, name: str, given: Any, most: float) -> None:
        """Refuse what is not two numbers, the larger one last."""
        numbers = np.asarray(given)
        if (
            numbers.shape != (2,)
            or numbers.dtype.kind not in "iuf"
            or not 0 <= numbers[0] <= numbers[1] <= most
            or numbers[1] == np.inf
            or (name == "bounds" and numbers[0] == 0)
        ):
            raise InvalidParameterError(
                f"ITML({name}={given!r}): {name} must be two numbers, the first one no larger than "
                f"the second, above 0 and {most:g} at most"
            )


def _whitening(X: Floats) -> Floats:
    """Find W such that the features of ``X @ W`` do not covary and vary by 1; flat ones are nil."""
    value, vector = np.linalg.eigh(np.cov(X.T, bias=True).reshape(X.shape[1], -1))
    varies = value > FLAT * max(value.max(), 1e-300)
    return np.asarray(vector * np.where(varies, 1 / np.sqrt(np.where(varies, value, 1.0)), 0.0))
