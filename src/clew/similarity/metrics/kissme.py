"""KISSME: a metric from the covariances of must-linked and of cannot-linked differences."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues
from clew.constraints import Constraints, Support
from clew.exceptions import InvalidParameterError
from clew.similarity._embedding import Learned, LinearMetric, differences

__all__ = ["KISSME"]

Floats = NDArray[np.float64]
#: Default `shrinkage`, divided by the number of features. 1/13 to 3 were tried on iris, wine,
#: breast cancer and digits: with wrong answers or few answers, 3 was best.
SHRINKAGE_PER_FEATURE = 3.0
#: Variance of the difference of two unrelated rows, in units of the mean variance of features.
PRIOR = 2.0
#: Smaller differences of the two precisions, relative to their norm, are rounding errors.
ROUNDING = 1e-12


class KISSME(LinearMetric):
    """Metric whose squared distance is a log-likelihood ratio: cannot-link against must-link.

    The differences of must-linked rows are modeled by a normal distribution of mean 0, those of
    cannot-linked rows by another. The logarithm of the ratio of their densities is a squared
    distance plus a constant. Both covariances are means, so no iterations are needed.

    Parameters
    ----------
    shrinkage : float or "auto", default="auto"
        Strength of the prior, as a number of pairs: each covariance is a weighted mean of the
        observed one and a prior one, that of unrelated rows (twice the unit matrix). "auto" is
        three times the number of features, or of rows if there are fewer. 0 is the paper's
        estimate; it needs more pairs of each kind than there are features.

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
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or the shrinkage is so small that a covariance is
        singular.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers; `Constraints.as_pairs` turns them into pairs.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    See Also
    --------
    MMC : A metric from pairs, by optimization.
    ITML : The metric nearest to a given one that satisfies bounds on the distances of pairs.

    Notes
    -----
    Honors pairs as soft constraints, contradictory ones as well; don't-knows are ignored. The
    metric is Euclidean without answers, or if there is no direction in which cannot-linked rows
    differ more than must-linked rows. Without must-links, or without cannot-links, the prior
    replaces their covariance. The metric is scaled to preserve the total variance of the rows. A
    common unit of all features does not matter, but features of larger variance have more weight,
    so standardize them first.

    Time O(m·d² + d³) and memory O(m·d + d²) for m answers and d features, or for as many
    dimensions as there are rows if that is less.

    References
    ----------
    M. Köstinger, M. Hirzer, P. Wohlhart, P. M. Roth and H. Bischof, "Large scale metric learning
    from equivalence constraints", CVPR 2012, equations 8 to 16.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import KISSME
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, 100, random_state=0)
    >>> weight = KISSME().fit(X, constraints=c).metric_.diagonal()
    >>> int(weight.argmax())  # petal length separates the species best
    2
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "shrinkage": Allowed(names=("auto",), kind=float, low=0, high_open=True)
    }

    def __init__(self, *, shrinkage: float | Literal["auto"] = "auto") -> None:
        self.shrinkage = shrinkage

    def _learn(
        self, X: Floats, unit: float, answers: Constraints, callback: Progress | None
    ) -> Learned:
        weight = np.where(answers.is_dont_know, 0.0, answers.pair_weights)
        if not weight.any() or not X.any():
            return Learned(np.eye(X.shape[1]))
        strength = SHRINKAGE_PER_FEATURE * min(X.shape)
        if self.shrinkage != "auto":
            strength = float(self.shrinkage)
        of_pairs = differences(X, answers.pairs)
        must, cannot = weight * answers.is_must_link, weight * answers.is_cannot_link
        of_must = _precision(of_pairs, must, strength)
        value, vector = np.linalg.eigh(of_must - _precision(of_pairs, cannot, strength))
        value[value <= ROUNDING * np.linalg.norm(of_must)] = 0.0
        metric = (vector * np.maximum(value, 0.0)) @ vector.T
        size = np.einsum("ij,ij->", X @ metric, X)
        if callback is not None:
            callback(1, 1)
        if not size > 0:
            return Learned(np.eye(X.shape[1]))
        scale = np.einsum("ij,ij->", X, X) / size
        # In directions in which all rows coincide, both covariances come from the prior alone.
        outside = max(must.sum() - cannot.sum(), 0.0) / (PRIOR * strength) if strength else 0.0
        return Learned((metric + metric.T) * (scale / 2), outside=float(outside * scale))


def _precision(of_pairs: Floats, weight: Floats, strength: float) -> Floats:
    """Return the inverse covariance of differences, shrunk by a prior of weight `strength`."""
    unit = np.eye(of_pairs.shape[1])
    total = float(weight.sum())
    if total == 0:
        return unit / PRIOR
    covariance = (of_pairs * weight[:, None]).T @ of_pairs + PRIOR * strength * unit
    covariance /= total + strength
    try:
        return np.asarray(cho_solve(cho_factor(covariance), unit))
    except np.linalg.LinAlgError as error:
        raise InvalidParameterError(
            f"KISSME(shrinkage={strength:g}): the differences of the answered pairs do not vary "
            'in all directions, so their covariance has no inverse; use shrinkage="auto"'
        ) from error
