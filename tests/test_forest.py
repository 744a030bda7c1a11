"""Bins, threads and seeds of forests."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from clew.forest import Growth, bin_columns, bin_edges, grow_forest, links_of, marginal_twin


def grow(seed=0, n_trees=60, n_jobs=None, links=None):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 6))
    X[:, 1] += 3 * X[:, 0]
    edges = bin_edges(X)
    bins = bin_columns(X, edges)
    twin = marginal_twin(bins, np.random.RandomState(0))
    return grow_forest(
        np.hstack([bins, twin]),
        np.array([len(thresholds) + 1 for thresholds in edges]),
        np.repeat(np.array([0, 1], np.uint8), 150),
        Growth(n_trees=n_trees, n_draws=150, n_candidates=2, share=0.7, reward=4.0),
        n_rows=150, seed=seed, links=links, wants_draws=True, n_jobs=n_jobs,
    )  # fmt: skip


def arrays(forest):
    return [*forest.trees, forest.leaf, forest.order, forest.n_violated, forest.draws]


def assert_same(one, other):
    for a, b in zip(arrays(one), arrays(other), strict=True):
        np.testing.assert_array_equal(a, b)


LINKS = links_of(np.array([[0, 1], [2, 3]]), np.array([[0, 4], [5, 6], [7, 8]]))


@pytest.mark.parametrize("links", [None, LINKS], ids=["plain", "steered"])
def test_threads_change_nothing(links):
    assert_same(grow(links=links, n_jobs=1), grow(links=links, n_jobs=2))


def test_results_depend_on_the_seed():
    assert_same(grow(seed=3), grow(seed=3))
    assert not np.array_equal(grow(seed=3).leaf, grow(seed=4).leaf)


def test_a_tree_depends_on_seed_and_number_alone():
    few, many = grow(n_trees=7), grow(n_trees=60)
    np.testing.assert_array_equal(few.leaf, many.leaf[:7])
    np.testing.assert_array_equal(few.trees.cut, many.trees.cut[: few.trees.offset[-1]])


def test_trees_of_a_forest_differ():
    leaf = grow().leaf
    assert len(np.unique(leaf, axis=0)) == len(leaf)


def test_routing_fitted_rows_gives_their_leaves():
    X = np.random.default_rng(0).normal(size=(150, 6))
    X[:, 1] += 3 * X[:, 0]
    forest = grow()
    bins = bin_columns(X, bin_edges(X))
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(forest.leaves_of(bins, n_jobs), forest.leaf)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(values=st.lists(finite | st.integers(-3, 3).map(float), min_size=1, max_size=60))
def test_few_values_have_a_bin_each_in_their_order(values):
    X = np.array(values)[:, None]
    (edges,) = bin_edges(X)
    (bins,) = bin_columns(X, [edges])
    order = np.unique(X[:, 0])
    assert len(edges) == len(order) - 1
    np.testing.assert_array_equal(bins, np.searchsorted(order, X[:, 0]))


@pytest.mark.parametrize("start", [0.0, 1.0, -1.0, 1e-310, 1e300, np.finfo(float).max / 2])
def test_neighboring_floats_have_bins_of_their_own(start):
    values = [start]
    for _ in range(9):
        values.append(np.nextafter(values[-1], np.inf))
    X = np.array(values)[:, None]
    np.testing.assert_array_equal(bin_columns(X, bin_edges(X))[0], np.arange(10))


def test_two_hundred_and_fifty_six_values_have_a_bin_each():
    X = np.arange(256.0)[:, None]
    np.testing.assert_array_equal(bin_columns(X, bin_edges(X))[0], np.arange(256))


@pytest.mark.parametrize("shape", ["even", "skewed", "heavy"])
def test_many_values_share_bins_of_about_equal_weight(shape):
    random = np.random.default_rng(0)
    x = {
        "even": random.uniform(size=5000),
        "skewed": np.exp(5 * random.normal(size=5000)),
        "heavy": np.where(random.uniform(size=5000) < 0.6, 0.0, random.normal(size=5000)),
    }[shape]
    X = x[:, None]
    edges = bin_edges(X)
    assert len(edges[0]) <= 255
    bins = bin_columns(X, edges)[0]
    assert (np.diff(bins[np.argsort(x)].astype(int)) >= 0).all()
    sizes = np.bincount(bins[x != 0])
    assert sizes.max() <= 3 * (x != 0).sum() / 256
    assert len(np.unique(bins)) > 200


def test_new_values_fall_into_the_bins_of_their_neighbors():
    X = np.array([[0.0], [1.0], [4.0]])
    new = np.array([[-9.0], [0.4], [0.6], [2.4], [2.6], [99.0]])
    assert bin_columns(new, bin_edges(X))[0].tolist() == [0, 0, 1, 1, 2, 2]


def test_pseudo_rows_keep_the_marginals_and_lose_the_dependence():
    random = np.random.RandomState(0)
    bins = np.repeat(random.randint(0, 50, 20_000)[None], 2, axis=0).astype(np.uint8)
    twin = marginal_twin(bins, random)
    assert twin.shape == bins.shape
    assert abs(np.corrcoef(twin)[0, 1]) < 0.03
    for column in twin:
        counts, expected = np.bincount(column, minlength=50), np.bincount(bins[0], minlength=50)
        assert np.abs(counts - expected).max() < 6 * np.sqrt(expected.max())
