"""Choice of the slack penalty by held-out answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from clew._ranking import weighted_auc
from clew.answers import SAME
from clew.constraints import Constraints
from clew.constraints._folds import held_out_folds
from clew.similarity._comparisons import inequalities_of
from clew.similarity.log_det._distance_constraints import AnswerLimits
from clew.similarity.log_det._problem import Problem

__all__ = ["choose_penalty"]

#: Candidates, per mean squared distance of two rows.
PENALTIES = np.array([0.05, 0.1, 0.2, 0.5, 1.0, 2.0])
DEFAULT_PENALTY = 0.5
#: Penalties count as equally good if their scores differ by less than this many standard errors.
TIE = 0.5
FEWEST_ANSWERS, N_FOLDS = 30, 3
#: Tolerance and number of sweeps: rough solutions suffice to compare penalties.
ROUGH_TOL, FEW_SWEEPS = 0.05, 20
Floats = NDArray[np.float64]


def choose_penalty(
    features: Floats,
    known: Constraints,
    to_limits: Callable[[Constraints], AnswerLimits],
    unit: float,
    seed: int,
) -> float:
    """Choose a slack penalty by how many held-out answers hold.

    Among the penalties whose score is within half a standard error of the best, the closest to 0.5
    is chosen, because small differences are random.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        Answers.
    to_limits : callable
        Turns answers into constraints on distances, without those that cannot hold.
    unit : float
        Mean squared distance of two rows.
    seed : int
        Seed of the folds.

    Returns
    -------
    float
        The penalty; 0.5 if there are fewer than 30 comparisons and pairs.

    Notes
    -----
    Solves the problem for three folds and up to six penalties, each time from the solution for the
    last penalty.
    """
    random = np.random.RandomState(seed)
    if len(inequalities_of(known).weight) + int((known.pair_answers >= 0).sum()) < FEWEST_ANSWERS:
        return DEFAULT_PENALTY
    folds = [
        _Fold(features, to_limits(kept), held)
        for kept, held in held_out_folds(known, N_FOLDS, seed)
    ]
    score = np.full(len(PENALTIES), -np.inf)
    for at, penalty in enumerate(PENALTIES.tolist()):
        score[at] = sum(fold.score(features, penalty / unit, random) for fold in folds)
        if score[at] < score.max() - _standard_error(score.max(), known):
            break  # larger penalties take longer and score lower
    good = score >= score.max() - TIE * _standard_error(score.max(), known)
    distance = np.where(good, np.abs(np.log(PENALTIES / DEFAULT_PENALTY)), np.inf)
    return float(PENALTIES[np.argmin(distance)])


def _standard_error(score: float, known: Constraints) -> float:
    """Estimate the standard error of a score: it counts correct answers."""
    total = inequalities_of(known).weight.sum()
    total += known.pair_weights[~known.is_dont_know].sum()
    return float(np.sqrt(max(score * (1 - score / max(total, 1e-9)), 0.0)))


class _Fold:
    """Training and held-out answers; each fit starts from the multipliers of the last."""

    def __init__(self, features: Floats, limits: AnswerLimits, held: Constraints) -> None:
        self._limits, self._held = limits, held
        self._problem = Problem(features, limits.limits)
        self._multiplier: Floats | None = None

    def score(self, features: Floats, penalty: float, random: np.random.RandomState) -> float:
        """Fit with a penalty, and count the held-out answers that hold."""
        self._problem.set_penalties(self._limits.with_penalty(penalty))
        found = self._problem.solve(
            tol=ROUGH_TOL, max_iter=FEW_SWEEPS, random=random, multiplier=self._multiplier
        )
        self._multiplier = found.multiplier
        return _n_correct(features, found.A, self._held)


def _n_correct(features: Floats, A: Floats, held: Constraints) -> float:
    """Return the total weight of the answers that hold for a metric.

    A comparison holds if the distances are in its order, whatever their difference. For pairs, the
    area under the ROC curve of their distances is the share of the weight that counts.
    """

    def squared(rows: NDArray[np.int64]) -> Floats:
        difference = features[rows[:, 0]] - features[rows[:, 1]]
        return np.asarray(((difference @ A) * difference).sum(axis=1))

    more = inequalities_of(held)
    total = float(more.weight @ (squared(more.near) < squared(more.far)))
    counts = ~held.is_dont_know & (held.pair_weights > 0)
    weight, is_cannot = held.pair_weights[counts], held.pair_answers[counts] != SAME
    if is_cannot.any() and not is_cannot.all():
        distance = squared(held.pairs[counts])
        total += float(weight.sum() * weighted_auc(is_cannot, distance, weight))
    return total
