"""Posterior probabilities that answers are wrong, and the estimated error rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from clew import Constraints
from clew.exceptions import InvalidDataError, UnsupportedConstraintError
from clew.trust import answer_evidence, posterior
from clew.trust.features.posterior import _loss


def answers_from(is_same):
    """Make one answer for each entry, about rows that do not matter."""
    n = len(is_same)
    rows = np.arange(2 * n).reshape(n, 2)
    return Constraints(2 * n, pairs=np.column_stack([rows, is_same]))


def planted_evidence(error, n=4000, seed=0, scale=3.0, intercept=-1.0):
    """Draw evidence, then true answers from the model, then make a share of the answers wrong."""
    random = np.random.default_rng(seed)
    evidence = scale * random.normal(size=n)
    truth = random.uniform(size=n) < expit(evidence + intercept)
    is_wrong = random.uniform(size=n) < error
    return evidence, answers_from((truth ^ is_wrong).astype(int)), is_wrong


@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_gradient_against_finite_differences(n_columns):
    random = np.random.default_rng(n_columns)
    columns = random.normal(size=(50, n_columns))
    said_same, weight = random.uniform(size=50) < 0.4, random.uniform(size=50)
    for _ in range(5):
        at = random.normal(size=n_columns + 2)
        _, gradient = _loss(at, columns, said_same, weight)
        numeric = approx_fprime(at, lambda p: _loss(p, columns, said_same, weight)[0], 1e-7)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("error", [0.0, 0.15, 0.3])
def test_planted_error_rate_is_found(error):
    evidence, answers, _ = planted_evidence(error)
    assert posterior(evidence, answers).error_rate == pytest.approx(error, abs=0.03)


def test_bayes_rule_with_the_true_parameters():
    error = 0.2
    evidence, answers, _ = planted_evidence(error, n=20_000)
    contrary = expit(np.where(answers.is_must_link, -1, 1) * (evidence - 1.0))
    expected = contrary * error / (contrary * error + (1 - contrary) * (1 - error))
    off = np.abs(posterior(evidence, answers).p_wrong - expected)
    assert off.max() < 0.1
    assert off.mean() < 0.02


@pytest.mark.parametrize("error", [0.15, 0.3])
def test_probabilities_are_calibrated(error):
    evidence, answers, is_wrong = planted_evidence(error, n=8000)
    p = posterior(evidence, answers).p_wrong
    place = np.digitize(p, [0.05, 0.2, 0.4, 0.6, 0.8])
    for level in np.unique(place):
        inside = place == level
        tolerance = 0.03 + 4 * np.sqrt(0.25 / inside.sum())
        assert is_wrong[inside].mean() == pytest.approx(p[inside].mean(), abs=tolerance)
    assert p.mean() == pytest.approx(is_wrong.mean(), abs=0.03)


def test_uninformative_columns_do_little_harm():
    evidence, answers, is_wrong = planted_evidence(0.15)
    noise = np.random.default_rng(1).normal(size=len(evidence))
    alone = posterior(evidence, answers)
    both = posterior(np.column_stack([evidence, noise]), answers)
    assert roc_auc_score(is_wrong, both.p_wrong) > roc_auc_score(is_wrong, alone.p_wrong) - 0.01
    assert both.error_rate == pytest.approx(alone.error_rate, abs=0.02)


def test_dont_know_has_no_probability_and_no_weight():
    evidence = np.array([2.0, np.nan, -2.0, 1.0])
    found = posterior(evidence, answers_from([1, -2, 0, 0]))
    assert np.isnan(found.p_wrong).tolist() == [False, True, False, False]
    assert found.weight[1] == 0
    without = posterior(evidence[[0, 2, 3]], answers_from([1, 0, 0]))
    np.testing.assert_array_equal(found.p_wrong[[0, 2, 3]], without.p_wrong)
    assert found.error_rate == without.error_rate


@pytest.mark.parametrize("said", [[1] * 40, [0] * 40, [1], [0]])
def test_answers_of_one_kind_and_a_single_answer(said):
    evidence = np.random.default_rng(0).normal(size=len(said))
    found = posterior(evidence, answers_from(said))
    assert ((found.p_wrong > 0) & (found.p_wrong < 0.5)).all()
    np.testing.assert_allclose(found.weight, 1 - found.p_wrong)
    assert 0 < found.error_rate < 0.2


def test_nobody_answered():
    found = posterior(np.empty((0, 2)), Constraints(5))
    assert found.p_wrong.shape == found.weight.shape == (0,)
    assert np.isnan(found.error_rate)
    found = posterior([np.nan, 1.0], answers_from([-2, -2]))
    assert np.isnan(found.p_wrong).all()
    assert not found.weight.any()
    assert np.isnan(found.error_rate)


@pytest.mark.parametrize(
    "evidence", [[1.0], [1.0, np.nan], [1.0, np.inf], np.ones((3, 2)), np.ones((2, 1, 1)), 1.0]
)
def test_evidence_must_fit_the_answers(evidence):
    with pytest.raises(InvalidDataError, match="2 pairs"):
        posterior(evidence, answers_from([1, 0]))


def test_other_kinds_of_answers_are_refused():
    c = Constraints.from_triplets([(0, 1, 2)], [0], n_samples=3)
    with pytest.raises(UnsupportedConstraintError, match="posterior does not honor triplets"):
        posterior(np.empty((0, 2)), c)


@pytest.mark.parametrize("seed", [0, 1])
def test_wrong_answers_about_real_features_are_found(planted, seed):
    X, answers, is_wrong = planted(error=0.15, seed=seed)
    found = posterior(answer_evidence(X, answers, n_trees=200, random_state=0), answers)
    assert roc_auc_score(is_wrong, found.p_wrong) > 0.85
    assert found.error_rate == pytest.approx(0.15, abs=0.08)


def test_answers_without_errors_keep_their_weight(planted):
    X, answers, _ = planted(error=0.0)
    found = posterior(answer_evidence(X, answers, n_trees=200, random_state=0), answers)
    assert found.error_rate < 0.05
    assert np.median(found.weight) > 0.95


def test_evidence_does_not_depend_on_units_or_threads(planted):
    X, answers, _ = planted(n_pairs=60, dont_know=0.1)
    first = answer_evidence(X, answers, n_trees=50, random_state=0)
    again = answer_evidence(X, answers, n_trees=50, random_state=0, n_jobs=2)
    scaled = answer_evidence(X * 2.0 ** np.arange(-3, 3), answers, n_trees=50, random_state=0)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, scaled)
    assert (np.isnan(first).all(axis=1) == answers.is_dont_know).all()
    assert np.nanmean(first[:, 1]) == pytest.approx(0, abs=1e-12)
    assert np.nanstd(first[:, 1]) == pytest.approx(1)
