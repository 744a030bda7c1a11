"""Members of the pool: their views, which are constrained, and which are refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from clew import Constraints
from clew.cluster import PCKMeans
from clew.cluster.guided._pool import Member, checked_members
from clew.exceptions import InvalidParameterError

X, _ = make_blobs(60, centers=3, cluster_std=1.0, random_state=0)


def prepared(rows):
    return SimpleNamespace(X=np.asarray(rows), distances=None)


def test_constrained_members_get_the_answers():
    against = Constraints.from_pairs(cannot_link=[(0, 1)], n_samples=4)
    rows = np.array([[0.0], [0.1], [5.0], [5.1]])
    seen = []

    class Spy(PCKMeans):
        def fit(self, X, y=None, *, constraints=None, callback=None):
            seen.append(constraints)
            return super().fit(X, constraints=constraints)

    Member("spy", Spy(2)).partition(prepared(rows), against)
    assert seen == [against]


def test_labels_are_numbered_from_0():
    rows = np.array([[0.0], [0.1], [5.0], [5.1], [99.0]])
    labels = Member("noise", DBSCAN(1.0, min_samples=2)).partition(prepared(rows), None)
    np.testing.assert_array_equal(np.unique(labels), [0, 1, 2])


def test_given_clusterers_are_not_fitted():
    given = [("ward", AgglomerativeClustering(3)), ["k-means", KMeans(3)]]
    pool = checked_members(given)
    assert [candidate.name for candidate in pool] == ["ward", "k-means"]
    pool[1].partition(prepared(X), None)
    assert not hasattr(given[1][1], "labels_")


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ("best", r"list of \(name, clusterer\) pairs"),
        ([], r"list of \(name, clusterer\) pairs"),
        ([KMeans(3)], r"list of \(name, clusterer\) pairs"),
        ([("a", KMeans(3), 3)], r"list of \(name, clusterer\) pairs"),
        ([("a", KMeans(3)), ("a", KMeans(2))], "different strings"),
        ([(1, KMeans(3))], "different strings"),
        ([("a", PCA())], "not a clusterer: PCA"),
        ([("a", "ward")], "not an estimator: 'ward'"),
    ],
)
def test_invalid_pools_are_refused(pool, words):
    with pytest.raises(InvalidParameterError, match=words):
        checked_members(pool)


@pytest.mark.parametrize("pool", [None, 3, KMeans(3)])
def test_a_pool_that_is_not_a_list_is_refused(pool):
    with pytest.raises(InvalidParameterError, match=r"list of \(name, clusterer\) pairs"):
        checked_members(pool)


def test_a_member_that_fails_is_named():
    rows = X[:12]
    (member,) = checked_members([("mine", KMeans(20))])
    with pytest.raises(ValueError, match="n_samples=12") as failure:
        member.partition(prepared(rows), None)
    assert failure.value.__notes__ == ["Raised by 'mine', a member of the pool."]


def test_rows_that_are_left_out_are_one_group():
    rows = np.r_[np.zeros((5, 2)), np.ones((5, 2)), [[9.0, 9.0], [20.0, 20.0]]]
    (member,) = checked_members([("dense", DBSCAN(0.5, min_samples=3))])
    assert member.partition(prepared(rows), None).tolist() == [1] * 5 + [2] * 5 + [0] * 2


def test_names_of_members_must_be_strings():
    with pytest.raises(InvalidParameterError, match="different strings"):
        checked_members([(["a"], KMeans(3))])
