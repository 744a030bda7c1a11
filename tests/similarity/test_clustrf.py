"""ClustRF: effects of its parameters, invariances, and affinities computed directly from paths."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from tests.reference import trees as reference

from clew.exceptions import InvalidParameterError, TooLargeError
from clew.forest import bin_columns, bin_edges
from clew.similarity import ClustRF

X, y = load_iris(return_X_y=True)


def affinities(**parameters):
    return ClustRF(**({"n_trees": 60, "random_state": 0} | parameters)).fit(X).affinity_matrix_


def graph(**parameters):
    model = ClustRF(**({"n_trees": 60, "random_state": 0} | parameters)).fit(X)
    return model.kneighbors_graph(12)


@pytest.mark.parametrize("proximity", ["adaptive", "uniform", "leaf"])
def test_threads_change_nothing(proximity):
    one, two = ({"proximity": proximity, "n_jobs": n_jobs} for n_jobs in (1, 2))
    np.testing.assert_array_equal(affinities(**one), affinities(**two))
    np.testing.assert_array_equal(graph(**one).toarray(), graph(**two).toarray())
    models = [ClustRF(60, random_state=0, **each).fit(X) for each in (one, two)]
    np.testing.assert_array_equal(*(model.transform(X + 0.1) for model in models))
    np.testing.assert_array_equal(*(model.apply(X + 0.1) for model in models))


def test_results_depend_on_the_seed():
    np.testing.assert_array_equal(affinities(), affinities())
    assert not np.array_equal(affinities(), affinities(random_state=1))
    states = [np.random.RandomState(0) for _ in range(2)]
    np.testing.assert_array_equal(*(affinities(random_state=state) for state in states))


def test_rows_of_one_group_are_more_alike_than_others():
    X, y = make_blobs(200, 5, centers=3, random_state=0)
    A = ClustRF(200, proximity="adaptive", random_state=0).fit(X).affinity_matrix_
    same = y[:, None] == y
    assert A[same].mean() > 4 * A[~same].mean()


def test_scales_of_features_do_not_matter():
    other = ClustRF(60, random_state=0).fit(np.exp(X)).affinity_matrix_
    np.testing.assert_array_equal(affinities(), other)


def test_rows_may_come_in_any_dtype_and_layout():
    half = np.round(4 * X) / 4
    expected = ClustRF(20, random_state=0).fit(half).affinity_matrix_
    for form in (half.astype(np.float32), np.asfortranarray(half), half.tolist()):
        np.testing.assert_array_equal(
            ClustRF(20, random_state=0).fit(form).affinity_matrix_, expected
        )


def test_transform_of_the_fitted_rows_is_the_affinity_matrix():
    for proximity in ("adaptive", "uniform", "leaf"):
        model = ClustRF(40, proximity=proximity, random_state=0).fit(X)
        np.testing.assert_array_equal(model.transform(X), model.affinity_matrix_)
        np.testing.assert_array_equal(model.fit_transform(X), model.affinity_matrix_)


def test_apply_gives_the_leaves():
    model = ClustRF(40, random_state=0).fit(X)
    np.testing.assert_array_equal(model.apply(X), model.forest_.leaf.T)
    A = (model.apply(X)[:, None] == model.apply(X)[None]).mean(axis=2)
    np.testing.assert_allclose(affinities(n_trees=40, proximity="leaf"), A, atol=1e-6)


def test_larger_leaves_and_fewer_draws_make_smaller_trees():
    sizes = [
        ClustRF(20, random_state=0, **growth).fit(X).forest_.trees.offset[-1]
        for growth in ({}, {"min_samples_leaf": 10}, {"max_samples": 30}, {"max_samples": 0.1})
    ]
    assert sizes[0] > 2 * max(sizes[1:])
    for n_draws in (1, 301):
        with pytest.raises(InvalidParameterError, match="for 150 rows it must be 2 to 300"):
            ClustRF(20, max_samples=n_draws).fit(X)


@pytest.mark.parametrize(
    ("max_features", "n"), [("sqrt", 3), ("log2", 3), (None, 10), (4, 4), (99, 10), (0.5, 5)]
)
def test_number_of_features_tried(max_features, n):
    assert ClustRF(max_features=max_features)._n_candidates(10) == n


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_trees": 0},
        {"n_trees": 10.0},
        {"max_features": 0},
        {"max_features": 1.5},
        {"max_features": "all"},
        {"min_samples_leaf": 0},
        {"proximity": "cosine"},
        {"max_samples": 0.0},
        {"verbose": -1},
    ],
)
def test_parameters_out_of_range_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidParameterError, match=rf"ClustRF\({name}={value!r}\): {name} must"):
        ClustRF(**wrong).fit(X)


def test_an_unfitted_forest_raises():
    model = ClustRF(5)
    assert not hasattr(model, "affinity_matrix_")
    for method in (model.transform, model.apply):
        with pytest.raises(NotFittedError):
            method(X)
    with pytest.raises(NotFittedError):
        model.kneighbors_graph(3)


@pytest.mark.parametrize("n_neighbors", [0, 150, 3.0, True])
def test_number_of_neighbors_is_checked(n_neighbors):
    model = ClustRF(5, random_state=0).fit(X)
    with pytest.raises(InvalidParameterError, match=r"\[1, 149\] for 150 rows"):
        model.kneighbors_graph(n_neighbors)


def test_dense_affinities_have_a_limit(monkeypatch):
    monkeypatch.setattr("clew.graphs._distances.MAX_DENSE_ROWS", 100)
    model = ClustRF(5, random_state=0).fit(X)
    with pytest.raises(TooLargeError, match=r"150 rows .* kneighbors_graph"):
        _ = model.affinity_matrix_
    assert model.kneighbors_graph(5).shape == (150, 150)


def test_a_refit_discards_the_matrix():
    model = ClustRF(20, random_state=0).fit(X)
    assert model.affinity_matrix_.shape == (150, 150)
    assert model.fit(X[:40]).affinity_matrix_.shape == (40, 40)
    np.testing.assert_array_equal(
        model.affinity_matrix_, ClustRF(20, random_state=0).fit(X[:40]).affinity_matrix_
    )


@pytest.mark.parametrize("is_computed", [False, True])
def test_pickles_and_clones(is_computed):
    model = ClustRF(20, random_state=0).fit(X)
    if is_computed:
        _ = model.affinity_matrix_
    revived = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(revived.affinity_matrix_, model.affinity_matrix_)
    np.testing.assert_array_equal(revived.transform(X + 0.1), model.transform(X + 0.1))
    copy = clone(model)
    assert not hasattr(copy, "affinity_matrix_")
    np.testing.assert_array_equal(copy.fit(X).affinity_matrix_, model.affinity_matrix_)


def test_output_can_be_a_frame():
    frame = load_iris(as_frame=True).data
    model = ClustRF(10, random_state=0).set_output(transform="pandas").fit(frame)
    out = model.transform(frame.iloc[:7])
    assert out.shape == (7, 150)
    assert list(out.columns) == list(model.get_feature_names_out())
    assert out.columns[149] == "clustrf149"
    assert out.index.equals(frame.index[:7])
    np.testing.assert_array_equal(
        out.to_numpy(), ClustRF(10, random_state=0).fit(X).transform(X[:7])
    )
    assert list(model.feature_names_in_) == list(frame.columns)


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
    model = ClustRF(12, proximity=kind, random_state=0, **growth).fit(X)
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
    model = ClustRF(12, proximity=kind, random_state=0).fit(X)
    bins = bin_columns(X, bin_edges(X))
    expected = reference.affinity(model.forest_, bins, bin_columns(new, bin_edges(X)), kind)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_trees_of_one_leaf_give_equal_affinities(kind):
    model = ClustRF(5, proximity=kind, random_state=0).fit(np.ones((9, 2)))
    assert model.forest_.largest_tree == 1
    np.testing.assert_array_equal(model.affinity_matrix_, 1)
    np.testing.assert_array_equal(model.transform([[7.0, 7.0]]), np.ones((1, 9)))


def test_blocks_of_rows_fit_together():
    X = features(300)
    for kind in KINDS:
        model = ClustRF(6, proximity=kind, random_state=0).fit(X)
        A = model.affinity_matrix_
        np.testing.assert_array_equal(A, A.T)
        np.testing.assert_array_equal(np.diag(A), 1)
        np.testing.assert_array_equal(model.transform(X), A)


def test_paths_of_equal_length_are_compared_with_the_heavier():
    # The test needs paths of equal length and different weight.
    X = features(40)
    forest = ClustRF(12, proximity="adaptive", random_state=0).fit(X).forest_
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
    model = ClustRF(40, proximity=kind, random_state=0).fit(features(48))
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
    model = ClustRF(60, proximity="leaf", random_state=0).fit(features(256)[:, :2])
    trees = model.forest_.trees
    assert (trees.stop - trees.start)[trees.feature < 0].max() <= 48
    A = model.affinity_matrix_.copy()
    np.fill_diagonal(A, -1)
    G = model.kneighbors_graph(10).toarray()
    np.testing.assert_array_equal(-np.sort(-G, axis=1)[:, :10], -np.sort(-A, axis=1)[:, :10])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_graph_of_larger_data_holds_the_rows_met_in_small_subtrees(kind):
    X = features(150)[:, :2]
    model = ClustRF(5, proximity=kind, random_state=0).fit(X)
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
    model = ClustRF(20, proximity=kind, random_state=0).fit(X)
    graph = model.kneighbors_graph(15)
    n_neighbors = np.diff(graph.indptr)
    assert n_neighbors.min() >= 1
    assert n_neighbors.max() <= 15
    assert not graph.diagonal().any()
    assert graph.data.min() > 0
    assert graph.data.max() <= 1
    again = ClustRF(20, proximity=kind, random_state=0, n_jobs=2).fit(X).kneighbors_graph(15)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(graph, part), getattr(again, part))


def test_neighbors_of_a_larger_graph_are_nearly_the_best():
    model = ClustRF(100, proximity="adaptive", random_state=0).fit(features(500))
    A = model.affinity_matrix_.copy()
    np.fill_diagonal(A, -1)
    graph = model.kneighbors_graph(10)
    rows = np.repeat(np.arange(500), np.diff(graph.indptr))
    assert A[rows, graph.indices].mean() > 0.97 * np.sort(A, axis=1)[:, -10:].mean()
    assert (graph.data <= A[rows, graph.indices] + 1e-6).all()
