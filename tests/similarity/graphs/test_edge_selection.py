"""Selection of edges of a neighbor graph: dominant sets, and votes of neighborhoods."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from tests.reference import neighbors as reference

from clew import Constraints, _composition
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.exceptions import InvalidParameterError, UnsupportedConstraintError
from clew.metrics import adjusted_rand_score
from clew.similarity import COPRF, AdaptiveKNN, ConsensusKNN, DominantNeighbors

X, y = make_blobs(90, 4, centers=3, random_state=0)
BOTH = [DominantNeighbors, ConsensusKNN]
both = pytest.mark.parametrize("cls", BOTH)


def affinities(n, seed, density=1.0):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < density), 1)
    return A + A.T


def graph_of(model):
    return model.affinity_matrix_.toarray()


@given(
    n=st.integers(2, 14),
    k=st.integers(1, 15),
    threshold=st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
    seed=st.integers(0, 10**6),
    density=st.sampled_from([0.2, 0.6, 1.0]),
)
def test_consensus_counts_votes_as_its_twin_does(n, k, threshold, seed, density):
    A = affinities(n, seed, density)
    model = ConsensusKNN("precomputed", n_neighbors=k, threshold=threshold).fit(A)
    expected = reference.consensus(A, min(k, n - 1), threshold)
    np.testing.assert_array_equal(graph_of(model), expected)


def test_no_threshold_keeps_all_edges():
    A = affinities(30, 0)
    graph = graph_of(ConsensusKNN("precomputed", n_neighbors=4, threshold=0).fit(A))
    np.testing.assert_array_equal(graph, reference.linked(A, reference.neighbor_lists(A, 4)))


def test_consensus_removes_an_edge_between_groups():
    A = np.kron(np.eye(2), np.full((6, 6), 0.5)) - np.eye(12) * 0.5
    A[0, 6] = A[6, 0] = 0.9
    graph = graph_of(ConsensusKNN("precomputed", n_neighbors=5, threshold=0.5).fit(A))
    assert graph[0, 6] == 0
    assert (graph[:6, :6].sum(axis=1) > 0).all()


@pytest.mark.parametrize("threshold", [0.5, 1.0])
def test_no_row_loses_its_last_neighbor(threshold):
    graph = graph_of(ConsensusKNN(n_neighbors=6, threshold=threshold).fit(X))
    assert (graph > 0).any(axis=1).all()


def test_dominant_neighbors_are_similar_to_each_other():
    # Rows 0 and 5 are near to each other, but each has four others that are alike.
    group = np.full((5, 5), 0.9)
    group[0] = group[:, 0] = 0.5
    A = np.kron(np.eye(2), group) * (1 - np.eye(10))
    A[0, 5] = A[5, 0] = 0.4
    graph = graph_of(DominantNeighbors("precomputed", n_neighbors=5).fit(A))
    assert graph[0, 5] == 0
    assert (graph[0, 1:5] == 0.5).all()
    # As near, but alike to the others of row 0 as well.
    A[5, 1:5] = A[1:5, 5] = 0.9
    assert graph_of(DominantNeighbors("precomputed", n_neighbors=6).fit(A))[0, 5] == 0.4


@pytest.mark.slow
def test_an_edge_stays_if_either_row_keeps_it():
    A = affinities(20, 1)
    model = DominantNeighbors("precomputed", n_neighbors=8).fit(A)
    lists = reference.neighbor_lists(A, 8)
    graph = reference.linked(A, lists)
    one_way = []
    for i, listed in enumerate(lists):
        nodes = [i, *listed]
        B, _ = reference.with_penalty(graph[np.ix_(nodes, nodes)], 1e-3)
        share = reference.replicator_dynamics(B, 10_000)
        one_way.append([j for j, s in zip(listed, share[1:], strict=True) if s > 1e-3])
    expected, found = reference.linked(A, one_way), graph_of(model)
    assert (found[expected > 0] == expected[expected > 0]).all()
    assert ((found > 0) != (expected > 0)).mean() < 0.02


@both
def test_the_graph_is_sparse_symmetric_and_holds_affinities_of_the_base(cls):
    model = cls(n_neighbors=10).fit(X)
    graph = model.affinity_matrix_
    assert issparse(graph)
    assert graph.format == "csr"
    assert graph.dtype == np.float64
    assert model.n_features_in_ == 4
    dense = graph.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    assert not dense.diagonal().any()
    base = AdaptiveKNN().fit(X).affinity_matrix_
    np.testing.assert_array_equal(dense[dense > 0], base[dense > 0])
    assert graph.nnz < 90 * 20


@both
def test_the_order_of_rows_does_not_matter(cls):
    order = np.random.default_rng(0).permutation(len(X))
    plain, mixed = graph_of(cls().fit(X)), graph_of(cls().fit(X[order]))
    np.testing.assert_allclose(mixed, plain[np.ix_(order, order)], atol=1e-5)


@both
def test_the_unit_of_affinities_does_not_matter(cls):
    A = affinities(30, 2)
    plain = graph_of(cls("precomputed", n_neighbors=6).fit(A))
    for factor in (2.0**-300, 2.0**300):
        scaled = graph_of(cls("precomputed", n_neighbors=6).fit(A * factor))
        np.testing.assert_array_equal(scaled, plain * factor)


@both
def test_dense_and_sparse_affinities_give_one_graph(cls):
    A = affinities(40, 3, density=0.5)
    dense, sparse = (cls("precomputed", n_neighbors=6).fit(form) for form in (A, csr_array(A)))
    np.testing.assert_array_equal(graph_of(dense), graph_of(sparse))


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3])
def test_an_edge_without_votes_is_not_lost(k, monkeypatch):
    # Where lists are made without the dense matrix, an edge may be in the list of neither row.
    monkeypatch.setattr(_composition, "ALL_PAIRS_ROWS", 50)
    rows = np.random.default_rng(0).normal(size=(2000, 8)) ** 3
    full = ConsensusKNN(n_neighbors=k, threshold=0).fit(rows).affinity_matrix_
    plain = _composition.graph_of(AdaptiveKNN().fit(rows), len(rows), k)
    assert (full != plain).nnz == 0
    some = ConsensusKNN(n_neighbors=k, threshold=0.6).fit(rows).affinity_matrix_
    assert 0 < some.nnz < full.nnz


@both
def test_many_rows_never_make_a_dense_matrix(cls, monkeypatch):
    monkeypatch.setattr(_composition, "ALL_PAIRS_ROWS", 50)
    model = cls(n_neighbors=8).fit(X)
    assert "affinity_matrix_" not in vars(model.similarity_)
    few = cls(AdaptiveKNN(), n_neighbors=8).fit(X[:50])
    assert "affinity_matrix_" in vars(few.similarity_)
    assert np.isfinite(model.affinity_matrix_.data).all()


@both
@pytest.mark.parametrize(("n_neighbors", "k"), [(7, 7), ("paper", 9), ("auto", 9), (500, 89)])
def test_number_of_neighbors(cls, n_neighbors, k):
    found = cls(n_neighbors=n_neighbors).fit(X).affinity_matrix_
    assert (found != cls(n_neighbors=k).fit(X).affinity_matrix_).nnz == 0


@both
def test_fewer_neighbors_than_asked_for(cls):
    model = cls(n_neighbors=10).fit(X)
    few = model.kneighbors_graph(3)
    assert few.nnz < model.affinity_matrix_.nnz
    np.testing.assert_array_equal(
        few.max(axis=1).toarray(), model.affinity_matrix_.max(axis=1).toarray()
    )
    with pytest.raises(InvalidParameterError, match=r"\[1, 89\]"):
        model.kneighbors_graph(90)


@both
def test_clustering_uses_the_graph_as_it_is(cls):
    model = SimilarityClustering(cls(), SpectralClustering(3), random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert (model.clusterer_.graph_ != model.similarity_.affinity_matrix_).nnz == 0


@both
def test_answers_go_to_the_base_similarity(cls):
    c = Constraints.from_labels(y, 40, random_state=0)
    forest = COPRF(n_trees=10)
    model = cls(forest, random_state=0).fit(X, constraints=c)
    assert (model.affinity_matrix_ != cls(forest, random_state=0).fit(X).affinity_matrix_).nnz
    again = clone(model).fit(X, constraints=c)
    assert (model.affinity_matrix_ != again.affinity_matrix_).nnz == 0
    with pytest.raises(UnsupportedConstraintError, match=cls.__name__):
        cls().fit(X, constraints=c)


@both
def test_coincident_rows(cls):
    copies = np.repeat(X[:3], 12, axis=0)
    graph = graph_of(cls(n_neighbors=5).fit(copies))
    assert np.isfinite(graph).all()
    assert (graph.max(axis=1) == 1).all()


@both
def test_a_graph_without_edges(cls):
    model = cls("precomputed", n_neighbors=2).fit(np.eye(4))
    assert model.affinity_matrix_.nnz == 0
    assert model.affinity_matrix_.shape == (4, 4)


@both
@pytest.mark.parametrize("wrong", [0, 2.5, "many", None])
def test_numbers_of_neighbors_that_are_refused(cls, wrong):
    with pytest.raises(InvalidParameterError, match="n_neighbors"):
        cls(n_neighbors=wrong).fit(X)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, None])
def test_thresholds_that_are_refused(wrong):
    with pytest.raises(InvalidParameterError, match="threshold"):
        ConsensusKNN(threshold=wrong).fit(X)


def test_too_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        DominantNeighbors(max_iter=1).fit(X)
