"""Cuts of a tree that follow answers: the most probable groups, also of very different sizes."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, to_tree, ward
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._learned_cut import Merges, cut_by_answers
from clew.cluster.guided._many_rows import BY_ANCHORS, BY_CUT, BY_WARD, starts_of

RANDOM = np.random.RandomState(0)


def leaves_of(tree):
    """The leaves below each merge."""
    _, nodes = to_tree(tree, rd=True)
    return [set(node.pre_order()) for node in nodes[len(tree) + 1 :]]


def uneven():
    """One wide group of 240 rows, and twelve of 20 rows that are nearer to each other than its
    halves."""
    random = np.random.RandomState(1)
    wide = random.normal([60, 0, 0], 4.0, size=(240, 3))
    small = [random.normal([0, 3 * at, 0], 0.3, size=(20, 3)) for at in range(12)]
    order = random.permutation(480)
    return np.vstack([wide, *small])[order], np.repeat(np.arange(13), [240] + [20] * 12)[order]


def test_answers_belong_to_the_merge_that_joins_their_rows():
    tree = ward(RANDOM.normal(size=(12, 2)))
    leaf = RANDOM.permutation(np.repeat(np.arange(12), 2))
    known = Constraints.from_labels(RANDOM.randint(3, size=24), 80, random_state=0)
    found = Merges.of(tree, leaf, known)
    joined = leaves_of(tree)
    must, cannot = np.zeros(12), np.zeros(12)
    for rows, is_must in zip(known.pairs, known.is_must_link, strict=True):
        at = 11  # within a leaf
        if leaf[rows[0]] != leaf[rows[1]]:
            at = next(at for at, below in enumerate(joined) if set(leaf[rows]) <= below)
        (must if is_must else cannot)[at] += 1
    np.testing.assert_array_equal(found.must, must)
    np.testing.assert_array_equal(found.cannot, cannot)


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_cut_has_the_largest_sum_of_evidence(seed, least):
    random = np.random.RandomState(seed)
    tree = ward(random.normal(size=(9, 2)))
    evidence = random.normal(scale=10, size=8)
    found = Merges.of(tree, np.arange(9), Constraints(9)).cut(evidence, least)
    joined = leaves_of(tree)

    def gained(groups):
        of_merges = sum(
            evidence[at] for at, below in enumerate(joined) if any(below <= of for of in groups)
        )
        return of_merges - 20 * sum(len(of) < least for of in groups)

    def cuts(node):
        """All sets of groups below a node."""
        if node < 9:
            return [[{node}]]
        below = [cuts(int(child)) for child in tree[node - 9, :2]]
        return [[joined[node - 9]], *(one + other for one in below[0] for other in below[1])]

    own = [set(np.flatnonzero(found == group)) for group in range(found.max() + 1)]
    assert gained(own) == pytest.approx(max(map(gained, cuts(16))))


@pytest.mark.slow
def test_groups_of_very_different_sizes_are_found():
    X, y = uneven()
    known = Constraints.from_labels(y, 4000, error=0.1, random_state=0)
    tree = ward(X)
    merges = Merges.of(tree, np.arange(len(X)), known)
    assert adjusted_rand_score(y, cut_by_answers(merges)) > 0.95
    of_height = (adjusted_rand_score(y, fcluster(tree, k, "maxclust")) for k in range(2, 60))
    assert max(of_height) < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n_wanted", [None, 13])
def test_leaves_far_from_all_others_are_no_groups(n_wanted):
    X, y = uneven()
    far = X[y == 0][:10] + RANDOM.normal(scale=12, size=(10, 3))
    rows, classes = np.vstack([X, far]), np.append(y, np.zeros(10, int))
    known = Constraints.from_labels(classes, 4000, error=0.1, random_state=0)
    groups = cut_by_answers(Merges.of(ward(rows), np.arange(490), known), n_wanted)
    assert np.bincount(groups).min() >= 3
    assert adjusted_rand_score(classes, groups) > 0.95


@pytest.mark.slow
def test_groups_may_be_single_leaves_if_their_number_is_that_large():
    X, y = uneven()
    known = Constraints.from_labels(y, 500, random_state=0)
    merges = Merges.of(ward(X), np.arange(480), known)
    assert len(np.unique(cut_by_answers(merges, 480))) == 480
    assert len(np.unique(cut_by_answers(merges, 300))) > 160


@pytest.mark.slow
def test_a_given_number_of_groups_is_not_exceeded():
    X, y = uneven()
    merges = Merges.of(
        ward(X), np.arange(len(X)), Constraints.from_labels(y, 500, error=0.1, random_state=0)
    )
    found = [cut_by_answers(merges, k) for k in (1, 2, 5, 13, 40)]
    numbers = [len(np.unique(groups)) for groups in found]
    assert all(n <= k for n, k in zip(numbers, (1, 2, 5, 13, 40), strict=True))
    assert numbers[3] == 13
    for coarse, fine in pairwise(found):  # all groups are nodes of one tree
        assert all(len(np.unique(coarse[fine == group])) == 1 for group in np.unique(fine))


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("answer", [0, 1])
def test_few_leaves_and_few_answers(n, answer):
    tree = ward(np.arange(n, dtype=float)[:, None] ** 2)
    known = Constraints(n, pairs=[(0, 1, answer)])
    assert cut_by_answers(Merges.of(tree, np.arange(n), known)).shape == (n,)
    equal = ward(np.zeros((n, 7)))
    assert cut_by_answers(Merges.of(equal, np.arange(n), known)).shape == (n,)


def fitted_to_anchors(y, n_wanted):
    """As `starts_of` reads it: a clustering of two groups, if their number was not given."""
    shares = np.eye(n_wanted or 2)[np.minimum(y, (n_wanted or 2) - 1)]
    return SimpleNamespace(probabilities_=shares, pool="default", n_clusters=n_wanted)


@pytest.mark.slow
def test_starts_are_the_fitted_groups_and_cuts_of_the_tree():
    X, y = uneven()
    rows, known = np.arange(480), Constraints.from_labels(y, 4000, error=0.1, random_state=0)
    starts = starts_of(fitted_to_anchors(y, None), X, rows, known)
    assert list(starts) == [BY_ANCHORS, BY_WARD, BY_CUT]
    assert [of.n_clusters for of in starts.values()][:2] == [2, 2]
    assert adjusted_rand_score(y, starts[BY_CUT].labels) > 0.95
    given = starts_of(fitted_to_anchors(y, 13), X, rows, known)
    assert {of.n_clusters for of in given.values()} == {13}
    assert list(starts_of(fitted_to_anchors(y, 13), X, rows, None)) == [BY_ANCHORS, BY_WARD]


@pytest.mark.slow  # a whole fit
def test_guided_clustering_of_anchors_takes_the_cut_that_predicts_answers_best():
    X, y = uneven()
    known = Constraints.from_labels(y, 4000, error=0.1, random_state=0)
    model = GuidedClustering(scale="anchors", n_anchors=240, random_state=0)
    model.fit(X, constraints=known)
    assert model.weights_["anchors"] == 0
    assert adjusted_rand_score(y, model.labels_) > 0.97
    assert model.n_clusters_ == model.probabilities_.shape[1]
    assert model.regime_ == "both"
    before = model.n_clusters_
    model.partial_fit(constraints=Constraints.from_labels(y, 30, random_state=5))
    assert model.n_clusters_ == before
