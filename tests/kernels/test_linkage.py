"""Chains of nearest neighbors against the greedy order, for all linkages."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.distance import pdist, squareform
from tests.reference import linkage as reference

from clew.kernels.linkage import (
    LINKAGES,
    joined_distance,
    merge_along_chains,
    merge_components,
    number_nodes,
    spanning_tree,
)

each_linkage = pytest.mark.parametrize("linkage", LINKAGES)


def points(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 3))


def agglomerate(condensed, n, linkage, links=(), cannot_link=()):
    """Run the kernels as the estimator does; links are from the first row of each component."""
    distance, size, active = condensed.copy(), np.ones(n), np.arange(n)
    within = np.array(links, dtype=np.int64).reshape(-1, 2)
    n_active = merge_components(distance, LINKAGES[linkage], within, size, active)
    square = squareform(np.arange(len(distance)))
    for i, j in cannot_link:
        distance[square[i, j]] = np.inf
    rows, heights = np.empty((n_active - 1, 2), np.int64), np.empty(n_active - 1)
    found = merge_along_chains(distance, LINKAGES[linkage], size, active, n_active, rows, heights)
    return rows[:found], heights[:found]


@each_linkage
@given(seed=st.integers(0, 10**6))
def test_the_distance_of_a_union_is_that_of_the_definition(linkage, seed):
    sizes = np.random.default_rng(seed).integers(1, 6, 3)
    D = squareform(pdist(points(sizes.sum(), seed)))
    a, b, other = (part.tolist() for part in np.split(np.arange(sizes.sum()), sizes.cumsum()[:-1]))
    distances = [
        reference.group_distance(D, linkage, *pair) for pair in ((a, other), (b, other), (a, b))
    ]
    ours = joined_distance(LINKAGES[linkage], *distances, len(a), len(b), len(other))
    assert ours == pytest.approx(reference.group_distance(D, linkage, a + b, other), abs=1e-9)


@each_linkage
@pytest.mark.parametrize("far", [(np.inf, 1.0), (1.0, np.inf), (np.inf, np.inf)])
def test_a_union_inherits_infinite_distances(linkage, far):
    assert joined_distance(LINKAGES[linkage], *far, 0.5, 1.0, 2.0, 3.0) == np.inf


pairs_of_rows = st.lists(
    st.lists(st.integers(0, 9), min_size=2, max_size=2, unique=True).map(sorted).map(tuple),
    max_size=40,
)


@pytest.mark.slow
@each_linkage
@given(seed=st.integers(0, 10**6), cannot_link=pairs_of_rows)
def test_chains_give_the_merges_of_the_greedy_order(linkage, seed, cannot_link):
    condensed = pdist(points(10, seed))
    rows, heights = agglomerate(condensed, 10, linkage, cannot_link=cannot_link)
    expected = reference.merges(squareform(condensed), linkage, cannot_link=cannot_link)
    np.testing.assert_allclose(np.sort(heights), [h for *_, h in expected], atol=1e-9)
    node = {frozenset([i]): i for i in range(10)}
    for k, (a, b, _) in enumerate(expected):
        node[a | b] = 10 + k
    nodes = number_nodes(10, rows[np.argsort(heights, kind="stable")])
    assert nodes.tolist() == [sorted([node[a], node[b]]) for a, b, _ in expected]


@each_linkage
def test_merges_of_must_links_update_distances(linkage):
    condensed = pdist(points(9, 0))
    links = [(1, 4), (1, 8), (2, 3)]
    rows, heights = agglomerate(condensed, 9, linkage, links, cannot_link=[(1, 2)])
    expected = reference.merges(squareform(condensed), linkage, links, [(1, 2)])
    np.testing.assert_allclose(np.sort(heights), [h for *_, h in expected], atol=1e-9)
    assert len(rows) == 4


@each_linkage
def test_merges_of_equal_height_come_after_the_merges_within_them(linkage):
    grid = np.array([(x, y) for x in range(6) for y in range(6)], dtype=float) / 10
    rows, heights = agglomerate(pdist(grid), 36, linkage)
    assert len(rows) == 35
    order = np.argsort(heights, kind="stable")
    nodes = number_nodes(36, rows[order])
    assert (nodes.max(axis=1) < 36 + np.arange(35)).all()
    inner = nodes >= 36
    assert (heights[order][(nodes - 36)[inner]] <= np.repeat(heights[order], inner.sum(1))).all()


def test_no_merge_if_all_are_forbidden():
    condensed = np.full(10, np.inf)
    rows, heights = agglomerate(condensed, 5, "single")
    assert len(rows) == len(heights) == 0


@pytest.mark.slow
@given(st.integers(2, 30), st.integers(0, 1000), st.booleans())
def test_spanning_trees_are_as_short_as_can_be(n, seed, by_distances):
    X = points(n, seed)
    D = squareform(pdist(X))
    ends, length = spanning_tree(X, D if by_distances else np.empty((0, 0)))
    np.testing.assert_allclose(length, D[ends[:, 0], ends[:, 1]], atol=1e-12)
    heights = [height for _, _, height in reference.merges(D, "single")]
    np.testing.assert_allclose(np.sort(length), heights, atol=1e-12)
