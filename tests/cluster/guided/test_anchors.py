"""Anchors, links to them, and memberships that go along the links."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clew import Constraints, GuidedClustering
from clew.cluster.guided import _anchors, _row_blocks
from clew.cluster.guided._anchors import (
    Memberships,
    anchor_sums,
    choose_anchors,
    link_rows,
    row_memberships,
)
from clew.cluster.guided._features import FeatureSpace
from clew.cluster.guided._row_blocks import AnsweredMemberships, ArrayBlocks

N_ROWS, N_ANCHORS, N_GROUPS = 300, 20, 12


@pytest.fixture
def random():
    return np.random.RandomState(0)


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks for few rows."""
    for module in (_anchors, _row_blocks):
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    monkeypatch.setattr(_row_blocks, "LINKED_ROWS", 64)
    monkeypatch.setattr(_anchors, "PRODUCT_ROWS", 32)


def rows_of(random, n=N_ROWS):
    return random.normal(size=(n, 4)).astype(np.float32)


@pytest.mark.usefixtures("small_blocks")
def test_anchors_are_means_of_their_rows(random):
    far = np.repeat(np.eye(4, dtype=np.float32) * 100, 25, axis=0)
    rows = far + random.normal(size=far.shape).astype(np.float32)
    anchors = choose_anchors(rows, 4, 3)
    while len(np.unique(anchors.argmax(axis=1))) < 4:  # one random row of each group
        anchors = choose_anchors(rows, 4, random.randint(1000))
    means = rows.reshape(4, 25, 4).mean(axis=1)
    order = np.argsort(anchors.argmax(axis=1))
    np.testing.assert_allclose(anchors[order], means, rtol=1e-4, atol=1e-4)


def test_equal_anchors_are_merged():
    rows = np.repeat(np.arange(3, dtype=np.float32), 50)[:, None]
    assert choose_anchors(rows, 40, 0).tolist() == [[0], [1], [2]]
    assert len(choose_anchors(rows[:50], 40, 0)) == 1


def test_links_go_to_the_nearest_anchors(random):
    rows, anchors = rows_of(random), rows_of(random, N_ANCHORS)
    links = link_rows(rows, anchors)
    squared = ((rows[:, None] - anchors) ** 2).sum(axis=2)
    assert (links.nearest == squared.argsort(axis=1)[:, :5]).all()
    np.testing.assert_allclose(links.weight.sum(axis=1), 1, rtol=1e-5)
    assert (np.diff(links.weight, axis=1) <= 0).all()


@pytest.mark.usefixtures("small_blocks")
def test_links_do_not_depend_on_blocks_or_threads(random):
    X, anchors = random.normal(size=(N_ROWS, 4)), rows_of(random, N_ANCHORS)
    space = FeatureSpace.fit(X)
    one, two = (ArrayBlocks.of(X, space, anchors, n_jobs).links for n_jobs in (1, 2))
    of_sparse = ArrayBlocks.of(csr_array(X), space, anchors, 1).links
    whole = link_rows(space.transform(X).astype(np.float32), anchors)
    for other in (two, of_sparse, whole):
        assert (one.nearest == other.nearest).all()
        np.testing.assert_allclose(one.weight, other.weight, rtol=1e-4)
    assert (one.weight == two.weight).all()


def test_a_row_on_an_anchor_has_its_memberships(random):
    anchors = rows_of(random, N_ANCHORS)
    links = link_rows(anchors, anchors)
    labels = random.randint(N_GROUPS, size=N_ANCHORS)
    one_each = csr_array(np.eye(N_GROUPS)[labels])
    found = row_memberships(links, Memberships.largest_of(one_each, 16))
    assert (found.labels == labels).all()


def no_answers():
    empty = Memberships(np.zeros((0, 8), np.int32), np.zeros((0, 8), np.float32), N_GROUPS)
    return AnsweredMemberships(np.zeros(0, np.int64), empty)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_of_rows_add_up(random):
    rows, anchors = rows_of(random), rows_of(random, N_ANCHORS)
    links = link_rows(rows, anchors)
    start = Memberships.largest_of(random.dirichlet(np.ones(N_GROUPS), N_ANCHORS), 16)
    every = ArrayBlocks(links, 2)
    whole = row_memberships(links, start)
    assert (every.groups(start, None).labels == whole.labels).all()
    assert (every.groups(start, None).probabilities != whole.as_sparse()).nnz == 0
    sums = anchor_sums(links, whole, N_ANCHORS).toarray()
    np.testing.assert_allclose(
        every.update(start, no_answers()).as_sparse().toarray(),
        sums / sums.sum(axis=1, keepdims=True),
        atol=1e-5,
    )


@pytest.mark.usefixtures("small_blocks")
def test_answered_rows_keep_what_answers_say(random):
    rows, anchors = rows_of(random), rows_of(random, N_ANCHORS)
    every = ArrayBlocks(link_rows(rows, anchors), 1)
    start = Memberships.largest_of(random.dirichlet(np.ones(N_GROUPS), N_ANCHORS), 16)
    named = np.array([3, 63, 64, 200, N_ROWS - 1])
    groups = np.tile(np.arange(8, dtype=np.int32), (5, 1))
    shares = np.eye(8, dtype=np.float32)[[1, 2, 3, 4, 5]]
    answered = AnsweredMemberships(named, Memberships(groups, shares, N_GROUPS))
    found, without = every.groups(start, answered).labels, every.groups(start, None).labels
    assert found[named].tolist() == [1, 2, 3, 4, 5]
    others = np.delete(np.arange(N_ROWS), named)
    assert (found[others] == without[others]).all()


def test_anchors_without_rows_keep_their_memberships(random):
    rows, anchors = rows_of(random), rows_of(random, N_ANCHORS)
    anchors[7] += 1_000
    start = Memberships.largest_of(random.dirichlet(np.ones(N_GROUPS), N_ANCHORS), 16)
    after = ArrayBlocks(link_rows(rows, anchors), 1).update(start, no_answers())
    assert (after.groups[7] == start.groups[7]).all()
    assert not (after.groups[6] == start.groups[6]).all()


@pytest.mark.usefixtures("small_blocks")
def test_neighbors_share_the_most_anchors(random):
    rows, anchors = rows_of(random), rows_of(random, N_ANCHORS)
    links = link_rows(rows, anchors)
    dense = np.zeros((N_ROWS, N_ANCHORS))
    np.put_along_axis(dense, links.nearest.astype(np.int64), links.weight, axis=1)
    shared = dense @ dense.T
    np.fill_diagonal(shared, 0)
    chosen = np.array([250, 7, 64])
    found = ArrayBlocks(links, 1).neighbors(chosen, N_ANCHORS, 4).toarray()
    assert ((found > 0).sum(axis=1) == 4).all()
    for at, row in enumerate(chosen):
        best = np.sort(shared[row])[::-1][:4]
        np.testing.assert_allclose(np.sort(found[at])[::-1][:4], best, rtol=1e-5)


def test_memberships_as_a_sparse_matrix(random):
    dense = random.dirichlet(np.ones(6), 30)
    found = Memberships.largest_of(dense, 6)
    np.testing.assert_allclose(found.as_sparse().toarray(), dense, atol=1e-6)
    assert (found.labels == dense.argmax(axis=1)).all()
    pairs = random.randint(30, size=(40, 2))
    expected = (dense[pairs[:, 0]] * dense[pairs[:, 1]]).sum(axis=1)
    np.testing.assert_allclose(found.shared(pairs)[:, 1], expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("fair_search")
def test_random_answers_do_little_harm_on_anchors():
    X, y = make_blobs(900, n_features=6, centers=4, cluster_std=3.5, random_state=0)
    pool = [("k-means", KMeans(4, n_init=2, random_state=0))]
    model = GuidedClustering(4, scale="anchors", n_anchors=60, pool=pool, random_state=0)

    def ari(fitted):
        return adjusted_rand_score(y, fitted.labels_)

    found = []
    for seed in range(2):
        random = np.random.RandomState(seed)
        pairs = random.randint(900, size=(1_200, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        answers = np.column_stack([pairs, random.randint(2, size=len(pairs))])
        known = Constraints(900, pairs=answers)
        found.append(ari(clone(model).fit(X, constraints=known)))
    assert np.mean(found) > ari(clone(model).fit(X)) - 0.1
