"""Neighbor graphs with equal or missing affinities, and with rows that coincide."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array, csr_matrix, issparse

from clew.cluster import SpectralClustering
from clew.graphs import local_scale_graph, nearest_graph


@st.composite
def affinities(draw):
    """Few values, so that most rows have ties; zeros, so that some rows have few neighbors."""
    n = draw(st.integers(2, 12))
    A = draw(hnp.arrays(np.float64, (n, n), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])))
    return np.maximum(A, A.T)


@given(A=affinities(), k=st.integers(1, 14))
def test_the_first_of_equal_affinities_are_kept_dense_or_sparse(A, k):
    one_way = np.zeros_like(A)
    for i, row in enumerate(A):
        others = [j for j in range(len(A)) if j != i]
        for j in sorted(others, key=lambda j, row=row: (-row[j], j))[:k]:
            one_way[i, j] = row[j]
    expected = np.maximum(one_way, one_way.T)
    for form in (A, csr_array(A), csr_matrix(A)):
        graph = nearest_graph(form, k)
        np.testing.assert_array_equal(graph.toarray(), expected)
        assert (graph.data > 0).all()


def test_dense_affinities_in_several_blocks_have_the_graph_of_sparse_ones():
    A = np.random.default_rng(0).integers(0, 5, (1500, 1500)) / 5
    A = np.maximum(A, A.T)
    assert (nearest_graph(A, 9) != nearest_graph(csr_array(A), 9)).nnz == 0


def test_graphs_do_not_change_their_input():
    A = np.random.default_rng(0).uniform(size=(30, 30))
    sparse = csr_array(A)
    nearest_graph(A, 3)
    nearest_graph(sparse, 3)
    np.testing.assert_array_equal(sparse.toarray(), A)
    assert np.diag(A).all()


def test_more_coincident_rows_than_neighbors():
    X = np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 1e9]], 12, axis=0)
    graph = local_scale_graph(X, 5).toarray()
    assert np.isfinite(graph).all()
    np.testing.assert_array_equal(graph, graph.T)
    group = np.repeat(np.arange(3), 12)
    assert not graph[group[:, None] != group].any()
    assert (graph.max(axis=1) == 1).all()


@pytest.mark.parametrize("far", [1.0, 50.0, 1e150])
def test_coincident_rows_among_others(far):
    X = np.repeat([0.0, far, 2 * far, 3 * far], [9, 8, 1, 1])[:, None]
    graph = local_scale_graph(X, 11).toarray()
    assert np.isfinite(graph).all()
    assert (graph[:9, :9] + np.eye(9) == 1).all()
    assert (graph[:9, 9:17] < 0.9).all()


@pytest.mark.parametrize("n", [2, 3, 6])
def test_few_rows(n):
    graph = local_scale_graph(np.arange(float(n))[:, None], 20)
    assert issparse(graph)
    assert graph.nnz == n * (n - 1)


def test_isolated_rows_are_given_some_group():
    A = np.zeros((400, 400))
    A[:150, :150] = A[150:390, 150:390] = 1.0
    labels = SpectralClustering(2, n_neighbors="paper", random_state=0).fit(csr_array(A)).labels_
    assert len(set(labels[:150])) == len(set(labels[150:390])) == 1
    assert labels[0] != labels[200]
    assert set(labels) == {0, 1}


def test_an_affinity_of_zeros_has_no_groups_and_no_crash():
    A = np.zeros((10, 10))
    model = SpectralClustering(1, random_state=0).fit(A)
    assert (model.labels_ == 0).all()
    assert model.graph_.nnz == 0


@pytest.mark.parametrize("k", [2, 8, 20, 50])
def test_many_blocks_of_equal_ties_are_found_exactly(k):
    truth = np.repeat(np.arange(k), 16)
    A = (truth[:, None] == truth).astype(float)
    for form in (A, csr_array(A)):
        labels = SpectralClustering(k, n_neighbors=6, random_state=0).fit(form).labels_
        assert len({*zip(truth.tolist(), labels.tolist(), strict=True)}) == k
        assert len(np.unique(labels)) == k
