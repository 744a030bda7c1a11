"""The nearest matrix under the log-det divergence that keeps constraints on distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from clew._parallel import Progress
from clew.kernels.log_det import Limits
from clew.kernels.log_det_sweeps import squared_distances, sweep

__all__ = ["Problem", "Solution", "bounds", "comparisons", "equalities", "joined", "take"]

#: Rows of a block at least, and as many as there are features between some and many.
LEAST_BLOCK, SMALL_BLOCK, LARGE_BLOCK = 4, 16, 96
ROUNDS_PER_BLOCK = 4
STEPS_BACK = 10
TINY = 1e-300
Floats = NDArray[np.float64]


class Solution(NamedTuple):
    """The nearest matrix, or what was reached on the way to it."""

    A: Floats
    """(n_features, n_features), symmetric positive definite."""
    multiplier: Floats
    """λ of each constraint."""
    excess: Floats
    """By what share each constraint is violated; negative where it holds by more."""
    gap: float
    """Duality gap: how far the objective may be above the least one, relative to it."""
    n_iter: int
    """Sweeps."""
    n_off: int
    """Constraints that are off by more than the tolerance."""

    @property
    def is_done(self) -> bool:
        """Whether there are none."""
        return self.n_off == 0


class State(NamedTuple):
    """What multipliers amount to."""

    A: Floats
    excess: Floats
    gap: float


def comparisons(
    near: NDArray[np.int64], far: NDArray[np.int64], factor: float, price: Floats
) -> Limits:
    """Let ``factor·d(near) <= d(far)`` hold for each two pairs of rows, (m, 2), or cost `price`."""
    nothing = np.zeros(len(near))
    rows = np.ascontiguousarray(np.hstack([near, far]))
    return Limits(rows, nothing + factor, nothing, nothing, nothing, price)


def equalities(near: NDArray[np.int64], far: NDArray[np.int64], price: Floats) -> Limits:
    """Let ``d(near) = d(far)`` hold, or cost `price`."""
    return comparisons(near, far, 1.0, price)._replace(low=-price)


def bounds(
    pairs: NDArray[np.int64],
    is_upper: NDArray[np.bool_],
    bound: Floats,
    price: Floats,
    give: float = 0.0,
) -> Limits:
    """Let d be at most its bound, or at least, or cost `price`; `give` as `Limits` has it."""
    nothing = np.zeros(len(pairs))
    factor = np.where(is_upper, 1.0, -1.0)
    return Limits(np.hstack([pairs, pairs]), factor, 1 / bound, nothing + give, nothing, price)


def joined(*parts: Limits) -> Limits:
    """Put constraints behind one another."""
    return Limits(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def take(limits: Limits, which: NDArray[np.int64] | NDArray[np.bool_]) -> Limits:
    """Take some of the constraints."""
    return Limits(
        limits.rows[which],
        limits.factor[which],
        limits.inverse_bound[which],
        limits.give[which],
        limits.low[which],
        limits.high[which],
    )


class Problem:
    """Features X of rows, and constraints on distances ``(x - y)' A (x - y)``.

    To be minimised over A, positive definite, is ``tr A - log det A - n_features``, the log-det
    divergence of A from the identity, and a price of ``high`` for each unit by which a constraint
    is violated. Bounds that give way cost ``1 / give`` times their divergence from what they were.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    limits : Limits
        Constraints on the rows of `X`.
    """

    def __init__(self, X: Floats, limits: Limits) -> None:
        used, local = np.unique(limits.rows, return_inverse=True)
        rows = X[used]
        self._axes: Floats | None = None
        self._n_features = X.shape[1]
        if len(used) < X.shape[1]:
            # A changes only in the span of the rows that bear constraints.
            self._axes, triangle = np.linalg.qr(rows.T)
            rows = triangle.T
        self._X = np.ascontiguousarray(rows)
        self._limits = limits._replace(rows=local.reshape(limits.rows.shape).astype(np.int64))
        self._compares = limits.inverse_bound == 0
        self._bound = np.where(self._compares, 0.0, 1 / np.maximum(limits.inverse_bound, TINY))
        self._ends = self._limits.rows.T

    def reprice(self, limits: Limits) -> None:
        """Change what constraints cost; all else about `limits` is as it was."""
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
        """Project until no constraint is off.

        Parameters
        ----------
        tol : float
            By what share constraints may be off: be violated while their λ might still rise, or
            hold by more while their λ is above 0.
        max_iter : int
            Sweeps at most.
        random : RandomState
            Orders the constraints; matters for the result only where it is not `corrected`.
        multiplier : ndarray, default=None
            λ to start from; beyond the limits, these stand for it. None is nothing.
        corrected : bool
            As for `sweep`.
        callback : callable, default=None
            Called after each sweep.

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
            turn = self._turns(off > tol / 2, random)[:room]
            found, state, is_exact = self._swept(found, state, turn, max_rows, tol, corrected)
            if is_exact:
                room *= 4
            else:
                # Distances differ too much: smaller blocks, then fewer projections before A is
                # found exactly, leave fewer errors.
                room = len(found) if max_rows > LEAST_BLOCK else max(len(turn) // 16, 1)
                max_rows = max(max_rows // 4, LEAST_BLOCK)
            n_iter += 1
            if callback is not None:
                callback(n_iter, max_iter)
        return Solution(self._whole(state.A), found, state.excess, state.gap, n_iter, n_off)

    def _state(self, multiplier: Floats) -> State:
        """Find A and the distances exactly, so that no error of rounding outlives a sweep."""
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
        primal, dual = divergence + self._price(near, far), log_det + self._reward(multiplier)
        gap = (primal - dual) / max(abs(dual), 1.0)
        return State(root_of_A.T @ root_of_A, self._excess(multiplier, near, far), gap)

    def _excess(self, multiplier: Floats, near: Floats, far: Floats) -> Floats:
        """Measure by what share each constraint is violated."""
        limits, factor = self._limits, self._limits.factor
        total = factor * near + far
        over = np.divide(factor * near - far, total, out=np.zeros_like(near), where=total > 0)
        inverse = limits.inverse_bound - factor * limits.give * multiplier
        return np.where(self._compares, over, factor * (near * inverse - 1))

    def _swept(
        self, found: Floats, state: State, turn: NDArray[np.int64], max_rows: int, tol: float,
        corrected: bool,
    ) -> tuple[Floats, State, bool]:  # fmt: skip
        """Project on some constraints in turn; say also if that had to be taken back in part.

        It is taken back as far as errors of rounding left no positive definite matrix.
        """
        after, moved = found.copy(), found[turn]
        part = take(self._limits, turn)
        try:
            sweep(part, self._X, max_rows, ROUNDS_PER_BLOCK, tol, corrected, moved, state.A.copy())
            after[turn] = moved
            return after, self._state(after), True
        except np.linalg.LinAlgError:
            after[turn] = moved
        for _ in range(STEPS_BACK):
            after = (after + found) / 2
            try:
                return after, self._state(after), False
            except np.linalg.LinAlgError:
                continue
        return found, state, False

    def _laplacian(self, multiplier: Floats) -> csr_array:
        """Add up λ·C over the constraints, in terms of rows, (n_rows, n_rows)."""
        i, j, g, h = self._ends
        first, second = multiplier * self._limits.factor, -multiplier[self._compares]
        g, h = g[self._compares], h[self._compares]
        row, column = np.r_[i, j, i, j, g, h, g, h], np.r_[i, j, j, i, g, h, h, g]
        value = np.r_[first, first, -first, -first, second, second, -second, -second]
        shape = (len(self._X), len(self._X))
        return csr_array((value, (row, column)), shape)

    def _off(self, multiplier: Floats, state: State, corrected: bool) -> Floats:
        """Measure by what share constraints are off."""
        limits, excess = self._limits, state.excess
        if not corrected:
            return np.where(limits.low < 0, np.abs(excess), excess)
        above = np.where(multiplier < limits.high, excess, 0.0)
        below = np.where(multiplier > limits.low, -excess, 0.0)
        return np.maximum(np.maximum(above, below), 0.0)

    def _turns(self, wanted: NDArray[np.bool_], random: np.random.RandomState) -> NDArray[np.int64]:
        """Put constraints in random order, those that share a row one after the other."""
        which = np.flatnonzero(wanted)
        rank = random.permutation(len(self._X))[self._ends[:, which]]
        return np.asarray(which[np.argsort(rank.min(axis=0), kind="stable")])

    def _price(self, near: Floats, far: Floats) -> float:
        """Add up what violated constraints cost; those that may not be violated are left out."""
        limits = self._limits
        over = limits.factor * (near - self._bound) - far
        over = np.where(limits.low < 0, np.abs(over), np.maximum(over, 0.0))
        price = np.where(np.isinf(limits.high), 0.0, limits.high)
        times = near / np.where(self._bound > 0, self._bound, 1.0)
        times = np.where(limits.factor > 0, np.maximum(times, 1.0), np.minimum(times, 1.0))
        given = times - np.log(np.maximum(times, TINY)) - 1
        gives = limits.give > 0
        return float(price[~gives] @ over[~gives] + given[gives] @ (1 / limits.give[gives]))

    def _reward(self, multiplier: Floats) -> float:
        """Add up what bounds contribute to the dual objective."""
        gives, pull = self._limits.give > 0, self._limits.factor * multiplier * self._bound
        give = self._limits.give[gives]
        return float((np.log1p(-give * pull[gives]) / give).sum() - pull[~gives].sum())

    def _whole(self, A: Floats) -> Floats:
        """Give A in terms of all features."""
        if self._axes is None:
            return A
        inner = A - np.eye(len(A))
        return np.eye(self._n_features) + self._axes @ inner @ self._axes.T
