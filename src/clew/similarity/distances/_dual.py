"""Dual coordinate ascent: the problem, its two objectives, and the loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress, stop_if_abandoned
from clew.kernels.dist_lqp import Bounds, close_triangles, sweep_bounds, sweep_triangles

__all__ = ["Problem", "Solution", "primal_objective", "projected", "solve"]

Floats = NDArray[np.float64]

#: Sweeps over the triangles that have positive multipliers, for each sweep over all.
SWEEPS_OF_ACTIVE = 10
#: Weight of the squared steps of distances of weight 0. The solution does not depend on it; with 1
#: in place of 8, 1,000 leaves take four times as many sweeps.
FREE_WEIGHT = 8.0
#: Full sweeps between two computations of the duality gap.
SWEEPS_PER_CHECK = 3
#: Lower limit of the objective to which the gap is relative, as a share of ``Σ w d²``.
LEAST_SHARE = 1e-9


class Problem(NamedTuple):
    """Distances x that minimize ``Σ weight·(x - target)²`` plus penalties for missed bounds.

    All triangle inequalities of `sides` hold. The bounds are on the first
    distances; those of weight 0 must be among them.
    """

    sides: NDArray[np.int32]
    target: Floats
    weight: Floats
    bounds: Bounds


class Solution(NamedTuple):
    """The best distances found, for which all triangle inequalities hold."""

    x: Floats
    objective: float
    dual_objective: float
    """A lower bound of the minimum of the objective."""
    n_iter: int
    is_converged: bool

    @property
    def gap(self) -> float:
        """Largest possible distance of the objective from its minimum."""
        return max(self.objective - self.dual_objective, 0.0)


class _State:
    """Distances and multipliers, and the objectives at them.

    Distances of weight 0 have weight 1 here, around a center that moves (the proximal point
    method): a dual coordinate step needs a positive weight.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.is_free = problem.weight == 0
        self.weight = np.where(self.is_free, FREE_WEIGHT, problem.weight)
        self.center, self.x = problem.target.copy(), problem.target.copy()
        self.step = 0.5 / self.weight
        self.multipliers = np.zeros(problem.sides.shape)
        self.over, self.under = (np.zeros(len(problem.bounds.over)) for _ in range(2))
        self.every = np.arange(len(problem.sides), dtype=np.int32)
        self.active = np.empty_like(self.every)

    def sweep(self) -> float:
        """Visit all triangles, then active ones; return the largest change by the first visit."""
        n_active, largest = self._visit(self.every, len(self.every))
        for _ in range(SWEEPS_OF_ACTIVE):
            n_active, _ = self._visit(self.active, n_active)
        if self.is_free.any():
            at = self.x[self.is_free]
            self.x[self.is_free] = 2 * at - self.center[self.is_free]
            self.center[self.is_free] = at
        return largest

    def _visit(self, which: NDArray[np.int32], n_which: int) -> tuple[int, float]:
        given = self.problem
        sweep_bounds(given.bounds, self.step, self.x, self.over, self.under)
        found: tuple[int, float] = sweep_triangles(
            given.sides, self.step, which, n_which, self.x, self.multipliers, self.active
        )
        return found

    def feasible(self) -> Floats:
        """Return distances near x for which all triangle inequalities hold."""
        x = np.maximum(np.where(self.is_free, self.center, self.x), 0.0)
        close_triangles(self.problem.sides, x)
        return x

    def dual_objective(self) -> float:
        """Return a lower bound on the objective of all feasible distances."""
        given, bounds = self.problem, self.problem.bounds
        fixed = ~self.is_free
        value = float((given.weight * (given.target**2 - self.x**2))[fixed].sum())
        is_fixed = fixed[: len(bounds.over)]
        value -= float(bounds.upper * self.over[is_fixed].sum())
        value += float(bounds.lower * self.under[is_fixed].sum())
        return value + self._least_of_free()

    def _least_of_free(self) -> float:
        """Minimize the part of the Lagrangian with distances of weight 0.

        It is linear between the bounds. Distances above all targets and bounds can be ignored:
        shortening them to the largest of these keeps the triangle inequalities, and does not raise
        the objective.
        """
        bounds = self.problem.bounds
        at = np.flatnonzero(self.is_free)
        if not len(at):
            return 0.0
        slope = 2 * self.weight[at] * (self.center[at] - self.x[at])
        slope += self.under[at] - self.over[at]
        most = max(float(self.problem.target.max()), bounds.lower, bounds.upper)
        costs = [
            slope * x
            + bounds.over[at] * max(x - bounds.upper, 0.0)
            + bounds.under[at] * max(bounds.lower - x, 0.0)
            for x in (0.0, bounds.upper, bounds.lower, most)
        ]
        return float(np.min(costs, axis=0).sum())


def primal_objective(problem: Problem, x: Floats) -> float:
    """Return the sum of squared changes and penalties."""
    bounds = problem.bounds
    bounded = x[: len(bounds.over)]
    over = bounds.over @ np.maximum(bounded - bounds.upper, 0.0)
    under = bounds.under @ np.maximum(bounds.lower - bounded, 0.0)
    return float(problem.weight @ (x - problem.target) ** 2 + over + under)


def solve(
    problem: Problem, tol: float, max_iter: int, callback: Progress | None = None
) -> Solution:
    """Minimize the objective.

    Parameters
    ----------
    problem : Problem
        The problem.
    tol : float
        The duality gap, relative to the objective, at which to stop.
    max_iter : int
        Largest number of sweeps over all constraints.
    callback : callable, default=None
        Called as ``callback(n_sweeps, max_iter)`` every few sweeps.

    Returns
    -------
    Solution
        The distances of the lowest objective among those at which the gap was computed.

    Notes
    -----
    Time O(n_triangles) for each sweep.
    """
    state, least = _State(problem), LEAST_SHARE * float(problem.weight @ problem.target**2)
    best = Solution(problem.target, np.inf, -np.inf, 0, False)
    for n_iter in range(1, max_iter + 1):
        stop_if_abandoned()
        largest = state.sweep()
        if n_iter % SWEEPS_PER_CHECK and n_iter < max_iter and largest > 0:
            continue
        x, dual = state.feasible(), max(best.dual_objective, state.dual_objective())
        objective = primal_objective(problem, x)
        x, objective = (x, objective) if objective < best.objective else best[:2]
        is_converged = objective - dual <= tol * max(objective, least) or largest == 0
        best = Solution(x, objective, dual, n_iter, is_converged)
        if callback is not None:
            callback(n_iter, max_iter)
        if is_converged:
            break
    return best


def projected(
    sides: NDArray[np.int32], target: Floats, step: Floats, tol: float, max_iter: int
) -> Floats:
    """Find the nearest distances for which all triangle inequalities hold.

    Parameters
    ----------
    sides : ndarray of shape (n_triangles, 3), int32
        The three distances of each triangle.
    target : ndarray of shape (n_distances,)
        The given distances.
    step : ndarray of shape (n_distances,)
        Half the inverse weight of each distance; 0 for a fixed one.
    tol : float
        Stop if no multiplier changes by more.
    max_iter : int
        Largest number of sweeps over all triangles.

    Returns
    -------
    ndarray of shape (n_distances,)
    """
    x, multipliers = target.copy(), np.zeros(sides.shape)
    every = np.arange(len(sides), dtype=np.int32)
    active = np.empty_like(every)
    for _ in range(max_iter):
        stop_if_abandoned()
        n_active, largest = sweep_triangles(sides, step, every, len(every), x, multipliers, active)
        if largest <= tol:
            break
        for _ in range(SWEEPS_OF_ACTIVE):
            n_active, _ = sweep_triangles(sides, step, active, n_active, x, multipliers, active)
    return x
