"""Must-links and cannot-links as bounds of distances that give way at a price."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress
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
) -> tuple[Floats, dict[str, Any]]:
    """Find the matrix nearest to the identity that keeps bounds, or pays for it.

    Parameters
    ----------
    method : estimator
        It has `gamma`, `tol` and `max_iter`.
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
    A : ndarray of shape (n_features, n_features)
    found : dict
        Fitted attributes by name.
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
        warnings.warn(
            f"{type(method).__name__}: after {solution.n_iter} sweeps {solution.n_off} of "
            f"{len(solution.multiplier)} pairs are off by more than tol={method.tol:g}; raise "
            "max_iter or tol, or lower gamma",
            ConvergenceWarning,
            stacklevel=6,
        )
    return solution.A, {
        "multipliers_": solution.multiplier,
        "duality_gap_": solution.gap,
        "n_iter_": max(solution.n_iter, 1),
        "skipped_": skipped,
    }


def _giving_way(found: AnswerLimits, gamma: float) -> Any:
    """Let bounds move at a price of `gamma`, for an answer of weight 1; infinite is not at all."""
    limits = found.priced(np.inf)
    return limits._replace(give=1 / (gamma * found.weight))
