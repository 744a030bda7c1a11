"""SparseLP: a sparse metric from comparisons of distances, by linear programming."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from clew._parallel import Progress
from clew._validation import Allowed
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidDataError, TooLargeError
from clew.similarity._comparisons import inequalities_or_refusal
from clew.similarity.metrics._base import Learned, LinearMetric, differences

__all__ = ["SparseLP"]

Floats = NDArray[np.float64]
#: The programme has a variable for each two features, and takes minutes beyond so many features.
MAX_FEATURES = 100


class SparseLP(LinearMetric):
    """Sparse metric by linear programming: distances as people compared them, few entries.

    "a is more like b than like c" asks that the squared distance of a and c is larger than that of
    a and b by 1 at least. What is missing is paid for, and so is every entry of the metric, such
    that few of them are not nil.

    Parameters
    ----------
    sparsity : float, default=0.1
        Price of the absolute values of all entries of the metric, beside the mean of what is
        missing.
    diagonal : bool, default=False
        Whether to learn a weight for each feature only.
    max_iter : int, default=100_000
        Steps of the solver at most.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M: the squared distance of x and y is ``(x - y)ᵀ M (x - y)``. No diagonal entry is less
        than the sum of the others of its row, by absolute value.
    components_ : ndarray of shape (n_features, n_features)
        L with ``LᵀL = M``.
    embedding_ : ndarray of shape (n_samples, n_features)
        The fitted rows under L.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities of the embedding, see `AdaptiveKNN`; computed when asked for.
    objective_ : float
        What was minimised.
    n_iter_ : int
        Steps of the solver, 1 at least.
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
    TooLargeError
        Past 100 features, unless `diagonal`.
    InvalidDataError
        If the solver did not end.

    See Also
    --------
    LSML : A metric from comparisons without this limit.

    Notes
    -----
    Soft: comparisons may fail, and contradict each other. A triplet makes one comparison, an odd
    one out two, each of the weight of the answer. Don't-knows say nothing. Without answers, and
    where the answers do not pay for any entry, the metric is the Euclidean one.

    Distances are measured in units of the root mean variance of the features that vary, which is
    1 for standardised features. Features of larger numbers count for more; standardise them.

    That the diagonal dominates makes M positive semidefinite, and the problem linear: ``d²``
    variables and one more for each of m comparisons, solved by HiGHS. Memory O(m·d²).

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
    _allowed: ClassVar[dict[str, Any]] = {
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
        self, X: Floats, unit: float, known: Constraints, callback: Progress | None
    ) -> Learned:
        comparisons = inequalities_or_refusal(self, known)
        n_features = X.shape[1]
        if not len(comparisons.weight):
            self.objective_, self.n_iter_ = 0.0, 1
            return Learned(np.eye(n_features))
        if n_features > MAX_FEATURES and not self.diagonal:
            raise TooLargeError(
                f"SparseLP: {n_features} features make a programme of {n_features**2} variables, "
                f"too large past {MAX_FEATURES} features. Take diagonal=True, or fewer features "
                "(sklearn.decomposition.PCA), or LSML"
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

    def _solved(self, near: Floats, far: Floats, price: Floats) -> Floats:
        """Minimise what is missing and the entries of the metric."""
        n_features = near.shape[1]
        first, second = np.triu_indices(0 if self.diagonal else n_features, 1)
        costs, rows, least = _programme(near, far, price, self.sparsity, (first, second))
        found = linprog(  # type: ignore[call-overload]  # its types know no sparse rows
            costs, A_ub=rows, b_ub=least, method="highs", options={"maxiter": self.max_iter}
        )
        if found.status:
            raise InvalidDataError(
                f"SparseLP: the linear programme was not solved: {found.message}"
            )
        n_pairs = len(first)
        plus, minus = found.x[n_features:][:n_pairs], found.x[n_features + n_pairs :][:n_pairs]
        metric = np.diag(found.x[:n_features])
        metric[first, second] = metric[second, first] = plus - minus
        self.objective_, self.n_iter_ = float(found.fun), max(int(found.nit), 1)
        return metric


def _programme(
    near: Floats,
    far: Floats,
    price: Floats,
    sparsity: float,
    entries: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[Floats, csr_array, Floats]:
    """Write the linear programme down.

    Its variables, none negative, are the diagonal, the entries above it where they are positive,
    the same where they are negative, and what is missing to each comparison.

    Returns
    -------
    costs : ndarray of shape (n_variables,)
        Price of each variable.
    rows : csr_array of shape (m + n_features, n_variables)
        First each comparison, then the dominance of each diagonal entry.
    least : ndarray of shape (m + n_features,)
        What the rows may sum up to.
    """
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
        [np.full(n_features, sparsity), np.full(2 * len(first), 2.0 * sparsity), price]
    )
    least = np.concatenate([np.full(m, -1.0), np.zeros(n_features)])
    return costs, csr_array(vstack([comparison, dominance])), least
