"""COP-RF's measure of how much an answer differs from others of its kind."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._parallel import blocks, in_threads
from clew._random import RandomState, derived_seeds
from clew._validation import check_matrix
from clew.constraints import Constraints, check_constraints
from clew.constraints._support import refuse_another_order
from clew.forest import Forest
from clew.kernels.forest.affinity import list_leaves, sum_squared_affinities
from clew.trust.features._pair_forest import PairAnswers, grow_pair_forest

__all__ = ["constraint_inconsistency"]

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
    """Compute equation 11 for the answers of one kind."""
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
