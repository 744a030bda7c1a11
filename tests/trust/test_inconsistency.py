"""Scores from a forest of pairs: the equations, slow twins, weights, and planted errors."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.datasets import make_blobs
from sklearn.metrics import roc_auc_score
from tests.reference import trust as reference

import clew.trust.inconsistency
from clew import Constraints
from clew._validation import derived_seeds
from clew.similarity import COPRF
from clew.trust import answer_evidence, constraint_inconsistency, out_of_bag_vote, pair_posterior
from clew.trust.inconsistency import (
    PairAnswers,
    _weighted_median,
    closeness,
    grow_pair_forest,
    pair_features,
)


def test_pairs_are_described_by_difference_and_middle():
    X = np.array([[1.0, 5.0], [4.0, -1.0], [0.0, 0.0]])
    expected = [[3.0, 6.0, 2.5, 2.0], [1.0, 5.0, 0.5, 2.5]]
    np.testing.assert_array_equal(pair_features(X, np.array([[0, 1], [2, 0]])), expected)


@pytest.mark.parametrize("block", [7, 1024])
def test_score_is_equation_11(planted, monkeypatch, block):
    monkeypatch.setattr(clew.trust.inconsistency, "ROWS_PER_BLOCK", block)
    X, answers, _ = planted(n_pairs=60, dont_know=0.2)
    known = ~answers.is_dont_know
    is_same = answers.is_must_link[known].astype(np.uint8)
    (seed,) = derived_seeds(5, 1)
    forest = grow_pair_forest(X, PairAnswers.of(answers), n_trees=20, seed=seed, n_jobs=1)
    score = constraint_inconsistency(X, answers, n_trees=20, random_state=5)
    assert np.isnan(score[~known]).all()
    np.testing.assert_allclose(score[known], reference.inconsistency(forest.leaf, is_same))


def test_wrong_answers_have_higher_scores(planted):
    X, answers, is_wrong = planted()
    score = constraint_inconsistency(X, answers, n_trees=200, random_state=0)
    assert roc_auc_score(is_wrong, score) > 0.7
    assert np.median(score[answers.is_must_link]) == pytest.approx(0, abs=1e-12)


def test_threads_and_seed(planted):
    X, answers, _ = planted(n_pairs=80)
    scores = [
        constraint_inconsistency(X, answers, n_trees=60, random_state=seed, n_jobs=n_jobs)
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_large_leaves_are_sampled(planted, monkeypatch):
    X, answers, _ = planted(n_pairs=1500, error=0.0)
    exact = constraint_inconsistency(X, answers, n_trees=100, random_state=0)
    monkeypatch.setattr(clew.trust.inconsistency, "MAX_COMPARED", 10)
    sampled = constraint_inconsistency(X, answers, n_trees=100, random_state=0)
    assert not np.array_equal(exact, sampled)
    assert spearmanr(exact, sampled).statistic > 0.95


def test_the_weighted_median_is_that_of_repeated_values():
    values, weight = np.array([3.0, 1.0, 2.0, 5.0]), np.array([1, 2, 3, 2])
    assert _weighted_median(values, weight) == np.median(np.repeat(values, weight))
    for n in (1, 4, 5):
        assert _weighted_median(values[:n], np.full(len(values[:n]), 0.3)) == np.median(values[:n])


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


def test_wrong_answers_have_low_votes(planted):
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


def test_threads_and_seed_of_a_vote(planted):
    X, answers, _ = planted(n_pairs=80)
    votes = [
        out_of_bag_vote(X, answers, n_trees=60, random_state=seed, n_jobs=n_jobs)
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    ]
    np.testing.assert_array_equal(votes[0], votes[1])
    assert not np.array_equal(votes[0], votes[2])


def rows_of(n, seed=0):
    random = np.random.default_rng(seed)
    return np.array([random.choice(n, 2, replace=False) for _ in range(60)])


def test_closeness_compares_the_distance_with_local_scales():
    X = np.random.default_rng(0).normal(size=(80, 3)) * [1.0, 100.0, 0.01]
    rows = rows_of(80)
    D = cdist(*[2 * X / np.ptp(X, axis=0)] * 2)
    scale = np.sort(D, axis=1)[:, 7]
    i, j = rows.T
    expected = -np.log(D[i, j] ** 2 / (scale[i] * scale[j]))
    np.testing.assert_allclose(closeness(X, rows), expected, rtol=1e-6)


def test_closeness_does_not_depend_on_the_order_of_a_pair():
    X = np.random.default_rng(0).normal(size=(80, 3))
    rows = rows_of(80)
    np.testing.assert_allclose(closeness(X, rows), closeness(X, rows[:, ::-1]))


def test_rows_that_coincide_are_closest_of_all_but_not_infinitely():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X[1] = X[0]
    close = closeness(X, np.vstack([[0, 1], rows_of(80)]))
    assert np.isfinite(close).all()
    assert close[0] > close[1:].max() + 1
    same = closeness(np.ones((10, 2)), rows_of(10))
    assert np.isfinite(same).all()
    assert np.ptp(same) == 0


X, Y = make_blobs(60, 4, centers=3, cluster_std=3.0, random_state=0)
ANSWERS = Constraints.from_labels(Y, 50, error=0.1, random_state=0)


def scores(known):
    """Return what each function computes, an entry or row for each pair, and the error rate."""
    options = {"n_trees": 30, "random_state": 0}
    evidence = answer_evidence(X, known, **options)
    found = pair_posterior(evidence, known)
    return {
        "vote": out_of_bag_vote(X, known, **options),
        "inconsistency": constraint_inconsistency(X, known, **options),
        "evidence": evidence,
        "p_wrong": found.p_wrong,
        "weight": found.weight,
    }, found.error_rate


@settings(max_examples=8, deadline=None)
@given(ignored=st.sets(st.integers(0, 49), max_size=45), seed=st.integers(0, 9))
def test_answers_of_weight_0_are_ignored(ignored, seed):
    weight = np.random.default_rng(seed).uniform(0.1, 1.0, 50)
    counts = np.array([at not in ignored for at in range(50)])
    weight[~counts] = 0.0
    known = ANSWERS.with_weights(pair_weights=weight)
    every, rate = scores(known)
    some, rate_of_some = scores(known.select(pairs=counts))
    assert rate == rate_of_some
    for name, values in some.items():
        np.testing.assert_array_equal(every[name][counts], values)
        if name == "weight":
            assert not every[name][~counts].any()
        else:
            assert np.isnan(every[name][~counts]).all()


def test_a_common_factor_of_weights_changes_only_the_error_rate():
    whole, rate = scores(ANSWERS)
    halved, rate_of_halves = scores(ANSWERS.with_weights(pair_weights=np.full(50, 0.5)))
    for name in ("vote", "inconsistency", "evidence"):
        np.testing.assert_allclose(whole[name], halved[name])
    # With half of the evidence, the prior has more influence on the error rate.
    assert rate != rate_of_halves


def test_two_answers_of_half_the_weight_equal_one():
    evidence = answer_evidence(X, ANSWERS, n_trees=30, random_state=0)
    halves = ANSWERS.with_weights(pair_weights=np.full(50, 0.5))
    once = pair_posterior(evidence, ANSWERS)
    twice = pair_posterior(np.concatenate([evidence, evidence]), halves + halves)
    assert twice.error_rate == pytest.approx(once.error_rate, abs=1e-4)
    np.testing.assert_allclose(twice.p_wrong[:50], once.p_wrong, atol=1e-3)


def test_answers_of_small_weight_hardly_vote():
    wrong = Constraints.from_labels(Y, 200, error=1.0, random_state=1)
    light = wrong.with_weights(pair_weights=np.full(200, 1e-3))
    right = ANSWERS.is_must_link
    errors = [
        np.abs(out_of_bag_vote(X, ANSWERS + more, n_trees=60, random_state=0)[:50] - right).mean()
        for more in (light, wrong)
    ]
    alone = np.abs(out_of_bag_vote(X, ANSWERS, n_trees=60, random_state=0) - right).mean()
    assert errors[0] == pytest.approx(alone, abs=0.05)
    assert errors[1] > alone + 0.2


@pytest.mark.parametrize("trust", ["auto", "posterior", "inconsistency"])
def test_a_forest_ignores_answers_of_weight_0(trust):
    wrong = Constraints.from_labels(Y, 40, error=1.0, random_state=1)
    both = ANSWERS + wrong.with_weights(pair_weights=np.zeros(40))
    forests = [
        COPRF(n_trees=20, trust=trust, random_state=0).fit(X, constraints=known)
        for known in (ANSWERS, both)
    ]
    assert forests[0].error_rate_ == forests[1].error_rate_
    for name in ("doubt_", "constraint_weight_"):
        np.testing.assert_array_equal(
            getattr(forests[0], name), getattr(forests[1], name)[: len(ANSWERS.pairs)]
        )
