"""ConstrainedLinkage keeps every answer; without answers the tree is SciPy's."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from tests.reference import linkage as reference

import clew.cluster.linkage.constrained_linkage as module
from clew import Constraints
from clew.cluster import ConstrainedLinkage
from clew.exceptions import (
    DeadEndWarning,
    InconsistentConstraintsError,
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
    TooLargeError,
    UnsupportedConstraintError,
)

LINKAGES = ("single", "complete", "average", "ward")
each_linkage = pytest.mark.parametrize("kind", LINKAGES)
X, y = make_blobs(80, 3, centers=4, cluster_std=3.0, random_state=0)


def points(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 3))


def as_groups(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


def fit(model, X, c):
    """Fit; return the model and whether it warned of a dead end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, constraints=c)
    assert all(w.category is DeadEndWarning for w in caught)
    return model, bool(caught)


@st.composite
def problems(draw):
    """Rows without ties, answers that do not contradict each other, and a number of groups."""
    n = draw(st.integers(2, 13))
    pair = st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True).map(tuple)
    must_link = draw(st.lists(pair, max_size=5))
    component = {row: g for g in reference.components(n, must_link) for row in g}
    cannot_link = [
        (i, j) for i, j in draw(st.lists(pair, max_size=30)) if component[i] != component[j]
    ]
    n_clusters = draw(st.integers(1, len(set(component.values()))))
    return points(n, draw(st.integers(0, 10**6))), must_link, cannot_link, n_clusters


@pytest.mark.slow
@each_linkage
@given(problem=problems())
def test_groups_are_those_of_the_slow_twin(kind, problem):
    X, must_link, cannot_link, n_clusters = problem
    D = squareform(pdist(X))
    c = Constraints.from_pairs(must_link=must_link, cannot_link=cannot_link, n_samples=len(X))
    model, is_dead_end = fit(ConstrainedLinkage(n_clusters, linkage=kind), X, c)
    groups = as_groups(model.labels_)
    assert groups == reference.groups_after(D, kind, n_clusters, must_link, cannot_link)
    assert is_dead_end == (len(groups) > n_clusters)
    assert model.n_clusters_ == len(groups)
    assert all(model.labels_[i] == model.labels_[j] for i, j in must_link)
    assert all(model.labels_[i] != model.labels_[j] for i, j in cannot_link)
    assert model.n_violated_ == 0
    heights = [h for *_, h in reference.merges(D, kind, must_link, cannot_link)]
    n_within_components = len(X) - len(reference.components(len(X), must_link))
    np.testing.assert_allclose(model.distances_, [0.0] * n_within_components + heights, atol=1e-9)
    given_D, _ = fit(ConstrainedLinkage(n_clusters, linkage=kind, metric="precomputed"), D, c)
    np.testing.assert_array_equal(given_D.labels_, model.labels_)


@each_linkage
@given(
    n=st.integers(2, 40), n_answers=st.integers(0, 120), seed=st.integers(0, 10**6),
)  # fmt: skip
def test_no_answer_is_violated(kind, n, n_answers, seed):
    # Ties, equal rows, and answers about a partition that is independent of the features.
    random = np.random.default_rng(seed)
    X, truth = random.integers(0, 3, (n, 2)).astype(float), random.integers(0, 5, n)
    c = Constraints.from_labels(truth, min(n_answers, n * (n - 1) // 2), random_state=seed)
    n_clusters = min(3, c.closure().n_components)
    model, _ = fit(ConstrainedLinkage(n_clusters, linkage=kind), X, c)
    labels = model.labels_
    assert (labels[c.must_link[:, 0]] == labels[c.must_link[:, 1]]).all()
    assert (labels[c.cannot_link[:, 0]] != labels[c.cannot_link[:, 1]]).all()
    assert model.n_clusters_ == len(set(labels.tolist())) >= n_clusters
    assert len(model.children_) == len(model.distances_) >= n - model.n_clusters_
    assert (np.diff(model.distances_) >= 0).all()


@each_linkage
@pytest.mark.parametrize("n_clusters", [1, 4, 80])
def test_without_answers_the_tree_is_that_of_scipy(kind, n_clusters):
    Z = linkage(X, kind)
    model = ConstrainedLinkage(n_clusters, linkage=kind).fit(X)
    np.testing.assert_array_equal(model.children_, Z[:, :2])
    np.testing.assert_allclose(model.distances_, Z[:, 2], rtol=0, atol=1e-9)
    assert adjusted_rand_score(fcluster(Z, n_clusters, "maxclust"), model.labels_) == 1
    labels = list(dict.fromkeys(model.labels_.tolist()))
    assert labels == list(range(n_clusters))


@each_linkage
def test_attributes_are_those_of_scikit_learn(kind):
    peer = AgglomerativeClustering(3, linkage=kind, compute_distances=True).fit(X)
    model = ConstrainedLinkage(3, linkage=kind).fit(X)
    np.testing.assert_allclose(model.distances_, peer.distances_)
    assert {tuple(sorted(pair)) for pair in peer.children_.tolist()} == {
        tuple(pair) for pair in model.children_.tolist()
    }
    assert adjusted_rand_score(peer.labels_, model.labels_) == 1


@each_linkage
@pytest.mark.parametrize("threshold", [0.0, 1.0, 3.0, 1e9])
def test_a_distance_threshold_cuts_where_scikit_learn_does(kind, threshold):
    peer = AgglomerativeClustering(None, linkage=kind, distance_threshold=threshold).fit(X)
    model = ConstrainedLinkage(None, linkage=kind, distance_threshold=threshold).fit(X)
    assert model.n_clusters_ == peer.n_clusters_
    assert adjusted_rand_score(peer.labels_, model.labels_) == 1


def test_must_links_hold_below_any_threshold():
    c = Constraints.from_pairs(must_link=[(0, 1), (5, 9)], n_samples=80)
    model = ConstrainedLinkage(None, distance_threshold=0.0).fit(X, constraints=c)
    assert model.n_clusters_ == 78
    assert model.labels_[0] == model.labels_[1]
    assert model.labels_[5] == model.labels_[9]
    assert model.distances_[:2].tolist() == [0, 0]
    assert model.children_[:2].tolist() == [[0, 1], [5, 9]]


def test_a_dead_end_warns():
    c = Constraints.from_pairs(cannot_link=[(0, 1), (1, 2), (0, 2)], n_samples=4)
    with pytest.warns(DeadEndWarning, match=r"n_clusters=2\) ends with 3 groups") as caught:
        model = ConstrainedLinkage(2).fit(X[:4], constraints=c)
    assert caught[0].filename == __file__
    assert model.n_clusters_ == 3
    assert len(model.children_) == 1


def test_a_dead_end_beyond_the_wanted_groups_does_not_warn():
    c = Constraints.from_pairs(cannot_link=[(0, 1), (1, 2), (0, 2)], n_samples=4)
    assert ConstrainedLinkage(3).fit(X[:4], constraints=c).n_clusters_ == 3
    model = ConstrainedLinkage(None, distance_threshold=np.inf).fit(X[:4], constraints=c)
    assert model.n_clusters_ == 3


def test_more_groups_than_must_link_components_raise():
    c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], n_samples=4)
    with pytest.raises(InvalidConstraintsError, match=r"n_clusters=3.* only 2 groups"):
        ConstrainedLinkage(3).fit(X[:4], constraints=c)
    assert ConstrainedLinkage(2).fit(X[:4], constraints=c).labels_.tolist() == [0, 0, 0, 1]


def test_a_contradiction_is_raised_with_its_shortest_chain():
    c = Constraints.from_pairs(must_link=[(3, 5), (5, 9)], cannot_link=[(9, 3)], n_samples=80)
    with pytest.raises(InconsistentConstraintsError, match="3 = 5 = 9") as caught:
        ConstrainedLinkage(3).fit(X, constraints=c)
    assert caught.value.chain == (3, 5, 9)


def test_answers_of_weight_0_and_dont_knows_are_ignored():
    pairs, weights = [(0, 1, 1), (1, 2, 1), (0, 2, 0), (3, 4, -2)], [0.01, 1.0, 0.0, 1.0]
    c = Constraints(80, pairs=pairs, pair_weights=weights)
    hard = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], n_samples=80)
    model = ConstrainedLinkage(4).fit(X, constraints=c)
    np.testing.assert_array_equal(
        model.labels_, ConstrainedLinkage(4).fit(X, constraints=hard).labels_
    )
    assert model.n_violated_ == 0


@each_linkage
def test_order_of_rows_does_not_matter(kind):
    c = Constraints.from_labels(y, 60, random_state=0)
    order = np.random.default_rng(0).permutation(80)
    model, _ = fit(ConstrainedLinkage(4, linkage=kind), X, c)
    shuffled, _ = fit(ConstrainedLinkage(4, linkage=kind), X[order], c.subset(order))
    assert adjusted_rand_score(model.labels_[order], shuffled.labels_) == 1
    np.testing.assert_allclose(model.distances_, shuffled.distances_)


@each_linkage
@pytest.mark.parametrize("scale", [1e-250, 1e-160, 1e150, 1e300])
def test_units_do_not_matter(kind, scale):
    c = Constraints.from_labels(y, 60, random_state=0)
    model, _ = fit(ConstrainedLinkage(4, linkage=kind), X, c)
    with np.errstate(all="raise", under="ignore"):
        scaled, _ = fit(ConstrainedLinkage(4, linkage=kind), X * scale, c)
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    np.testing.assert_allclose(scaled.distances_ / scale, model.distances_)


def test_distances_may_differ_by_rounding():
    D = squareform(pdist(X))
    rounded = D * (1 + 1e-9 * np.random.default_rng(0).normal(size=D.shape))
    rounded.flags.writeable = False
    a, b = (ConstrainedLinkage(4, metric="precomputed").fit(d) for d in (D, rounded))
    np.testing.assert_allclose(a.distances_, b.distances_, rtol=1e-7)
    swapped = ConstrainedLinkage(4, metric="precomputed").fit(rounded.T)
    np.testing.assert_array_equal(b.distances_, swapped.distances_)


def test_given_distances_are_copied_block_by_block():
    D = squareform(pdist(points(600, 0)))
    condensed, scale = module.given_distances(D)
    np.testing.assert_array_equal(condensed * scale, squareform(D))


def test_ward_on_distances_that_are_not_euclidean_stays_finite():
    random = np.random.default_rng(0)
    D = squareform(random.uniform(0, 1, 30 * 29 // 2) ** 4)
    must_link = [(i, i + 5) for i in range(20)]
    c = Constraints.from_pairs(must_link=must_link, n_samples=30)
    model = ConstrainedLinkage(2, linkage="ward", metric="precomputed").fit(D, constraints=c)
    assert np.isfinite(model.distances_).all()
    assert (np.diff(model.distances_) >= 0).all()


D4 = np.ones((4, 4)) - np.eye(4)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        (np.ones((4, 3)), "square"),
        (-D4, "Negative values"),
        (np.triu(D4), "symmetric"),
        (np.eye(4), "diagonal of distances must be 0"),
    ],
)
def test_invalid_distances_raise(D, message):
    with pytest.raises(InvalidDataError, match=message):
        ConstrainedLinkage(2, metric="precomputed").fit(D)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": 0},
        {"n_clusters": 2.5},
        {"linkage": "centroid"},
        {"metric": "manhattan"},
        {"n_clusters": None, "distance_threshold": -1.0},
        {"n_clusters": 2, "distance_threshold": 1.0},
        {"n_clusters": None},
    ],
)
def test_parameters_outside_their_ranges_raise(parameters):
    *_, name = parameters
    with pytest.raises(InvalidParameterError, match=name):
        ConstrainedLinkage(**{"n_clusters": 2} | parameters).fit(X)


def test_more_groups_than_rows_raise():
    with pytest.raises(InvalidParameterError, match="only 80 rows"):
        ConstrainedLinkage(81).fit(X)


def test_too_many_rows_raise_before_distances_are_computed(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 79)
    monkeypatch.setattr(module, "measured_distances", None)
    with pytest.raises(TooLargeError, match="at most 79 rows"):
        ConstrainedLinkage(4).fit(X)


def test_triplets_raise():
    c = Constraints.from_triplets([(0, 1, 2)], [0], n_samples=80)
    with pytest.raises(UnsupportedConstraintError, match="triplets"):
        ConstrainedLinkage(4).fit(X, constraints=c)
