"""Must-links and cannot-links as bounds of distances that give way at a price."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress
from clew._warnings import warn
from clew.constraints import Constraints
from clew.constraints._support import binding_answers
from clew.similarity.log_det._distance_constraints import (
    AnswerLimits,
    PairBounds,
    limits_of_answers,
    without_impossible,
)
from clew.similarity.log_det._problem import Problem

__all__ = ["learn_from_pairs"]

Floats = NDArray[np.float64]


def learn_from_pairs(
    method: Any,
    X: Floats,
    known: Constraints,
    pair_bounds: PairBounds,
    seed: int,
    callback: Progress | None,
) -> Floats:
    """Find the matrix nearest to the identity that keeps bounds, or pays for it.

    Parameters
    ----------
    method : estimator
        It has `gamma`, `tol` and `max_iter`; `multipliers_`, `duality_gap_`, `n_iter_` and
        `skipped_` are set.
    X : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        Pairs; without slack they may not contradict each other.
    pair_bounds : PairBounds
        Bounds of squared distances.
    seed : int
        Orders the projections.
    callback : callable or None
        Called after each sweep.

    Returns
    -------
    ndarray of shape (n_features, n_features)
    """
    if np.isinf(method.gamma):
        known = binding_answers(known)
    limits = limits_of_answers(known, gamma=1.0, pair_bounds=pair_bounds, equal_if_unknown=False)
    limits, skipped = without_impossible(limits, X)
    problem = Problem(X, _giving_way(limits, method.gamma))
    solution = problem.solve(
        tol=method.tol, max_iter=method.max_iter, random=np.random.RandomState(seed),
        callback=callback,
    )  # fmt: skip
    if not solution.is_done:
        warn(
            f"{type(method).__name__}: after {solution.n_iter} sweeps {solution.n_off} of "
            f"{len(solution.multiplier)} pairs are off by more than tol={method.tol:g}; raise "
            "max_iter or tol, or lower gamma",
            ConvergenceWarning,
        )
    method.multipliers_, method.skipped_ = solution.multiplier, skipped
    method.duality_gap_, method.n_iter_ = solution.gap, max(solution.n_iter, 1)
    return solution.A


def _giving_way(found: AnswerLimits, gamma: float) -> Any:
    """Let bounds move at a price of `gamma`, for an answer of weight 1; infinite is not at all."""
    limits = found.priced(np.inf)
    return limits._replace(give=1 / (gamma * found.weight))
