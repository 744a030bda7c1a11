"""LSML: a metric close to the Euclidean one that fits comparisons of distances."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues
from clew._warnings import warn
from clew.constraints import Constraints, Support
from clew.constraints._meanings import inequalities_or_refusal
from clew.similarity._embedding import Learned, LinearMetric, differences

__all__ = ["LSML"]

Floats = NDArray[np.float64]
#: Penalty of the squared residual of each comparison. On five data sets 1 was worse, on two of them
#: much, and 100 was not better; 1 is a little better only if answers are wrong.
AUTO_PENALTY = 10.0
#: Added to squared distances, as the square root has no derivative at 0.
TINY = 1e-300


class LSML(LinearMetric):
    """Least squared-residual metric learning, from triplets and odd-one-out answers.

    "a is more like b than like c" means that the distance of a and b is at most that of a and c.
    If it is larger, the difference is the residual of the answer. The metric minimizes the sum of
    the squared residuals and of a divergence from the Euclidean metric.

    Parameters
    ----------
    penalty : float or "auto", default="auto"
        Penalty of the mean squared residual, relative to the divergence. "auto" is ten times the
        total weight of the comparisons. 1 is the paper's, with which the metric hardly differs from
        the Euclidean metric.
    max_iter : int, default=1000
        Largest number of steps.
    tol : float, default=1e-6
        Tolerance: largest entry of the gradient at which the steps end.

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
    objective_ : float
        The minimum: weighted squared residuals, plus ``tr M - log det M - n_features``.
    n_iter_ : int
        Number of steps, at least 1.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    UnsupportedConstraintError
        If there are pairs, or odd-one-out answers "all alike".
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached.

    See Also
    --------
    MMC : A metric from pairs.
    SparseLP : A sparse metric from comparisons.

    Notes
    -----
    Honors answers as soft constraints, which may contradict each other. A triplet implies one
    comparison, an odd-one-out answer two, each with the weight of the answer. Don't-knows are
    ignored. Without answers the metric is Euclidean.

    Distances are measured in units of the root mean variance of the features, which is 1 for
    standardized features, so a common unit of all features does not matter. Features of larger
    variance have more weight, so standardize them first.

    The objective is convex in M. L-BFGS minimizes it over square roots of M, for which each
    stationary point is a minimum. Time O(m·d² + d³) per step for m comparisons and d features,
    memory O(m·d + d²). With more features than rows, d is the number of rows, plus one pass over
    the features.

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
    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "penalty": Allowed(names=("auto",), kind=float, low=0, high_open=True),
        "max_iter": Allowed(kind=int, low=1),
        "tol": Allowed(kind=float, low=0, low_open=True),
    }

    objective_: float
    n_iter_: int

    def __init__(
        self, *, penalty: float | Literal["auto"] = "auto", max_iter: int = 1000, tol: float = 1e-6
    ) -> None:
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol

    def _learn(
        self, X: Floats, unit: float, answers: Constraints, callback: Progress | None
    ) -> Learned:
        comparisons = inequalities_or_refusal(self, answers)
        n_features = X.shape[1]
        if not len(comparisons.weight):
            self.objective_, self.n_iter_ = 0.0, 1
            return Learned(np.eye(n_features))
        total = comparisons.weight.sum()
        penalty = AUTO_PENALTY * total if self.penalty == "auto" else float(self.penalty)
        problem = Problem(
            differences(X, comparisons.near),
            differences(X, comparisons.far),
            comparisons.weight * (penalty / total),
        )
        solution = minimize(
            problem.value, np.eye(n_features).ravel(), jac=True, method="L-BFGS-B",
            options={
                "maxiter": self.max_iter, "maxfun": 2 * self.max_iter, "gtol": self.tol, "ftol": 0.0
            },
        )  # fmt: skip
        if solution.status == 1:
            warn(
                f"LSML did not converge to tol={self.tol:g} in max_iter={self.max_iter} steps; "
                "raise max_iter or tol",
                ConvergenceWarning,
            )
        self.objective_, self.n_iter_ = float(solution.fun), max(int(solution.nit), 1)
        root = solution.x.reshape(n_features, n_features)
        if callback is not None:
            callback(1, 1)
        return Learned(root @ root.T)


class Problem(NamedTuple):
    """The objective: squared residuals of comparisons, and the divergence from the identity."""

    near: Floats  # differences of the pairs of rows that should be nearer, (m, n_features)
    far: Floats  # and of those that should be farther apart, (m, n_features)
    weight: Floats  # of each squared residual, (m,)

    def value(self, flat: Floats) -> tuple[float, Floats]:
        """Return the objective at ``M = L Lᵀ``, and its gradient by the entries of L."""
        n = self.near.shape[1]
        root = flat.reshape(n, n)
        sign, log_det = np.linalg.slogdet(root)
        if sign == 0:
            return np.inf, np.zeros_like(flat)
        near, far = self.near @ root, self.far @ root
        d_near, d_far = (np.sqrt((d * d).sum(axis=1) + TINY) for d in (near, far))
        residual = np.maximum(d_near - d_far, 0.0)
        pull = (self.weight * residual / d_near)[:, None] * near
        push = (self.weight * residual / d_far)[:, None] * far
        value = self.weight @ residual**2 + (root * root).sum() - 2.0 * log_det - n
        half_gradient = self.near.T @ pull - self.far.T @ push + root - np.linalg.inv(root).T
        return float(value), 2.0 * half_gradient.ravel()
