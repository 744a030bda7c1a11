"""SKLR: the kernel closest to a given one for which answers of any kind hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from clew._estimators import guarded_fit
from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues, RandomState, check_features, check_parameters
from clew._warnings import warn
from clew.answers import SAME
from clew.constraints import Constraints, Support
from clew.constraints._meanings import inequalities_of
from clew.constraints._support import answers_for, binding_answers, held_out_folds
from clew.exceptions import InconsistentConstraintsError, InvalidDataError, InvalidParameterError
from clew.metrics._scores import weighted_auc
from clew.similarity._log_det import (
    AnswerLimits,
    PairBounds,
    Problem,
    Skipped,
    bounds_of_pairs,
    limits_of_answers,
    mean_squared_distance,
    without_impossible,
)
from clew.similarity.kernels.feature_maps import KernelSpace, Seeds

__all__ = ["SKLR"]

Floats = NDArray[np.float64]
#: Parameters that must not change between `fit` and `partial_fit`.
PROBLEM = ("gamma", "slack", "C", "rank", "kernel", "algorithm", "dont_know", "random_state")
#: Slack penalties that C="auto" compares, per mean squared distance of two rows.
PENALTIES = np.array([0.05, 0.1, 0.2, 0.5, 1.0, 2.0])
DEFAULT_PENALTY = 0.5
#: Penalties count as equally good if their scores differ by less than this many standard errors.
TIE = 0.5
FEWEST_ANSWERS, N_FOLDS = 30, 3
#: Tolerance and number of sweeps: rough solutions suffice to compare penalties.
ROUGH_TOL, FEW_SWEEPS = 0.05, 20


class ComparisonConflict(NamedTuple):
    """Comparisons of distances that cannot all hold.

    Parameters
    ----------
    chain : tuple of pairs of int
        Pairs of rows in a cycle: by the answers, the distance of each is less than that of the
        next, or equal to it. The last pair is the first. The distance of a must-link is less than
        that of any cannot-link.
    """

    chain: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        cycle = " < ".join(f"d({i}, {j})" for i, j in self.chain)
        return f"the answers imply {cycle}"


class SKLR(KernelSpace):
    """Semi-supervised kernel learning from relative comparisons, with slack for wrong answers.

    The learned kernel is the closest to a given one for which all answers hold, up to slack. For an
    odd-one-out answer, the squared distances from the odd row to the others should be `gamma` times
    that between the others; for a triplet, the larger squared distance `gamma` times the smaller.
    Must-linked rows should be near each other, and cannot-linked rows far apart.

    Parameters
    ----------
    gamma : float, default=2.0
        Ratio of squared distances that a comparison asks for, at least 1.
    slack : {"l1", "none"}, default="l1"
        "l1": violations are penalized, and answers may contradict each other. "none": all answers
        hold, as in the paper, and contradictions are refused.
    C : float or "auto", default="auto"
        Slack penalty of an answer of weight 1: a violation is measured in mean squared distances of
        two rows, and multiplied by `C`. "auto" chooses between 0.05 and 2 by held-out answers; it
        is 0.5 if these show no clear difference, or there are fewer than 30 comparisons and pairs.
    rank : int or "auto", default="auto"
        Largest number of features of the kernel; never more than rows. "auto" uses as many as
        explain 99 % of its trace, at most 300.
    kernel : {"adaptive", "fourier", "precomputed"}, callable or transformer, default="adaptive"
        The given kernel. "adaptive": Gaussian with local scales, see the Notes. "fourier": Gaussian
        with the median distance as its scale, by random Fourier features. "precomputed": `fit` is
        given the kernel of all pairs of rows, and `transform` that of rows with the fitted rows. A
        callable returns the kernel of two sets of rows. A transformer returns features whose inner
        products are the kernel.
    algorithm : {"dual", "paper"}, default="dual"
        "dual" corrects earlier projections, and so finds the closest kernel. "paper" stops at the
        first kernel for which the answers hold, which depends on their order, and needs
        ``slack="none"``.
    tol : float, default=1e-3
        Tolerance: largest violation of a comparison, relative to the sum of its two sides.
    dont_know : {"ignore", "equal"}, default="ignore"
        Whether don't-knows about three rows are ignored, or mean that the distances are equal, like
        "all alike". Don't-knows about pairs are ignored.
    max_iter : int, default=300
        Largest number of sweeps over the answers.
    random_state : int, RandomState or None, default=None
        Seed of samples of rows and distances, of the held-out answers, and of the order of the
        projections.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Learned features of the fitted rows, ``Φ A^½``, whose inner products are the learned kernel.
        k-means on them is kernel k-means.
    kernel_ : ndarray of shape (n_samples, n_samples)
        The learned kernel, ``Φ A Φ'``; computed at each access.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32
        Gaussian affinities in the embedding, see `AdaptiveKNN`; computed at the first access.
    A_ : ndarray of shape (n_components, n_components)
        The learned matrix A; the identity without answers.
    rank_ : int
        Number of features of the kernel.
    C_ : float
        The slack penalty used; infinite without slack.
    multipliers_ : ndarray of shape (n_comparisons,)
        Lagrange multipliers; 0 for comparisons that hold without being enforced. The order is: one
        for each triplet, two for each odd-one-out answer, then equalities, then pairs, each in the
        order of the answers. Answers of weight 0 and skipped answers are left out.
    skipped_ : list of (kind, answer, reason)
        Answers that no kernel can honor, or not completely, by position, with the reason.
    conflicts_ : list of ComparisonConflict
        Contradictions among comparisons of distances, each with its ``chain`` of pairs of rows. For
        cannot-links that contradict must-links see `Constraints.conflicts`.
    duality_gap_ : float
        Bound on the distance of the objective from its minimum, relative to the minimum. It can be
        negative because of violations within `tol`.
    n_iter_ : int
        Number of sweeps, at least 1.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or two parameters exclude each other.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    InconsistentConstraintsError
        If `slack` is "none" and answers contradict each other.
    InvalidDataError
        If a precomputed kernel is not square and symmetric, or a kernel has no positive diagonal
        entry, or entries that are not finite, or too large or too small to compute with.
    TooLargeError
        From `kernel_` and `affinity_matrix_`, above 20,000 rows.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached.

    See Also
    --------
    SKMS : A kernel from must-links and cannot-links alone.
    ITML : A metric of the features themselves.

    Notes
    -----
    The adaptive kernel is ``exp(-d² / (s·t))`` for two rows with scales s and t. The scale of a row
    is the distance to its 100th neighbor, or to its (n/8)th if that is nearer. Standardize features
    first. If there are more than 3,000 rows, scales and features of the kernel are computed from a
    random sample of 3,000.

    Time O(n·r²) for the features of n rows at rank r, and O(m·r² + p·r² + r³) per sweep for m
    violated answers about p rows. Memory O(n·r).

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
    _allowed: ClassVar[dict[str, AllowedValues]] = KernelSpace._allowed | {
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
    _answers: Constraints
    _problem: tuple[object, ...]
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
        """Learn from additional answers about the same rows.

        The features, `C_` and the bounds for pairs are kept, and the multipliers are the start of
        the solver. The result is that of `fit` with all answers and this `C`, up to `tol`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The fitted rows.
        y : ignored
            Present for compatibility with scikit-learn.
        constraints : Constraints, default=None
            The new answers, which are added to those of earlier fits.
        callback : callable, default=None
            As for `fit`.

        Returns
        -------
        self

        Raises
        ------
        InvalidDataError
            If `X` does not hold the fitted rows.
        InvalidParameterError
            If a parameter other than `tol` and `max_iter` was changed after `fit`.
        """
        if not hasattr(self, "embedding_"):
            return self.fit(X, y, constraints=constraints, callback=callback)
        check_parameters(self, self._allowed)
        for name, fitted in zip(PROBLEM, self._problem, strict=True):
            now = getattr(self, name)
            if now is not fitted and now != fitted:
                raise InvalidParameterError(
                    f"SKLR({name}={now!r}): partial_fit continues a fit with {name}={fitted!r}. "
                    f"Set it back, or call fit with all answers"
                )
        rows = check_features(self, X, reset=False)
        features = self._features(rows)
        if len(features) != len(self.embedding_) or not np.allclose(
            features @ self._root, self.embedding_
        ):
            raise InvalidDataError(
                "SKLR.partial_fit takes the fitted rows, in the same order, but X holds other "
                "rows; call fit for new rows"
            )
        answers = self._answers + answers_for(self, constraints, len(rows))
        A = self._learn(features, answers, self._seeds, callback, is_partial=True)
        self._set_learned(features, A)
        self.__dict__.pop("_nearness", None)
        return self

    def _learn(
        self,
        features: Floats,
        answers: Constraints,
        seeds: Seeds,
        callback: Progress | None,
        *,
        is_partial: bool = False,
    ) -> Floats:
        if self.slack == "none" and self.C != "auto":
            raise InvalidParameterError(
                f"SKLR(C={self.C!r}, slack='none'): C is the slack penalty, and has no effect "
                "without slack; leave C='auto', or use slack='l1'"
            )
        if self.algorithm == "paper" and self.slack != "none":
            raise InvalidParameterError(
                f"SKLR(algorithm='paper', slack={self.slack!r}): the paper's algorithm has no "
                "slack; use slack='none', or algorithm='dual'"
            )
        pair_bounds = PairBounds(1.0, 1.0)
        if not answers.is_dont_know.all():
            pair_bounds = bounds_of_pairs(features, self._diameter(), seeds.distances)

        def to_limits(part: Constraints) -> tuple[AnswerLimits, list[Skipped]]:
            limits = limits_of_answers(
                part,
                gamma=self.gamma,
                pair_bounds=pair_bounds,
                equal_if_unknown=self.dont_know == "equal",
            )
            return without_impossible(limits, features)

        possible, self.skipped_ = to_limits(answers)
        self.conflicts_ = conflicts_of(possible)
        if self.slack == "none":
            binding_answers(answers)
            refuse_conflicts(self.conflicts_)
        unit = mean_squared_distance(features)
        if not is_partial and self.slack == "l1" and isinstance(self.C, str):
            self.C_ = _chosen_penalty(
                features, answers, lambda train: to_limits(train)[0], unit, seeds.folds
            )
        elif not is_partial:
            self.C_ = np.inf if self.slack == "none" else float(self.C)
        solution = Problem(features, possible.with_penalty(self.C_ / unit)).solve(
            tol=self.tol,
            max_iter=self.max_iter,
            random=np.random.RandomState(seeds.order),
            multiplier=self._earlier_multipliers(possible) if is_partial else None,
            corrected=self.algorithm == "dual",
            callback=callback,
        )
        if solution.n_off:
            without_slack = (
                ", or use slack='l1', since there may be no kernel for which all answers hold"
                if self.slack == "none"
                else ""
            )
            warn(
                f"SKLR did not converge: after {solution.n_iter} sweeps, {solution.n_off} of "
                f"{len(solution.multiplier)} comparisons are off by more than tol={self.tol:g}; "
                f"raise max_iter or tol{without_slack}",
                ConvergenceWarning,
            )
        self.multipliers_, self.duality_gap_ = solution.multiplier, solution.gap
        self.n_iter_ = max(solution.n_iter, 1)
        self._answers, self._seeds = answers, seeds
        self._problem = tuple(getattr(self, name) for name in PROBLEM)
        return solution.A

    def _earlier_multipliers(self, limits: AnswerLimits) -> Floats:
        """Return the multipliers of the earlier fit, with 0 for new answers."""
        counts = {
            "pair": len(self._answers.pairs),
            "triplet": len(self._answers.triplets),
            "odd_one_out": len(self._answers.odd_one_out),
        }
        is_old = limits.answer < np.array([counts[kind] for kind in limits.kind.tolist()], int)
        multiplier = np.zeros(len(is_old))
        multiplier[is_old] = self.multipliers_
        return multiplier


def conflicts_of(answers: AnswerLimits) -> list[ComparisonConflict]:
    """Find the shortest cycle of each strongly connected set of comparisons with a strict one.

    Nodes are pairs of rows, edges comparisons; equal distances have two. The last node is a
    distance above all must-links and below all cannot-links. Linear time, and that for each
    conflict.
    """
    limits = answers.limits
    ends = np.sort(limits.rows.reshape(-1, 2), axis=1)
    pairs, node = np.unique(ends, axis=0, return_inverse=True)
    first, second = node.reshape(-1, 2).T
    compares, is_equality = limits.inverse_bound == 0, limits.low < 0
    middle = len(pairs)
    is_must, is_cannot = ~compares & (limits.factor > 0), ~compares & (limits.factor < 0)
    nearer = np.where(is_cannot, middle, first)
    farther = np.where(compares, second, np.where(is_must, middle, first))
    nearer, farther = np.r_[nearer, farther[is_equality]], np.r_[farther, nearer[is_equality]]
    is_strict = np.r_[~is_equality, np.zeros(int(is_equality.sum()), np.bool_)]
    edges = csr_array((np.ones(len(nearer)), (nearer, farther)), (middle + 1, middle + 1))
    part = connected_components(edges, connection="strong")[1]
    cyclic = np.flatnonzero(is_strict & (part[nearer] == part[farther]))
    _, first_of_part = np.unique(part[nearer[cyclic]], return_index=True)
    conflicts = []
    for edge in cyclic[np.sort(first_of_part)]:
        cycle = _shortest_cycle(edges, int(farther[edge]), int(nearer[edge]))
        named = [tuple(pairs[node].tolist()) for node in cycle if node != middle]
        conflicts.append(ComparisonConflict((*named, named[0])))
    return conflicts


def _shortest_cycle(edges: csr_array, start: int, goal: int) -> list[int]:
    """Find the shortest cycle through the edge from `goal` to `start`, from the goal on."""
    before = {start: start}
    queue = deque([start])
    while goal not in before:
        node = queue.popleft()
        for after in edges.indices[edges.indptr[node] : edges.indptr[node + 1]].tolist():
            if after not in before:
                before[after] = node
                queue.append(after)
    walk = [goal]
    while walk[-1] != start:
        walk.append(before[walk[-1]])
    return [goal, *walk[:0:-1]]


def refuse_conflicts(conflicts: list[ComparisonConflict]) -> None:
    """Refuse answers that contradict each other; the message has the first chain."""
    if conflicts:
        more = f", and {len(conflicts) - 1} more conflicts" if len(conflicts) > 1 else ""
        raise InconsistentConstraintsError(
            f"answers contradict each other: {conflicts[0]}{more}. Correct the answers, or use "
            "slack='l1', which allows violations",
            tuple(row for pair in conflicts[0].chain for row in pair),
        )


def _chosen_penalty(
    features: Floats,
    answers: Constraints,
    to_limits: Callable[[Constraints], AnswerLimits],
    unit: float,
    seed: int,
) -> float:
    """Choose a slack penalty by how many held-out answers hold; 0.5 if there are few answers.

    Of those within half a standard error of the best, the closest to 0.5: small differences are
    random. Three folds and up to six penalties, each solved from the last; `unit` is the mean
    squared distance.
    """
    random = np.random.RandomState(seed)
    comparisons = inequalities_of(answers)
    if len(comparisons.weight) + int((answers.pair_answers >= 0).sum()) < FEWEST_ANSWERS:
        return DEFAULT_PENALTY
    total = comparisons.weight.sum() + answers.pair_weights[~answers.is_dont_know].sum()
    folds = [
        _Fold(features, to_limits(train), test)
        for train, test in held_out_folds(answers, N_FOLDS, seed)
    ]
    score = np.full(len(PENALTIES), -np.inf)

    def standard_error() -> float:
        """Return that of the best score, which counts correct answers."""
        best = score.max()
        return float(np.sqrt(max(best * (1 - best / max(total, 1e-9)), 0.0)))

    for at, penalty in enumerate(PENALTIES.tolist()):
        score[at] = sum(fold.score(features, penalty / unit, random) for fold in folds)
        if score[at] < score.max() - standard_error():
            break  # larger penalties take longer and score lower
    good = score >= score.max() - TIE * standard_error()
    distance = np.where(good, np.abs(np.log(PENALTIES / DEFAULT_PENALTY)), np.inf)
    return float(PENALTIES[np.argmin(distance)])


class _Fold:
    """Training and test answers; each fit starts from the multipliers of the last."""

    def __init__(self, features: Floats, limits: AnswerLimits, test: Constraints) -> None:
        self._limits, self._test = limits, test
        self._problem = Problem(features, limits.limits)
        self._multiplier: Floats | None = None

    def score(self, features: Floats, penalty: float, random: np.random.RandomState) -> float:
        """Weight of test answers that hold after a fit; of pairs, their area under ROC."""
        self._problem.set_penalties(self._limits.with_penalty(penalty))
        solution = self._problem.solve(
            tol=ROUGH_TOL, max_iter=FEW_SWEEPS, random=random, multiplier=self._multiplier
        )
        self._multiplier = solution.multiplier

        def squared(rows: NDArray[np.int64]) -> Floats:
            difference = features[rows[:, 0]] - features[rows[:, 1]]
            return np.asarray(((difference @ solution.A) * difference).sum(axis=1))

        test = self._test
        more = inequalities_of(test)
        total = float(more.weight @ (squared(more.near) < squared(more.far)))
        counts = ~test.is_dont_know & (test.pair_weights > 0)
        weight, is_cannot = test.pair_weights[counts], test.pair_answers[counts] != SAME
        if is_cannot.any() and not is_cannot.all():
            distance = squared(test.pairs[counts])
            total += float(weight.sum() * weighted_auc(is_cannot, distance, weight))
        return total
