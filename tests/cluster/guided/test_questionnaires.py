"""Groups of rows that repeat: answers to questionnaires, and rows that are given twice."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._latent_classes import Categories, columns_without_order
from clew.cluster.guided._records import are_groups_tiny
from clew.exceptions import NoGroupsWarning

pytestmark = pytest.mark.usefixtures("fair_search")


def _survey(n, n_questions, n_kinds, n_values, wrong, seed):
    """Kinds of people, each with a usual answer; a share of the answers is any other."""
    rng = np.random.default_rng(seed)
    usual = rng.integers(0, n_values, (n_kinds, n_questions))
    kind = rng.integers(0, n_kinds, n)
    is_other = rng.random((n, n_questions)) < wrong
    other = rng.integers(1, n_values, (n, n_questions))
    return (usual[kind] + is_other * other) % n_values, kind


@pytest.mark.slow
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


def _scale(n, n_questions, n_kinds, n_values, deviation, seed):
    """Kinds of people, each with a usual point on each scale, such as from 1 to 5."""
    rng = np.random.default_rng(seed)
    usual = rng.uniform(0, n_values - 1, (n_kinds, n_questions))
    kind = rng.integers(0, n_kinds, n)
    answer = np.round(usual[kind] + deviation * rng.normal(size=(n, n_questions)))
    return np.clip(answer, 0, n_values - 1), kind


@pytest.mark.parametrize(
    ("shape", "deviation", "n_answers"),
    [
        ((250, 8, 4, 5), 1.0, 100),
        ((250, 12, 5, 7), 1.5, 0),
        ((300, 6, 4, 7), 1.0, 0),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                ((250, 8, 4, 5), 1.0, 0),
                ((250, 12, 5, 7), 1.5, 100),
                ((300, 6, 4, 7), 1.0, 100),
            )
        ),
    ],
)
def test_points_on_scales_keep_their_order(shape, deviation, n_answers):
    X, kind = _scale(*shape, deviation, seed=0)
    known = Constraints.from_labels(kind, n_answers, error=0.1, random_state=0)
    model = GuidedClustering(random_state=0).fit(X, constraints=known)
    assert model.n_clusters_ == shape[2]
    own = KMeans(shape[2], n_init=10, random_state=0).fit_predict(X)
    # As shares of values without their order, 3 to 4 groups: ARI .57 and .70 in the last two.
    assert adjusted_rand_score(kind, model.labels_) > adjusted_rand_score(kind, own) - 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "wrong", "standardize"),
    [((250, 6, 3, 5), 0.2, True), ((250, 6, 3, 5), 0.2, "auto"), ((200, 12, 3, 3), 0.3, "auto")],
)
def test_codes_have_no_order(shape, wrong, standardize):
    X, kind = _survey(*shape, wrong, seed=1)
    known = Constraints.from_labels(kind, 100, error=0.1, random_state=0)
    model = GuidedClustering(standardize=standardize, random_state=0).fit(X, constraints=known)
    # Read as numbers, there are 4 to 10 groups: ARI .51 and .66.
    assert model.n_clusters_ == shape[2]
    assert adjusted_rand_score(kind, model.labels_) > 0.8
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    model.predict(X + 10)  # values of which no row was fitted


@pytest.mark.parametrize(
    ("make", "n_expected"), [(lambda: _survey(400, 6, 3, 5, 0.2, 0), 6),
                             (lambda: _scale(400, 8, 4, 5, 1.0, 0), 0)]
)  # fmt: skip
def test_which_columns_have_no_order(make, n_expected):
    assert len(columns_without_order(make()[0].astype(float), 0)) == n_expected


@pytest.mark.slow
def test_people_may_group_by_one_question():
    X, _ = _survey(200, 8, 4, 3, 0.2, seed=1)
    known = Constraints.from_labels(X[:, 2], 200, error=0.1, random_state=0)
    model = GuidedClustering(random_state=0).fit(X, constraints=known)
    # Latent classes of all questions have ARI .2 to .4.
    assert adjusted_rand_score(X[:, 2], model.labels_) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n_components", [0.95, None, "rotated"])
def test_a_questionnaire_may_be_rotated(n_components):
    X, kind = _survey(400, 8, 4, 2, 0.1, seed=1)
    if n_components == "rotated":
        X = X @ np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    else:
        X = PCA(n_components).fit_transform(X)
    model = GuidedClustering(random_state=0).fit(X)
    # Neighbors at the same place are a group: 2 groups before, ARI .43.
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(kind, model.labels_) > 0.75


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::clew.exceptions.NoGroupsWarning")
def test_small_groups_of_random_rows_are_not_found():
    X, kind = _survey(300, 12, 3, 3, 0.3, seed=1)
    X = X @ np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0]
    # Silhouettes of 100 groups of three rows each are the largest, also where there are no groups.
    model = GuidedClustering(random_state=0).fit(X)
    assert model.n_clusters_ <= 5
    assert adjusted_rand_score(kind, model.labels_) > 0.35


def test_columns_of_values_are_no_records():
    X, _ = _survey(400, 7, 4, 2, 0.1, seed=1)
    one_hot = np.concatenate([np.eye(2)[column] for column in X.T], axis=1)
    assert not are_groups_tiny(one_hot)


@pytest.mark.slow
def test_answers_at_random_have_no_groups():
    X = np.random.default_rng(0).integers(0, 3, (250, 8))
    with pytest.warns(NoGroupsWarning, match="look like data without groups"):
        model = GuidedClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert model.probabilities_.max(axis=1).mean() < 0.75
    numbers = model.n_clusters_probabilities_
    assert list(numbers) == [1, 2]
    assert 0 < numbers[2] <= 0.5 <= numbers[1]


@pytest.mark.slow
@pytest.mark.parametrize("n_answers", [50, 200])
def test_few_answers_do_not_make_a_group_of_each_combination(n_answers):
    X, kind = _survey(250, 8, 4, 2, 0.1, seed=1)
    known = Constraints.from_labels(kind, n_answers, error=0.1, random_state=0)
    model = GuidedClustering(random_state=0).fit(X, constraints=known)
    # Where the neighbors of a row are its equals, there are 17 and 12 groups: ARI .47 and .61.
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(kind, model.labels_) > 0.8


@pytest.mark.slow
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


@pytest.mark.slow
def test_many_people_have_the_kinds_of_few():
    X, kind = _survey(6_000, 8, 4, 2, 0.1, seed=1)
    model = GuidedClustering(random_state=0).fit(X)
    # Anchors at means of rows have many values: 2 groups, ARI .28.
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(kind, model.labels_) > 0.85
    assert (model.predict(X) == model.labels_).mean() > 0.99


def test_values_of_rows_that_were_not_asked_count():
    X, _ = _survey(5_000, 6, 3, 5, 0.2, seed=0)
    X[:30, 0] = np.arange(100, 130)  # seldom among the rows that tell whether values have an order
    assert 0 not in columns_without_order(X.astype(float), 0)


def test_a_few_rows_are_no_questionnaire():
    X, _ = _survey(19, 6, 3, 5, 0.2, seed=0)
    assert Categories.of(X.astype(float)) is None
    assert columns_without_order(X.astype(float), 0) == []
