"""How much violated answers should cost, told from answers that were held out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from clew.answers import SAME
from clew.constraints import Constraints
from clew.constraints._folds import held_out_folds
from clew.similarity._limits_of_answers import AnswerLimits
from clew.similarity._log_det import Problem
from clew.similarity._relations import inequalities_of

__all__ = ["best_price"]

#: Prices to choose from, per mean squared distance of two rows.
PRICES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
#: What is taken where there are too few answers to choose by.
DEFAULT_PRICE = 0.2
FEWEST_ANSWERS = 30
N_FOLDS = 3
#: To choose among prices, rough solutions do.
ROUGHLY, FEW_SWEEPS = 0.02, 30
Floats = NDArray[np.float64]


def best_price(
    features: Floats,
    known: Constraints,
    read: Callable[[Constraints], AnswerLimits],
    unit: float,
    seed: int,
) -> float:
    """Choose the price under which held-out answers hold most often; of equal ones the lowest.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        The answers.
    read : callable
        Turns answers into constraints.
    unit : float
        Mean squared distance of two rows.
    seed : int
        Deals the answers out.

    Returns
    -------
    float
        0.2 where fewer than 30 comparisons and pairs could be held out.
    """
    told, random = np.zeros(len(PRICES)), np.random.RandomState(seed)
    if len(inequalities_of(known).weight) + int((known.pair_answers >= 0).sum()) < FEWEST_ANSWERS:
        return DEFAULT_PRICE
    for kept, held in held_out_folds(known, N_FOLDS, random):
        limits, multiplier = read(kept), None
        problem = Problem(features, limits.limits)
        for at, price in enumerate(PRICES):
            problem.reprice(limits.priced(price / unit))
            found = problem.solve(
                tol=ROUGHLY, max_iter=FEW_SWEEPS, random=random, multiplier=multiplier
            )
            multiplier = found.multiplier
            told[at] += foretold(features, found.A, held)
    return PRICES[int(np.argmax(told))] if told.any() else DEFAULT_PRICE


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
        total += float(weight.sum() * roc_auc_score(is_cannot, distance, sample_weight=weight))
    return total
