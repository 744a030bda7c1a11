"""MMC: a metric that maximizes distances of cannot-links and limits those of must-links."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues
from clew.constraints import Constraints, Support
from clew.similarity._embedding import Learned, LinearMetric, differences

__all__ = ["MMC"]

Floats = NDArray[np.float64]
TINY = 1e-300


class MMC(LinearMetric):
    """Mahalanobis metric for clustering, from must-links and cannot-links.

    It maximizes the sum of the distances of cannot-linked rows, for a fixed mean squared distance
    of must-linked rows.

    Parameters
    ----------
    diagonal : bool, default=False
        Whether to learn a diagonal metric: a weight for each feature.
    ridge : float, default=0.3
        Regularization: added to the squared difference of must-linked rows in each feature, as a
        share of the mean variance of the features. Without it, as in the paper, directions in which
        no must-linked rows differ get all the weight; use a tiny value for the paper's method.
    max_iter : int, default=1000
        Largest number of steps.

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
    duality_gap_ : float
        Bound on the distance of the sum of distances from its maximum, relative to the sum.
    n_iter_ : int
        Number of steps, at least 1.
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

    See Also
    --------
    LSML : A metric from triplets and odd-one-out answers.

    Notes
    -----
    Honors pairs as soft constraints: contradictory answers are weighed against each other. The
    weight of an answer multiplies its distance; don't-knows are ignored. Without cannot-links, the
    distances of the rows to their mean are maximized; the paper uses all other pairs. Without
    answers the metric is Euclidean. The learned metric is scaled to preserve the total variance of
    the rows. A common unit of all features does not matter, but features of larger variance have
    more weight, so standardize them first.

    The problem is convex. After whitening the must-links, the metric is ``L Lᵀ`` for an L of
    Frobenius norm 1, and L-BFGS maximizes over L. Time O(m·d² + d³) per step for m answers and d
    features, O(m·d) if diagonal; memory O(m·d + d²). With more features than rows, d is the number
    of rows, plus one pass over the features.

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan and S. Russell, "Distance metric learning with application to
    clustering with side-information", NIPS 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import MMC
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, 60, random_state=0)
    >>> weight = MMC(diagonal=True).fit(X, constraints=c).metric_.diagonal()
    >>> int(weight.argmax())  # petal length separates the species best
    2
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "diagonal": Allowed(kind=bool),
        "ridge": Allowed(kind=float, low=0, low_open=True, high_open=True),
        "max_iter": Allowed(kind=int, low=1),
    }

    duality_gap_: float
    n_iter_: int

    def __init__(self, *, diagonal: bool = False, ridge: float = 0.3, max_iter: int = 1000) -> None:
        self.diagonal = diagonal
        self.ridge = ridge
        self.max_iter = max_iter

    @property
    def _is_rotation_invariant(self) -> bool:
        return not self.diagonal

    def _learn(
        self, X: Floats, unit: float, answers: Constraints, callback: Progress | None
    ) -> Learned:
        n_features = X.shape[1]
        weight = np.where(answers.is_dont_know, 0.0, answers.pair_weights)
        variance = X.var(axis=0)
        if not weight.any() or not variance.any():
            self.duality_gap_, self.n_iter_ = 0.0, 1
            return Learned(np.eye(n_features))
        between = differences(X, answers.pairs)
        cannot = np.where(answers.is_cannot_link, weight, 0.0)
        counts = (cannot > 0) & between.any(axis=1)
        apart, share = X, np.full(len(X), 1.0 / len(X))
        if counts.any():
            apart, share = between[counts], cannot[counts] / cannot[counts].sum()
        must = np.where(answers.is_must_link, weight, 0.0)
        white = _whitening(between, must, self.ridge, is_diagonal=self.diagonal)
        root, self.duality_gap_, self.n_iter_ = _maximize_distances(
            apart @ white, share, self.max_iter, is_diagonal=self.diagonal
        )
        components = white @ root
        metric = components @ components.T
        metric *= variance.sum() / np.einsum("ij,ij->", X @ metric, X) * len(X)
        if callback is not None:
            callback(1, 1)
        return Learned(metric, outside=0.0)


def _whitening(between: Floats, must: Floats, ridge: float, *, is_diagonal: bool) -> Floats:
    """Return the matrix that whitens the second moments of must-links, with the ridge added."""
    share = must / (must.sum() or 1.0)
    moments = (between * share[:, None]).T @ between
    moments[np.diag_indices_from(moments)] += ridge
    if is_diagonal:
        return np.diag(1.0 / np.sqrt(moments.diagonal()))
    value, vector = np.linalg.eigh(moments)
    return np.asarray(vector / np.sqrt(np.maximum(value, ridge)))


def _maximize_distances(
    apart: Floats, share: Floats, max_iter: int, *, is_diagonal: bool
) -> tuple[Floats, float, int]:
    """Find the L of norm 1 that maximizes ``Σ share · ‖Lᵀ row‖``, its relative gap, and n_iter."""
    n = apart.shape[1]

    def lengths(flat: Floats) -> tuple[Floats, Floats]:
        """Return the length of each mapped row, and the gradient of their weighted sum."""
        if is_diagonal:
            length = np.sqrt((apart * apart) @ flat**2 + TINY)
            return length, flat * ((share / length) @ (apart * apart))
        mapped = apart @ flat.reshape(n, n)
        length = np.sqrt((mapped * mapped).sum(axis=1) + TINY)
        return length, (apart.T @ ((share / length)[:, None] * mapped)).ravel()

    def objective(flat: Floats) -> tuple[float, Floats]:
        length, gradient = lengths(flat)
        total, square = share @ length, flat @ flat
        return float(0.5 * np.log(square) - np.log(total)), flat / square - gradient / total

    start = np.ones(n) if is_diagonal else np.eye(n).ravel()
    solution = minimize(
        objective, start / np.sqrt(n), jac=True, method="L-BFGS-B",
        options={"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": 1e-9, "ftol": 1e-15},
    )  # fmt: skip
    best = solution.x / np.linalg.norm(solution.x)
    length, _ = lengths(best)
    gradient = (apart * (0.5 * share / length)[:, None]).T @ apart
    top = gradient.diagonal().max() if is_diagonal else np.linalg.eigvalsh(gradient)[-1]
    # The sum is concave in L Lᵀ, which has trace 1, so its linearization bounds the maximum.
    gap = float(top / (share @ length) - 0.5)
    root = np.diag(best) if is_diagonal else best.reshape(n, n)
    return root, gap, max(int(solution.nit), 1)
