"""HACC against Kruskal step by step, and the consensus that it is built on."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from tests.reference import ordered_merges as reference

from clew import Constraints
from clew._warnings import silenced
from clew.cluster import HACC, consensus_probabilities
from clew.exceptions import (
    DeadEndWarning,
    FewerGroupsWarning,
    InconsistentConstraintsError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.kernels.medoids import count_together


def points(n, seed, d=3):
    return np.random.RandomState(seed).normal(size=(n, d))


def by_distance(D):
    """All pairs in the order of their distances, ties by row numbers."""
    pairs = [(i, j) for i in range(len(D)) for j in range(i + 1, len(D))]
    return sorted(pairs, key=lambda pair: D[pair])


@given(
    n=st.integers(2, 14), n_groups=st.integers(1, 6), m=st.integers(0, 20), seed=st.integers(0, 999)
)
def test_it_merges_in_the_order_of_distances(n, n_groups, m, seed):
    random = np.random.RandomState(seed)
    D = squareform(random.randint(0, 6, n * (n - 1) // 2)).astype(float)  # many ties
    y, k = random.randint(n_groups, size=n), min(n, 1 + seed % 5)
    answers = Constraints.from_labels(y, min(m, n * (n - 1) // 2), random_state=random)
    with silenced():
        model = HACC(k, metric="precomputed").fit(D, constraints=answers)
    groups = reference.hacc(by_distance(D), n, k, answers.must_link, answers.cannot_link)
    assert np.array_equal(model.labels_, reference.labels(groups, n))
    assert model.n_clusters_ == len(groups)
    assert model.is_reached_ == (len(groups) == k)
    assert model.n_violated_ == 0


def test_without_answers_it_is_single_linkage():
    X = points(40, 0)
    model = HACC(6, metric="precomputed").fit(squareform(pdist(X)))
    expected = fcluster(linkage(pdist(X), "single"), 6, "maxclust")
    assert np.array_equal(
        np.equal.outer(model.labels_, model.labels_), np.equal.outer(*[expected] * 2)
    )


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_units_do_not_matter(factor):
    D = squareform(pdist(points(30, 1)))
    labels = HACC(4, metric="precomputed").fit(D).labels_
    assert np.array_equal(HACC(4, metric="precomputed").fit(D * factor).labels_, labels)


def test_a_bridge_of_rows_does_not_join_groups():
    y = np.repeat([0, 1], 30)
    X = points(60, 2, 2) * [1.0, 0.3] + np.outer(y, [0.0, 4.0])
    bridge = np.column_stack([np.zeros(3), [1.2, 2.0, 2.8]])
    labels = HACC(2, random_state=0).fit(np.vstack([X, bridge])).labels_
    assert len(set(labels[:30])) == len(set(labels[30:60])) == 1
    assert labels[0] != labels[59]


def test_groups_are_those_of_one_minus_the_probabilities():
    X = points(50, 3)
    P = consensus_probabilities(X, 5, random_state=0)
    D = squareform(pdist(X))
    distances = 1 - P + 1e-3 * D / D.max()
    np.fill_diagonal(distances, 0)
    model = HACC(5, random_state=0).fit(X)
    assert np.array_equal(model.labels_, HACC(5, metric="precomputed").fit(distances).labels_)


def test_a_dead_end_is_reported():
    answers = Constraints.from_pairs(cannot_link=[(0, 1), (0, 2), (1, 2)], n_samples=3)
    with pytest.warns(DeadEndWarning, match="ends with 3 groups"):
        model = HACC(2, metric="precomputed").fit(1 - np.eye(3), constraints=answers)
    assert (model.n_clusters_, model.is_reached_) == (3, False)


def test_must_links_may_leave_fewer_groups():
    answers = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], n_samples=3)
    with pytest.warns(FewerGroupsWarning, match="ends with 1 groups"):
        model = HACC(2, metric="precomputed").fit(1 - np.eye(3), constraints=answers)
    assert (model.n_clusters_, model.is_reached_) == (1, False)


def test_contradictions_are_refused():
    answers = Constraints(4, pairs=[(0, 1, 1), (1, 2, 1), (0, 2, 0)])
    with pytest.raises(InconsistentConstraintsError):
        HACC(2, metric="precomputed").fit(1 - np.eye(4), constraints=answers)


@given(runs=st.integers(1, 5), n=st.integers(1, 12), seed=st.integers(0, 99))
def test_shares_are_counted(runs, n, seed):
    labels = np.random.RandomState(seed).randint(3, size=(runs, n)).astype(np.int32)
    share = np.empty((n, n), np.float32)
    count_together(labels, 0, n // 2, share)
    count_together(labels, n // 2, n, share)
    assert share == pytest.approx(reference.shares(labels))


@pytest.mark.parametrize("method", ["kmeans", "kmedoids"])
def test_consensus_separates_clear_groups(method):
    y = np.repeat(np.arange(4), 10)
    X = points(40, 4, 3) * 0.1 + np.eye(4)[y][:, :3] * 9
    P = consensus_probabilities(X, 4, method=method, random_state=0)
    same = np.equal.outer(y, y)
    assert P[same].mean() > 0.8 > 0.3 > P[~same].mean()
    assert np.array_equal(P, P.T)
    assert (np.diag(P) == 1).all()
    D = squareform(pdist(X))
    again = consensus_probabilities(D, 4, metric="precomputed", method=method, random_state=0)
    assert np.abs(P - again).mean() < 0.02


def test_many_features_are_reduced_to_principal_coordinates():
    y = np.repeat([0, 1], 20)
    X = points(40, 5, 60) + 3 * np.outer(y, np.ones(60))
    P = consensus_probabilities(X, 2, n_runs=20, random_state=0)
    assert P[0, :20].mean() > P[0, 20:].mean() + 0.5


def test_several_numbers_of_groups_take_turns():
    P = consensus_probabilities(points(12, 6), [1, 12], n_runs=4, random_state=0)
    assert np.allclose(P, 0.5 + 0.5 * np.eye(12))


def test_threads_give_the_same_probabilities():
    one, two = (
        consensus_probabilities(points(40, 7), 5, n_jobs=n_jobs, random_state=3)
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 9}, "n_clusters must be"),
        ({"n_clusters": []}, "n_clusters must be"),
        ({"n_runs": 0}, "n_runs must be"),
        ({"metric": "cosine"}, "metric must be"),
        ({"method": "ward"}, "method must be"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        consensus_probabilities(points(8, 8), **{"n_clusters": 2, **arguments})


def test_wrong_distances_are_refused():
    with pytest.raises(InvalidDataError, match="symmetric"):
        consensus_probabilities(np.triu(np.ones((4, 4)), 1), 2, metric="precomputed")
