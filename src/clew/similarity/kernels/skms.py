"""SKMS: a kernel under which must-linked rows are near and cannot-linked ones far apart."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew._random import RandomState
from clew._validation import Allowed
from clew.constraints import Constraints, Support
from clew.similarity.kernels._base import KernelSpace, Seeds
from clew.similarity.log_det._distance_constraints import Skipped, bounds_of_pairs
from clew.similarity.log_det._pair_bounds import learn_from_pairs

__all__ = ["SKMS"]

Floats = NDArray[np.float64]


class SKMS(KernelSpace):
    """Kernel of semi-supervised kernel mean shift: must-linked rows near, others far apart.

    The learned kernel is the nearest to the given one under which the squared distances of
    must-linked rows are below an upper bound, and those of cannot-linked rows above a lower one.

    Parameters
    ----------
    gamma : float, default=10.0
        Price of moving a bound, beside that of changing the kernel; infinite where no bound moves.
    rank : int or "auto", default="auto"
        Number of features of the kernel at most, as for `SKLR`.
    kernel : {"adaptive", "fourier", "precomputed"}, callable or transformer, default="adaptive"
        As for `SKLR`.
    tol : float, default=1e-3
        By what share distances may miss their bounds, moved as they are.
    max_iter : int, default=300
        Sweeps over the pairs at most.
    random_state : int, RandomState or None, default=None
        As for `SKLR`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Learned features of the fitted rows, ``Φ A^½``; their inner products are the learned
        kernel.
    kernel_ : ndarray of shape (n_samples, n_samples)
        The learned kernel, ``Φ A Φ'``; computed when asked for.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities of the embedding, see `AdaptiveKNN`; computed when asked for.
    A_ : ndarray of shape (n_components, n_components)
        What was learned: A; the identity without answers.
    rank_ : int
        Number of features.
    bounds_ : tuple of float
        The upper and the lower bound of squared distances.
    multipliers_ : ndarray of shape (n_pairs,)
        How hard each pair pulls; don't-knows, answers of weight 0 and skipped ones have none.
    skipped_ : list of (kind, answer, reason)
        Cannot-links between rows that coincide, by their position.
    duality_gap_ : float
        How far the objective may be above the least possible one, relative to that.
    n_iter_ : int
        Sweeps; 1 also where none was needed.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or two do not go together.
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
    SKLR : From comparisons as well.
    ITML : The same for the features themselves.

    Notes
    -----
    The upper bound is the first percentile of squared distances, or 0.05 if that is less, the
    lower one the 99th, or 1.95 if that is more; with a kernel other than the Gaussian ones, 2.5 %
    and 97.5 % of the mean squared distance stand for 0.05 and 1.95. The weight of an answer
    multiplies `gamma` for it; don't-know says nothing.

    k-means on `embedding_` is the "SKkm" of the literature, mean shift SKMS itself: see
    `clew.cluster.KernelMeanShift`. Cost as for `SKLR`.

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
    _allowed: ClassVar[dict[str, Any]] = KernelSpace._allowed | {
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
        self, features: Floats, known: Constraints, seeds: Seeds, callback: Progress | None
    ) -> Floats:
        pair_bounds = bounds_of_pairs(features, self._diameter(), seeds.distances)
        self.bounds_ = (pair_bounds.upper, pair_bounds.lower)
        return learn_from_pairs(self, features, known, pair_bounds, seeds.order, callback)
