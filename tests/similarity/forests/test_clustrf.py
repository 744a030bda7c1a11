"""ClustRF: effects of its parameters, and invariances."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError

from clew.exceptions import InvalidParameterError, TooLargeError
from clew.similarity import ClustRF

X, y = load_iris(return_X_y=True)


def affinities(**parameters):
    return ClustRF(**({"n_trees": 60, "random_state": 0} | parameters)).fit(X).affinity_matrix_


def graph(**parameters):
    model = ClustRF(**({"n_trees": 60, "random_state": 0} | parameters)).fit(X)
    return model.kneighbors_graph(12)


@pytest.mark.parametrize("affinity", ["adaptive", "uniform", "leaf"])
def test_threads_change_nothing(affinity):
    one, two = ({"affinity": affinity, "n_jobs": n_jobs} for n_jobs in (1, 2))
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
    A = ClustRF(200, affinity="adaptive", random_state=0).fit(X).affinity_matrix_
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
    for affinity in ("adaptive", "uniform", "leaf"):
        model = ClustRF(40, affinity=affinity, random_state=0).fit(X)
        np.testing.assert_array_equal(model.transform(X), model.affinity_matrix_)
        np.testing.assert_array_equal(model.fit_transform(X), model.affinity_matrix_)


def test_apply_gives_the_leaves():
    model = ClustRF(40, random_state=0).fit(X)
    np.testing.assert_array_equal(model.apply(X), model.forest_.leaf.T)
    A = (model.apply(X)[:, None] == model.apply(X)[None]).mean(axis=2)
    np.testing.assert_allclose(affinities(n_trees=40, affinity="leaf"), A, atol=1e-6)


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
        {"affinity": "cosine"},
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
    monkeypatch.setattr("clew.graphs._checks.MAX_DENSE_ROWS", 100)
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
