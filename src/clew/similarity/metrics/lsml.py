"""LSML: a metric under which comparisons of distances hold, as near as may be to Euclid's."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress
from clew._validation import Allowed
from clew._warnings import warn
from clew.constraints import Constraints, Support
from clew.similarity._comparisons import inequalities_or_refusal
from clew.similarity.metrics._base import Learned, LinearMetric, differences

__all__ = ["LSML"]

Floats = NDArray[np.float64]
#: Price of a squared residual. On five data sets 1 was worse, on two of them much, and 100 was no
#: better; only where answers are wrong 1 is a little better.
AUTO_PRICE = 10.0
#: Squared distances below this count as it: the root of 0 has no slope.
TINY = 1e-300


class Problem(NamedTuple):
    """What is minimised: squared residuals of comparisons, and the divergence from Euclid."""

    near: Floats
    """Differences of the pairs of rows that should be nearer, (m, n_features)."""
    far: Floats
    """Differences of those that should be farther apart."""
    price: Floats
    """Price of a squared residual, (m,)."""

    def value(self, flat: Floats) -> tuple[float, Floats]:
        """Give the objective at ``M = L Lᵀ``, and its gradient by the entries of L."""
        n = self.near.shape[1]
        root = flat.reshape(n, n)
        sign, log_det = np.linalg.slogdet(root)
        if sign == 0:
            return np.inf, np.zeros_like(flat)
        near, far = self.near @ root, self.far @ root
        d_near, d_far = (np.sqrt((d * d).sum(axis=1) + TINY) for d in (near, far))
        residual = np.maximum(d_near - d_far, 0.0)
        pull = (self.price * residual / d_near)[:, None] * near
        push = (self.price * residual / d_far)[:, None] * far
        value = self.price @ residual**2 + (root * root).sum() - 2.0 * log_det - n
        slope = self.near.T @ pull - self.far.T @ push + root - np.linalg.inv(root).T
        return float(value), 2.0 * slope.ravel()


class LSML(LinearMetric):
    """Least squared-residual metric learning: distances as people compared them.

    Where "a is more like b than like c" does not hold, the difference of the two distances is
    squared and paid for. The metric pays too for being unlike the Euclidean one.

    Parameters
    ----------
    weight : float or "auto", default="auto"
        Price of the mean squared residual, beside the divergence from the Euclidean metric.
        "auto" is ten times the number of comparisons, each counted by its weight. 1 is what the
        paper has, and hardly leaves the Euclidean metric.
    max_iter : int, default=1000
        Steps at most.
    tol : float, default=1e-6
        The largest slope of the objective, by an entry of the root of the metric, at which steps
        end.

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
    objective_ : float
        What was minimised: residuals, and ``tr M - log det M - n_features``.
    n_iter_ : int
        Steps, 1 at least.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    UnsupportedConstraintError
        If there are pairs, or odd-one-out answers "none differs", which compare no distances.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If `max_iter` steps did not suffice.

    See Also
    --------
    MMC : A metric from pairs.
    SparseLP : A sparse metric from comparisons.

    Notes
    -----
    Soft: comparisons may fail, and contradict each other. A triplet makes one comparison, an odd
    one out two, each of the weight of the answer. Don't-knows say nothing. Without answers the
    metric is the Euclidean one.

    Distances are measured in units of the root mean variance of the features that vary, which is
    1 for standardised features, so the unit of all features together does not matter. Features of
    larger numbers count for more; standardise them.

    The objective is convex in M. L-BFGS finds its minimum over square roots of M, where every
    point without slope is one. Time O(m·d² + d³) for each step, for m comparisons of d features;
    memory O(m·d + d²).

    References
    ----------
    E. Y. Liu, Z. Guo, X. Zhang, V. Jojic and W. Wang, "Metric learning from relative comparisons
    by minimizing squared residual", ICDM 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import LSML
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_triplets([(0, 1, 60), (70, 80, 120)], [0, 0], n_samples=150)
    >>> LSML().fit(X, constraints=c).transform(X).shape
    (150, 4)
    """

    supports: ClassVar[Support] = Support(triplets=True, odd_one_out=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "weight": Allowed(names=("auto",), kind=float, low=0, high_open=True),
        "max_iter": Allowed(kind=int, low=1),
        "tol": Allowed(kind=float, low=0, low_open=True),
    }

    objective_: float
    n_iter_: int

    def __init__(
        self,
        *,
        weight: float | Literal["auto"] = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.weight = weight
        self.max_iter = max_iter
        self.tol = tol

    def _learn(
        self, X: Floats, unit: float, known: Constraints, callback: Progress | None
    ) -> Learned:
        comparisons = inequalities_or_refusal(self, known)
        n_features = X.shape[1]
        if not len(comparisons.weight):
            self.objective_, self.n_iter_ = 0.0, 1
            return Learned(np.eye(n_features))
        total = comparisons.weight.sum()
        mean_price = AUTO_PRICE * total if self.weight == "auto" else float(self.weight)
        problem = Problem(
            differences(X, comparisons.near),
            differences(X, comparisons.far),
            comparisons.weight * (mean_price / total),
        )
        metric = self._minimum(problem, n_features)
        if callback is not None:
            callback(1, 1)
        return Learned(metric)

    def _minimum(self, problem: Problem, n_features: int) -> Floats:
        """Descend from the Euclidean metric."""
        found = minimize(
            problem.value, np.eye(n_features).ravel(), jac=True, method="L-BFGS-B",
            options={
                "maxiter": self.max_iter, "maxfun": 2 * self.max_iter, "gtol": self.tol, "ftol": 0.0
            },
        )  # fmt: skip
        if found.status == 1:
            warn(
                f"LSML(max_iter={self.max_iter}) stopped before the slope was down to tol="
                f"{self.tol:g}; raise max_iter",
                ConvergenceWarning,
            )
        root = found.x.reshape(n_features, n_features)
        self.objective_, self.n_iter_ = float(found.fun), max(int(found.nit), 1)
        return np.asarray(root @ root.T)
