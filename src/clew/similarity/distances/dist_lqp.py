"""DistLQP: distances changed as little as answers and triangle inequalities require."""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clew._parallel import Progress
from clew._validation import Allowed
from clew._warnings import warn
from clew.constraints import Constraints
from clew.similarity.distances._base import METRICS, Learned, LearnedDistances, Metric
from clew.similarity.distances._dual import Problem, solve
from clew.similarity.distances._given import GivenDistances
from clew.similarity.distances._links import Links
from clew.similarity.distances._network import Settings, build, extended
from clew.similarity.distances._triangles import Sampled

__all__ = ["DistLQP"]

Floats = NDArray[np.float64]
#: Violations of a triangle inequality by less than this share of a distance are rounding errors.
ROUNDING = 1e-9


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

    _allowed: ClassVar[dict[str, Any]] = {
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
    _links: NDArray[np.int64]
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

    def _learn(
        self, given: GivenDistances, links: Links, known: Constraints, callback: Progress | None
    ) -> Learned:
        settings = self._settings(given.n_samples)
        problem, sampled = build(given, links, settings)
        self._count_triangles(problem)
        found = solve(problem, self.tol, self.max_iter, callback)
        self.objective_, self.gap_, self.n_iter_ = found.objective, found.gap, found.n_iter
        if not found.is_converged:
            warn(
                f"DistLQP(max_iter={self.max_iter}) did not converge: the duality gap is "
                f"{found.gap:.2g}, {found.gap / found.objective:.1%} of the objective; increase "
                "max_iter or tol",
                ConvergenceWarning,
            )
        self._keep_links(sampled, found.x)
        self.slack_ = self._slack(given, known, Learned(sampled.keys, found.x), settings)
        return Learned(sampled.keys, found.x)

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

    def _count_triangles(self, problem: Problem) -> None:
        """Count the triangles, and the violated inequalities among the given distances."""
        given = problem.target[problem.sides]
        excess = 2 * given.max(axis=1, initial=0.0) - (1 + ROUNDING) * given.sum(axis=1)
        self.n_triangles_ = len(problem.sides)
        self.n_violated_triangles_ = int((excess > 0).sum())
        if self.n_violated_triangles_:
            logging.getLogger("clew").info(
                "DistLQP: the given distances violate %d of %d triangle inequalities",
                self.n_violated_triangles_,
                self.n_triangles_,
            )

    def _keep_links(self, sampled: Sampled, x: Floats) -> None:
        """Keep the learned distances of answered pairs, for `transform`."""
        keys = sampled.keys[: sampled.n_links]
        self._links = np.column_stack(np.divmod(keys, self._given.n_samples))
        self._of_links = x[: sampled.n_links]

    def _slack(
        self, given: GivenDistances, known: Constraints, learned: Learned, settings: Settings
    ) -> Floats:
        """Return by how much each answer's bound is missed."""
        keys = known.pairs.min(axis=1) * known.n_samples + known.pairs.max(axis=1)
        distance, _ = given.of_pairs(*known.pairs.T)
        order = np.argsort(learned.keys)
        at = np.searchsorted(learned.keys, keys, sorter=order)
        at = order[np.minimum(at, len(order) - 1)] if len(order) else at
        is_learned = learned.keys[at] == keys if len(order) else np.zeros(len(keys), np.bool_)
        distance[is_learned] = learned.distance[at[is_learned]]
        slack = np.where(known.is_must_link, distance - settings.upper, settings.lower - distance)
        is_used = ~known.is_dont_know & (known.pair_weights > 0)
        return np.where(is_used, np.maximum(slack, 0.0), 0.0) * given.unit

    def _embed(self, distances: Floats) -> Floats:
        n_neighbors = min(self.n_neighbors, distances.shape[1])
        return extended(
            distances, self._links, self._of_links, n_neighbors, self.tol / 10, self.max_iter
        )
