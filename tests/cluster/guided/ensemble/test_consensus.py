"""Consensus of partitions by their co-association, whose matrix is never formed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from clew.cluster.guided import co_association, consensus
from clew.cluster.guided._ensemble.consensus import _embedding
from clew.exceptions import InvalidDataError, InvalidParameterError


def partitions(n, n_groups, n_partitions, moved, seed=0):
    """Make copies of one partition, with a share of the rows of each in random groups."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_groups
    copies = np.where(
        rng.uniform(size=(n_partitions, n)) < moved, rng.integers(n_groups, size=n), y
    )
    return y, copies


def dense_co_association(groups, weights):
    together = np.equal(groups[:, :, None], groups[:, None, :])
    return np.tensordot(weights, together, 1) / np.sum(weights)


def test_co_association_is_the_weighted_share_of_partitions():
    rng = np.random.default_rng(0)
    groups, weights = rng.integers(4, size=(7, 20)), rng.uniform(size=7)
    pairs = rng.integers(20, size=(50, 2))
    dense = dense_co_association(groups, weights)
    found = co_association(groups, weights, pairs)
    np.testing.assert_allclose(found, dense[pairs[:, 0], pairs[:, 1]])
    alike = dense_co_association(groups, np.ones(7))
    np.testing.assert_allclose(co_association(groups, None, pairs), alike[pairs[:, 0], pairs[:, 1]])
    assert co_association(groups, None, []).shape == (0,)


def test_embedding_is_that_of_the_dense_co_association():
    groups = partitions(40, 3, 6, 0.3)[1]
    weights = np.linspace(0.2, 1.0, 6)
    dense = dense_co_association(groups, weights)
    root = 1 / np.sqrt(dense.sum(axis=1))
    vectors = np.linalg.eigh(root[:, None] * dense * root)[1][:, -3:]
    expected = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = _embedding(groups, weights, 3)
    # Equal up to a rotation, which does not matter to k-means.
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)
    assert subspace_angles(found, expected).max() < 1e-6


def test_errors_of_partitions_cancel():
    y, copies = partitions(90, 3, 15, 0.3)
    found = consensus(copies, None, 3, random_state=0)
    alone = [adjusted_rand_score(y, labels) for labels in copies]
    assert adjusted_rand_score(y, found) > max(alone)
    assert adjusted_rand_score(y, found) > 0.9


def test_weights_decide_between_partitions():
    one, other = np.repeat([0, 1], 10), np.tile([0, 1], 10)
    for weights, expected in (([1.0, 0.1], one), ([0.1, 1.0], other), ([1.0, 0.0], one)):
        found = consensus([one, other], weights, 2, random_state=0)
        assert adjusted_rand_score(expected, found) == 1.0


def test_partitions_of_weight_0_count_nothing():
    copies = partitions(60, 3, 5, 0.2)[1]
    junk = np.random.default_rng(1).integers(30, size=(1, 60))
    found = consensus(np.vstack([copies, junk]), [1, 1, 1, 1, 1, 0], 3, random_state=0)
    np.testing.assert_array_equal(found, consensus(copies, None, 3, random_state=0))


def test_names_of_groups_do_not_matter():
    copies = partitions(60, 3, 5, 0.2)[1]
    renamed = np.array([7, -1, 100])[copies]
    words = np.array(["fox", "hen", "owl"])[copies]
    first = consensus(copies, None, 3, random_state=0)
    for labels in (renamed, words):
        assert adjusted_rand_score(first, consensus(labels, None, 3, random_state=0)) == 1.0


def test_more_groups_than_partitions_have():
    found = consensus([np.repeat([0, 1], 10), np.tile([0, 1], 10)], None, 4, random_state=0)
    assert len(np.unique(found)) == 4
    assert set(consensus([[0, 0, 1, 1]], None, 1, random_state=0)) == {0}


def test_fewer_groups_than_asked_for_are_reported():
    with pytest.warns(ConvergenceWarning, match="only 2 groups of rows, fewer than n_clusters=3"):
        found = consensus([[0, 0, 1, 1], [1, 1, 0, 0]], None, 3, random_state=0)
    assert adjusted_rand_score([0, 0, 1, 1], found) == 1.0


@pytest.mark.parametrize("given", [[], [[]], [0, 1, 1]])
def test_invalid_partitions_are_refused(given):
    with pytest.raises(InvalidDataError, match="partitions must have shape"):
        consensus(given, None, 2)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan], [1.0, np.inf]])
def test_invalid_weights_are_refused(weights):
    with pytest.raises(InvalidDataError, match="weights must be 2 numbers"):
        consensus([[0, 1, 1], [0, 0, 1]], weights, 2)
    with pytest.raises(InvalidDataError, match="weights must be 2 numbers"):
        co_association([[0, 1, 1], [0, 0, 1]], weights, [(0, 1)])


@pytest.mark.parametrize("n_clusters", [0, 4])
def test_impossible_numbers_of_groups_are_refused(n_clusters):
    with pytest.raises(InvalidParameterError, match=r"n_clusters must be .*\[1, 3\]"):
        consensus([[0, 1, 1]], None, n_clusters)


@pytest.mark.parametrize("n_clusters", [2.0, "2", True])
def test_a_number_of_groups_is_a_whole_number(n_clusters):
    with pytest.raises(InvalidParameterError, match="must be an integer"):
        consensus([[0, 0, 1]], None, n_clusters)


@pytest.mark.parametrize("pairs", [[(0, -1)], [(0, 3)], [(0, 1.7)], [(0, 1, 2)]])
def test_pairs_must_be_row_numbers_of_two_rows(pairs):
    with pytest.raises(InvalidDataError, match="rows from 0 to 2"):
        co_association([[0, 0, 1]], None, pairs)
