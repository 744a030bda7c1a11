"""MMC: a metric under which must-linked rows are near, and cannot-linked ones far apart."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from clew._parallel import Progress
from clew._validation import Allowed
from clew.constraints import Constraints, Support
from clew.similarity.metrics._base import Learned, LinearMetric, differences

__all__ = ["MMC"]

Floats = NDArray[np.float64]
TINY = 1e-300


class MMC(LinearMetric):
    """Mahalanobis metric for clustering: must-linked rows near, cannot-linked rows far apart.

    The sum of the distances of cannot-linked rows is made as large as it can be while the mean
    squared distance of must-linked rows stays what it is.

    Parameters
    ----------
    diagonal : bool, default=False
        Whether to learn a weight for each feature only, and not for each two.
    ridge : float, default=0.3
        Squared distance added to each must-link, as if each feature differed by so large a share of
        the mean variance of all. The paper has none, and gives all weight to directions in which
        no must-linked rows differ. A tiny one is nearly the paper's.
    max_iter : int, default=1000
        Steps at most.

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
    duality_gap_ : float
        At most this share of the sum of distances is missing to the best metric's.
    n_iter_ : int
        Steps, 1 at least.
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
    Soft: contradictory answers weigh against each other. The weight of an answer multiplies its
    distance; don't-know says nothing. Where there are no cannot-links, rows and their mean stand
    in for them, where the paper takes all other pairs of rows. Without answers the metric is the
    Euclidean one. The learned metric is scaled such that the variances of the rows add up to what
    they were. With the ridge, the unit of all features together does not matter, but features of
    larger numbers count for more; standardise them.

    The problem is convex. With must-links' spread made a unit matrix, the metric is ``L Lᵀ`` for
    an L of length 1, and L-BFGS finds the maximum over L. Time O(m·d² + d³) for each step, for m
    answers and d features, or O(m·d) where diagonal; memory O(m·d + d²).

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
    >>> int(weight.argmax())  # the length of petals tells the species
    2
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
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
        self, X: Floats, unit: float, known: Constraints, callback: Progress | None
    ) -> Learned:
        n_features = X.shape[1]
        weight = np.where(known.is_dont_know, 0.0, known.pair_weights)
        variance = X.var(axis=0)
        if not weight.any() or not variance.any():
            self.duality_gap_, self.n_iter_ = 0.0, 1
            return Learned(np.eye(n_features))
        between = differences(X, known.pairs)
        must = np.where(known.is_must_link, weight, 0.0)
        apart, price = _to_part(X, between, np.where(known.is_cannot_link, weight, 0.0))
        white = _whitening(between, must, self.ridge, is_diagonal=self.diagonal)
        root, self.duality_gap_, self.n_iter_ = _widest(
            apart @ white, price, self.max_iter, is_diagonal=self.diagonal
        )
        components = white @ root
        metric = components @ components.T
        metric *= variance.sum() / np.einsum("ij,ij->", X @ metric, X) * len(X)
        if callback is not None:
            callback(1, 1)
        return Learned(metric, outside=0.0)


def _to_part(inside: Floats, between: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Give what is to be far from nil, and how much each counts."""
    counts = (weight > 0) & between.any(axis=1)
    if counts.any():
        return between[counts], weight[counts] / weight[counts].sum()
    return inside, np.full(len(inside), 1.0 / len(inside))


def _whitening(between: Floats, must: Floats, ridge: float, *, is_diagonal: bool) -> Floats:
    """Give the matrix that makes the mean spread of must-linked rows, and the ridge, a unit one."""
    share = must / (must.sum() or 1.0)
    spread = (between * share[:, None]).T @ between
    spread[np.diag_indices_from(spread)] += ridge
    if is_diagonal:
        return np.diag(1.0 / np.sqrt(spread.diagonal()))
    value, vector = np.linalg.eigh(spread)
    return np.asarray(vector / np.sqrt(np.maximum(value, ridge)))


def _widest(
    apart: Floats, price: Floats, max_iter: int, *, is_diagonal: bool
) -> tuple[Floats, float, int]:
    """Find L of length 1 such that ``sum of price · |Lᵀ row|`` is largest.

    Returns
    -------
    L : ndarray of shape (n_features, n_features)
        Diagonal if so wanted.
    gap : float
        What may be missing to the largest sum, as a share of it.
    n_iter : int
        Steps.
    """
    n = apart.shape[1]

    def lengths(flat: Floats) -> tuple[Floats, Floats]:
        """Give the length of each row, and the slope of their sum by the entries of L."""
        if is_diagonal:
            length = np.sqrt((apart * apart) @ flat**2 + TINY)
            return length, flat * ((price / length) @ (apart * apart))
        mapped = apart @ flat.reshape(n, n)
        length = np.sqrt((mapped * mapped).sum(axis=1) + TINY)
        return length, (apart.T @ ((price / length)[:, None] * mapped)).ravel()

    def value(flat: Floats) -> tuple[float, Floats]:
        length, slope = lengths(flat)
        total, square = price @ length, flat @ flat
        return float(0.5 * np.log(square) - np.log(total)), flat / square - slope / total

    start = np.ones(n) if is_diagonal else np.eye(n).ravel()
    found = minimize(
        value, start / np.sqrt(n), jac=True, method="L-BFGS-B",
        options={"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": 1e-9, "ftol": 1e-15},
    )  # fmt: skip
    best = found.x / np.linalg.norm(found.x)
    length, _ = lengths(best)
    pull = (apart * (0.5 * price / length)[:, None]).T @ apart
    top = pull.diagonal().max() if is_diagonal else np.linalg.eigvalsh(pull)[-1]
    # The sum is concave in L Lᵀ, of trace 1: no such matrix gains more than the steepest does.
    gap = float(top / (price @ length) - 0.5)
    root = np.diag(best) if is_diagonal else best.reshape(n, n)
    return root, gap, max(int(found.nit), 1)
