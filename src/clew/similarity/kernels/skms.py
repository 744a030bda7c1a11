"""SKMS: the kernel closest to a given one that bounds the distances of answered pairs."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues, RandomState
from clew.constraints import Constraints, Support
from clew.similarity._log_det import Skipped, bounds_of_pairs, learn_from_pairs
from clew.similarity.kernels.feature_maps import KernelSpace, Seeds

__all__ = ["SKMS"]

Floats = NDArray[np.float64]


class SKMS(KernelSpace):
    """Kernel of semi-supervised kernel mean shift, from must-links and cannot-links.

    The learned kernel is the closest to a given one for which the squared distances of must-linked
    rows are below an upper bound, and those of cannot-linked rows above a lower bound. The bounds
    have slack.

    Parameters
    ----------
    gamma : float, default=10.0
        Slack penalty; ``np.inf`` makes the bounds hard.
    rank : int or "auto", default="auto"
        Largest number of features of the kernel, as for `SKLR`.
    kernel : {"adaptive", "fourier", "precomputed"}, callable or transformer, default="adaptive"
        The given kernel, as for `SKLR`.
    tol : float, default=1e-3
        Tolerance: largest relative violation of a bound, after slack.
    max_iter : int, default=300
        Largest number of sweeps over the pairs.
    random_state : int, RandomState or None, default=None
        Seed of samples of rows and distances, and of the order of the projections.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Learned features of the fitted rows, ``Φ A^½``, whose inner products are the learned kernel.
    kernel_ : ndarray of shape (n_samples, n_samples)
        The learned kernel, ``Φ A Φ'``; computed at each access.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities in the embedding, see `AdaptiveKNN`; computed at the first access.
    A_ : ndarray of shape (n_components, n_components)
        The learned matrix A; the identity without answers.
    rank_ : int
        Number of features of the kernel.
    bounds_ : tuple of float
        The upper and the lower bound of squared distances.
    multipliers_ : ndarray of shape (n_multipliers,)
        Lagrange multipliers of the answers, in their order. Don't-knows, answers of weight 0 and
        skipped answers are left out.
    skipped_ : list of (kind, answer, reason)
        Answers that no kernel can honor, by position: cannot-links between rows that coincide.
    duality_gap_ : float
        Bound on the distance of the objective from its minimum, relative to the minimum.
    n_iter_ : int
        Number of sweeps, at least 1.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or `rank` is given for a transformer.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers; `Constraints.as_pairs` turns them into pairs.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InconsistentConstraintsError
        If `gamma` is infinite and answers contradict each other.
    InvalidDataError, TooLargeError
        As for `SKLR`.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached.

    See Also
    --------
    SKLR : Learns a kernel from triplets and odd-one-out answers as well.
    ITML : Learns a linear metric of the features under such bounds.

    Notes
    -----
    Honors pairs as soft constraints. The weight of an answer multiplies its `gamma`; don't-knows
    are ignored. The upper bound is the smaller of 0.05 and the first percentile of the squared
    distances, the lower bound the larger of 1.95 and their 99th percentile. For kernels that are
    not Gaussian, 2.5 % and 97.5 % of the mean squared distance replace 0.05 and 1.95.

    For the published method, cluster by mean shift: see `clew.cluster.KernelMeanShift`. k-means on
    `embedding_` is known as SKkm. The cost is that of `SKLR`.

    References
    ----------
    S. Anand, S. Mittal, O. Tuzel and P. Meer, "Semi-supervised kernel mean shift clustering",
    IEEE TPAMI 36 (2014).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import SKMS
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(60, 120)], n_samples=150)
    >>> before, after = (SKMS().fit(X, constraints=given).kernel_ for given in (None, c))
    >>> bool(after[60, 120] < before[60, 120])
    True
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, AllowedValues]] = KernelSpace._allowed | {
        "gamma": Allowed(kind=float, low=0, low_open=True),
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
        gamma: float = 10.0,
        *,
        rank: int | Literal["auto"] = "auto",
        kernel: Any = "adaptive",
        tol: float = 1e-3,
        max_iter: int = 300,
        random_state: RandomState = None,
    ) -> None:
        self.gamma = gamma
        self.rank = rank
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(
        self, features: Floats, answers: Constraints, seeds: Seeds, callback: Progress | None
    ) -> Floats:
        pair_bounds = bounds_of_pairs(features, self._diameter(), seeds.distances)
        self.bounds_ = (pair_bounds.upper, pair_bounds.lower)
        return learn_from_pairs(self, features, answers, pair_bounds, seeds.order, callback)
