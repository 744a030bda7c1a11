"""Answers about pairs that features contradict, by a forest grown on the pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from clew._parallel import blocks, in_threads
from clew._units import Units
from clew._validation import RandomState, check_matrix, derived_seeds
from clew.constraints import Constraints, check_constraints
from clew.constraints._support import refuse_another_order
from clew.forest import Forest, Growth, bin_columns, bin_edges, grow_forest
from clew.graphs import LocalScales, scaled_squares
from clew.kernels.forest.affinity import list_leaves, sum_squared_affinities
from clew.kernels.forest.layout import add_votes

__all__ = ["answer_evidence", "constraint_inconsistency", "out_of_bag_vote"]

ROWS_PER_BLOCK = 256
#: Average number of answers that an answer is compared with in a tree; if leaves are larger,
#: answers are sampled.
MAX_COMPARED = 100


def constraint_inconsistency(
    X: ArrayLike,
    constraints: Constraints,
    *,
    n_trees: int = 500,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Score how much each answer differs from the other answers of its kind.

    A classification forest learns "same" and "different" from the pairs. The score is high for an
    answer whose pair rarely shares a leaf with the pairs of the same answer.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features. Their units do not matter.
    constraints : Constraints
        The answers. Only pairs are used. The bootstrap draws answers in proportion to their
        weights, which also count in the sums and in the median; answers of weight 0 are ignored.
    n_trees : int, default=500
        Size of the forest.
    random_state : int, RandomState or None, default=None
        Seed of the forest.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_pairs,)
        The score ξ of each pair, 0 for the median answer of its kind, higher for one that differs,
        and NaN for a don't-know or weight 0.

    Raises
    ------
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Notes
    -----
    Time O(T·n·√d·log n + T·n·l) and memory O(T·n) for n answers, T trees, d features and leaves
    of l answers of one kind, at most 100 on average: if leaves are larger, each answer is compared
    with the same random sample of answers, and sums are scaled. The answer itself takes part in
    the training, as in the paper; the out-of-bag vote (`out_of_bag_vote`) avoids that and finds
    more of the wrong answers.

    References
    ----------
    X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles", IEEE TNNLS
    2015, equations 10 and 11, algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import constraint_inconsistency
    >>> X = np.r_[np.zeros((5, 2)), np.ones((5, 2))]
    >>> c = Constraints.from_pairs(must_link=[(0, 1), (5, 6)], cannot_link=[(0, 5)], n_samples=10)
    >>> constraint_inconsistency(X, c, n_trees=50, random_state=0).shape
    (3,)
    """
    refuse_another_order(X, constraints)
    features = check_matrix(X)
    check_constraints(constraint_inconsistency, constraints, len(features))
    answers = PairAnswers.of(constraints)
    score = np.full(len(constraints.pairs), np.nan)
    if len(answers.position) == 0:
        return score
    seed, sample_seed = derived_seeds(random_state, 2)
    forest = grow_pair_forest(features, answers, n_trees=n_trees, seed=seed, n_jobs=n_jobs)
    random = np.random.RandomState(sample_seed)
    for kind in (0, 1):
        of_kind = np.flatnonzero(answers.is_same == kind)
        if of_kind.size:
            leaf = np.ascontiguousarray(forest.leaf[:, of_kind])
            weight = answers.weight[of_kind]
            found = _inconsistency(forest, leaf, weight, random, n_jobs)
            score[answers.position[of_kind]] = found
    return score


def _inconsistency(
    forest: Forest,
    leaf: NDArray[np.int32],
    weight: NDArray[np.float64],
    random: np.random.RandomState,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Equation 11 for the answers of one kind, from their leaves, (n_trees, n)."""
    n_trees, n = leaf.shape
    compared = _sample(forest, leaf, random)
    start = np.zeros(len(forest.trees.feature) + 1, np.int64)
    member = np.empty(n_trees * len(compared), np.int32)
    list_leaves(forest.trees, leaf, compared, start, member)
    total = np.empty(n)
    in_threads(
        lambda block: sum_squared_affinities(
            forest.trees, leaf, *block, compared, weight[compared], start, member, total
        ),
        blocks(n, ROWS_PER_BLOCK),
        n_jobs=n_jobs,
    )
    # `total` leaves out the affinity of each answer to itself, which is 1; `rho` adds its weight.
    is_compared = np.zeros(n)
    is_compared[compared] = 1.0
    others = weight.sum() - weight
    seen = weight[compared].sum() - weight * is_compared
    scale = np.divide(others, seen, out=np.zeros(n), where=seen > 0)
    rho = 1.0 / (weight + total * scale)
    middle = _weighted_median(rho, weight)
    return np.asarray((rho - middle) / middle)


def _sample(
    forest: Forest, leaf: NDArray[np.int32], random: np.random.RandomState
) -> NDArray[np.int64]:
    """Choose the answers that each is compared with: all answers, unless leaves are very large."""
    n_trees, n = leaf.shape
    size = np.bincount((leaf + forest.trees.offset[:-1, None]).ravel())
    mean_size = float((size.astype(np.float64) ** 2).sum() / (n_trees * n))
    n_compared = int(np.ceil(n * min(1.0, MAX_COMPARED / mean_size)))
    return np.sort(random.permutation(n)[:n_compared])


def _weighted_median(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the weighted median; if two values are medians, their mean."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    below = min(int(np.searchsorted(share, 0.5 - 1e-12)), len(values) - 1)
    above = min(int(np.searchsorted(share, 0.5 + 1e-12)), len(values) - 1)
    return float((values[order[below]] + values[order[above]]) / 2)


def out_of_bag_vote(
    X: ArrayLike,
    constraints: Constraints,
    *,
    n_trees: int = 500,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Predict the answer to each pair by the trees that were grown without it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features. Their units do not matter.
    constraints : Constraints
        The answers. Only pairs are used. The bootstrap draws answers in proportion to their
        weights; those of weight 0 are ignored.
    n_trees : int, default=500
        Size of the forest. With the same seed, `constraint_inconsistency` grows the same forest.
    random_state : int, RandomState or None, default=None
        Seed of the forest.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_pairs,)
        Mean share of "same" in the leaves of the pair, over the trees whose bootstrap did not draw
        its answer, in (0, 1); NaN for a don't-know or weight 0. It is not calibrated:
        `pair_posterior` is.

    Raises
    ------
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Notes
    -----
    Time O(T·n·√d·log n), memory O(T·n) for n answers, T trees and d features.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 2001, section 3.1; the pairs' features are
    equation 10 of Zhu, Loy and Gong, IEEE TNNLS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import out_of_bag_vote
    >>> X = np.arange(20.0)[:, None] // 10
    >>> c = Constraints.from_labels(X[:, 0], n_pairs=60, random_state=0)
    >>> vote = out_of_bag_vote(X, c, random_state=0)
    >>> bool(vote[c.is_must_link].min() > vote[c.is_cannot_link].max())
    True
    """
    refuse_another_order(X, constraints)
    features = check_matrix(X)
    check_constraints(out_of_bag_vote, constraints, len(features))
    answers = PairAnswers.of(constraints)
    vote = np.full(len(constraints.pairs), np.nan)
    if len(answers.position) == 0:
        return vote
    (seed,) = derived_seeds(random_state, 1)
    forest = grow_pair_forest(features, answers, n_trees=n_trees, seed=seed, n_jobs=n_jobs)
    share, n_votes = np.zeros(len(answers.rows)), np.zeros(len(answers.rows), np.int64)
    buffers = np.empty((2, forest.largest_tree))
    add_votes(forest.trees, forest.leaf, forest.draws, answers.is_same, *buffers, share, n_votes)
    # The prior is added as one vote, because an answer that every tree drew has no other vote.
    prior = np.average(answers.is_same, weights=answers.weight)
    vote[answers.position] = np.clip((share + prior) / (n_votes + 1), 1e-3, 1 - 1e-3)
    return vote


def answer_evidence(
    X: ArrayLike,
    constraints: Constraints,
    *,
    n_trees: int = 500,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute evidence for "same" at each pair, without its own answer.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features. Their units do not matter.
    constraints : Constraints
        The answers. Only pairs are used, by their weights; those of weight 0 are ignored.
    n_trees : int, default=500
        Size of the forest that votes.
    random_state : int, RandomState or None, default=None
        Seed of the forest.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        Log-odds of the out-of-bag vote, and the standardized closeness of both rows; NaN for a
        don't-know or weight 0.

    Raises
    ------
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import answer_evidence
    >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(1, 2)], n_samples=3)
    >>> answer_evidence(np.eye(3), c, random_state=0).shape
    (2, 2)
    """
    refuse_another_order(X, constraints)
    features = check_matrix(X)
    vote = out_of_bag_vote(
        features, constraints, n_trees=n_trees, random_state=random_state, n_jobs=n_jobs
    )
    evidence = np.column_stack([logit(vote), np.full(len(vote), np.nan)])
    answers = PairAnswers.of(constraints)
    if len(answers.position):
        close = closeness(features, answers.rows)
        close -= np.average(close, weights=answers.weight)
        deviation = float(np.sqrt(np.average(close**2, weights=answers.weight)))
        evidence[answers.position, 1] = close / (deviation or 1.0)
    return evidence


#: Lower limit of squared distances, in units of the local scales.
NEAREST = 1e-6


class PairAnswers(NamedTuple):
    """The answers "same" and "different" of positive weight."""

    position: NDArray[np.int64]
    """Index of each among all pairs, (n,)."""
    rows: NDArray[np.int64]
    """The pairs, (n, 2)."""
    is_same: NDArray[np.uint8]
    """The answers, 1 or 0, (n,)."""
    weight: NDArray[np.float64]
    """Weight of each answer, (n,)."""

    @classmethod
    def of(cls, constraints: Constraints) -> PairAnswers:
        """Select these answers from all."""
        position = np.flatnonzero(~constraints.is_dont_know & (constraints.pair_weights > 0))
        return cls(
            position,
            constraints.pairs[position],
            constraints.is_must_link[position].astype(np.uint8),
            constraints.pair_weights[position],
        )


def pair_features(X: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``|x_i - x_j|`` and ``(x_i + x_j) / 2``, (n_pairs, 2 · n_features); equation 10."""
    a, b = X[rows[:, 0]], X[rows[:, 1]]
    return np.hstack([np.abs(a - b), (a + b) / 2])


def closeness(X: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """``-log(d² / (s·s'))``, (n_pairs,), s to 7th neighbors (Zelnik-Manor and Perona 2004)."""
    X = Units.to_unit_range(X).scale(X)
    X = Units.around_median(X).scale(X)
    named, place = np.unique(rows, return_inverse=True)
    scale = LocalScales(X).of(X[named])[place.reshape(rows.shape)]
    distance = np.linalg.norm(X[rows[:, 0]] - X[rows[:, 1]], axis=1)
    return np.asarray(-np.log(np.maximum(scaled_squares(distance, *scale.T), NEAREST)))


def grow_pair_forest(
    X: NDArray[np.float64], answers: PairAnswers, *, n_trees: int, seed: int, n_jobs: int | None
) -> Forest:
    """Grow a forest, with `draws`, that classifies pairs as same or different, by weight."""
    Z = pair_features(X, answers.rows)
    edges = bin_edges(Z)
    # Effective number of answers: the sum of weights over the largest weight.
    n_draws = max(1, round(float(answers.weight.sum() / answers.weight.max())))
    return grow_forest(
        bin_columns(Z, edges),
        np.array([len(thresholds) + 1 for thresholds in edges]),
        answers.is_same,
        Growth(n_trees=n_trees, n_draws=n_draws, n_candidates=max(1, int(np.sqrt(Z.shape[1])))),
        n_rows=len(Z),
        seed=seed,
        weight=answers.weight,
        wants_draws=True,
        n_jobs=n_jobs,
    )
