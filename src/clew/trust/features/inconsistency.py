"""COP-RF's measure of how much an answer stands apart from others of its kind."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._random import RandomState, derived_seeds
from clew._validation import check_matrix
from clew.constraints import Constraints, check_constraints
from clew.forest import Forest
from clew.kernels.forest.dense_affinity import add_leaf_affinity
from clew.trust.features._pair_forest import answered_pairs, grow_pair_forest

__all__ = ["constraint_inconsistency"]

BLOCK_OF_ROWS = 1024


def constraint_inconsistency(
    X: ArrayLike,
    constraints: Constraints,
    *,
    n_trees: int = 500,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Score how far each answer stands apart from the other answers of its kind.

    A classification forest learns "same" and "different" from the pairs. An answer whose pair
    rarely shares a leaf with the pairs of the same answer stands apart.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features. Their units do not matter.
    constraints : Constraints
        The answers. Only pairs are looked at.
    n_trees : int, default=500
        Size of the forest.
    random_state : int, RandomState or None, default=None
        Seed of the forest.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    ndarray of shape (n_pairs,)
        The score ξ of each pair, 0 for the median answer of its kind, higher for one that stands
        apart, and NaN for a don't-know.

    Raises
    ------
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Notes
    -----
    Time O(T·n·√d·log n + T·n·l) and memory O(T·n) for n answers, T trees, d features and leaves
    of l answers. The answer itself takes part in the training, as in the paper; the out-of-bag
    vote (`out_of_bag_vote`) avoids that and finds more of the wrong answers.

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
    features = check_matrix(X)
    check_constraints(constraint_inconsistency, constraints, len(features))
    answered = answered_pairs(constraints)
    score = np.full(len(constraints.pairs), np.nan)
    if len(answered) == 0:
        return score
    is_same = constraints.is_must_link[answered].astype(np.uint8)
    (seed,) = derived_seeds(random_state, 1)
    forest = grow_pair_forest(
        features, constraints.pairs[answered], is_same, n_trees=n_trees, seed=seed, n_jobs=n_jobs
    )
    for kind in (0, 1):
        of_kind = np.flatnonzero(is_same == kind)
        if of_kind.size:
            score[answered[of_kind]] = _standing_apart(forest, of_kind)
    return score


def _standing_apart(forest: Forest, of_kind: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute equation 11 for the answers of one kind."""
    closeness = np.empty(len(of_kind))
    for start in range(0, len(of_kind), BLOCK_OF_ROWS):
        block = of_kind[start : start + BLOCK_OF_ROWS]
        leaf = np.ascontiguousarray(forest.leaf[:, block])
        affinity = np.zeros((len(block), forest.leaf.shape[1]), np.float32)
        add_leaf_affinity(forest.trees, forest.order, leaf, 0, len(block), affinity)
        share = affinity[:, of_kind].astype(np.float64) / forest.n_trees
        closeness[start : start + BLOCK_OF_ROWS] = (share**2).sum(axis=1)
    apartness = 1.0 / closeness  # an answer shares every leaf with itself: never 1/0
    middle = np.median(apartness)
    return np.asarray((apartness - middle) / middle)
