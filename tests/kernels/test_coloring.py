"""Graph coloring against slow twins."""

import numpy as np
from hypothesis import given, strategies as st
from tests.reference import coloring as reference

from clew.constraints._closure import neighbor_lists
from clew.kernels.coloring import color_connected, peeling_rounds, place_in_order, swap_chains


@st.composite
def graphs(draw, most=7):
    """Random graphs: number of nodes, edges, number of colors, and costs without ties."""
    n = draw(st.integers(1, most))
    node = st.integers(0, n - 1)
    pairs = st.tuples(node, node).filter(lambda e: e[0] < e[1]) if n > 1 else st.nothing()
    edges = sorted(draw(st.sets(pairs, max_size=n * n))) if n > 1 else []
    n_colors = draw(st.integers(1, 4))
    cost = np.random.default_rng(draw(st.integers(0, 99))).uniform(size=(n, n_colors))
    return n, edges, n_colors, cost


def lists(n, edges):
    return neighbor_lists(n, np.array(edges, dtype=np.int64).reshape(-1, 2))


def cost_of(cost, labels):
    return cost[np.arange(len(cost)), labels].sum()


@given(graphs(most=12))
def test_the_core_is_that_of_the_twin_and_rounds_can_be_colored_in_any_order(graph):
    n, edges, n_colors, cost = graph
    indptr, indices = lists(n, edges)
    rounds = peeling_rounds(indptr, indices, n_colors)
    assert set(np.flatnonzero(rounds < 0)) == reference.core(n, edges, n_colors)
    if (rounds < 0).any():
        return
    for tie in (np.arange(n), -np.arange(n)):
        labels = np.full(n, -1)
        order = np.lexsort((tie, -rounds))
        assert place_in_order(order, cost, indptr, indices, labels) == n
        assert all(labels[a] != labels[b] for a, b in edges)


@given(graphs(most=10), st.randoms(use_true_random=False))
def test_placing_in_order_is_that_of_the_twin(graph, random):
    n, edges, _, cost = graph
    order = random.sample(range(n), random.randint(0, n))
    expected, labels = [-1] * n, np.full(n, -1)
    n_placed = reference.placed(order, cost.tolist(), edges, expected)
    order = np.array(order, dtype=np.int64)
    assert place_in_order(order, cost, *lists(n, edges), labels) == n_placed
    assert labels.tolist() == expected


@given(graphs())
def test_search_finds_a_coloring_if_and_only_if_one_exists(graph):
    n, edges, n_colors, cost = graph
    labels = np.full(n, -1)
    found, n_steps = color_connected(np.arange(n), cost, *lists(n, edges), 10**6, labels)
    valid = reference.colorings(n, edges, n_colors)
    assert found == (len(valid) > 0)
    assert n_steps <= n * n_colors**n
    assert not found or tuple(labels) in valid


@given(graphs(most=9))
def test_the_coloring_is_that_of_the_twin(graph):
    n, edges, _, cost = graph
    labels = np.full(n, -1)
    found, _ = color_connected(np.arange(n), cost, *lists(n, edges), 10**6, labels)
    expected = reference.dsatur(n, cost.tolist(), edges)
    assert found == (expected is not None)
    assert not found or labels.tolist() == expected


def test_a_part_of_a_graph_is_colored_and_the_rest_not_changed():
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    labels = np.full(5, -1)
    found, _ = color_connected(np.array([3, 1, 2]), np.zeros((5, 2)), *lists(5, edges), 9, labels)
    assert found == 1
    # Nodes 1, 2 and 3 have two neighbors each. 3 is first in the array and takes color 0. Then 2 is
    # next, as only one color is left for it.
    assert labels.tolist() == [-1, 0, 1, 0, -1]


@given(graphs(), st.integers(0, 6))
def test_search_stops_after_max_steps(graph, max_steps):
    n, edges, _, cost = graph
    labels = np.full(n, -1)
    found, n_steps = color_connected(np.arange(n), cost, *lists(n, edges), max_steps, labels)
    assert n_steps <= max_steps
    assert found in (0, 1) or n_steps == max_steps


@given(graphs())
def test_swaps_are_those_of_the_twin(graph):
    n, edges, n_colors, cost = graph
    for start in reference.colorings(n, edges, n_colors)[:3]:
        labels = np.array(start, dtype=np.int64)
        swap_chains(cost, *lists(n, edges), n, 100, 0.0, labels)
        assert labels.tolist() == reference.swapped(cost.tolist(), edges, start)
        assert all(labels[a] != labels[b] for a, b in edges)
        assert cost_of(cost, labels) <= cost_of(cost, list(start)) + 1e-12


def test_chains_longer_than_the_maximum_are_not_swapped():
    n = 10
    edges = [(i, i + 1) for i in range(n - 1)]
    start = np.arange(n) % 2
    cost = np.where(start[:, None] == np.arange(2), 1.0, 0.0)  # every node in its expensive color
    for max_length, n_swaps in ((n - 1, 0), (n, 1)):
        labels = start.copy()
        assert swap_chains(cost, *lists(n, edges), max_length, 5, 0.0, labels) == n_swaps
        np.testing.assert_array_equal(labels, start if n_swaps == 0 else 1 - start)
