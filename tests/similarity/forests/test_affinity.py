"""Affinities of a forest, compared with a direct computation from paths."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.reference import trees as reference

from clew.forest import bin_columns, bin_edges
from clew.similarity import ClustRF

KINDS = ["adaptive", "uniform", "leaf"]


def features(n, seed=0):
    """Make two dependent features, one with few values, and a constant one."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    X[:, 1] += 2 * X[:, 0]
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = 1.0
    X[1] = X[0]
    return X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("growth", [{}, {"min_samples_leaf": 5}, {"max_samples": 4}])
def test_affinity_compares_paths(kind, growth):
    X = features(40)
    model = ClustRF(12, affinity=kind, random_state=0, **growth).fit(X)
    bins = bin_columns(X, bin_edges(X))
    expected = reference.affinity(model.forest_, bins, bins, kind)
    A = model.affinity_matrix_
    np.testing.assert_allclose(A, expected, atol=1e-6)
    np.testing.assert_array_equal(A, A.T)
    np.testing.assert_array_equal(np.diag(A), 1)
    assert A.dtype == np.float32
    assert A.min() >= 0
    assert A.max() <= 1
    assert A[0, 1] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_affinity_of_new_rows_compares_paths(kind):
    X, new = features(40), 1.5 * features(25, seed=1)
    model = ClustRF(12, affinity=kind, random_state=0).fit(X)
    bins = bin_columns(X, bin_edges(X))
    expected = reference.affinity(model.forest_, bins, bin_columns(new, bin_edges(X)), kind)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_trees_of_one_leaf_give_equal_affinities(kind):
    model = ClustRF(5, affinity=kind, random_state=0).fit(np.ones((9, 2)))
    assert model.forest_.largest_tree == 1
    np.testing.assert_array_equal(model.affinity_matrix_, 1)
    np.testing.assert_array_equal(model.transform([[7.0, 7.0]]), np.ones((1, 9)))


def test_blocks_of_rows_fit_together():
    X = features(300)
    for kind in KINDS:
        model = ClustRF(6, affinity=kind, random_state=0).fit(X)
        A = model.affinity_matrix_
        np.testing.assert_array_equal(A, A.T)
        np.testing.assert_array_equal(np.diag(A), 1)
        np.testing.assert_array_equal(model.transform(X), A)


def test_paths_of_equal_length_are_compared_with_the_heavier():
    # The test needs paths of equal length and different weight.
    X = features(40)
    forest = ClustRF(12, affinity="adaptive", random_state=0).fit(X).forest_
    bins = bin_columns(X, bin_edges(X))
    n_different = 0
    for tree in range(forest.n_trees):
        sizes = {node: len(rows) for node, _, rows in reference.visited(forest, tree, bins)}
        paths = set(reference.paths_of(forest, tree, bins))
        mass = {path: sum(1 / sizes[node] for node in path) for path in paths}
        for a, b in combinations(paths, 2):
            is_level = len(a) == len(b) and not set(a).isdisjoint(b)
            n_different += is_level and abs(mass[a] - mass[b]) > 0.01
    assert n_different > 50


@pytest.mark.parametrize("kind", KINDS)
def test_graph_holds_the_largest_affinities_of_small_data(kind):
    model = ClustRF(40, affinity=kind, random_state=0).fit(features(48))
    A = model.affinity_matrix_.copy()
    np.fill_diagonal(A, -1)
    for k in (1, 7, 47):
        G = model.kneighbors_graph(k).toarray()
        largest = -np.sort(-A, axis=1)[:, :k]
        np.testing.assert_array_equal(-np.sort(-G, axis=1)[:, :k], largest)
        is_kept = G > 0
        assert not np.diag(G).any()
        np.testing.assert_array_equal(G[is_kept], A[is_kept])


def test_graph_of_shared_leaves_is_exact_while_leaves_are_small():
    model = ClustRF(60, affinity="leaf", random_state=0).fit(features(256)[:, :2])
    trees = model.forest_.trees
    assert (trees.stop - trees.start)[trees.feature < 0].max() <= 48
    A = model.affinity_matrix_.copy()
    np.fill_diagonal(A, -1)
    G = model.kneighbors_graph(10).toarray()
    np.testing.assert_array_equal(-np.sort(-G, axis=1)[:, :10], -np.sort(-A, axis=1)[:, :10])


@pytest.mark.parametrize("kind", KINDS)
def test_graph_of_larger_data_holds_the_rows_met_in_small_subtrees(kind):
    X = features(150)[:, :2]
    model = ClustRF(5, affinity=kind, random_state=0).fit(X)
    near = reference.near_affinity(model.forest_, bin_columns(X, bin_edges(X)), kind, cap=48)
    np.fill_diagonal(near, 0)
    G = model.kneighbors_graph(9).toarray()
    kept = G > 0
    np.testing.assert_allclose(G[kept], near[kept], atol=1e-6)
    np.testing.assert_allclose(
        -np.sort(-G, axis=1)[:, :9], -np.sort(-near, axis=1)[:, :9], atol=1e-6
    )


def test_the_first_rows_of_equal_affinity_are_kept():
    graph = ClustRF(5, random_state=0).fit(np.ones((9, 2))).kneighbors_graph(3)
    assert graph.indices.reshape(9, 3)[[0, 1, 8]].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 2]]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_large_leaves_are_compared_in_windows(kind):
    X = np.repeat(features(10), 100, axis=0)  # leaves of a hundred rows at least
    model = ClustRF(20, affinity=kind, random_state=0).fit(X)
    graph = model.kneighbors_graph(15)
    n_neighbors = np.diff(graph.indptr)
    assert n_neighbors.min() >= 1
    assert n_neighbors.max() <= 15
    assert not graph.diagonal().any()
    assert graph.data.min() > 0
    assert graph.data.max() <= 1
    again = ClustRF(20, affinity=kind, random_state=0, n_jobs=2).fit(X).kneighbors_graph(15)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(graph, part), getattr(again, part))


def test_neighbors_of_a_larger_graph_are_nearly_the_best():
    model = ClustRF(100, affinity="adaptive", random_state=0).fit(features(500))
    A = model.affinity_matrix_.copy()
    np.fill_diagonal(A, -1)
    graph = model.kneighbors_graph(10)
    rows = np.repeat(np.arange(500), np.diff(graph.indptr))
    assert A[rows, graph.indices].mean() > 0.97 * np.sort(A, axis=1)[:, -10:].mean()
    assert (graph.data <= A[rows, graph.indices] + 1e-6).all()
