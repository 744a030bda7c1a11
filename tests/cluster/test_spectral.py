"""Spectral clustering on sparse graphs, and how the graphs are made."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from clew.cluster import SpectralClustering
from clew.cluster.spectral import spectral_embedding
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.graphs import local_scale_graph, nearest_graph, resolved_n_neighbors


def blocks(sizes: list[int], seed: int = 0) -> np.ndarray:
    """Affinities of groups that have nothing in common."""
    rng = np.random.default_rng(seed)
    parts = []
    for size in sizes:
        part = rng.uniform(0.5, 1.0, (size, size))
        parts.append((part + part.T) / 2)
    return block_diag(*parts)


@pytest.mark.parametrize("sizes", [[30, 20, 25], [200, 150, 180, 70], [8, 9]])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_unconnected_groups_are_found_exactly(sizes: list[int], form: type) -> None:
    truth = np.repeat(np.arange(len(sizes)), sizes)
    model = SpectralClustering(len(sizes), random_state=0).fit(form(blocks(sizes)))
    assert adjusted_rand_score(truth, model.labels_) == 1.0


def test_dense_and_sparse_affinities_give_the_same_graph_and_groups() -> None:
    rng = np.random.default_rng(1)
    A = rng.uniform(size=(80, 80))
    A = (A + A.T) / 2
    for k in (1, 5, 30, 79, 200):
        dense, sparse = nearest_graph(A, k), nearest_graph(csr_array(A), k)
        np.testing.assert_array_equal(dense.toarray(), sparse.toarray())
    labels = [SpectralClustering(3, random_state=0).fit(form).labels_ for form in (A, csr_array(A))]
    np.testing.assert_array_equal(*labels)


def test_nearest_graph_against_the_definition() -> None:
    rng = np.random.default_rng(2)
    A = rng.uniform(size=(40, 40))
    A = (A + A.T) / 2
    B = A.copy()
    np.fill_diagonal(B, -1)
    keep = np.argsort(-B, axis=1)[:, :6]
    one_way = np.zeros_like(A)
    np.put_along_axis(one_way, keep, np.take_along_axis(A, keep, axis=1), axis=1)
    np.testing.assert_array_equal(nearest_graph(A, 6).toarray(), np.maximum(one_way, one_way.T))


def test_local_scale_graph_against_the_definition() -> None:
    X, _ = make_blobs(60, 3, random_state=0)
    graph = local_scale_graph(X, 10).toarray()
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    scale = np.sort(D, axis=1)[:, 7]
    full = np.exp(-(D**2) / (scale[:, None] * scale))
    np.fill_diagonal(D, np.inf)
    near = np.sort(D, axis=1)[:, [9]] >= D
    np.testing.assert_allclose(graph, np.where(near | near.T, full, 0), atol=1e-12)


def test_embedding_spans_the_leading_eigenvectors() -> None:
    A = nearest_graph(np.random.default_rng(3).uniform(size=(400, 400)), 15)
    degree = A.sum(axis=1)
    normalized = A.toarray() / np.sqrt(degree[:, None] * degree)
    vectors = np.linalg.eigh(normalized)[1][:, -4:]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ours = spectral_embedding(A, 4, seed=0)
    np.testing.assert_allclose(ours @ ours.T, vectors @ vectors.T, atol=1e-6)


def test_features_with_groups_that_are_not_round() -> None:
    X, y = make_moons(400, noise=0.05, random_state=0)
    model = SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_isolated_rows_are_accepted() -> None:
    A = blocks([30, 30])
    A[5, :] = A[:, 5] = 0.0
    labels = SpectralClustering(2, random_state=0).fit(A).labels_
    truth = np.repeat([0, 1], 30)
    others = np.arange(60) != 5
    assert adjusted_rand_score(truth[others], labels[others]) == 1.0


def test_number_of_neighbors() -> None:
    assert [resolved_n_neighbors("paper", n) for n in (20, 210, 1797)] == [2, 21, 180]
    assert [resolved_n_neighbors("auto", n) for n in (20, 110, 1797)] == [5, 11, 20]
    assert [resolved_n_neighbors(15, n) for n in (10, 100)] == [9, 15]


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (np.ones((4, 3)), "square"),
        (-np.eye(4), "Negative values"),
        (np.triu(np.ones((4, 4))), "symmetric"),
    ],
)
def test_invalid_affinities_are_refused(affinity: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        SpectralClustering(2).fit(affinity)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": 0},
        {"n_neighbors": 0},
        {"n_neighbors": "some"},
        {"affinity": "rbf"},
        {"n_init": 0},
    ],
)
def test_parameters_out_of_range_are_named(parameters: dict[str, object]) -> None:
    (name,) = parameters
    with pytest.raises(InvalidParameterError, match=name):
        SpectralClustering(**{"n_clusters": 3, **parameters}).fit(np.ones((5, 5)))  # type: ignore[arg-type]


def test_more_groups_than_rows_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="only 5 rows"):
        SpectralClustering(6).fit(np.ones((5, 5)))


@pytest.mark.parametrize("copies", [5, 7, 25])
def test_duplicate_rows_do_not_disconnect_the_graph(copies: int) -> None:
    points, truth = make_blobs(90, 2, centers=[[0, 0], [9, 0], [0, 9]], random_state=4)
    X, y = np.repeat(points, copies, axis=0), np.repeat(truth, copies)
    model = SpectralClustering(
        3, affinity="nearest_neighbors", n_neighbors=10 * copies, random_state=0
    )
    assert adjusted_rand_score(y, model.fit(X).labels_) == 1.0


def test_many_components_are_found_though_the_eigensolver_does_not_converge() -> None:
    A = block_diag(*[np.ones((4, 4))] * 120)
    labels = SpectralClustering(5, random_state=0).fit(A).labels_
    assert set(labels) <= set(range(5))
    assert all(len(set(labels[start : start + 4])) == 1 for start in range(0, 480, 4))
