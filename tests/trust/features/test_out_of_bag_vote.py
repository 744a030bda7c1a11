"""The vote of the trees that did not see an answer."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score
from tests.reference import trust as reference

from clew import Constraints
from clew._random import derived_seeds
from clew.trust import out_of_bag_vote
from clew.trust.features._pair_forest import PairAnswers, grow_pair_forest


def test_vote_is_that_of_the_trees_that_did_not_see_the_answer(planted):
    X, answers, _ = planted(n_pairs=50, dont_know=0.2)
    known = ~answers.is_dont_know
    is_same = answers.is_must_link[known].astype(np.uint8)
    (seed,) = derived_seeds(3, 1)
    forest = grow_pair_forest(X, PairAnswers.of(answers), n_trees=25, seed=seed, n_jobs=1)
    share, n_votes = reference.out_of_bag_votes(forest.leaf, forest.draws, is_same)
    assert min(n_votes) > 0
    expected = (np.array(share) + is_same.mean()) / (np.array(n_votes) + 1)
    vote = out_of_bag_vote(X, answers, n_trees=25, random_state=3)
    np.testing.assert_allclose(vote[known], np.clip(expected, 1e-3, 1 - 1e-3))
    assert np.isnan(vote[~known]).all()


def test_an_answer_that_every_tree_drew_has_the_vote_of_the_rest():
    X = np.arange(6.0)[:, None]
    c = Constraints.from_pairs(must_link=[(0, 1), (2, 3)], cannot_link=[(1, 4)], n_samples=6)
    votes = [out_of_bag_vote(X, c, n_trees=1, random_state=seed) for seed in range(20)]
    assert all(((vote > 0) & (vote < 1)).all() for vote in votes)
    assert any(np.isclose(vote, 2 / 3).any() for vote in votes)


def test_wrong_answers_are_found(planted):
    X, answers, is_wrong = planted()
    vote = out_of_bag_vote(X, answers, n_trees=200, random_state=0)
    against = np.where(answers.is_must_link, 1 - vote, vote)
    assert roc_auc_score(is_wrong, against) > 0.8


def test_a_vote_does_not_depend_on_its_own_answer(planted):
    X, answers, _ = planted(n_pairs=60, error=0.0)
    codes = answers.pair_answers.copy()
    codes[7] = 1 - codes[7]
    other = Constraints(len(X), pairs=np.column_stack([answers.pairs, codes]))
    (seed,) = derived_seeds(0, 1)
    forest = [
        grow_pair_forest(X, PairAnswers.of(c), n_trees=40, seed=seed, n_jobs=1)
        for c in (answers, other)
    ]
    unseen = forest[0].draws[:, 7] == 0
    assert unseen.any()
    np.testing.assert_array_equal(forest[0].leaf[unseen], forest[1].leaf[unseen])


def test_threads_and_seed(planted):
    X, answers, _ = planted(n_pairs=80)
    votes = [
        out_of_bag_vote(X, answers, n_trees=60, random_state=seed, n_jobs=n_jobs)
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    ]
    np.testing.assert_array_equal(votes[0], votes[1])
    assert not np.array_equal(votes[0], votes[2])
