"""The matrix of least log-det divergence from the identity, under answers as bounds on distances.

ITML, SKMS and SKLR share it: answers become constraints on squared distances, those that no matrix
can honor are left out, and `Problem` finds the closest matrix for which the others hold.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress
from clew._warnings import warn
from clew.answers import SAME
from clew.constraints import Constraints
from clew.constraints._meanings import equalities_of, inequalities_of
from clew.constraints._support import binding_answers
from clew.graphs import coincide
from clew.kernels.log_det import Limits, squared_distances, sweep

#: Two differences count as collinear below this squared sine of their angle.
COLLINEAR = 1e-10
#: Bounds of near and far rows, relative to the largest squared distance: 0.05 and 1.95 in SKMS.
NEAR_SHARE, FAR_SHARE = 0.025, 0.975
#: Least bound, relative to the mean squared distance: percentiles are 0 if many rows coincide.
LEAST_BOUND = 1e-3
#: Number of pairs of rows from which percentiles are estimated.
SAMPLED_PAIRS = 5000
#: A block has as many rows as there are features, limited to SMALL_BLOCK and LARGE_BLOCK; after
#: numerical failures it is reduced, at most to LEAST_BLOCK.
LEAST_BLOCK, SMALL_BLOCK, LARGE_BLOCK = 4, 16, 96
ROUNDS_PER_BLOCK = 4
STEPS_BACK = 10
TINY = 1e-300
Floats = NDArray[np.float64]


class PairBounds(NamedTuple):
    """Bounds of squared distances."""

    upper: float  # for must-links
    lower: float  # for cannot-links


class Skipped(NamedTuple):
    """An answer that cannot hold for any metric or kernel, given the features."""

    kind: str
    answer: int
    """Position among the answers of this kind."""
    reason: str


class AnswerLimits(NamedTuple):
    """Constraints on distances, each with the weight, kind and position of its answer, (m,)."""

    limits: Limits
    weight: Floats
    kind: NDArray[np.str_]
    answer: NDArray[np.int64]

    def select(self, which: NDArray[np.bool_]) -> Self:
        return type(self)(
            take(self.limits, which), self.weight[which], self.kind[which], self.answer[which]
        )

    def with_penalty(self, penalty: float) -> Limits:
        """Return the constraints with a slack penalty, for weight 1; ``np.inf`` allows no slack."""
        high = penalty * self.weight
        return self.limits._replace(
            high=high, low=np.where(self.limits.low < 0, -high, self.limits.low)
        )


def mean_squared_distance(X: Floats) -> float:
    """Compute the mean squared distance of two rows; 1 if all rows coincide."""
    return 2 * float(X.var(axis=0).sum()) or 1.0


def percentile_bounds(X: Floats, low: float, high: float, seed: int) -> PairBounds:
    """Use two percentiles of squared distances as bounds, which are kept above 0."""
    random, n = np.random.RandomState(seed), len(X)
    i = random.randint(n, size=SAMPLED_PAIRS)
    j = (i + random.randint(1, n, size=SAMPLED_PAIRS)) % n
    upper, lower = np.percentile(np.square(X[i] - X[j]).sum(axis=1), (low, high))
    least = LEAST_BOUND * mean_squared_distance(X)
    return PairBounds(max(float(upper), least), max(float(lower), least))


def bounds_of_pairs(X: Floats, diameter: float | None, seed: int) -> PairBounds:
    """Choose bounds as SKMS does: percentiles, or shares of the diameter if these are stricter."""
    diameter = mean_squared_distance(X) if diameter is None else diameter
    usual = percentile_bounds(X, 1, 99, seed)
    return PairBounds(
        min(usual.upper, NEAR_SHARE * diameter), max(usual.lower, FAR_SHARE * diameter)
    )


def limits_of_answers(
    answers: Constraints, *, gamma: float, pair_bounds: PairBounds, equal_if_unknown: bool
) -> AnswerLimits:
    """Turn answers into constraints: of triplets, odd-one-out answers, equalities, and pairs."""
    more = inequalities_of(answers)
    same = equalities_of(answers, with_dont_know=equal_if_unknown)
    is_pair = ~answers.is_dont_know
    pairs, is_must = answers.pairs[is_pair], answers.pair_answers[is_pair] == SAME
    bound = np.where(is_must, pair_bounds.upper, pair_bounds.lower)
    limits = joined(
        comparisons(more.near, more.far, gamma, more.weight),
        equalities(same.near, same.far, same.weight),
        bounds(pairs, is_must, bound, np.ones(len(pairs))),
    )
    weight = np.concatenate([more.weight, same.weight, answers.pair_weights[is_pair]])
    kind = np.concatenate([more.kind, same.kind, np.full(len(pairs), "pair")])
    answer = np.concatenate([more.answer, same.answer, np.flatnonzero(is_pair)])
    return AnswerLimits(limits, weight, kind, answer).select(weight > 0)


def without_impossible(answers: AnswerLimits, X: Floats) -> tuple[AnswerLimits, list[Skipped]]:
    """Remove constraints that cannot hold for any metric, and list their answers."""
    limits = answers.limits
    i, j, g, h = limits.rows.T
    first, second = X[i] - X[j], X[g] - X[h]
    near, far = np.square(first).sum(axis=1), np.square(second).sum(axis=1)
    length = (X**2).sum(axis=1)
    is_copy = coincide(near, length[i], length[j])
    is_copy_far = coincide(far, length[g], length[h])
    compares, is_equality = limits.inverse_bound == 0, limits.low < 0
    has_copies = np.where(
        compares, is_copy_far | (is_equality & is_copy), (limits.factor < 0) & is_copy
    )
    sine = near * far - (first * second).sum(axis=1) ** 2
    over = limits.factor * near - far
    over = np.where(is_equality, np.abs(over), over)
    on_line = compares & ~has_copies & (sine <= COLLINEAR * near * far) & (over > COLLINEAR * far)
    skipped = {
        Skipped(str(answers.kind[at]), int(answers.answer[at]), reason)
        for which, reason in (
            (has_copies, "rows that should differ coincide"),
            (on_line, "its rows are on one line, which fixes the ratio of their distances"),
        )
        for at in np.flatnonzero(which)
    }
    return answers.select(~(has_copies | on_line)), sorted(skipped)


class LearnsFromPairs(Protocol):
    """ITML and SKMS: their parameters, and the attributes that `learn_from_pairs` sets."""

    gamma: float
    tol: float
    max_iter: int
    multipliers_: Floats
    skipped_: list[Skipped]
    duality_gap_: float
    n_iter_: int


def learn_from_pairs(
    method: LearnsFromPairs, X: Floats, answers: Constraints, pair_bounds: PairBounds, seed: int,
    callback: Progress | None,
) -> Floats:  # fmt: skip
    """Find the matrix closest to the identity for which the bounds hold, up to slack."""
    if np.isinf(method.gamma):
        answers = binding_answers(answers)
    wanted = limits_of_answers(answers, gamma=1.0, pair_bounds=pair_bounds, equal_if_unknown=False)
    possible, skipped = without_impossible(wanted, X)
    limits = possible.with_penalty(np.inf)._replace(slack=1 / (method.gamma * possible.weight))
    solution = Problem(X, limits).solve(
        tol=method.tol, max_iter=method.max_iter, random=np.random.RandomState(seed),
        callback=callback,
    )  # fmt: skip
    if solution.n_off:
        warn(
            f"{type(method).__name__} did not converge: after {solution.n_iter} sweeps, "
            f"{solution.n_off} of {len(solution.multiplier)} pairs are off by more than "
            f"tol={method.tol:g}; raise max_iter or tol, or lower gamma",
            ConvergenceWarning,
        )
    method.multipliers_, method.skipped_ = solution.multiplier, skipped
    method.duality_gap_, method.n_iter_ = solution.gap, max(solution.n_iter, 1)
    return solution.A


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
    return Limits(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def take(limits: Limits, which: NDArray[np.int64] | NDArray[np.bool_]) -> Limits:
    return Limits._make(column[which] for column in limits)


class Solution(NamedTuple):
    """The closest matrix, or the last iterate if `max_iter` was reached."""

    A: Floats  # symmetric positive definite, (n_features, n_features)
    multiplier: Floats  # λ of each constraint
    excess: Floats  # relative violation of each constraint; negative if it holds with a margin
    gap: float  # bound on the distance of the objective from its minimum, relative to it
    n_iter: int
    n_off: int  # number of constraints that are off by more than the tolerance; 0 if converged


class State(NamedTuple):
    """A, violations and duality gap for given multipliers, see `Solution`."""

    A: Floats
    excess: Floats
    gap: float


class Problem:
    """Minimize the log-det divergence of A from the identity under constraints on distances.

    The squared distance of two rows is ``(x - y)' A (x - y)``. The objective over positive definite
    A is ``tr A - log det A - n_features``, plus ``limits.high`` times each violation; a bound with
    ``limits.slack > 0`` may move instead, at ``1 / slack`` times its divergence from the given one.
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
        """Project until all hold to the share `tol`; `random` orders if not `corrected`."""
        start = np.zeros(len(self._limits.rows)) if multiplier is None else multiplier
        multipliers = np.clip(start, self._limits.low, self._limits.high)
        state, n_iter = self._state(multipliers), 0
        max_rows, room = min(max(len(state.A), SMALL_BLOCK), LARGE_BLOCK), len(multipliers)
        while True:
            off = self._off(multipliers, state, corrected)
            n_off = int((off > tol).sum())
            if n_off == 0 or n_iter == max_iter:
                break
            which = np.flatnonzero(off > tol / 2)
            # In random order, with constraints that share a row next to each other.
            rank = random.permutation(len(self._X))[self._ends[:, which]].min(axis=0)
            turn = which[np.argsort(rank, kind="stable")][:room]
            multipliers, state, has_failed = self._after_sweep(
                multipliers, state, turn, max_rows, tol, corrected
            )
            if not has_failed:
                room *= 4
            else:
                # Distances differ very much in size, so rounding errors are large. Smaller blocks
                # reduce them, and then fewer projections between exact solutions.
                room = len(multipliers) if max_rows > LEAST_BLOCK else max(len(turn) // 16, 1)
                max_rows = max(max_rows // 4, LEAST_BLOCK)
            n_iter += 1
            if callback is not None:
                callback(n_iter, max_iter)
        A = state.A
        if self._axes is not None:
            A = np.eye(self._n_features) + self._axes @ (A - np.eye(len(A))) @ self._axes.T
        return Solution(A, multipliers, state.excess, state.gap, n_iter, n_off)

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

    def _laplacian(self, multiplier: Floats) -> csr_array:
        """Return the matrix Q with ``A⁻¹ = I + X' Q X``, (n_rows, n_rows)."""
        i, j, g, h = self._ends
        first, second = multiplier * self._limits.factor, -multiplier[self._compares]
        g, h = g[self._compares], h[self._compares]
        row, column = np.r_[i, j, i, j, g, h, g, h], np.r_[i, j, j, i, g, h, h, g]
        value = np.r_[first, first, -first, -first, second, second, -second, -second]
        shape = (len(self._X), len(self._X))
        return csr_array((value, (row, column)), shape)

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

    def _excess(self, multiplier: Floats, near: Floats, far: Floats) -> Floats:
        """Compute the relative violation of each constraint."""
        limits, factor = self._limits, self._limits.factor
        total = factor * near + far
        over = np.divide(factor * near - far, total, out=np.zeros_like(near), where=total > 0)
        inverse = limits.inverse_bound - factor * limits.slack * multiplier
        return np.where(self._compares, over, factor * (near * inverse - 1))

    def _off(self, multiplier: Floats, state: State, corrected: bool) -> Floats:
        """Compute how far each constraint is off, see `solve`."""
        limits, excess = self._limits, state.excess
        if not corrected:
            return np.where(limits.low < 0, np.abs(excess), excess)
        above = np.where(multiplier < limits.high, excess, 0.0)
        below = np.where(multiplier > limits.low, -excess, 0.0)
        return np.maximum(np.maximum(above, below), 0.0)

    def _after_sweep(
        self, multipliers: Floats, state: State, turn: NDArray[np.int64], max_rows: int, tol: float,
        corrected: bool,
    ) -> tuple[Floats, State, bool]:  # fmt: skip
        """Project on the given constraints, in smaller steps if the matrix is not positive."""
        after, moved = multipliers.copy(), multipliers[turn]
        part = take(self._limits, turn)
        try:
            sweep(part, self._X, max_rows, ROUNDS_PER_BLOCK, tol, corrected, moved, state.A.copy())
            after[turn] = moved
            return after, self._state(after), False
        except np.linalg.LinAlgError:
            after[turn] = moved
        for _ in range(STEPS_BACK):
            after = (after + multipliers) / 2
            try:
                return after, self._state(after), True
            except np.linalg.LinAlgError:
                continue
        return multipliers, state, True
