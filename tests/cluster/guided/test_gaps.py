"""Gaps around groups, pieces of groups, and groups that are far apart in the energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import ward
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.stats import entropy
from sklearn.datasets import make_blobs, make_moons

from clew import Constraints, GuidedClustering
from clew._composition import graph_of
from clew.cluster.guided._gaps import NEXT_TO_NONE, Gaps, PartsApart, Pieces
from clew.metrics import adjusted_rand_score
from clew.similarity import AdaptiveKNN

pytestmark = pytest.mark.usefixtures("fair_search")

RANDOM = np.random.RandomState(0)
Y = np.repeat(np.arange(5), 12)
X = 30.0 * np.eye(5)[Y][:, :4] + RANDOM.normal(size=(60, 4))
GAPS = Gaps(X)


def far_apart(n_rows, n_groups, seed):
    random = np.random.RandomState(seed)
    y = random.permutation(np.arange(n_rows) % n_groups)
    return 4 * random.normal(size=(n_groups, 10))[y] + random.normal(size=(n_rows, 10)), y


def test_groups_far_apart_have_gaps_and_their_halves_have_none():
    np.testing.assert_array_equal(GAPS.clearness(Y), 1.0)
    halves = 2 * Y + np.arange(60) % 2
    np.testing.assert_array_equal(GAPS.clearness(halves), 0.0)


@pytest.mark.parametrize("distances", [False, True])
def test_rotations_and_factors_do_not_matter(distances):
    rotation = np.linalg.qr(RANDOM.normal(size=(4, 4)))[0]
    other = 7.0 * X @ rotation
    gaps = Gaps(other, cdist(other, other) if distances else None)
    labels = np.minimum(Y, 3)
    np.testing.assert_allclose(gaps.clearness(labels), GAPS.clearness(labels), atol=1e-9)


def test_parts_far_apart_are_counted_by_the_group_of_most_of_their_rows():
    assert adjusted_rand_score(GAPS.parts.part, Y) == 1
    assert GAPS.parts.share == 1
    two_joined = np.maximum(Y - 1, 0)
    np.testing.assert_array_equal(GAPS.parts.counts(two_joined), [2, 1, 1, 1])
    two_joined[0] = 3  # a row that wrong answers moved
    np.testing.assert_array_equal(GAPS.parts.counts(two_joined), [2, 1, 1, 1])
    quarters = 4 * Y + np.arange(60) % 4
    np.testing.assert_array_equal(GAPS.parts.counts(quarters), NEXT_TO_NONE)


def test_gaps_tell_nothing_of_one_cloud_and_of_a_few_far_rows():
    cloud = RANDOM.normal(size=(100, 4))
    assert Gaps(cloud).parts.share < 0.1
    assert Gaps(np.vstack([cloud, 30 + 0.1 * RANDOM.normal(size=(4, 4))])).parts.share < 0.15


def test_pairs_and_equal_rows_have_no_gaps():
    pairs = Gaps(np.repeat(10.0 * np.eye(6), 2, axis=0) + 0.1 * RANDOM.normal(size=(12, 6)))
    np.testing.assert_array_equal(pairs.clearness(np.repeat(np.arange(6), 2)), 0.0)
    equal = Gaps(np.repeat(np.eye(3), 5, axis=0))
    np.testing.assert_array_equal(equal.clearness(np.repeat(np.arange(3), 5)), 0.0)


def test_parts_are_groups_far_apart_and_a_lone_row_joins_the_nearest():
    lone = np.vstack([X, X[0] + 5.0])
    parts = Gaps(lone).components(2.0)
    assert adjusted_rand_score(parts[:-1], Y) == 1
    assert parts[-1] == parts[0]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "least"), [(0, 0.85), (4, 0.95)])
def test_wrong_answers_do_not_join_many_small_groups_far_apart(seed, least):
    """Nearly all answers "same" about random pairs of 30 groups are wrong."""
    X, y = far_apart(240, 30, seed)
    answers = Constraints.from_labels(y, n_pairs=240, error=0.1, random_state=seed)
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert 26 <= model.n_clusters_ <= 30
    assert adjusted_rand_score(model.labels_, y) > least


@pytest.mark.slow
def test_answers_join_groups_far_apart():
    X, y = far_apart(200, 5, 0)
    wanted = np.array([0, 0, 1, 2, 3])[y]
    answers = Constraints.from_labels(wanted, n_pairs=150, random_state=0)
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(model.labels_, wanted) == 1


@pytest.mark.slow
def test_groups_that_are_not_round():
    X, y = make_moons(300, noise=0.05, random_state=0)
    answers = Constraints.from_labels(y, n_pairs=30, error=0.1, random_state=0)
    model = GuidedClustering(2, random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(model.labels_, y) > 0.9


@pytest.mark.slow
def test_rings_with_gaps_are_found_and_not_their_pieces():
    random = np.random.default_rng(1)
    angle, y = random.uniform(0, 2 * np.pi, 300), np.repeat([0, 1, 2], 100)
    radius = np.array([1, 2.2, 3.4])[y]
    rings = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    rings += 0.05 * random.normal(size=(300, 2))
    answers = Constraints.from_labels(y, 100, random_state=1)
    for number in (3, None):
        model = GuidedClustering(number, random_state=0).fit(rings, constraints=answers)
        assert adjusted_rand_score(y, model.labels_) == 1


def chain(n_rows, cut):
    """Rows in a line, each the neighbor of the next, but for one that is `cut`."""
    first = np.delete(np.arange(n_rows - 1), cut)
    graph = csr_array((np.ones(len(first)), (first, first + 1)), shape=(n_rows, n_rows))
    return csr_array(graph + graph.T)


#: Merges of twelve rows: of two lines of six, then of both.
FIRST = [[0, 1], *([row, row + 10] for row in range(2, 6))]
LINES = np.array([*FIRST, [6, 7], *([row, row + 9] for row in range(8, 12)), [16, 21]])


def test_groups_fall_into_pieces_where_no_neighbors_connect_them():
    same, weights = np.array([[0, 1], [1, 3], [0, 11], [2, 7]]), np.array([1.0, 1.0, 1.0, 3.0])
    pieces = Pieces.of(chain(12, 5), LINES[:-1], same, weights)  # two lines of six rows
    # rows 0 and 1 are neighbors, 1 and 3 share one, and four more count as near
    assert pieces.far == 4 / 10
    whole, lines = np.zeros(12, int), np.repeat([0, 1], 6)
    np.testing.assert_allclose(pieces.entropies(whole), [np.log(2)])
    np.testing.assert_allclose(pieces.entropies(lines), [0.0, 0.0])
    ends = np.array([0, 1, 1, 1, 1, 0, 2, 2, 2, 2, 2, 2])
    np.testing.assert_allclose(pieces.entropies(ends), [np.log(2), 0.0, 0.0])
    are_one = pieces.touch(pieces.nearness(lines), np.bincount(lines))
    np.testing.assert_array_equal(are_one, np.eye(2, dtype=bool))
    quarters = np.repeat([0, 1, 2, 3], 3)
    are_one = pieces.touch(pieces.nearness(quarters), np.bincount(quarters))
    np.testing.assert_array_equal(are_one, np.kron(np.eye(2), np.ones((2, 2))).astype(bool))


def test_pieces_that_a_tree_merges_first_cost_less():
    same = np.array([[0, 1], [1, 3], [0, 11], [2, 7]])
    pieces = Pieces.of(chain(12, 5), LINES, same, np.ones(4))
    whole, lines = np.zeros(12, int), np.repeat([0, 1], 6)
    np.testing.assert_allclose(pieces.entropies(whole), [0.3 * np.log(2)])
    np.testing.assert_array_equal(pieces.siblings(lines, 2), ~np.eye(2, dtype=bool))
    # a third of the second line is of the first group: no part of either
    mixed = np.repeat([0, 1, 0], [6, 4, 2])
    np.testing.assert_allclose(pieces.entropies(mixed)[0], entropy([6, 2]))
    assert not pieces.siblings(mixed, 2).any()


def test_clear_groups_of_features_are_pieces_though_they_touch():
    graph, tree = chain(16, 7), ward(np.arange(16.0)[:, None])
    apart, label = np.arange(16) // 4, np.arange(16) // 8
    pieces = Pieces.of(graph, tree, np.array([[0, 15]]), np.ones(1), apart)
    np.testing.assert_allclose(pieces.entropies(label), [0.3 * np.log(2)] * 2)
    # they are siblings in the tree; others are not
    others = Pieces.of(graph, tree[:0], np.array([[0, 15]]), np.ones(1), apart)
    np.testing.assert_allclose(others.entropies(label), [np.log(2)] * 2)
    # three rows and fewer are parts of any neighbor
    few = Pieces.of(graph, tree[:0], np.array([[0, 15]]), np.ones(1), np.arange(16) // 3)
    np.testing.assert_allclose(few.entropies(label), [0.0] * 2)


@pytest.mark.parametrize(
    ("n_within", "n_across", "far"), [(5, 0, 0.5), (4, 2, 0.25), (2, 2, 0), (0, 0, 0)]
)
def test_joins_of_clear_groups_cost_while_near_answers_keep_to_them(n_within, n_across, far):
    within, across = [[0, 1], [5, 6], [9, 10], [12, 13], [16, 18]], [[3, 4], [7, 9]]
    same = np.array([*within[:n_within], *across[:n_across]], int).reshape(-1, 2)
    tree, apart = ward(np.arange(24.0)[:, None]), np.arange(24) // 4
    pieces = Pieces.of(chain(24, 11), tree, same, np.ones(len(same)), apart)
    assert (0 if pieces is None else pieces.far) == far


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_answers_do_not_join_groups_that_features_show(seed):
    X, y = make_blobs(400, 10, centers=20, cluster_std=3.5, random_state=seed)
    answers = Constraints.from_labels(y, 130, error=0.1, random_state=seed)
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(y, model.labels_) > 0.85  # .75 and .80 without a cost


def test_small_groups_are_pieces_though_their_rows_have_neighbors_in_others():
    """Ten groups of six rows: the ten nearest rows of each are of other groups, too."""
    random = np.random.RandomState(0)
    groups = np.repeat(np.arange(10), 6)
    rows = 3.0 * random.normal(size=(10, 4))[groups] + random.normal(size=(60, 4))
    graph = graph_of(AdaptiveKNN().fit(rows), 60, 10)
    pairs = np.column_stack([np.zeros(54, int), np.arange(6, 60)])
    pieces = Pieces.of(graph, ward(rows), pairs, np.ones(54))
    np.testing.assert_allclose(pieces.entropies(groups), 0.0)
    n_connected = 0
    for other in range(1, 10):
        joined = np.where(groups == other, 0, groups)
        rows_of_both = np.flatnonzero(joined == 0)
        n_connected += connected_components(graph[rows_of_both][:, rows_of_both])[0] == 1
        assert np.isclose(pieces.entropies(joined)[0], np.log(2))
    assert n_connected >= 2


@pytest.mark.parametrize(
    ("n_pieces", "n_groups", "n_ways"),
    [(10, 10, 1), (10, 9, 45), (10, 5, 42_525), (20, 4, 45_232_115_901)],
)
def test_nats_of_pieces_bound_the_number_of_partitions(n_pieces, n_groups, n_ways):
    """Stirling numbers of the second kind: the ways to put equal pieces into groups."""
    of_groups = np.log(n_groups)
    found = float(Pieces.nats(of_groups, np.log(n_pieces) - of_groups))
    assert np.log(n_ways) - 1e-9 <= found <= 1.28 * np.log(n_ways) + 1


def test_answers_about_near_rows_have_no_pieces():
    assert Pieces.of(chain(12, 5), LINES, np.array([[0, 1], [6, 8]]), np.ones(2)) is None
    assert Pieces.of(chain(12, 5), LINES, np.empty((0, 2), int), np.ones(0)) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_two_wrong_answers_do_not_cut_groups_far_apart(seed):
    """Nor do fragments count as finer groups: one wrong "different" made a group of its own."""
    y, random = np.arange(90) % 3, np.random.default_rng(seed)
    X = random.normal(size=(90, 3)) + np.array([[0, 0, 0], [5, 5, 5], [10, 0, 5]])[y]
    rows = np.array([random.choice(90, 2, replace=False) for _ in range(12)])
    is_same = y[rows[:, 0]] == y[rows[:, 1]]
    is_same[np.flatnonzero(is_same)[:2]] = False
    answers = Constraints(90, pairs=np.column_stack([rows, is_same]))
    found = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(y, found.labels_) == 1


def test_fragments_have_no_part_and_loose_rows_next_to_none():
    parts = PartsApart(np.repeat([0, 1, -1], [6, 6, 3]), 1.0)
    found = parts.counts(np.repeat([0, 1, 2, 3], [4, 2, 6, 3]))
    np.testing.assert_array_equal(found, [1, 0, 1, NEXT_TO_NONE])
    halves = parts.counts(np.repeat([0, 1, 2, 3], [3, 3, 6, 3]))
    np.testing.assert_array_equal(halves, [NEXT_TO_NONE, NEXT_TO_NONE, 1, NEXT_TO_NONE])
