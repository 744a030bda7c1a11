"""Neighbor graphs with equal or missing affinities, and with rows that coincide."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array, csr_matrix, issparse
from scipy.spatial.distance import cdist

from clew.cluster import SpectralClustering
from clew.graphs import (
    LocalScales,
    coincide,
    local_gaussian,
    local_scale_graph,
    local_scales,
    nearest_graph,
)
from clew.similarity import SKLR
from clew.similarity.coprf import LocalGaussian
from clew.similarity.kernels.feature_maps import AdaptiveGaussian

FAR = [1e6, 1e8]


@st.composite
def affinities(draw):
    """Few values, so that most rows have ties; zeros, so that some rows have few neighbors."""
    n = draw(st.integers(2, 12))
    A = draw(hnp.arrays(np.float64, (n, n), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])))
    return np.maximum(A, A.T)


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_local_scale_is_the_seventh_other_distance():
    X = np.random.default_rng(1).normal(size=(40, 3))
    expected = np.sort(cdist(X, X), axis=1)[:, 7]
    np.testing.assert_allclose(LocalScales(X).of(X), expected)
    mean = LocalScales(X, 5, uses_mean=True).of(X)
    np.testing.assert_allclose(mean, np.sort(cdist(X, X), axis=1)[:, 1:6].mean(axis=1))


def test_copies_of_a_row_are_neighbors_of_other_rows_only():
    X = np.array([[0.0]] * 9 + [[1.0]] * 5 + [[3.0]] * 4)
    # The scale is the distance to the seventh nearest row that is not a copy. For a row at 0 that
    # is a row at 3, after five rows at 1; for 1, one of the nine rows at 0; for 3, a row at 0.
    np.testing.assert_array_equal(LocalScales(X).of(X), np.repeat([3.0, 1.0, 3.0], [9, 5, 4]))


@pytest.mark.parametrize("n_others", [1, 3, 6])
def test_with_fewer_than_seven_others_the_scale_is_the_largest_distance(n_others):
    distance = np.arange(1.0, n_others + 1)[None, :]
    assert local_scales(distance, distance > 0)[0] == n_others


def test_rows_that_all_coincide_have_scale_one_and_affinity_one():
    X = np.full((12, 2), 0.3)
    np.testing.assert_array_equal(LocalScales(X).of(X), 1.0)
    np.testing.assert_allclose(LocalGaussian(X).affinity(X), 1.0)
    np.testing.assert_allclose(local_scale_graph(X, 3).data, 1.0)


def test_rounding_is_measured_by_the_lengths_of_rows():
    for length in (1e-12, 1.0, 1e12):
        rounding = (4 * np.finfo(float).eps) * length
        assert coincide(np.array([rounding]), np.array([length]), np.array([length])).all()
        assert not coincide(np.array([1e-9 * length]), np.array([length]), np.array([length])).any()


@pytest.mark.slow
def test_gaussian_affinity_against_the_formula():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(2500, 3)), rng.normal(size=(20, 3))
    scale, scale_of_new = (np.sort(cdist(Z, X), axis=1) for Z in (X, Y))
    squared = cdist(Y, X, "sqeuclidean")
    expected = np.exp(-squared / (scale_of_new[:, [6]] * scale[:, 7]))
    np.testing.assert_allclose(LocalGaussian(X).affinity(Y), expected, rtol=1e-4, atol=1e-6)


def test_affinity_of_fitted_rows_is_symmetric_with_ones_on_the_diagonal():
    X = np.random.default_rng(3).normal(size=(60, 5))
    X[10] = X[20]
    A = LocalGaussian(X).affinity(X)
    np.testing.assert_allclose(A, A.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(A), 1, atol=1e-6)
    assert A[10, 20] == pytest.approx(1)


def test_tiny_scales_give_affinity_0_without_overflow():
    tiny = np.full(2, 1e-200)
    assert local_gaussian(np.full(2, 1e200), tiny, tiny).tolist() == [0, 0]


@pytest.mark.parametrize("far", FAR)
def test_one_far_row_changes_no_affinity_of_the_others(far):
    X = np.random.default_rng(0).normal(size=(150, 2))
    with_far = np.vstack([X, [[far, 0.0]]])
    near = LocalGaussian(with_far).affinity(with_far)[:150, :150]
    np.testing.assert_allclose(near, LocalGaussian(X).affinity(X), atol=1e-3)
    graph = local_scale_graph(with_far, 5).toarray()[:150, :150]
    alone = local_scale_graph(X, 5).toarray()
    np.testing.assert_allclose(graph, alone, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("far", FAR)
def test_the_adaptive_kernel_keeps_its_rank_despite_one_far_row(far):
    X = np.random.default_rng(0).normal(size=(150, 4))
    with_far = np.vstack([X, [[far, 0.0, 0.0, 0.0]]])
    alone = AdaptiveGaussian().fit(X).transform(X)
    features = AdaptiveGaussian().fit(with_far).transform(with_far)
    # The far row adds a feature of its own; the other rows need about as many as without it.
    assert abs(features.shape[1] - alone.shape[1]) <= 3
    kernel = features[:150] @ features[:150].T
    np.testing.assert_allclose(kernel, alone @ alone.T, atol=0.05)
    assert SKLR(random_state=0).fit(with_far).rank_ == features.shape[1]
