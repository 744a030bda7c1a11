"""COPKMeans violates no answer, and raises with a reason if no assignment exists."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from tests.reference import closure as reference_closure, coloring as reference

from clew import Constraints
from clew.cluster import COPKMeans, MPCKMeans, PCKMeans
from clew.cluster.kmeans import cop_kmeans
from clew.cluster.kmeans.cop_kmeans import CannotLinkGraph, sufficient_n_groups
from clew.exceptions import (
    FewerGroupsWarning,
    InconsistentConstraintsError,
    InfeasibleConstraintsError,
    InvalidConstraintsError,
    InvalidDataError,
)
from clew.metrics import n_violated

IRIS, SPECIES = load_iris(return_X_y=True)


def pairs_of(n):
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    return st.lists(pair.filter(lambda p: p[0] < p[1]), max_size=2 * n)


@st.composite
def problems(draw, most=8):
    """Rows, must-links, cannot-links and a number of groups."""
    n = draw(st.integers(2, most))
    must, cannot = draw(pairs_of(n).map(lambda pairs: pairs[:3])), draw(pairs_of(n))
    X = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, 2))
    return X, must, cannot, draw(st.integers(1, min(n, 3)))


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_raises_if_and_only_if_no_assignment_exists(problem):
    X, must, cannot, k = problem
    c = Constraints.from_pairs(must_link=must, cannot_link=cannot, n_samples=len(X))
    component = reference_closure.component_labels(len(X), must)
    valid = [
        colors
        for colors in reference.colorings(len(X), cannot, k)
        if all(colors[i] == colors[j] for i, j in must)
    ]
    for metric, data in (("euclidean", X), ("precomputed", pairwise_distances(X))):
        model = COPKMeans(k, metric=metric, n_init=2, random_state=0)
        if valid and len(set(component)) >= k:
            model.fit(data, constraints=c)
            assert n_violated(model.labels_, c) == model.n_violated_ == 0
            continue
        with pytest.raises(InvalidConstraintsError) as caught:
            model.fit(data, constraints=c)
        kind = InfeasibleConstraintsError
        if any(component[i] == component[j] for i, j in cannot):
            kind = InconsistentConstraintsError
        elif len(set(component)) < k:
            kind = InvalidConstraintsError
        assert type(caught.value) is kind


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(most=30), st.sampled_from(["auto", "paper"]))
def test_labels_violate_no_answer(problem, algorithm):
    X, must, cannot, _ = problem
    c = Constraints.from_pairs(must_link=must, cannot_link=cannot, n_samples=len(X))
    model = COPKMeans(min(5, len(X)), algorithm=algorithm, n_init=2, random_state=0)
    try:
        model.fit(X, constraints=c)
    except InvalidConstraintsError:
        return
    assert n_violated(model.labels_, c) == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_pairs", [60, 200, 1000])
def test_right_answers_are_kept_on_a_dense_core(n_pairs, seed):
    c = Constraints.from_labels(SPECIES, n_pairs, random_state=seed)
    c = c.select(pairs=c.is_cannot_link)  # without must-links the graph is hardest
    model = COPKMeans(3, n_init=3, random_state=seed).fit(IRIS, constraints=c)
    assert n_violated(model.labels_, c) == 0
    assert adjusted_rand_score(SPECIES, model.labels_) > 0.65


def test_a_clique_is_named():
    clique = (3, 7, 50, 99)
    c = Constraints.from_pairs(cannot_link=list(combinations(clique, 2)), n_samples=150)
    with pytest.raises(InfeasibleConstraintsError, match=r"rows 3, 7, 50, 99 .* n_clusters=4 would"
    ) as caught:  # fmt: skip
        COPKMeans(3).fit(IRIS, constraints=c)
    assert caught.value.rows == clique
    assert COPKMeans(4, random_state=0).fit(IRIS, constraints=c).n_violated_ == 0


def test_a_clique_of_components_is_named_by_their_first_rows():
    must, cannot = [(0, 100), (1, 101)], [(100, 101), (101, 50), (0, 50)]
    c = Constraints.from_pairs(must_link=must, cannot_link=cannot, n_samples=150)
    with pytest.raises(InfeasibleConstraintsError, match=r"rows 0, 1, 50 .* must-links") as caught:
        COPKMeans(2).fit(IRIS, constraints=c)
    assert caught.value.rows == (0, 1, 50)


def test_an_odd_ring_is_infeasible_for_two_groups_without_a_clique():
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    c = Constraints.from_pairs(cannot_link=ring, n_samples=150)
    message = r"these 5 rows cannot all hold: 0, 1, 2, 3, 4"
    with pytest.raises(InfeasibleConstraintsError, match=message) as caught:
        COPKMeans(2).fit(IRIS, constraints=c)
    assert "n_clusters=3 would be enough" in str(caught.value)
    assert COPKMeans(3, random_state=0).fit(IRIS, constraints=c).n_violated_ == 0


def test_a_search_that_gives_up_does_not_claim_infeasibility(monkeypatch):
    monkeypatch.setattr(cop_kmeans, "MAX_STEPS", 1)
    monkeypatch.setattr(cop_kmeans, "MAX_REPAIRS", 0)
    # Grötzsch's graph: four colors, and no triangle.
    ring = [(i, (i + 1) % 5) for i in range(5)]
    around = [(5 + a, b) for i, j in ring for a, b in ((i, j), (j, i))]
    hub = [(5 + i, 10) for i in range(5)]
    c = Constraints.from_pairs(cannot_link=ring + around + hub, n_samples=150)
    with pytest.raises(InfeasibleConstraintsError, match=r"was found within .* there may be one"):
        COPKMeans(3, n_init=2, random_state=0).fit(IRIS, constraints=c)
    assert COPKMeans(4, random_state=0).fit(IRIS, constraints=c).n_violated_ == 0


def test_a_graph_too_dense_to_search_is_repaired(monkeypatch):
    X, y = make_blobs(60, 2, centers=3, cluster_std=2.0, random_state=0)
    apart = [(i, j) for i, j in combinations(range(60), 2) if y[i] != y[j]]
    c = Constraints.from_pairs(cannot_link=apart, n_samples=60)
    monkeypatch.setattr(cop_kmeans, "color_connected", lambda *_: (-1, 0))
    model = COPKMeans(3, n_init=3, random_state=0).fit(X, constraints=c)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_search_avoids_a_dead_end_of_the_row_order():
    # Row 2 has cannot-links to rows 0 and 1, which are assigned to different groups before it.
    X = np.array([[0.0], [10.0], [0.0], [0.1], [9.9]])
    c = Constraints.from_pairs(cannot_link=[(0, 2), (1, 2)], n_samples=5)
    assert COPKMeans(2, random_state=0).fit(X, constraints=c).n_violated_ == 0
    with pytest.raises(InfeasibleConstraintsError, match=r'in row order .* algorithm="auto" finds'):
        COPKMeans(2, algorithm="paper", random_state=0).fit(X, constraints=c)


def test_a_contradiction_is_raised_with_its_shortest_chain():
    c = Constraints.from_pairs(
        must_link=[(0, 1), (1, 2), (2, 3), (0, 5), (5, 3)], cannot_link=[(0, 3)], n_samples=150
    )
    with pytest.raises(InconsistentConstraintsError, match="0 = 5 = 3") as caught:
        COPKMeans(3).fit(IRIS, constraints=c)
    assert caught.value.chain == (0, 5, 3)


def test_answers_of_positive_weight_are_kept_and_of_weight_0_ignored():
    c = Constraints.from_pairs(must_link=[(0, 149)], cannot_link=[(0, 1), (0, 149)], n_samples=150)
    model = COPKMeans(3, random_state=0)
    light = c.with_weights(pair_weights=[1e-9, 1e-9, 0]).select(pairs=[0, 1])
    labels = model.fit(IRIS, constraints=light).labels_
    assert labels[0] == labels[149] != labels[1]
    nothing = model.fit(IRIS, constraints=c.with_weights(pair_weights=[0, 0, 0]))
    np.testing.assert_array_equal(nothing.labels_, model.fit(IRIS).labels_)
    assert model.n_violated_ == 0


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_without_answers_inertia_is_that_of_k_means(load):
    X, y = load(return_X_y=True)
    k = len(set(y))
    model = COPKMeans(k, random_state=0).fit(X)
    assert model.inertia_ < 1.02 * KMeans(k, n_init=10, random_state=0).fit(X).inertia_
    centers = np.array([X[model.labels_ == group].mean(axis=0) for group in range(k)])
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-9)
    assert model.inertia_ == pytest.approx(((X - centers[model.labels_]) ** 2).sum())


def test_search_has_no_more_inertia_than_the_row_order():
    c = Constraints.from_labels(SPECIES, 40, random_state=0)
    auto, paper = (
        COPKMeans(3, algorithm=algorithm, random_state=0).fit(IRIS, constraints=c)
        for algorithm in ("auto", "paper")
    )
    assert auto.inertia_ <= paper.inertia_


def test_no_iteration_raises_the_inertia():
    c = Constraints.from_labels(SPECIES, 150, random_state=1)
    inertia = [
        COPKMeans(3, n_init=1, max_iter=n, random_state=3).fit(IRIS, constraints=c).inertia_
        for n in range(1, 12)
    ]
    assert (np.diff(inertia) <= 1e-9).all()


def test_order_of_rows_does_not_matter():
    X, y = make_blobs(80, 2, centers=4, cluster_std=0.3, random_state=2)
    c = Constraints.from_labels(y, 50, random_state=0)
    order = np.random.default_rng(0).permutation(80)
    labels = COPKMeans(4, random_state=0).fit(X, constraints=c).labels_
    moved = COPKMeans(4, random_state=0).fit(X[order], constraints=c.subset(order)).labels_
    assert adjusted_rand_score(labels[order], moved) == 1


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.parametrize("algorithm", ["auto", "paper"])
def test_same_seed_gives_the_same_labels(metric, algorithm):
    X = IRIS if metric == "euclidean" else pairwise_distances(IRIS)
    c = Constraints.from_labels(SPECIES, 20, random_state=0)
    model = COPKMeans(3, metric=metric, algorithm=algorithm, random_state=5)
    first = model.fit(X, constraints=c).labels_.copy()
    np.testing.assert_array_equal(model.fit(X, constraints=c).labels_, first)
    model.set_params(random_state=np.random.RandomState(5))
    np.testing.assert_array_equal(model.fit(X, constraints=c).labels_, first)


def test_medoids_have_the_lowest_sum_of_distances_in_their_group():
    D = pairwise_distances(IRIS)
    c = Constraints.from_labels(SPECIES, 100, random_state=0)
    model = COPKMeans(3, metric="precomputed", random_state=0).fit(D, constraints=c)
    assert n_violated(model.labels_, c) == 0
    for group, medoid in enumerate(model.medoid_indices_):
        rows = np.flatnonzero(model.labels_ == group)
        assert medoid == rows[D[np.ix_(rows, rows)].sum(axis=0).argmin()]
    own = D[np.arange(150), model.medoid_indices_[model.labels_]]
    assert model.inertia_ == pytest.approx(own.sum())
    assert not hasattr(model, "cluster_centers_")


def test_predict_returns_the_nearest_center():
    model = COPKMeans(3, random_state=0).fit(IRIS[::2])
    np.testing.assert_array_equal(model.predict(IRIS[::2]), model.labels_)
    squared = ((IRIS[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(IRIS), squared.argmin(axis=1))
    D = pairwise_distances(IRIS)
    model = COPKMeans(3, metric="precomputed", random_state=0).fit(D[::2, ::2])
    nearest = D[:, np.arange(0, 150, 2)[model.medoid_indices_]].argmin(axis=1)
    np.testing.assert_array_equal(model.predict(D[:, ::2]), nearest)


def test_fewer_different_rows_than_groups_warn():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 4, axis=0)
    for data, metric in ((X, "euclidean"), (pairwise_distances(X), "precomputed")):
        model = COPKMeans(3, metric=metric, random_state=0)
        with pytest.warns(FewerGroupsWarning, match=r"ends with 2 groups: .* only 2 different"):
            model.fit(data)
        assert adjusted_rand_score(np.repeat([0, 1], 4), model.labels_) == 1
        apart = Constraints.from_pairs(cannot_link=[(0, 1), (1, 2), (0, 2)], n_samples=8)
        labels = model.fit(data, constraints=apart).labels_
        assert len(set(labels[:3])) == 3


def test_fewer_components_than_groups_raise():
    c = Constraints.from_pairs(must_link=[(i, i + 1) for i in range(148)], n_samples=150)
    with pytest.raises(InvalidConstraintsError, match=r"COPKMeans\(n_clusters=5\): .* 2 groups;"):
        COPKMeans(5, random_state=0).fit(IRIS, constraints=c)
    assert COPKMeans(2, random_state=0).fit(IRIS, constraints=c).cluster_centers_.shape == (2, 4)


def test_a_refit_removes_attributes_of_the_other_metric():
    model = COPKMeans(3, random_state=0).fit(IRIS)
    model.set_params(metric="precomputed").fit(pairwise_distances(IRIS))
    assert not hasattr(model, "cluster_centers_")
    model.set_params(metric="euclidean").fit(IRIS)
    assert not hasattr(model, "medoid_indices_")


def test_an_interrupted_fit_keeps_the_previous_attributes():
    model = COPKMeans(3, random_state=0).fit(IRIS)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}

    def stop(done, n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(metric="precomputed").fit(pairwise_distances(IRIS), callback=stop)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    np.testing.assert_equal(after, before)


@pytest.mark.parametrize("method", [COPKMeans, PCKMeans, MPCKMeans])
def test_the_callback_is_called_after_each_start(method):
    calls = []
    method(3, n_init=3).fit(IRIS, callback=lambda done, n: calls.append((done, n)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def hub_and_ring(n):
    """Edges of a ring of n - 1 nodes, an odd number, and of a hub joined to all of them."""
    ring = [(i, (i + 1) % (n - 1)) for i in range(n - 1)]
    return ring + [(i, n - 1) for i in range(n - 1)]


def test_a_hub_of_cannot_links_needs_little_memory():
    n = 2000
    c = Constraints.from_pairs(cannot_link=hub_and_ring(n), n_samples=n)
    X = np.random.default_rng(0).normal(size=(n, 2))
    graph = CannotLinkGraph(c.closure(), 3)
    tracemalloc.start()
    assert sufficient_n_groups(graph.core_parts, graph.indptr, graph.indices) == 4
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100 * 8 * n
    with pytest.raises(InfeasibleConstraintsError, match="n_clusters=4 would be enough"):
        COPKMeans(3, n_init=1).fit(X, constraints=c)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(2, 30).flatmap(pairs_of), st.integers(1, 4))
def test_the_advised_number_of_groups_is_sufficient(pairs, k):
    n = 31
    c = Constraints.from_pairs(cannot_link=pairs, n_samples=n)
    graph = CannotLinkGraph(c.closure(), k)
    enough = sufficient_n_groups(graph.core_parts, graph.indptr, graph.indices)
    assert (enough > 1) == (len(graph.core_parts) > 0)
    X = np.random.default_rng(0).normal(size=(n, 2))
    k = max(enough, k)
    assert COPKMeans(k, n_init=1, random_state=0).fit(X, constraints=c).n_violated_ == 0


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (np.ones((4, 3)), "square"),
        (np.array([[0.0, -1], [-1, 0]]), "Negative"),
        (np.array([[0.0, 1], [2, 0]]), "symmetric"),
    ],
)
def test_invalid_distances_raise(wrong, match):
    with pytest.raises(InvalidDataError, match=match):
        COPKMeans(2, metric="precomputed").fit(wrong)
