"""ITML: the metric closest to a given one that bounds the distances of answered pairs."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues, RandomState, derived_seeds
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError
from clew.similarity._embedding import Learned, LinearMetric
from clew.similarity._log_det import PairBounds, Skipped, learn_from_pairs, percentile_bounds

__all__ = ["ITML"]

Floats = NDArray[np.float64]
#: Directions of smaller variance, relative to the largest variance, are left out.
FLAT = 1e-10
#: Limits of bounds, relative to the mean variance: numbers beyond could overflow.
SMALLEST, LARGEST = 1e-100, 1e100


class ITML(LinearMetric):
    """Information-theoretic metric learning from must-links and cannot-links.

    The learned metric is the closest to a given one for which the squared distances of must-linked
    rows are below an upper bound, and those of cannot-linked rows above a lower bound. The bounds
    have slack.

    Parameters
    ----------
    gamma : float, default=1.0
        Slack penalty; ``np.inf`` makes the bounds hard.
    bounds : (upper, lower) or None, default=None
        Upper bound for must-links and lower bound for cannot-links, of squared distances in squared
        units of the features. None uses `percentiles`.
    percentiles : (low, high), default=(5, 95)
        Bounds as percentiles of the squared distances of all rows under the given metric: the upper
        bound for must-links is the first. Ignored if `bounds` are given.
    prior : {"identity", "covariance"}, default="identity"
        The given metric: "identity" is the Euclidean metric, "covariance" the Mahalanobis metric
        with the inverse covariance of the features.
    tol : float, default=1e-3
        Tolerance: largest relative violation of a bound, after slack.
    max_iter : int, default=1000
        Largest number of sweeps over the pairs.
    random_state : int, RandomState or None, default=None
        Seed of the sample of distances for `percentiles`, and of the order of the projections.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M: the squared distance of x and y is ``(x - y)ᵀ M (x - y)``.
    components_ : ndarray of shape (n_features, n_features)
        L with ``LᵀL = M``.
    embedding_ : ndarray of shape (n_samples, n_features)
        The fitted rows, multiplied by L.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities in the embedding, see `AdaptiveKNN`; computed at the first access.
    bounds_ : tuple of float
        The upper and the lower bound, in squared units of the features.
    multipliers_ : ndarray of shape (n_multipliers,)
        Lagrange multipliers of the answers, in their order. Don't-knows, answers of weight 0 and
        skipped answers are left out.
    skipped_ : list of (kind, answer, reason)
        Answers that no metric can honor, by position: cannot-links between rows that coincide.
    duality_gap_ : float
        Bound on the distance of the objective from its minimum, relative to the minimum.
    n_iter_ : int
        Number of sweeps, at least 1.
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
    Honors pairs as soft constraints: contradictory answers use the slack of their bounds. The
    weight of an answer multiplies its `gamma`; don't-knows are ignored. Without answers the given
    metric is returned.

    Time O(m·d²) per sweep for m answers and d features, memory O(d² + m). With more features than
    rows, d is the number of rows, plus one pass over the features.

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
    >>> int(weight.argmax())  # petal width separates the species best
    3
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, AllowedValues]] = {
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
        self, X: Floats, unit: float, answers: Constraints, callback: Progress | None
    ) -> Learned:
        self._check_two("percentiles", self.percentiles, 100.0)
        sample, order = derived_seeds(self.random_state, 2)
        is_euclidean = self.prior == "identity"
        white = np.eye(X.shape[1]) if is_euclidean else _whitening(X)
        features = np.ascontiguousarray(X @ white)
        # Distances under the inverse covariance have no unit.
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
                    f"ITML(bounds={self.bounds!r}): bounds must be between {SMALLEST:g} and "
                    f"{LARGEST:g} times {square:.3g}, the mean variance of the features"
                )
        A = learn_from_pairs(self, features, answers, pair_bounds, order, callback)
        self.bounds_ = (float(pair_bounds.upper * square), float(pair_bounds.lower * square))
        if is_euclidean:
            return Learned(A)
        # The inverse covariance ignores directions in which all rows coincide.
        return Learned(white @ A @ white.T / unit / unit, outside=0.0)

    def _check_two(self, name: str, given: object, most: float) -> None:
        """Check that a parameter is two numbers in ascending order."""
        numbers = np.asarray(given)
        if (
            numbers.shape != (2,)
            or numbers.dtype.kind not in "iuf"
            or not 0 <= numbers[0] <= numbers[1] <= most
            or numbers[1] == np.inf
            or (name == "bounds" and numbers[0] == 0)
        ):
            raise InvalidParameterError(
                f"ITML({name}={given!r}): {name} must be two numbers in ascending order, "
                f"{'above' if name == 'bounds' else 'at least'} 0 and "
                f"{'finite' if name == 'bounds' else f'at most {most:g}'}"
            )


def _whitening(X: Floats) -> Floats:
    """Compute W such that ``X @ W`` has uncorrelated columns of variance 1, or 0 if flat."""
    value, vector = np.linalg.eigh(np.cov(X.T, bias=True).reshape(X.shape[1], -1))
    varies = value > FLAT * max(value.max(), 1e-300)
    return np.asarray(vector * np.where(varies, 1 / np.sqrt(np.where(varies, value, 1.0)), 0.0))
