"""The best cut of a feature, by all three functions, against brute force."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from tests.reference import cuts as reference

from clew.kernels.forest.layout import make_scratch
from clew.kernels.forest.trees import best_cut_counts, best_cut_links, best_cut_sorted


@st.composite
def nodes(draw):
    """Random nodes: bins, weights and classes of rows, with both classes."""
    n_bins = draw(st.sampled_from([2, 3, 5, 9, 17, 256]))
    n = draw(st.integers(2, 25))
    row = st.tuples(st.integers(0, n_bins - 1), st.integers(1, 4), st.integers(0, 1))
    rows = draw(st.lists(row, min_size=n, max_size=n))
    bins, weights, classes = zip(*rows, strict=True)
    assume(len(set(classes)) == 2)
    return n_bins, bins, weights, classes, draw(st.sampled_from([1, 1, 2, 5]))


@st.composite
def linked_nodes(draw):
    """Random nodes with links: two bins and a weight, negative for a must-link."""
    node = draw(nodes())
    bins = st.integers(0, node[0] - 1)
    links = draw(st.lists(st.tuples(bins, bins, st.integers(-6, 6)), max_size=10))
    return node, links, draw(st.sampled_from([0.0, 0.03125, 0.7, 2.0]))


def sums(weights, classes):
    total = sum(weights)
    return total, sum(w * c for w, c in zip(weights, classes, strict=True))


def packed(weights, classes):
    return [(w << 24) | (w * c) for w, c in zip(weights, classes, strict=True)]


def by_sorting(n_bins, bins, weights, classes, smallest):
    keys = [(b << 48) | p for b, p in zip(bins, packed(weights, classes), strict=True)]
    return best_cut_sorted(np.array(keys), len(bins), *sums(weights, classes), smallest)


def counts_of(scratch, bins, weights, classes):
    np.add.at(scratch.counts, list(bins), packed(weights, classes))


def by_counting(n_bins, bins, weights, classes, smallest):
    scratch = make_scratch(len(bins))
    counts_of(scratch, bins, weights, classes)
    found = best_cut_counts(
        scratch.counts, n_bins, *sums(weights, classes), smallest,
        scratch.prefix, scratch.filled, scratch.score,
    )  # fmt: skip
    assert not scratch.counts.any()
    return found


def by_links(n_bins, bins, weights, classes, smallest, links=(), reward=0.0):
    scratch = make_scratch(len(bins))
    counts_of(scratch, bins, weights, classes)
    for a, b, weight in links:
        scratch.links[min(a, b)] += weight
        scratch.links[max(a, b)] -= weight
    found = best_cut_links(
        scratch.counts, scratch.links, n_bins, *sums(weights, classes), smallest, reward,
        scratch.prefix, scratch.score,
    )  # fmt: skip
    assert not scratch.counts.any()
    assert not scratch.links.any()
    return found


@given(node=nodes())
def test_each_function_finds_the_cut_of_brute_force(node):
    n_bins, bins, weights, classes, smallest = node
    score, cut = reference.best_cut(bins, weights, classes, n_bins, smallest)
    for scan in (by_sorting, by_counting, by_links):
        found = scan(*node)
        assert found[0] == pytest.approx(score, abs=1e-12)
        assert found[1] == cut


@given(node=nodes())
def test_all_functions_agree_to_the_bit(node):
    assert by_sorting(*node) == by_counting(*node) == by_links(*node)


@given(linked=linked_nodes())
def test_the_cut_with_links_is_that_of_brute_force(linked):
    node, links, reward = linked
    n_bins, bins, weights, classes, smallest = node
    score, cut = reference.best_cut(
        bins, weights, classes, n_bins, smallest, links=links, reward=reward
    )
    found = by_links(*node, links, reward)
    assert found[0] == pytest.approx(score, abs=1e-12)
    assert found[1] == cut


@given(linked=linked_nodes())
def test_links_within_a_bin_are_ignored(linked):
    node, links, reward = linked
    within = [(a, a, weight) for a, _, weight in links]
    assert by_links(*node, within, reward) == by_counting(*node)


def test_score_is_one_for_pure_children_and_ties_go_to_the_lowest_bin():
    assert by_sorting(9, (0, 8), (1, 1), (0, 1), 1) == (1.0, 3)
    mirrored = (4, (0, 1, 2, 3), (1, 1, 1, 1), (0, 1, 1, 0), 1)
    score, cut = by_sorting(*mirrored)
    assert cut == 0
    assert score == pytest.approx(1 / 3)


def test_no_cut_of_one_bin_or_with_too_small_children():
    assert by_sorting(3, (1, 1), (2, 3), (0, 1), 1) == (0.0, -1)
    for scan in (by_sorting, by_counting, by_links):
        assert scan(3, (0, 2), (2, 3), (0, 1), 3) == (0.0, -1)


def test_must_links_repel_a_cut_and_cannot_links_attract_it():
    node = (4, (0, 1, 2, 3), (1, 1, 1, 1), (0, 0, 1, 1), 1)
    assert by_links(*node, [(0, 3, -1)], 2.0) == (0.0, -1)
    assert by_links(*node, [(1, 2, -1)], 2.0)[1] == 0
    assert by_links(*node, [(1, 2, -1)], 0.1)[1] == 1
    assert by_links(*node, [(2, 3, 1)], 2.0)[1] == 2
