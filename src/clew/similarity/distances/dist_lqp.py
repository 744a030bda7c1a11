"""DistLQP: distances changed as little as answers and triangle inequalities require.

`DistLQP._learn` reads as the method: `build` samples the triangles and sets up the quadratic
program, and `solve` is dual coordinate ascent over its constraints.
"""

from __future__ import annotations

import logging
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress, stop_if_abandoned
from clew._validation import Allowed, AllowedValues
from clew._warnings import warn
from clew.constraints import Constraints
from clew.exceptions import TooLargeError
from clew.kernels.dist_lqp import Bounds, close_triangles, sweep_bounds, sweep_triangles
from clew.similarity.distances._base import (
    METRICS,
    GivenDistances,
    Learned,
    LearnedDistances,
    Links,
    Metric,
)

__all__ = ["DistLQP"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Violations of a triangle inequality by less than this share of a distance are rounding errors.
ROUNDING = 1e-9
#: Weight of an unknown distance, whose target is the largest distance; small, so that known
#: distances determine it.
UNKNOWN_WEIGHT = 0.1
#: Relative changes are divided by the distance, or by this share of the largest one if that is
#: larger.
LEAST_DISTANCE = 0.02
#: New rows whose distances are changed at a time.
ROWS_PER_BLOCK = 256
#: Up to this, the three rows of a triangle fit in one integer of 64 bits.
MAX_ROWS = 2_000_000
#: Sweeps over the triangles that have positive multipliers, for each sweep over all.
SWEEPS_OF_ACTIVE = 10
#: Weight of the squared steps of distances of weight 0. The solution does not depend on it; with 1
#: in place of 8, 1,000 leaves take four times as many sweeps.
FREE_WEIGHT = 8.0
#: Full sweeps between two computations of the duality gap.
SWEEPS_PER_CHECK = 3
#: Lower limit of the objective to which the gap is relative, as a share of ``Σ w d²``.
LEAST_SHARE = 1e-9


class DistLQP(LearnedDistances):
    """Learn distances by a quadratic program: answers propagate through triangle inequalities.

    Must-linked rows come nearer than an upper bound, and cannot-linked rows farther apart than a
    lower bound. All other distances change as little as possible, so that the triangle inequalities
    of each answered pair with the neighbors of its rows hold. It needs distances only: no features.

    Parameters
    ----------
    n_neighbors : int, default=20
        Number of nearest rows of each row; they make the triangles with answered pairs.
    metric : {"precomputed", "euclidean"}, default="precomputed"
        What `fit` is given: distances, or features whose Euclidean distances are used.
    upper : float, default=0.01
        Upper bound for must-links, as a share of the largest distance.
    lower : "max/alpha" or float, default="max/alpha"
        Lower bound for cannot-links, as a share of the largest distance; "max/alpha" is
        ``1 / alpha``.
    alpha : float, default=4.0
        The largest distance, divided by the lower bound; at least 1.
    lambda_must, lambda_cannot : float, default=10.0, 1.0
        Slack penalty of an answer of weight 1 whose bound is missed by the largest distance. The
        penalty is proportional to the slack.
    changes : {"relative", "absolute"}, default="relative"
        Changes whose squares are minimized: "relative" to the given distance, so that small
        distances stay small, or "absolute" ones, as in the paper.
    link_weight : float, default=0.0
        Weight of the squared change of an answered pair's distance, which is 1 for other pairs.
        The paper has 0: then the given distance of an answered pair is ignored.
    tol : float, default=1e-3
        Stop when the duality gap is at most this share of the objective.
    max_iter : int, default=1000
        Largest number of sweeps over all triangles.

    Attributes
    ----------
    distances_ : csr_array of shape (n_samples, n_samples), float64
        Learned distances of the pairs in the program: of answered pairs, and of all sides of the
        triangles. Symmetric. Other distances stay as given; `dense_distances` returns all.
    n_changed_ : int
        Number of pairs whose distance changed by more than a millionth of the largest distance.
    objective_ : float
        Sum of squared changes and slack penalties, in units of the largest distance.
    gap_ : float
        Duality gap: `objective_` is at most this above its minimum.
    slack_ : ndarray of shape (n_pairs,)
        By how much the learned distance of each answer misses its bound, in the unit of the
        distances: 0 for honored answers, don't-knows and answers of weight 0.
    conflicts_ : list of Conflict
        Contradictions, each with a shortest chain of must-links.
    n_triangles_ : int
        Number of triangles in the program.
    n_violated_triangles_ : int
        Number of these for which the given distances violate the triangle inequality.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples), float32, or csr_array
        Gaussian affinities of the learned distances, see `AdaptiveKNN`; computed at the first
        access. Sparse if a sparse graph was given.
    n_iter_ : int
        Number of sweeps.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    InvalidDataError
        If distances are not square and symmetric, are negative, or the diagonal is not 0.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers; `Constraints.as_pairs` turns them into pairs.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached.

    See Also
    --------
    ShortestPaths : Shortens distances along must-links.
    ITML : Learns a metric of features.

    Notes
    -----
    Honors pairs as soft constraints: the weight of an answer multiplies its slack penalty, and
    weights of answers to the same pair are added up. Don't-knows are ignored. Contradictory answers
    use slack. Given distances may violate triangle inequalities; violations are counted.

    The program is eq. 2.2 of the thesis, in units of the largest distance:
    ``Σ (x - d)² + Σ λ·slack``, where x ≤ upper + slack for must-links, and x ≥ lower - slack for
    cannot-links. Pairs whose bound holds already make no triangles. The solver is dual coordinate
    ascent over the triangles (Hildreth's method); a shortest-path step then makes all triangle
    inequalities hold exactly.

    In a sparse graph, distances that are not stored are unknown: their target is the largest
    distance, with a weight of 0.1.

    Time O(n²) to find neighbors, and O(m·k) for each sweep with m answers and k neighbors; memory
    O(m·k), and a copy of the distances.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, chapter 2. C. Hildreth, "A quadratic programming
    procedure", Naval Research Logistics Quarterly 4, 1957.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import pairwise_distances
    >>> from clew import Constraints
    >>> from clew.cluster import COPKMeans
    >>> from clew.similarity import DistLQP
    >>> X, y = load_iris(return_X_y=True)
    >>> D = pairwise_distances(X, metric="cityblock")
    >>> c = Constraints.from_labels(y, 60, random_state=0)
    >>> model = DistLQP().fit(D, constraints=c)
    >>> bool(model.gap_ <= 1e-3 * model.objective_)
    True
    >>> clusterer = COPKMeans(3, metric="precomputed", random_state=0)
    >>> clusterer.fit(model.dense_distances(), constraints=c).labels_.shape
    (150,)
    """

    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "n_neighbors": Allowed(kind=int, low=1),
        "metric": METRICS,
        "upper": Allowed(kind=float, low=0, high=1),
        "lower": Allowed(names=("max/alpha",), kind=float, low=0, high=1),
        "alpha": Allowed(kind=float, low=1),
        "lambda_must": Allowed(kind=float, low=0, low_open=True, high_open=True),
        "lambda_cannot": Allowed(kind=float, low=0, low_open=True, high_open=True),
        "changes": Allowed(names=("relative", "absolute")),
        "link_weight": Allowed(kind=float, low=0, high=1),
        "tol": Allowed(kind=float, low=0, high=1, low_open=True, high_open=True),
        "max_iter": Allowed(kind=int, low=1),
    }

    objective_: float
    gap_: float
    slack_: Floats
    n_triangles_: int
    n_violated_triangles_: int
    n_iter_: int
    _links: Ints
    _of_links: Floats

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        metric: Metric = "precomputed",
        upper: float = 0.01,
        lower: float | Literal["max/alpha"] = "max/alpha",
        alpha: float = 4.0,
        lambda_must: float = 10.0,
        lambda_cannot: float = 1.0,
        changes: Literal["relative", "absolute"] = "relative",
        link_weight: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.upper = upper
        self.lower = lower
        self.alpha = alpha
        self.lambda_must = lambda_must
        self.lambda_cannot = lambda_cannot
        self.changes = changes
        self.link_weight = link_weight
        self.tol = tol
        self.max_iter = max_iter

    def _settings(self, n_samples: int) -> Settings:
        return Settings(
            min(self.n_neighbors, n_samples - 1),
            self.upper,
            1.0 / self.alpha if isinstance(self.lower, str) else self.lower,
            self.lambda_must,
            self.lambda_cannot,
            self.changes == "relative",
            self.link_weight,
        )

    def _learn(
        self, given: GivenDistances, links: Links, answers: Constraints, callback: Progress | None
    ) -> Learned:
        settings = self._settings(given.n_samples)
        problem, sampled = build(given, links, settings)
        sides = problem.target[problem.sides]
        excess = 2 * sides.max(axis=1, initial=0.0) - (1 + ROUNDING) * sides.sum(axis=1)
        self.n_triangles_, self.n_violated_triangles_ = len(sides), int((excess > 0).sum())
        if self.n_violated_triangles_:
            logging.getLogger("clew").info(
                "DistLQP: the given distances violate %d of %d triangle inequalities",
                self.n_violated_triangles_,
                self.n_triangles_,
            )
        solution = solve(problem, self.tol, self.max_iter, callback)
        self.objective_, self.gap_, self.n_iter_ = solution.objective, solution.gap, solution.n_iter
        if not solution.is_converged:
            warn(
                f"DistLQP(max_iter={self.max_iter}) did not converge: the duality gap is "
                f"{solution.gap:.2g}, {solution.gap / solution.objective:.1%} of the objective; "
                "increase max_iter or tol",
                ConvergenceWarning,
            )
        # `transform` reads the learned distances of answered pairs.
        answered = sampled.keys[: sampled.n_links]
        self._links = np.column_stack(np.divmod(answered, given.n_samples))
        self._of_links = solution.x[: sampled.n_links]
        learned = Learned(sampled.keys, solution.x)
        self.slack_ = self._slack(given, answers, learned, settings)
        return learned

    def _slack(
        self, given: GivenDistances, answers: Constraints, learned: Learned, settings: Settings
    ) -> Floats:
        """Return by how much each answer's bound is missed."""
        keys = answers.pairs.min(axis=1) * answers.n_samples + answers.pairs.max(axis=1)
        distance, _ = given.of_pairs(*answers.pairs.T)
        order = np.argsort(learned.keys)
        at = np.searchsorted(learned.keys, keys, sorter=order)
        at = order[np.minimum(at, len(order) - 1)] if len(order) else at
        is_learned = learned.keys[at] == keys if len(order) else np.zeros(len(keys), np.bool_)
        distance[is_learned] = learned.distance[at[is_learned]]
        slack = np.where(answers.is_must_link, distance - settings.upper, settings.lower - distance)
        is_used = ~answers.is_dont_know & (answers.pair_weights > 0)
        return np.where(is_used, np.maximum(slack, 0.0), 0.0) * given.unit

    def _embed(self, distances: Floats) -> Floats:
        """Least squared changes under triangles with answered pairs of nearest rows."""
        n, links = distances.shape[1], self._links
        n_neighbors = min(self.n_neighbors, n)
        for start in range(0, len(distances), ROWS_PER_BLOCK):
            block = distances[start : start + ROWS_PER_BLOCK]
            nearest = np.argpartition(block, n_neighbors - 1, axis=1)[:, :n_neighbors]
            is_near = np.zeros(block.shape, np.bool_)
            np.put_along_axis(is_near, nearest, True, axis=1)
            row, link = np.nonzero(is_near[:, links[:, 0]] | is_near[:, links[:, 1]])
            ends = row[:, None] * n + links[link]
            keys, at = np.unique(ends, return_inverse=True)
            sides = np.column_stack([link, len(links) + at.reshape(-1, 2)]).astype(np.int32)
            target = np.concatenate([self._of_links, block.ravel()[keys]])
            step = np.concatenate([np.zeros(len(links)), np.full(len(keys), 0.5)])
            changed = _projected(sides, target, step, self.tol / 10, self.max_iter)
            block.reshape(-1)[keys] = np.maximum(changed[len(links) :], 0.0)
        return distances


class Settings(NamedTuple):
    """Parameters of the program; distances are in units of the largest one."""

    n_neighbors: int
    upper: float
    lower: float
    lambda_must: float
    lambda_cannot: float
    is_relative: bool
    link_weight: float


class Problem(NamedTuple):
    """Minimize ``Σ weight·(x - target)²`` plus missed bounds, under triangles `sides`.

    The bounds are on the first distances; those of weight 0 must be among them.
    """

    sides: NDArray[np.int32]
    target: Floats
    weight: Floats
    bounds: Bounds


class Sampled(NamedTuple):
    """Distances that may change, and the triangles among them."""

    keys: Ints  # ``i·n + j`` of each distance, where i < j: first those of answered pairs
    n_links: int  # number of answered pairs
    sides: NDArray[np.int32]  # positions in `keys` of the sides of each triangle, (n_triangles, 3)


def build(given: GivenDistances, links: Links, settings: Settings) -> tuple[Problem, Sampled]:
    """Sample triangles and set up the program; bounds that hold count only as sides of these."""
    n = given.n_samples
    distance, _ = given.of_pairs(*np.divmod(links.keys, n))
    is_changed = (links.must > 0) & (distance > settings.upper)
    is_changed |= (links.cannot > 0) & (distance < settings.lower)
    nearest = given.nearest(settings.n_neighbors)
    ones = np.ones(len(nearest.indices), np.int8)
    graph = csr_array((ones, nearest.indices, nearest.indptr), (n, n))
    sampled = sampled_triangles(links.keys[is_changed], links.keys, csr_array(graph + graph.T))
    target, is_known = given.of_pairs(*np.divmod(sampled.keys, n))
    weight = np.where(is_known, 1.0, UNKNOWN_WEIGHT)
    if settings.is_relative and len(target):
        weight *= (np.median(target) / np.maximum(target, LEAST_DISTANCE)) ** 2
    weight[: sampled.n_links] *= settings.link_weight
    at = np.searchsorted(links.keys, sampled.keys[: sampled.n_links])
    bounds = Bounds(
        settings.lambda_must * links.must[at],
        settings.lambda_cannot * links.cannot[at],
        settings.upper,
        settings.lower,
    )
    return Problem(sampled.sides, target, weight, bounds), sampled


def sampled_triangles(links: Ints, answered: Ints, neighbors: csr_array) -> Sampled:
    """List the triangles of an answered pair and a neighbor of either row, once each."""
    n = neighbors.shape[0]
    if n > MAX_ROWS:
        raise TooLargeError(f"there are {n} rows, but at most {MAX_ROWS} are possible")
    i, j = np.divmod(links, n)
    corners = np.concatenate([_with_neighbors(i, j, neighbors), _with_neighbors(j, i, neighbors)])
    a, b, c = np.sort(corners, axis=1).T
    triangle = np.unique((a * n + b) * n + c)
    pair, c = np.divmod(triangle, n)
    a, b = np.divmod(pair, n)
    sides = np.stack([pair, a * n + c, b * n + c], axis=1)
    keys, at = np.unique(np.concatenate([sides.ravel(), links]), return_inverse=True)
    is_link = np.isin(keys, answered, assume_unique=True)
    place = np.empty(len(keys), np.int32)
    order = np.argsort(~is_link, kind="stable")
    place[order] = np.arange(len(keys))
    numbered = np.sort(place[at[: sides.size]].reshape(-1, 3), axis=1)
    # Triangles of one answered pair follow each other, so that its distance stays in the cache.
    return Sampled(
        keys[order], int(is_link.sum()), numbered[np.argsort(numbered[:, 0], kind="stable")]
    )


def _with_neighbors(row: Ints, other: Ints, neighbors: csr_array) -> Ints:
    """Combine each pair with each neighbor of its first row, except the second row."""
    start = neighbors.indptr[row].astype(np.int64)
    count = neighbors.indptr[row + 1] - start
    pair = np.repeat(np.arange(len(row)), count)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    third = neighbors.indices[start[pair] + within].astype(np.int64)
    is_other = third != other[pair]
    corners: Ints = np.stack([row[pair], other[pair], third], axis=1)[is_other]
    return corners


class Solution(NamedTuple):
    """The best distances found, for which all triangle inequalities hold."""

    x: Floats
    objective: float
    dual_objective: float  # a lower bound of the minimum of the objective
    n_iter: int
    is_converged: bool

    @property
    def gap(self) -> float:
        """Largest possible distance of the objective from its minimum."""
        return max(self.objective - self.dual_objective, 0.0)


def solve(
    problem: Problem, tol: float, max_iter: int, callback: Progress | None = None
) -> Solution:
    """Minimize until the duality gap is a share `tol`; O(n_triangles) a sweep."""
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


class _State:
    """Distances, multipliers and objectives; weight 0 is 1 around a center that moves."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.is_free = problem.weight == 0
        self.weight = np.where(self.is_free, FREE_WEIGHT, problem.weight)
        self.center, self.x = problem.target.copy(), problem.target.copy()
        self.step = 0.5 / self.weight
        self.multipliers = np.zeros(problem.sides.shape)
        self.over, self.under = (np.zeros(len(problem.bounds.over)) for _ in range(2))
        self.triangles = np.arange(len(problem.sides), dtype=np.int32)
        self.active = np.empty_like(self.triangles)

    def sweep(self) -> float:
        """Visit all triangles, then active ones; return the largest change by the first visit."""
        n_active, largest = self._visit(self.triangles, len(self.triangles))
        for _ in range(SWEEPS_OF_ACTIVE):
            n_active, _ = self._visit(self.active, n_active)
        if self.is_free.any():
            at = self.x[self.is_free]
            self.x[self.is_free] = 2 * at - self.center[self.is_free]
            self.center[self.is_free] = at
        return largest

    def _visit(self, which: NDArray[np.int32], n_which: int) -> tuple[int, float]:
        problem = self.problem
        sweep_bounds(problem.bounds, self.step, self.x, self.over, self.under)
        visited: tuple[int, float] = sweep_triangles(
            problem.sides, self.step, which, n_which, self.x, self.multipliers, self.active
        )
        return visited

    def feasible(self) -> Floats:
        """Return distances near x for which all triangle inequalities hold."""
        x = np.maximum(np.where(self.is_free, self.center, self.x), 0.0)
        close_triangles(self.problem.sides, x)
        return x

    def dual_objective(self) -> float:
        """Return a lower bound on the objective of all feasible distances."""
        problem, bounds = self.problem, self.problem.bounds
        fixed = ~self.is_free
        value = float((problem.weight * (problem.target**2 - self.x**2))[fixed].sum())
        is_fixed = fixed[: len(bounds.over)]
        value -= float(bounds.upper * self.over[is_fixed].sum())
        value += float(bounds.lower * self.under[is_fixed].sum())
        return value + self._least_of_free()

    def _least_of_free(self) -> float:
        """Minimize over free distances, kept below targets: short ones cost no more."""
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


def _projected(
    sides: NDArray[np.int32], target: Floats, step: Floats, tol: float, max_iter: int
) -> Floats:
    """Find the nearest distances for which all triangle inequalities hold."""
    x, multipliers = target.copy(), np.zeros(sides.shape)
    triangles = np.arange(len(sides), dtype=np.int32)
    active = np.empty_like(triangles)
    for _ in range(max_iter):
        stop_if_abandoned()
        n_active, largest = sweep_triangles(
            sides, step, triangles, len(triangles), x, multipliers, active
        )
        if largest <= tol:
            break
        for _ in range(SWEEPS_OF_ACTIVE):
            n_active, _ = sweep_triangles(sides, step, active, n_active, x, multipliers, active)
    return x
