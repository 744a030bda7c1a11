"""How many groups there are, with answers and without."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.cluster.guided._ensemble.ensemble import Fold
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._numbers.choice import choose_n_clusters
from clew.cluster.guided._numbers.held_out import NumberScores
from clew.cluster.guided._numbers.rows import n_different_rows
from clew.cluster.guided._numbers.search import MOST, larger_numbers
from clew.constraints._folds import held_out_folds

CENTERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
X, Y = make_blobs(60, centers=CENTERS, cluster_std=0.06, random_state=0)


def folds_of(known, n_folds=2):
    return [Fold(*parts) for parts in held_out_folds(known, n_folds, 0)]


@pytest.fixture(scope="module")
def views():
    return Views(X, 0)


def test_clear_groups_without_answers(views):
    assert choose_n_clusters(views, [], 0).n_clusters == 3


@pytest.mark.parametrize("error", [0.0, 0.15])
def test_clear_groups_with_answers(views, error):
    known = Constraints.from_labels(Y, 100, error=error, random_state=0)
    assert choose_n_clusters(views, folds_of(known), 0).n_clusters == 3


def test_answers_merge_groups(views):
    # Answers separate only the first group from the other two.
    known = Constraints.from_labels(np.minimum(Y, 1), 120, random_state=0)
    assert choose_n_clusters(views, folds_of(known), 0).n_clusters == 2


@pytest.mark.parametrize("origin", ["imported", "random", "asked"])
def test_clear_groups_with_answers_of_any_origin(views, origin):
    known = Constraints.from_labels(Y, 100, error=0.1, random_state=0).with_origin(origin)
    assert choose_n_clusters(views, folds_of(known), 0).n_clusters == 3


@pytest.mark.parametrize(
    ("n_asked", "differences", "chosen"),
    [
        (100, [0.5, -0.5], 3),  # the two numbers predict the asked answers equally well
        (100, [1.5, -1.46], 3),  # 2 ahead, standard error 15
        (100, [0.5, -0.3], 5),  # 10 ahead, standard error 4
        (100, [0.5, 0.3], 5),  # 40 ahead, standard error 1
        (0, [], 5),  # answers to random questions alone
    ],
)
def test_the_smallest_number_is_chosen_unless_asked_answers_clearly_prefer_another(
    n_asked, differences, chosen
):
    scores = NumberScores([])
    scores._of_asked = {
        3: np.zeros(n_asked), 5: np.resize(differences, n_asked), 8: np.full(n_asked, -1.0)
    }  # fmt: skip
    tried = {k: of_asked.sum() for k, of_asked in scores._of_asked.items()}
    tried[5] += 1e-6
    assert scores.smallest_near_best(tried) == chosen


@pytest.mark.parametrize(("near_tie", "most_probable"), [(0.0, 3), (1e6, 2)])
def test_the_number_that_answers_choose_is_the_most_probable(
    views, near_tie, most_probable, monkeypatch
):
    monkeypatch.setattr("clew.cluster.guided._numbers.held_out.NEAR_TIE", near_tie)
    known = Constraints.from_labels(Y, 100, error=0.1, random_state=0).with_origin("asked")
    found = choose_n_clusters(views, folds_of(known), 0).probabilities
    assert sum(found.values()) == pytest.approx(1)
    assert max(found, key=found.get) == most_probable
    assert found[3] == max(found.values())  # the smaller one counts as much as the best one


def test_few_or_random_answers_do_not_change_the_number(views):
    for n_answers in (1, 3):
        known = Constraints.from_labels(Y, n_answers, random_state=0)
        assert choose_n_clusters(views, folds_of(known), 0).n_clusters == 3
    pairs = Constraints.from_labels(Y, 150, random_state=0).pairs
    for seed in range(6):
        random = np.random.default_rng(seed).integers(0, 2, len(pairs))
        known = Constraints(60, pairs=np.column_stack([pairs, random]))
        assert choose_n_clusters(views, folds_of(known), 0).n_clusters == 3


def test_annotators_who_always_answer_the_opposite():
    rows, classes = make_blobs(120, centers=5, cluster_std=2.0, random_state=3)
    pairs = Constraints.from_labels(classes, 400, random_state=1).pairs
    is_same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    is_swapped = np.arange(len(pairs)) % 2 == 1
    answered = np.column_stack([pairs, is_same ^ is_swapped])
    names = np.where(is_swapped, "swapped", "good").tolist()
    named = Constraints(120, pairs=answered, pair_annotators=names)
    views = Views(rows, 0)
    assert choose_n_clusters(views, [], 0).n_clusters == 2  # the features show two superclusters
    assert choose_n_clusters(views, folds_of(named), 0).n_clusters == 5


def test_a_group_of_one_row_that_samples_may_miss():
    rng = np.random.default_rng(0)
    rows = np.r_[rng.normal(size=(1_500, 2)), [[400.0, 400.0]]]
    assert 2 <= choose_n_clusters(Views(rows, 0), [], 0).n_clusters <= 100


@pytest.mark.parametrize(("n_groups", "n_each", "slack"), [(90, 6, 3), (10, 2, 0), (3, 2, 0)])
def test_many_groups_and_groups_of_two_rows_are_found(n_groups, n_each, slack):
    middles = 20 * np.arange(n_groups, dtype=float)[:, None]
    rng = np.random.default_rng(0)
    rows = np.repeat(middles, n_each, axis=0) + rng.normal(0, 0.1, (n_groups * n_each, 1))
    # Not every large number is tried.
    assert abs(choose_n_clusters(Views(rows, 0), [], 0).n_clusters - n_groups) <= slack


@pytest.mark.parametrize("n_features", [1, 2, 10])
@pytest.mark.parametrize("draw", ["uniform", "normal"])
@pytest.mark.parametrize(("n_rows", "n_seeds"), [(100, 3), (400, 1)])
def test_data_without_groups(n_rows, n_seeds, draw, n_features):
    for seed in range(n_seeds):
        rows = getattr(np.random.default_rng(seed), draw)(size=(n_rows, n_features))
        found = choose_n_clusters(Views(rows, 0), [], 0)
        assert found.n_clusters == 2
        assert found.certainty <= 0.5


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_real_data_have_groups(load):
    rows = StandardScaler().fit_transform(load().data[::2])
    assert choose_n_clusters(Views(rows, 0), [], 0).certainty == 1


def test_answers_show_groups_that_features_do_not():
    rows = np.random.default_rng(0).uniform(size=(150, 2))
    classes = (3 * rows[:, 0]).astype(int)
    known = Constraints.from_labels(classes, 450, random_state=0)
    assert choose_n_clusters(Views(rows, 0), [], 0).certainty < 1
    found = choose_n_clusters(Views(rows, 0), folds_of(known), 0)
    assert found.certainty == 1
    assert 2 < found.n_clusters < 7


def test_no_more_groups_than_different_rows():
    rows = np.repeat(np.eye(3), 20, axis=0)
    assert choose_n_clusters(Views(rows, 0), [], 0).n_clusters == 3
    assert n_different_rows(np.repeat(np.eye(3), 2_000, axis=0), 10) == 3
    assert n_different_rows(np.repeat(np.eye(3), 2_000, axis=0), 2) == 2


@pytest.mark.parametrize(("n", "most"), [(2, 1), (3, 1), (4, 2), (6, 3)])
def test_few_rows(n, most):
    rows = np.arange(float(n))[:, None]
    assert 1 <= choose_n_clusters(Views(rows, 0), [], 0).n_clusters <= most


def test_larger_numbers_leave_five_rows_to_a_group():
    assert larger_numbers(5_000)[-1] == 1_000
    assert min(larger_numbers(5_000)) > MOST
    assert larger_numbers(500) == []


def test_answers_choose_more_groups_than_are_tried_first(monkeypatch):
    for module in ("search", "choice"):
        monkeypatch.setattr(f"clew.cluster.guided._numbers.{module}.MOST", 10)
    rows, classes = make_blobs(240, n_features=8, centers=30, cluster_std=0.5, random_state=0)
    near = [(i, i + 30 * step) for step in (1, 2) for i in range(180)]
    of_class = np.argsort(classes, kind="stable").reshape(30, 8).T.ravel()  # 30 rows apart: alike
    same = [(of_class[i], of_class[j], 1) for i, j in near]
    other = Constraints.from_labels(classes, 600, random_state=0).cannot_link
    known = Constraints(240, pairs=[*same, *((i, j, 0) for i, j in other)])
    views = Views(rows, 0)
    assert choose_n_clusters(views, [], 0).n_clusters <= 10
    assert choose_n_clusters(views, folds_of(known), 0).n_clusters == 30
