"""The study of DistLQP: distances, answers, comparators, and its page."""

import numpy as np
import pytest
from benchmarks.papers import distlqp as s
from benchmarks.papers.distlqp import hmrf_com, npkl_distances
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.metrics import adjusted_rand_score, n_violated

X, y = make_blobs(45, 4, centers=3, random_state=0)
ANSWERS = Constraints.from_labels(y, 60, random_state=0)


@pytest.fixture(autouse=True)
def blobs(monkeypatch):
    monkeypatch.setattr(s, "distances", lambda name: (s.robust_distances(X), y))
    s.drawn.cache_clear()
    yield
    s.drawn.cache_clear()


def test_robust_distances_sum_the_smallest_differences():
    rows = np.array([[0.0, 0, 0, 0, 0], [1, 2, 3, 4, 100]])
    assert s.robust_distances(rows)[0, 1] == pytest.approx(np.sqrt(1 + 4 + 9 + 16))


@pytest.mark.parametrize("cell", [s.CURVE[0], s.WRONG[1], s.TRACKS])
def test_answers_have_the_wanted_shares(cell):
    D, truth, known = s.drawn("uci_leaf", cell, 0)
    assert len(known) == round(cell.per_row * 45)
    n_wrong = n_violated(truth, known)
    assert n_wrong == round(cell.error * len(known))
    if not n_wrong:
        assert len(known.must_link) == round(cell.must_share * len(known))
    assert not np.array_equal(truth, y)
    np.testing.assert_array_equal(D, D.T)


@pytest.mark.parametrize("method", [*s.METHODS, s.WEIGHTED], ids=lambda m: m.name)
def test_every_method_is_measured(method, monkeypatch):
    monkeypatch.setattr(s, "N_STARTS", 2)
    monkeypatch.setattr(s, "N_TREES", 20)
    monkeypatch.setattr(s, "N_COMPONENTS", 4)
    study = s.DistlqpStudy()
    found = study.measure(s.Task("uci_leaf", method, s.CURVE[0], 0))
    assert 0 <= found["jcc"] <= 1
    assert found["accuracy"] >= 1 / 3


def test_comparators_find_groups_that_answers_describe():
    assert adjusted_rand_score(y, hmrf_com(X, ANSWERS, 3, 0)) > 0.5
    learned = npkl_distances(s.robust_distances(X), ANSWERS)
    is_same = y[:, None] == y
    assert learned[is_same].mean() < learned[~is_same].mean()


def test_accuracy_matches_groups_with_classes():
    assert s.accuracy(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1])) == 0.75
