"""Properties of grown trees: nodes, cuts, samples and links."""

import numpy as np
import pytest
from tests.reference import cuts
from tests.reference.trees import is_leaf, visited

import clew.forest
from clew.forest import Growth, grow_forest, links_of

N_FEATURES, N_BINS = 5, 12


def grow(bins, is_one, n_rows, links=None, **growth):
    settings = {"n_trees": 15, "n_draws": len(is_one), "n_candidates": 2} | growth
    n_bins = np.full(len(bins), N_BINS)
    return grow_forest(
        bins, n_bins, is_one, Growth(**settings),
        n_rows=n_rows, seed=7, links=links, wants_draws=True,
    )  # fmt: skip


def problem(n_total=120, seed=0):
    random = np.random.default_rng(seed)
    bins = random.integers(0, N_BINS, (N_FEATURES, n_total)).astype(np.uint8)
    bins[1] = 3  # a constant column
    bins[:, :10] = bins[:, :1]  # equal rows
    is_one = (bins[0] + random.integers(0, 6, n_total) > 8).astype(np.uint8)
    return bins, is_one


def some_links(n_rows, seed=1, **kind):
    random = np.random.default_rng(seed)
    pairs = random.choice(n_rows, (20, 2))
    return links_of(pairs[:8], pairs[8:], **kind)


LINKED = [
    {},
    {"links": some_links(60), "reward": 4.0, "is_relative": True, "share": 0.7},
    {"links": some_links(60, is_hard=True), "reward": 2.0, "share": 1.0},
]


@pytest.mark.parametrize("linked", LINKED, ids=["plain", "soft", "hard"])
@pytest.mark.parametrize("n_draws", [40, 120, 400])
def test_nodes_are_in_preorder_and_hold_the_rows_passed_to_them(linked, n_draws):
    bins, is_one = problem()
    forest = grow(bins, is_one, 60, n_draws=n_draws, **linked)
    for tree in range(forest.n_trees):
        base = forest.trees.offset[tree]
        numbers = []
        for node, _, rows in visited(forest, tree, bins[:, :60]):
            numbers.append(node)
            start, stop = (part[base + node] for part in (forest.trees.start, forest.trees.stop))
            assert sorted(forest.order[tree, start:stop]) == rows.tolist()
            if is_leaf(forest, tree, node):
                assert forest.trees.right[base + node] == -1
                assert (forest.leaf[tree, rows] == node).all()
        assert numbers == list(range(forest.trees.offset[tree + 1] - base))
        assert sorted(forest.order[tree]) == list(range(60))


@pytest.mark.parametrize("kind_of_links", ["plain", "soft", "hard"])
@pytest.mark.parametrize("min_samples_leaf", [1, 4])
def test_cuts_are_the_best_and_leaves_have_no_cut_with_gain(min_samples_leaf, kind_of_links):
    bins, is_one = problem()
    links = None if kind_of_links == "plain" else some_links(120, is_hard=kind_of_links == "hard")
    forest = grow(
        bins, is_one, 120, links, n_trees=4, n_candidates=N_FEATURES, share=1.0,
        min_samples_leaf=min_samples_leaf, reward=4.0, is_relative=kind_of_links == "soft",
    )  # fmt: skip
    for tree in range(forest.n_trees):
        base = forest.trees.offset[tree]
        for node, _, rows in visited(forest, tree, bins):
            best = best_cuts(
                bins, is_one, rows, forest.draws[tree], min_samples_leaf, links, kind_of_links
            )
            highest = max((score for score, _ in best), default=0.0)
            if is_leaf(forest, tree, node):
                assert highest == 0
            else:
                score, cut = best[forest.trees.feature[base + node]]
                assert score == pytest.approx(highest, abs=1e-12)
                assert cut == forest.trees.cut[base + node]


def best_cuts(bins, is_one, rows, draws, smallest, links, kind_of_links):
    """Find the best cut of each feature at a node by brute force; none if the node is pure."""
    drawn = rows[draws[rows] > 0]
    if len(set(is_one[drawn])) < 2:
        return []
    inside = [] if links is None else np.flatnonzero(np.isin(links.rows, rows).all(axis=1))
    weight = [int(links.weight[link]) for link in inside]
    unit = 1 << 20
    reward = 4.0 / (unit + sum(map(abs, weight)) if kind_of_links == "soft" else unit)
    return [
        cuts.best_cut(
            column[drawn].tolist(), draws[drawn].tolist(), is_one[drawn].tolist(), N_BINS, smallest,
            links=[(*column[links.rows[link]], w) for link, w in zip(inside, weight, strict=True)],
            reward=reward,
        )
        for column in bins
    ]  # fmt: skip


def test_the_bootstrap_has_n_draws():
    bins, is_one = problem()
    draws = grow(bins, is_one, 120, n_trees=200, n_draws=90).draws
    assert (draws.sum(axis=1) == 90).all()
    assert np.abs(draws.mean(axis=0) - 0.75).max() < 6 * np.sqrt(0.75 / 200)


def as_arrays(forest):
    return [*forest.trees, forest.leaf, forest.order]


@pytest.mark.parametrize("n_candidates", [1, 2, N_FEATURES])
@pytest.mark.parametrize("is_hard", [False, True])
def test_links_from_a_row_to_itself_are_ignored(n_candidates, is_hard):
    bins, is_one = problem(n_total=400)
    plain = grow(bins, is_one, 200, n_candidates=n_candidates)
    itself = np.repeat(np.arange(200), 2).reshape(-1, 2)
    links = links_of(itself, itself, is_hard=is_hard)
    linked = grow(bins, is_one, 200, links, n_candidates=n_candidates, share=0.7, reward=4.0)
    for a, b in zip(as_arrays(plain), as_arrays(linked), strict=True):
        np.testing.assert_array_equal(a, b)


def test_sorting_and_counting_grow_the_same_trees(monkeypatch):
    bins, is_one = problem(n_total=300)
    forests = []
    for sorted_rows in (0, 20, 10_000):
        monkeypatch.setattr(clew.forest, "SORTED_ROWS", sorted_rows)
        monkeypatch.setattr(clew.forest, "BINS_PER_SORTED_ROW", 0)
        forests.append(as_arrays(grow(bins, is_one, 150)))
    for other in forests[1:]:
        for a, b in zip(forests[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_one_class_gives_trees_of_one_leaf():
    bins, _ = problem()
    forest = grow(bins, np.zeros(120, np.uint8), 60)
    assert (np.diff(forest.trees.offset) == 1).all()
    assert not forest.leaf.any()


def test_trees_draw_their_share_of_the_links():
    bins, is_one = problem()
    apart = np.array([[0, i] for i in range(1, 10)] * 30)  # equal rows stay together
    links = links_of(np.empty((0, 2), np.int64), apart)
    for share in (0.3, 1.0):
        forest = grow(bins, is_one, 60, links, n_trees=60, share=share, reward=1.0)
        assert forest.n_violated.mean() == pytest.approx(share * len(apart), rel=0.05)


def test_draws_of_rows_and_of_links_are_independent():
    bins, is_one = problem()
    apart = np.array(
        [[0, 1 + k % 9] for k in range(120)]
    )  # equal rows: all drawn links are violated
    links = links_of(np.empty((0, 2), np.int64), apart)
    forest = grow(bins, is_one, 120, links, n_trees=400, share=0.5, reward=1.0)
    n_low = forest.draws[:, :60].sum(axis=1, dtype=int)
    assert abs(np.corrcoef(forest.n_violated, n_low)[0, 1]) < 0.2


def test_violated_links_are_those_that_the_leaves_violate():
    bins, is_one = problem()
    for is_hard in (False, True):
        links = some_links(60, is_hard=is_hard)
        forest = grow(bins, is_one, 60, links, share=1.0, reward=2.0)
        i, j = links.rows.T
        is_apart = forest.leaf[:, i] != forest.leaf[:, j]
        violated = is_apart == (links.weight < 0)
        np.testing.assert_array_equal(forest.n_violated, violated.sum(axis=1))
        assert forest.n_violated.any()


def test_hard_must_links_are_never_separated():
    bins, is_one = problem()
    links = some_links(60, is_hard=True)
    forest = grow(bins, is_one, 60, links, share=1.0, reward=2.0)
    i, j = links.rows[links.weight < 0].T
    np.testing.assert_array_equal(forest.leaf[:, i], forest.leaf[:, j])
    assert (np.diff(forest.trees.offset) > 1).all()


def test_a_million_hard_must_links_do_not_overflow():
    bins, is_one = problem()
    far = np.array([[int(bins[0].argmin()), int(bins[0].argmax())]])
    links = links_of(np.repeat(far, 1_000_000, axis=0), np.repeat(far, 1000, axis=0), is_hard=True)
    forest = grow(bins, is_one, 120, links, n_trees=2, share=1.0, reward=2.0)
    np.testing.assert_array_equal(*forest.leaf[:, far[0]].T)
