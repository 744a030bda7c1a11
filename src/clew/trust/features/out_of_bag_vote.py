"""Out-of-bag predictions of the answers to pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._random import RandomState, derived_seeds
from clew._validation import check_matrix
from clew.constraints import Constraints, check_constraints
from clew.constraints._support import refuse_another_order
from clew.kernels.forest.paths import add_votes
from clew.trust.features._pair_forest import PairAnswers, grow_pair_forest

__all__ = ["out_of_bag_vote"]


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
        its answer, in (0, 1); NaN for a don't-know or weight 0. It is not calibrated: `posterior`
        is.

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
