"""Metrics from must-links and cannot-links, as bounds of distances with slack."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress
from clew._warnings import warn
from clew.constraints import Constraints
from clew.constraints._support import binding_answers
from clew.kernels.log_det import Limits
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
    """Find the matrix closest to the identity for which the bounds hold, up to slack.

    Parameters
    ----------
    method : estimator
        ITML or SKMS. Its `gamma`, `tol` and `max_iter` are used; its `multipliers_`,
        `duality_gap_`, `n_iter_` and `skipped_` are set.
    X : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        Pair answers.
    pair_bounds : PairBounds
        Bounds of squared distances.
    seed : int
        Seed of the order of the projections.
    callback : callable or None
        Called as ``callback(n_sweeps, max_iter)`` after each sweep.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        The matrix, symmetric positive definite.

    Raises
    ------
    InconsistentConstraintsError
        If `gamma` is infinite and the answers contradict each other.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached.
    """
    if np.isinf(method.gamma):
        known = binding_answers(known)
    limits = limits_of_answers(known, gamma=1.0, pair_bounds=pair_bounds, equal_if_unknown=False)
    limits, skipped = without_impossible(limits, X)
    problem = Problem(X, _with_slack(limits, method.gamma))
    solution = problem.solve(
        tol=method.tol, max_iter=method.max_iter, random=np.random.RandomState(seed),
        callback=callback,
    )  # fmt: skip
    if not solution.is_done:
        warn(
            f"{type(method).__name__} did not converge: after {solution.n_iter} sweeps, "
            f"{solution.n_off} of {len(solution.multiplier)} pairs are off by more than "
            f"tol={method.tol:g}; raise max_iter or tol, or lower gamma",
            ConvergenceWarning,
        )
    method.multipliers_, method.skipped_ = solution.multiplier, skipped
    method.duality_gap_, method.n_iter_ = solution.gap, max(solution.n_iter, 1)
    return solution.A


def _with_slack(found: AnswerLimits, gamma: float) -> Limits:
    """Give bounds slack with the penalty `gamma`, for weight 1; ``np.inf`` allows no slack."""
    limits = found.with_penalty(np.inf)
    return limits._replace(slack=1 / (gamma * found.weight))
