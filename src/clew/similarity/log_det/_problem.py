"""The matrix of least log-det divergence from the identity under constraints on distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from clew._parallel import Progress
from clew.kernels.log_det import Limits, squared_distances, sweep

__all__ = ["Problem", "Solution", "bounds", "comparisons", "equalities", "joined", "take"]

#: A block has as many rows as there are features, limited to SMALL_BLOCK and LARGE_BLOCK; after
#: numerical failures it is reduced, at most to LEAST_BLOCK.
LEAST_BLOCK, SMALL_BLOCK, LARGE_BLOCK = 4, 16, 96
ROUNDS_PER_BLOCK = 4
STEPS_BACK = 10
TINY = 1e-300
Floats = NDArray[np.float64]


class Solution(NamedTuple):
    """The closest matrix, or the last iterate if `max_iter` was reached."""

    A: Floats
    """The matrix, symmetric positive definite, (n_features, n_features)."""
    multiplier: Floats
    """Lagrange multiplier λ of each constraint."""
    excess: Floats
    """Relative violation of each constraint; negative if it holds with a margin."""
    gap: float
    """Duality gap: bound on the distance of the objective from its minimum, relative to it."""
    n_iter: int
    """Number of sweeps."""
    n_off: int
    """Number of constraints that are off by more than the tolerance."""

    @property
    def is_done(self) -> bool:
        """Whether the solver converged."""
        return self.n_off == 0


class State(NamedTuple):
    """A, violations and duality gap for given multipliers, see `Solution`."""

    A: Floats
    excess: Floats
    gap: float


def comparisons(
    near: NDArray[np.int64], far: NDArray[np.int64], factor: float, penalty: Floats
) -> Limits:
    """Make constraints ``factor·d(near) <= d(far)`` for pairs of rows, each of shape (m, 2)."""
    zeros = np.zeros(len(near))
    rows = np.ascontiguousarray(np.hstack([near, far]))
    return Limits(rows, zeros + factor, zeros, zeros, zeros, penalty)


def equalities(near: NDArray[np.int64], far: NDArray[np.int64], penalty: Floats) -> Limits:
    """Make constraints ``d(near) = d(far)`` for pairs of rows, each of shape (m, 2)."""
    return comparisons(near, far, 1.0, penalty)._replace(low=-penalty)


def bounds(
    pairs: NDArray[np.int64],
    is_upper: NDArray[np.bool_],
    bound: Floats,
    penalty: Floats,
    slack: float = 0.0,
) -> Limits:
    """Make upper and lower bounds for distances of pairs of rows; for `slack` see `Limits`."""
    zeros = np.zeros(len(pairs))
    factor = np.where(is_upper, 1.0, -1.0)
    return Limits(np.hstack([pairs, pairs]), factor, 1 / bound, zeros + slack, zeros, penalty)


def joined(*parts: Limits) -> Limits:
    """Concatenate constraints."""
    return Limits(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def take(limits: Limits, which: NDArray[np.int64] | NDArray[np.bool_]) -> Limits:
    """Return the chosen constraints."""
    return Limits(
        limits.rows[which],
        limits.factor[which],
        limits.inverse_bound[which],
        limits.slack[which],
        limits.low[which],
        limits.high[which],
    )


class Problem:
    """Minimize the log-det divergence of A from the identity under constraints on distances.

    The squared distance of two rows is ``(x - y)' A (x - y)``. The objective over positive definite
    A is the divergence, ``tr A - log det A - n_features``, plus ``limits.high`` times each
    violation. A bound with ``limits.slack > 0`` has slack instead: it may move, at a penalty of
    ``1 / slack`` times its own divergence from the given bound.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    limits : Limits
        Constraints on the rows of `X`.

    Notes
    -----
    Only rows with constraints are kept; if they are fewer than the features, A is found in the
    coordinates of their span.
    """

    def __init__(self, X: Floats, limits: Limits) -> None:
        used, local = np.unique(limits.rows, return_inverse=True)
        rows = X[used]
        self._axes: Floats | None = None
        self._n_features = X.shape[1]
        if len(used) < X.shape[1]:
            # A differs from the identity only in the span of the rows with constraints.
            self._axes, triangle = np.linalg.qr(rows.T)
            rows = triangle.T
        self._X = np.ascontiguousarray(rows)
        self._limits = limits._replace(rows=local.reshape(limits.rows.shape).astype(np.int64))
        self._compares = limits.inverse_bound == 0
        self._bound = np.where(self._compares, 0.0, 1 / np.maximum(limits.inverse_bound, TINY))
        self._ends = self._limits.rows.T

    def set_penalties(self, limits: Limits) -> None:
        """Change the slack penalties of the constraints to those of `limits`."""
        self._limits = self._limits._replace(low=limits.low, high=limits.high)

    def solve(
        self,
        *,
        tol: float,
        max_iter: int,
        random: np.random.RandomState,
        multiplier: Floats | None = None,
        corrected: bool = True,
        callback: Progress | None = None,
    ) -> Solution:
        """Project on the constraints until all hold.

        Parameters
        ----------
        tol : float
            Tolerance: a constraint is off if it is violated by a larger share and its λ could still
            rise, or holds with a larger margin and its λ could still fall.
        max_iter : int
            Largest number of sweeps.
        random : RandomState
            Orders the constraints. The solution depends on it only if not `corrected`.
        multiplier : ndarray of shape (n_constraints,), default=None
            λ to start from, clipped to its limits. None is 0.
        corrected : bool, default=True
            Whether λ may fall again, see `sweep`.
        callback : callable, default=None
            Called as ``callback(n_sweeps, max_iter)`` after each sweep.

        Returns
        -------
        Solution
        """
        given = np.zeros(len(self._limits.rows)) if multiplier is None else multiplier
        found = np.clip(given, self._limits.low, self._limits.high)
        state, n_iter = self._state(found), 0
        max_rows, room = min(max(len(state.A), SMALL_BLOCK), LARGE_BLOCK), len(found)
        while True:
            off = self._off(found, state, corrected)
            n_off = int((off > tol).sum())
            if n_off == 0 or n_iter == max_iter:
                break
            turn = self._random_order(off > tol / 2, random)[:room]
            found, state, has_failed = self._after_sweep(
                found, state, turn, max_rows, tol, corrected
            )
            if not has_failed:
                room *= 4
            else:
                # Distances differ very much in size, so rounding errors are large. Smaller blocks
                # reduce them, and then fewer projections between exact solutions.
                room = len(found) if max_rows > LEAST_BLOCK else max(len(turn) // 16, 1)
                max_rows = max(max_rows // 4, LEAST_BLOCK)
            n_iter += 1
            if callback is not None:
                callback(n_iter, max_iter)
        return Solution(self._in_features(state.A), found, state.excess, state.gap, n_iter, n_off)

    def _state(self, multiplier: Floats) -> State:
        """Compute A and distances from the multipliers, so that rounding errors do not add up."""
        X = self._X
        inverse = np.eye(X.shape[1]) + X.T @ (self._laplacian(multiplier) @ X)
        root = np.linalg.cholesky(inverse)
        rows = solve_triangular(root, X.T, lower=True, check_finite=False).T.copy()
        root_of_A = solve_triangular(root, np.eye(len(root)), lower=True, check_finite=False)
        distance = np.empty((len(multiplier), 2))
        squared_distances(rows, self._limits.rows, distance)
        near, far = distance[:, 0], np.where(self._compares, distance[:, 1], 0.0)
        log_det = 2 * float(np.log(np.diag(root)).sum())
        divergence = float(np.square(root_of_A).sum()) + log_det - len(root)
        primal = divergence + self._penalty(near, far)
        dual = log_det + self._dual_of_bounds(multiplier)
        gap = (primal - dual) / max(abs(dual), 1.0)
        return State(root_of_A.T @ root_of_A, self._excess(multiplier, near, far), gap)

    def _excess(self, multiplier: Floats, near: Floats, far: Floats) -> Floats:
        """Compute the relative violation of each constraint."""
        limits, factor = self._limits, self._limits.factor
        total = factor * near + far
        over = np.divide(factor * near - far, total, out=np.zeros_like(near), where=total > 0)
        inverse = limits.inverse_bound - factor * limits.slack * multiplier
        return np.where(self._compares, over, factor * (near * inverse - 1))

    def _after_sweep(
        self, found: Floats, state: State, turn: NDArray[np.int64], max_rows: int, tol: float,
        corrected: bool,
    ) -> tuple[Floats, State, bool]:  # fmt: skip
        """Project on the given constraints one after the other.

        Returns the multipliers, their state, and whether the sweep failed: rounding errors may lead
        to a matrix that is not positive definite. Then the step is halved until it is.
        """
        after, moved = found.copy(), found[turn]
        part = take(self._limits, turn)
        try:
            sweep(part, self._X, max_rows, ROUNDS_PER_BLOCK, tol, corrected, moved, state.A.copy())
            after[turn] = moved
            return after, self._state(after), False
        except np.linalg.LinAlgError:
            after[turn] = moved
        for _ in range(STEPS_BACK):
            after = (after + found) / 2
            try:
                return after, self._state(after), True
            except np.linalg.LinAlgError:
                continue
        return found, state, True

    def _laplacian(self, multiplier: Floats) -> csr_array:
        """Return the matrix Q with ``A⁻¹ = I + X' Q X``, (n_rows, n_rows)."""
        i, j, g, h = self._ends
        first, second = multiplier * self._limits.factor, -multiplier[self._compares]
        g, h = g[self._compares], h[self._compares]
        row, column = np.r_[i, j, i, j, g, h, g, h], np.r_[i, j, j, i, g, h, h, g]
        value = np.r_[first, first, -first, -first, second, second, -second, -second]
        shape = (len(self._X), len(self._X))
        return csr_array((value, (row, column)), shape)

    def _off(self, multiplier: Floats, state: State, corrected: bool) -> Floats:
        """Compute how far each constraint is off, see `solve`."""
        limits, excess = self._limits, state.excess
        if not corrected:
            return np.where(limits.low < 0, np.abs(excess), excess)
        above = np.where(multiplier < limits.high, excess, 0.0)
        below = np.where(multiplier > limits.low, -excess, 0.0)
        return np.maximum(np.maximum(above, below), 0.0)

    def _random_order(
        self, wanted: NDArray[np.bool_], random: np.random.RandomState
    ) -> NDArray[np.int64]:
        """Put constraints in random order, with constraints that share a row next to each other."""
        which = np.flatnonzero(wanted)
        rank = random.permutation(len(self._X))[self._ends[:, which]]
        return np.asarray(which[np.argsort(rank.min(axis=0), kind="stable")])

    def _penalty(self, near: Floats, far: Floats) -> float:
        """Compute the penalty part of the objective; hard constraints have none."""
        limits = self._limits
        over = limits.factor * (near - self._bound) - far
        over = np.where(limits.low < 0, np.abs(over), np.maximum(over, 0.0))
        weight = np.where(np.isinf(limits.high), 0.0, limits.high)
        ratio = near / np.where(self._bound > 0, self._bound, 1.0)
        ratio = np.where(limits.factor > 0, np.maximum(ratio, 1.0), np.minimum(ratio, 1.0))
        divergence = ratio - np.log(np.maximum(ratio, TINY)) - 1
        has_slack = limits.slack > 0
        return float(
            weight[~has_slack] @ over[~has_slack]
            + divergence[has_slack] @ (1 / limits.slack[has_slack])
        )

    def _dual_of_bounds(self, multiplier: Floats) -> float:
        """Compute the part of the dual objective that comes from bounds."""
        has_slack, pull = self._limits.slack > 0, self._limits.factor * multiplier * self._bound
        slack = self._limits.slack[has_slack]
        return float((np.log1p(-slack * pull[has_slack]) / slack).sum() - pull[~has_slack].sum())

    def _in_features(self, A: Floats) -> Floats:
        """Convert A from coordinates in the span to features."""
        if self._axes is None:
            return A
        inner = A - np.eye(len(A))
        return np.eye(self._n_features) + self._axes @ inner @ self._axes.T
