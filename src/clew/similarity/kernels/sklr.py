"""SKLR: a kernel under which what people said about distances holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from clew._estimators import guarded_fit
from clew._parallel import Progress
from clew._random import RandomState
from clew._validation import Allowed, check_features, check_parameters
from clew._warnings import warn
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for, binding_answers
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.similarity.kernels._base import KernelSpace, Seeds
from clew.similarity.kernels._comparison_cycles import (
    ComparisonConflict,
    conflicts_of,
    refuse_conflicts,
)
from clew.similarity.log_det._choose_slack import best_price
from clew.similarity.log_det._distance_constraints import (
    AnswerLimits,
    PairBounds,
    Skipped,
    bounds_of_pairs,
    limits_of_answers,
    mean_squared_distance,
    without_impossible,
)
from clew.similarity.log_det._problem import Problem, Solution

__all__ = ["SKLR"]

Floats = NDArray[np.float64]
#: Parameters of the problem itself: who goes on with other ones has another problem.
PROBLEM = ("gamma", "slack", "C", "rank", "kernel", "algorithm", "dont_know", "random_state")


class SKLR(KernelSpace):
    """Semi-supervised kernel learning with relative comparisons: from any answers, right or wrong.

    The learned kernel is the nearest to the given one under which the odd one out of three is
    `gamma` times as far from the others, squared, as these are from each other; likewise for
    triplets. Must-linked rows are near, cannot-linked ones far apart.

    Parameters
    ----------
    gamma : float, default=2.0
        How many times as large a squared distance is that was said to be larger; 1 at least.
    slack : {"l1", "none"}, default="l1"
        "l1": answers may be violated at a price, and contradict each other. "none": all answers
        hold, as in the paper, and contradictions are refused.
    C : float or "auto", default="auto"
        Price of a violation by one mean squared distance of two rows, for an answer of weight 1.
        "auto" chooses from 0.05 to 2 by answers that are held out, and takes 0.5 where these do
        not tell otherwise, or there are fewer than 30 comparisons and pairs.
    rank : int or "auto", default="auto"
        Number of features of the kernel at most. "auto" takes as many as hold 99 % of its trace,
        but no more than 300. There are never more than rows.
    kernel : {"adaptive", "fourier", "precomputed"}, callable or transformer, default="adaptive"
        "adaptive": Gaussian, as wide as the distance to the 100th neighbour, see the Notes.
        "fourier": Gaussian, as wide as the median distance, by random Fourier features.
        "precomputed": `fit` gets the kernel of every two rows, `transform` that with the fitted
        rows. A callable gives the kernel of two sets of rows, and a transformer features, whose
        inner products are the kernel.
    algorithm : {"dual", "paper"}, default="dual"
        "dual" takes back steps that were too long, and so finds the nearest kernel. "paper" stops
        at the first kernel under which the answers hold, which depends on their order; it knows
        no slack.
    tol : float, default=1e-3
        By what share of their sum two distances may miss the ratio that was said.
    dont_know : {"ignore", "equal"}, default="ignore"
        Whether don't-knows about three rows say nothing, or that their distances are equal, as
        "none differs" always does. Don't-knows about pairs say nothing in any case.
    max_iter : int, default=300
        Sweeps over the answers at most.
    random_state : int, RandomState or None, default=None
        Seed of samples of many rows, of the held-out answers, and of the order of projections.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Learned features of the fitted rows, ``Φ A^½``; their inner products are the learned
        kernel. k-means on them is kernel k-means.
    kernel_ : ndarray of shape (n_samples, n_samples)
        The learned kernel, ``Φ A Φ'``; computed when asked for.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities of the embedding, see `AdaptiveKNN`; computed when asked for.
    A_ : ndarray of shape (n_components, n_components)
        What was learned: A; the identity without answers.
    rank_ : int
        Number of features.
    C_ : float
        The price that was taken; infinite without slack.
    multipliers_ : ndarray of shape (n_comparisons,)
        How hard each comparison pulls: 0 where it holds by itself. First those of triplets, in
        the order of the answers, then two of each odd one out, then equalities, then pairs;
        answers of weight 0 and skipped ones have none.
    skipped_ : list of (kind, answer, reason)
        Answers that nothing can honour, or not wholly: position and why.
    conflicts_ : list of ComparisonConflict
        Answers that contradict each other as comparisons of distances, each with its ``chain`` of
        pairs of rows. `Constraints.conflicts` has cannot-links against chains of must-links.
    duality_gap_ : float
        How far the objective may be above the least possible one, relative to that; violations
        within `tol` can make it negative.
    n_iter_ : int
        Sweeps; 1 also where none was needed.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or two do not go together.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InconsistentConstraintsError
        Without slack, if answers contradict each other.
    InvalidDataError
        If a precomputed kernel is not square and symmetric, or a kernel gives no finite, positive
        numbers for rows with themselves, or ones too large or too small to compute with.
    TooLargeError
        From `kernel_` and `affinity_matrix_`, past 20,000 rows.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached.

    See Also
    --------
    SKMS : From must-links and cannot-links alone.
    ITML : A metric of the features themselves.

    Notes
    -----
    The adaptive kernel is ``exp(-d² / (s·t))`` for rows with scales s and t. The scale of a row
    is its distance to the 100th of the nearest rows, or less, so that no more than an eighth of
    the rows are nearer. Standardise features before.

    Of more than 3,000 rows a sample of so many gives scales and features.

    Time O(n·r²) for the features, then O(m·r² + p·r² + r³) a sweep, for n rows, rank r, m answers
    that do not hold yet, about p rows. Memory O(n·r).

    References
    ----------
    E. Amid, A. Gionis and A. Ukkonen, "A kernel-learning approach to semi-supervised clustering
    with relative distance comparisons", ECML PKDD 2015. Slack and multipliers are clew's own.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import SKLR
    >>> X, y = load_iris(return_X_y=True)
    >>> odd = Constraints.from_odd_one_out([(0, 1, 99), (50, 140, 51)], [2, 1], n_samples=150)
    >>> model = SKLR(C=1.0, random_state=0).fit(X, constraints=odd)
    >>> near, far = ((model.embedding_[[50, 140]] - model.embedding_[51]) ** 2).sum(axis=1)
    >>> bool(near <= far)
    True
    """

    supports: ClassVar[Support] = Support(
        pairs=True, triplets=True, odd_one_out=True, dont_know=True
    )
    _allowed: ClassVar[dict[str, Any]] = KernelSpace._allowed | {
        "gamma": Allowed(kind=float, low=1, high_open=True),
        "slack": Allowed(names=("l1", "none")),
        "C": Allowed(names=("auto",), kind=float, low=0, low_open=True, high_open=True),
        "algorithm": Allowed(names=("dual", "paper")),
        "tol": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
        "dont_know": Allowed(names=("ignore", "equal")),
        "max_iter": Allowed(kind=int, low=1),
    }

    C_: float
    multipliers_: Floats
    skipped_: list[Skipped]
    conflicts_: list[ComparisonConflict]
    duality_gap_: float
    n_iter_: int
    _known: Constraints
    _problem: tuple[Any, ...]
    _seeds: Seeds

    def __init__(
        self,
        gamma: float = 2.0,
        *,
        slack: Literal["l1", "none"] = "l1",
        C: float | Literal["auto"] = "auto",
        rank: int | Literal["auto"] = "auto",
        kernel: Any = "adaptive",
        algorithm: Literal["dual", "paper"] = "dual",
        tol: float = 1e-3,
        dont_know: Literal["ignore", "equal"] = "ignore",
        max_iter: int = 300,
        random_state: RandomState = None,
    ) -> None:
        self.gamma = gamma
        self.slack = slack
        self.C = C
        self.rank = rank
        self.kernel = kernel
        self.algorithm = algorithm
        self.tol = tol
        self.dont_know = dont_know
        self.max_iter = max_iter
        self.random_state = random_state

    @guarded_fit
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Learn from more answers about the same rows.

        Features, `C_` and the bounds of pairs stay what they were, and multipliers start from
        what they were. So the result is that of `fit` with all answers and this `C`, up to `tol`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that were fitted.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said since; it is added to what they said before.
        callback : callable, default=None
            As for `fit`.

        Returns
        -------
        self

        Raises
        ------
        InvalidDataError
            If these are other rows.
        InvalidParameterError
            If a parameter other than `tol` and `max_iter` was changed since `fit`.
        """
        if not hasattr(self, "embedding_"):
            return self.fit(X, y, constraints=constraints, callback=callback)
        check_parameters(self, self._allowed)
        self._check_unchanged()
        rows = check_features(self, X, reset=False)
        features = self._features(self._map, rows)
        self._check_same(features)
        known = self._known + answers_for(self, constraints, len(rows))
        A = self._learn(features, known, self._seeds, callback, goes_on=True)
        self._set_learned(features, A)
        self.__dict__.pop("_nearness", None)
        return self

    def _check_unchanged(self) -> None:
        """Refuse to go on with other parameters than those that were fitted with."""
        for name, fitted in zip(PROBLEM, self._problem, strict=True):
            now = getattr(self, name)
            if now is not fitted and now != fitted:
                raise InvalidParameterError(
                    f"SKLR({name}={now!r}): partial_fit goes on with what was fitted, with "
                    f"{name}={fitted!r}. Set it back, or call fit with all answers"
                )

    def _check_same(self, features: Floats) -> None:
        """Refuse rows other than those that were fitted."""
        if len(features) != len(self.embedding_) or not np.allclose(
            features @ self._root, self.embedding_
        ):
            raise InvalidDataError(
                "SKLR.partial_fit takes the rows that were fitted, in the same order, and more "
                "answers about them; these are other rows. Call fit"
            )

    def _learn(
        self,
        features: Floats,
        known: Constraints,
        seeds: Seeds,
        callback: Progress | None,
        *,
        goes_on: bool = False,
    ) -> Floats:
        self._check_slack()
        read = self._reader(features, known, seeds)
        possible, self.skipped_ = read(known)
        self.conflicts_ = conflicts_of(possible)
        if self.slack == "none":
            binding_answers(known)
            refuse_conflicts(self.conflicts_)
        unit = mean_squared_distance(features)
        if not goes_on:
            self.C_ = self._price(features, known, read, unit, seeds)
        problem = Problem(features, possible.priced(self.C_ / unit))
        solution = problem.solve(
            tol=self.tol,
            max_iter=self.max_iter,
            random=np.random.RandomState(seeds.order),
            multiplier=self._earlier(possible) if goes_on else None,
            corrected=self.algorithm == "dual",
            callback=callback,
        )
        self._warn_of(solution)
        self.multipliers_, self.duality_gap_ = solution.multiplier, solution.gap
        self.n_iter_ = max(solution.n_iter, 1)
        self._known, self._seeds = known, seeds
        self._problem = tuple(getattr(self, name) for name in PROBLEM)
        return solution.A

    def _check_slack(self) -> None:
        if self.slack == "none" and self.C != "auto":
            raise InvalidParameterError(
                f"SKLR(C={self.C!r}, slack='none'): without slack no violation has a price; leave "
                "C='auto', or take slack='l1'"
            )
        if self.algorithm == "paper" and self.slack != "none":
            raise InvalidParameterError(
                f"SKLR(algorithm='paper', slack={self.slack!r}): the paper's algorithm knows no "
                "slack; take slack='none', or algorithm='dual'"
            )

    def _reader(
        self, features: Floats, known: Constraints, seeds: Seeds
    ) -> Callable[[Constraints], tuple[AnswerLimits, list[Skipped]]]:
        """Make what turns answers into constraints, and says which it leaves out."""
        pair_bounds = PairBounds(1.0, 1.0)
        if not known.is_dont_know.all():
            pair_bounds = bounds_of_pairs(features, self._diameter(), seeds.distances)

        def read(answers: Constraints) -> tuple[AnswerLimits, list[Skipped]]:
            limits = limits_of_answers(
                answers,
                gamma=self.gamma,
                pair_bounds=pair_bounds,
                equal_if_unknown=self.dont_know == "equal",
            )
            return without_impossible(limits, features)

        return read

    def _price(
        self, features: Floats, known: Constraints, read: Any, unit: float, seeds: Seeds
    ) -> float:
        """Give what a violation of an answer of weight 1 costs, per mean squared distance."""
        if self.slack == "none":
            return np.inf
        if self.C != "auto":
            return float(self.C)
        return best_price(features, known, lambda kept: read(kept)[0], unit, seeds.folds)

    def _earlier(self, limits: AnswerLimits) -> Floats:
        """Give multipliers to start from: those found before, and 0 for new answers."""
        counts = {
            "pair": len(self._known.pairs),
            "triplet": len(self._known.triplets),
            "odd_one_out": len(self._known.odd_one_out),
        }
        is_old = limits.answer < np.array([counts[kind] for kind in limits.kind.tolist()], int)
        multiplier = np.zeros(len(is_old))
        multiplier[is_old] = self.multipliers_
        return multiplier

    def _warn_of(self, solution: Solution) -> None:
        if not solution.is_done:
            warn(
                f"SKLR: after {solution.n_iter} sweeps {solution.n_off} of "
                f"{len(solution.multiplier)} comparisons are off by more than tol={self.tol:g}; "
                "raise max_iter or tol, or allow slack: without it, answers may be impossible",
                ConvergenceWarning,
            )
