"""How much violated answers should cost, told from answers that were held out."""

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

__all__ = ["best_price"]

#: Prices to choose from, per mean squared distance of two rows.
PRICES = np.array([0.05, 0.1, 0.2, 0.5, 1.0, 2.0])
#: What is taken where answers do not clearly tell otherwise.
DEFAULT_PRICE = 0.5
#: Prices that foretell fewer answers by such a share of a standard error are as good.
TIE = 0.5
FEWEST_ANSWERS, N_FOLDS = 30, 3
#: To choose among prices, rough solutions do.
ROUGHLY, FEW_SWEEPS = 0.05, 20
Floats = NDArray[np.float64]


def best_price(
    features: Floats,
    known: Constraints,
    read: Callable[[Constraints], AnswerLimits],
    unit: float,
    seed: int,
) -> float:
    """Choose a price under which held-out answers hold about as often as under any.

    Of those that foretell fewer answers than the best one by no more than half a standard error,
    the nearest to 0.5 is taken: what few answers tell about prices is chance.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        The answers.
    read : callable
        Turns answers into constraints, without what nothing can honour.
    unit : float
        Mean squared distance of two rows.
    seed : int
        Deals the answers out.

    Returns
    -------
    float
        0.5 where fewer than 30 comparisons and pairs could be held out.
    """
    random = np.random.RandomState(seed)
    if len(inequalities_of(known).weight) + int((known.pair_answers >= 0).sum()) < FEWEST_ANSWERS:
        return DEFAULT_PRICE
    folds = [
        _Fold(features, read(kept), held) for kept, held in held_out_folds(known, N_FOLDS, random)
    ]
    told = np.full(len(PRICES), -np.inf)
    for at, price in enumerate(PRICES.tolist()):
        told[at] = sum(fold.foretold(features, price / unit, random) for fold in folds)
        if told[at] < told.max() - _standard_error(told.max(), known):
            break  # dearer answers only take longer
    good = told >= told.max() - TIE * _standard_error(told.max(), known)
    distance = np.where(good, np.abs(np.log(PRICES / DEFAULT_PRICE)), np.inf)
    return float(PRICES[np.argmin(distance)])


def _standard_error(told: float, known: Constraints) -> float:
    """Tell by how much the number of answers foretold may differ by chance."""
    total = inequalities_of(known).weight.sum()
    total += known.pair_weights[~known.is_dont_know].sum()
    return float(np.sqrt(max(told * (1 - told / max(total, 1e-9)), 0.0)))


class _Fold:
    """Answers to learn from and answers to judge by; each price starts where the last one ended."""

    def __init__(self, features: Floats, limits: AnswerLimits, held: Constraints) -> None:
        self._limits, self._held = limits, held
        self._problem = Problem(features, limits.limits)
        self._multiplier: Floats | None = None

    def foretold(self, features: Floats, price: float, random: np.random.RandomState) -> float:
        """Learn under a price, and count the held-out answers that are foretold."""
        self._problem.reprice(self._limits.priced(price))
        found = self._problem.solve(
            tol=ROUGHLY, max_iter=FEW_SWEEPS, random=random, multiplier=self._multiplier
        )
        self._multiplier = found.multiplier
        return foretold(features, found.A, self._held)


def foretold(features: Floats, A: Floats, held: Constraints) -> float:
    """Count the answers that distances foretell, weighted.

    Comparisons that hold, whatever by, and must-links and cannot-links as far as distances tell
    the ones from the others (area under the ROC curve). Equal distances foretell nothing.
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
