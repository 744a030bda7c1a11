"""SparseLP: a sparse metric from comparisons of distances, by linear programming."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues
from clew.constraints import Constraints, Support
from clew.constraints._meanings import inequalities_or_refusal
from clew.exceptions import InvalidDataError, TooLargeError
from clew.similarity._embedding import Learned, LinearMetric, differences

__all__ = ["SparseLP"]

Floats = NDArray[np.float64]
#: The linear program has a variable for each pair of features; with more, it takes minutes.
MAX_FEATURES = 100


class SparseLP(LinearMetric):
    """Sparse metric by linear programming, from triplets and odd-one-out answers.

    "a is more like b than like c" means that the squared distance of a and c should exceed that of
    a and b by at least 1. The metric minimizes the mean violation of the answers, plus an L1
    penalty on its entries, which makes most of them 0.

    Parameters
    ----------
    sparsity : float, default=0.1
        L1 penalty: weight of the sum of the absolute entries, relative to the mean violation.
    diagonal : bool, default=False
        Whether to learn a diagonal metric: a weight for each feature.
    max_iter : int, default=100_000
        Largest number of steps of the solver.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M: the squared distance of x and y is ``(x - y)ᵀ M (x - y)``. It is diagonally dominant:
        each diagonal entry is at least the sum of the absolute values of the others in its row.
    components_ : ndarray of shape (n_features, n_features)
        L with ``LᵀL = M``.
    embedding_ : ndarray of shape (n_samples, n_features)
        The fitted rows, multiplied by L.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities in the embedding, see `AdaptiveKNN`; computed at the first access.
    objective_ : float
        The minimum: mean violation plus L1 penalty.
    n_iter_ : int
        Number of steps of the solver, at least 1.
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
    TooLargeError
        If there are more than 100 features and `diagonal` is false.
    InvalidDataError
        If the solver found no solution.

    See Also
    --------
    LSML : A metric from comparisons, without this limit.

    Notes
    -----
    Honors answers as soft constraints, which may contradict each other. A triplet implies one
    comparison, an odd-one-out answer two, each with the weight of the answer. Don't-knows are
    ignored. Without answers, and if the penalty makes all entries 0, the metric is Euclidean.

    Distances are measured in units of the root mean variance of the features, which is 1 for
    standardized features. Features of larger variance have more weight, so standardize them first.

    A diagonally dominant M is positive semidefinite, and the problem is linear: ``d²`` variables
    for d features, and one for each of m comparisons. It is solved by HiGHS. Memory O(m·d²).

    References
    ----------
    R. Rosales and G. Fung, "Learning sparse metrics via linear programming", KDD 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import SparseLP
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_triplets([(0, 1, 60), (70, 80, 120)], [0, 0], n_samples=150)
    >>> SparseLP().fit(X, constraints=c).transform(X).shape
    (150, 4)
    """

    supports: ClassVar[Support] = Support(triplets=True, odd_one_out=True, dont_know=True)
    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "sparsity": Allowed(kind=float, low=0, high_open=True),
        "diagonal": Allowed(kind=bool),
        "max_iter": Allowed(kind=int, low=1),
    }

    objective_: float
    n_iter_: int

    def __init__(
        self, *, sparsity: float = 0.1, diagonal: bool = False, max_iter: int = 100_000
    ) -> None:
        self.sparsity = sparsity
        self.diagonal = diagonal
        self.max_iter = max_iter

    @property
    def _is_rotation_invariant(self) -> bool:
        return False

    def _learn(
        self, X: Floats, unit: float, answers: Constraints, callback: Progress | None
    ) -> Learned:
        comparisons = inequalities_or_refusal(self, answers)
        n_features = X.shape[1]
        if not len(comparisons.weight):
            self.objective_, self.n_iter_ = 0.0, 1
            return Learned(np.eye(n_features))
        if n_features > MAX_FEATURES and not self.diagonal:
            raise TooLargeError(
                f"SparseLP learns from at most {MAX_FEATURES} features, got {n_features}: the "
                f"linear program would have {n_features**2} variables. Use diagonal=True, fewer "
                "features (sklearn.decomposition.PCA), or LSML"
            )
        near = differences(X, comparisons.near)
        far = differences(X, comparisons.far)
        metric = self._solved(near, far, comparisons.weight / comparisons.weight.sum())
        if callback is not None:
            callback(1, 1)
        if metric.any():
            return Learned(metric)
        self.objective_, self.n_iter_ = 0.0, 1
        return Learned(np.eye(n_features))

    def _solved(self, near: Floats, far: Floats, weight: Floats) -> Floats:
        """Minimize the mean violation plus the L1 penalty."""
        n_features = near.shape[1]
        first, second = np.triu_indices(0 if self.diagonal else n_features, 1)
        costs, rows, limits = _program(near, far, weight, self.sparsity, (first, second))
        solution = linprog(  # type: ignore[call-overload]  # the stubs allow no sparse matrix
            costs, A_ub=rows, b_ub=limits, method="highs", options={"maxiter": self.max_iter}
        )
        if solution.status:
            raise InvalidDataError(
                f"SparseLP: the linear program was not solved: {solution.message} "
                "If max_iter was reached, raise it; otherwise use fewer features, or LSML"
            )
        n_pairs = len(first)
        plus, minus = (
            solution.x[n_features:][:n_pairs],
            solution.x[n_features + n_pairs :][:n_pairs],
        )
        metric = np.diag(solution.x[:n_features])
        metric[first, second] = metric[second, first] = plus - minus
        self.objective_, self.n_iter_ = float(solution.fun), max(int(solution.nit), 1)
        return metric


def _program(
    near: Floats,
    far: Floats,
    weight: Floats,
    sparsity: float,
    entries: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[Floats, csr_array, Floats]:
    """Program ``rows @ v <= limits``: v is the diagonal, ± parts above, violations."""
    (m, n_features), (first, second) = near.shape, entries
    on_diagonal = far**2 - near**2
    above = 2.0 * (far[:, first] * far[:, second] - near[:, first] * near[:, second])
    comparison = hstack(
        [csr_array(-on_diagonal), csr_array(-above), csr_array(above), -eye_array(m)]
    )
    each = np.arange(len(first))
    touching = coo_array(
        (np.ones(2 * len(first)), (np.concatenate([first, second]), np.tile(each, 2))),
        (n_features, len(first)),
    )
    nothing = csr_array((n_features, m))
    dominance = hstack([-eye_array(n_features), touching, touching, nothing])
    costs = np.concatenate(
        [np.full(n_features, sparsity), np.full(2 * len(first), 2.0 * sparsity), weight]
    )
    limits = np.concatenate([np.full(m, -1.0), np.zeros(n_features)])
    return costs, csr_array(vstack([comparison, dominance])), limits
