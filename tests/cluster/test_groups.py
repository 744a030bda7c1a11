"""Helpers that the methods of clew.cluster share: several starts, and empty groups."""

import numpy as np
import pytest
from sklearn.cluster import KMeans, kmeans_plusplus

from clew.cluster._kmeans import _seeds, best_start, costliest_row, fill_empty, kmeans


def test_the_first_of_the_best_starts_is_kept_and_each_start_is_reported():
    calls = []
    runs = {1: None, 2: ("a", 3.0), 3: ("b", 2.0), 4: ("c", 2.0)}
    best = best_start(
        lambda seed: runs[seed],
        list(runs),
        lambda run: run[1],
        lambda done, n: calls.append((done, n)),
    )
    assert best == ("b", 2.0)
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_start_of_infinite_objective_is_better_than_none():
    assert best_start(lambda seed: seed, [np.inf], float) == np.inf
    assert best_start(lambda seed: None, [1, 2], float) is None


def test_empty_groups_get_the_costliest_rows_of_larger_groups():
    labels = np.array([0, 0, 0, 3, 3])
    cost = np.array([1.0, 3.0, 2.0, 9.0, 0.5])
    fill_empty(labels, 5, costliest_row(labels, cost, 0.0))
    # Row 4 is then alone in group 3; rows 3, 1 and 2 filled groups 1, 2 and 4.
    assert labels.tolist() == [0, 2, 4, 1, 3]


@pytest.mark.parametrize(("least", "expected"), [(0.0, [0, 1, 2]), (1.0, [0, 0, 1])])
def test_a_row_is_moved_only_if_it_costs_more_than_the_least(least, expected):
    labels = np.zeros(3, dtype=np.int64)
    fill_empty(labels, 4, costliest_row(labels, np.array([0.0, 1.0, 2.0]), least))
    assert sorted(labels.tolist()) == expected


def test_k_means_fills_empty_groups_despite_a_far_row():
    # The farthest row is the only one of its group: the next farthest fills the empty group.
    X = np.array([[0.0], [1.0], [0.2], [50.0]])
    init = np.array([[0.4], [30.0], [1000.0]])
    run = kmeans(X, 3, n_init=1, random_state=0, init=init)
    assert len(set(run.labels)) == 3
    assert run.inertia == pytest.approx(
        KMeans(3, n_init=10, random_state=0).fit(X).inertia_, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
def test_k_means_starts_where_scikit_learn_does(seed):
    X = np.random.default_rng(seed).normal(size=(200, 4))
    X = np.concatenate([X, X[:20]])  # with copies of rows
    squares = (X**2).sum(axis=1)
    _, expected = kmeans_plusplus(X, 9, x_squared_norms=squares, random_state=seed)
    assert _seeds(X, squares, 9, np.random.RandomState(seed)).tolist() == expected.tolist()
