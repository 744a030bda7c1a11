"""Groups of rows that repeat: answers to questionnaires, and rows that are given twice."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._latent_classes import Categories
from clew.exceptions import NoGroupsWarning


def _survey(n, n_questions, n_kinds, n_values, wrong, seed):
    """Kinds of people, each with a usual answer; a share of the answers is any other."""
    rng = np.random.default_rng(seed)
    usual = rng.integers(0, n_values, (n_kinds, n_questions))
    kind = rng.integers(0, n_kinds, n)
    is_other = rng.random((n, n_questions)) < wrong
    other = rng.integers(1, n_values, (n, n_questions))
    return (usual[kind] + is_other * other) % n_values, kind


@pytest.mark.parametrize(
    ("shape", "wrong"), [((400, 8, 4, 2), 0.1), ((400, 6, 3, 5), 0.2), ((300, 12, 3, 3), 0.3)]
)
@pytest.mark.parametrize("is_one_hot", [False, True])
def test_a_questionnaire_has_as_many_groups_as_kinds_of_people(shape, wrong, is_one_hot):
    X, kind = _survey(*shape, wrong, seed=1)
    if is_one_hot:
        X = np.concatenate([np.eye(shape[3])[column] for column in X.T], axis=1)
    model = GuidedClustering(random_state=0).fit(X)
    assert model.n_clusters_ == shape[2]
    own = KMeans(shape[2], n_init=10, random_state=0).fit_predict(X)
    found = adjusted_rand_score(kind, model.labels_)
    assert found > adjusted_rand_score(kind, own) - 0.07


def test_answers_at_random_have_no_groups():
    X = np.random.default_rng(0).integers(0, 3, (400, 8))
    with pytest.warns(NoGroupsWarning, match="look like data without groups"):
        model = GuidedClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert model.probabilities_.max(axis=1).mean() < 0.75


@pytest.mark.parametrize("n_answers", [50, 200])
def test_few_answers_do_not_make_a_group_of_each_combination(n_answers):
    X, kind = _survey(400, 8, 4, 2, 0.1, seed=1)
    known = Constraints.from_labels(kind, n_answers, error=0.1, random_state=0)
    model = GuidedClustering(random_state=0).fit(X, constraints=known)
    # Where the neighbors of a row are its equals, there are 17 and 12 groups: ARI .47 and .61.
    assert model.n_clusters_ <= 10
    assert adjusted_rand_score(kind, model.labels_) > 0.75


@pytest.mark.parametrize("n_times", [2, 3])
def test_rows_given_twice_have_the_groups_of_the_rows(n_times):
    X = load_wine().data
    once = GuidedClustering(random_state=0).fit(X)
    model = GuidedClustering(random_state=0).fit(np.repeat(X, n_times, axis=0))
    assert model.n_clusters_ == once.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_[::n_times], once.labels_) > 0.9


def test_columns_of_one_question_are_one():
    code = np.random.default_rng(0).integers(0, 4, (50, 3))
    one_hot = np.concatenate([np.eye(4)[column] for column in code.T], axis=1) * 3.0 - 1.0
    by_code, by_columns = Categories.of(code.astype(float)), Categories.of(one_hot)
    assert by_code is not None
    assert by_columns is not None
    np.testing.assert_array_equal(by_code.indicators, by_columns.indicators)
    np.testing.assert_array_equal(by_code.first, by_columns.first)


@pytest.mark.parametrize("n_values", [11, 200])
def test_columns_of_many_values_are_no_categories(n_values):
    X = np.random.default_rng(0).integers(0, 3, (200, 5)).astype(float)
    X[:, 2] = np.arange(200) % n_values
    assert Categories.of(X) is None
    assert Categories.of(X[:, :2]) is None  # classes are not identified
