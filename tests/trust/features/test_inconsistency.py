"""The inconsistency score of the COP-RF paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from tests.reference import trust as reference

import clew.trust.features.inconsistency
from clew._random import derived_seeds
from clew.trust import constraint_inconsistency
from clew.trust.features._pair_forest import PairAnswers, grow_pair_forest, pair_features
from clew.trust.features.inconsistency import _weighted_median


def test_pairs_are_described_by_difference_and_middle():
    X = np.array([[1.0, 5.0], [4.0, -1.0], [0.0, 0.0]])
    expected = [[3.0, 6.0, 2.5, 2.0], [1.0, 5.0, 0.5, 2.5]]
    np.testing.assert_array_equal(pair_features(X, np.array([[0, 1], [2, 0]])), expected)


@pytest.mark.parametrize("block", [7, 1024])
def test_score_is_equation_11(planted, monkeypatch, block):
    monkeypatch.setattr(clew.trust.features.inconsistency, "ROWS_PER_BLOCK", block)
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
    monkeypatch.setattr(clew.trust.features.inconsistency, "MAX_COMPARED", 10)
    sampled = constraint_inconsistency(X, answers, n_trees=100, random_state=0)
    assert not np.array_equal(exact, sampled)
    assert spearmanr(exact, sampled).statistic > 0.95


def test_the_weighted_median_is_that_of_repeated_values():
    values, weight = np.array([3.0, 1.0, 2.0, 5.0]), np.array([1, 2, 3, 2])
    assert _weighted_median(values, weight) == np.median(np.repeat(values, weight))
    for n in (1, 4, 5):
        assert _weighted_median(values[:n], np.full(len(values[:n]), 0.3)) == np.median(values[:n])
