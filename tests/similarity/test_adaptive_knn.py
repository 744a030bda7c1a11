"""AdaptiveKNN: its formula, pair by pair; its graph and scales; unusual data."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import pairwise_distances
from tests.reference import neighbors as reference

from clew import Constraints
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.exceptions import InvalidDataError, InvalidParameterError, TooLargeError
from clew.metrics import adjusted_rand_score
from clew.similarity import E2CP, AdaptiveKNN, ConsensusKNN, SpectralLearning, adaptive_knn

X, y = make_blobs(60, 4, centers=3, random_state=0)
D = pairwise_distances(X)


def some_copies(n, seed):
    """Few distinct rows, most of them several times."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(max(2, n // 2), 3))[rng.integers(0, max(2, n // 2), n)]


@pytest.mark.slow
@settings(max_examples=40)
@given(n=st.integers(2, 14), m=st.integers(1, 16), seed=st.integers(0, 10**6))
def test_affinities_and_scales_are_those_of_the_formula(n, m, seed):
    rows = some_copies(n, seed)
    distances = np.array([[np.linalg.norm(a - b) for b in rows] for a in rows])
    model = AdaptiveKNN(m).fit(rows)
    np.testing.assert_allclose(model.scale_, reference.scales(distances, m), rtol=1e-6)
    expected = reference.local_gaussian(distances, m)
    np.testing.assert_allclose(model.affinity_matrix_, expected, atol=1e-5)


@pytest.mark.parametrize("m", [1, 5, 20, 500])
def test_features_and_distances_give_one_result(m):
    by_features = AdaptiveKNN(m).fit(X)
    by_distances = AdaptiveKNN(m, metric="precomputed").fit(D)
    np.testing.assert_allclose(by_distances.scale_, by_features.scale_)
    np.testing.assert_allclose(
        by_distances.affinity_matrix_, by_features.affinity_matrix_, atol=1e-6
    )
    graphs = [model.kneighbors_graph(5).toarray() for model in (by_features, by_distances)]
    np.testing.assert_allclose(*graphs, atol=1e-12)


def test_affinities_are_symmetric_and_of_unit_diagonal():
    A = AdaptiveKNN().fit(X).affinity_matrix_
    assert A.dtype == np.float32
    np.testing.assert_allclose(A, A.T, atol=1e-6)
    np.testing.assert_allclose(A.diagonal(), 1, atol=1e-6)
    assert A.min() >= 0
    assert A.max() <= 1


@pytest.mark.parametrize(("metric", "rows"), [("euclidean", X), ("precomputed", D)])
def test_transform_of_fitted_rows_is_the_affinity_matrix(metric, rows):
    model = AdaptiveKNN(metric=metric).fit(rows)
    np.testing.assert_allclose(model.transform(rows), model.affinity_matrix_, atol=1e-6)
    np.testing.assert_allclose(model.transform(rows[3:5]), model.affinity_matrix_[3:5], atol=1e-6)


def test_new_rows_have_scales_of_their_own():
    model = AdaptiveKNN(5).fit(X)
    found = model.transform(X[:1] + 0.5)
    distance = np.linalg.norm(X - X[0] - 0.5, axis=1)
    scale = np.sort(distance)[:5].mean()
    expected = np.exp(-(distance**2) / ((scale + model.scale_) / 2) ** 2)
    np.testing.assert_allclose(found[0], expected, atol=1e-5)


@pytest.mark.parametrize("k", [1, 5, 20])
def test_the_graph_holds_the_largest_affinities_to_the_nearest_rows(k):
    model = AdaptiveKNN().fit(X)
    graph = model.kneighbors_graph(k)
    assert (np.diff(graph.indptr) == k).all()
    for i, affinity in enumerate(model.affinity_matrix_):
        nearest = [j for j in np.argsort(D[i], kind="stable") if j != i][: max(3 * k, 50)]
        expected = sorted(nearest, key=lambda j, affinity=affinity: -affinity[j])[:k]
        assert set(graph[[i]].nonzero()[1].tolist()) == set(expected)
    dense = graph.toarray()
    np.testing.assert_allclose(dense[dense > 0], model.affinity_matrix_[dense > 0], atol=1e-6)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_the_unit_does_not_matter(factor):
    with np.errstate(all="raise", under="ignore"):
        model = AdaptiveKNN().fit(X * factor)
        graph = model.kneighbors_graph(5).toarray()
    plain = AdaptiveKNN().fit(X)
    np.testing.assert_allclose(model.affinity_matrix_, plain.affinity_matrix_, atol=1e-5)
    np.testing.assert_allclose(model.scale_, plain.scale_ * factor)
    np.testing.assert_allclose(graph, plain.kneighbors_graph(5).toarray(), atol=1e-5)


def test_the_origin_does_not_matter():
    far = AdaptiveKNN().fit(X + 1e6).affinity_matrix_
    np.testing.assert_allclose(far, AdaptiveKNN().fit(X).affinity_matrix_, atol=1e-4)


def test_rows_that_all_coincide():
    model = AdaptiveKNN().fit(np.full((7, 3), 0.1))
    np.testing.assert_array_equal(model.affinity_matrix_, 1)
    np.testing.assert_array_equal(model.kneighbors_graph(2).data, 1)


def test_distances_are_checked():
    for wrong, words in (
        (D[:5], "square"),
        (-D, "Negative"),
        (np.triu(D), "symmetric"),
        (np.exp(-D), "affinity"),
    ):
        with pytest.raises(InvalidDataError, match=words):
            AdaptiveKNN(metric="precomputed").fit(wrong)


@pytest.mark.parametrize("wrong", [0, 2.5, None, "many"])
def test_numbers_of_neighbors_that_are_refused(wrong):
    with pytest.raises(InvalidParameterError, match="n_neighbors"):
        AdaptiveKNN(wrong).fit(X)
    with pytest.raises(InvalidParameterError, match=r"\[1, 59\]"):
        AdaptiveKNN().fit(X).kneighbors_graph(wrong)


def test_a_matrix_too_large_is_refused():
    rows = np.random.default_rng(0).normal(size=(20_001, 2))
    model = AdaptiveKNN(2).fit(rows)
    with pytest.raises(TooLargeError, match="kneighbors_graph"):
        model.affinity_matrix_  # noqa: B018
    assert model.kneighbors_graph(2).nnz == 40_002


def test_a_refit_discards_the_old_matrix():
    model = AdaptiveKNN().fit(X)
    before = model.affinity_matrix_
    assert model.fit(X[:30]).affinity_matrix_.shape == (30, 30)
    assert before.shape == (60, 60)


def test_groups_of_iris():
    features, species = load_iris(return_X_y=True)
    model = SimilarityClustering(AdaptiveKNN(), SpectralClustering(3), random_state=0)
    assert adjusted_rand_score(species, model.fit(features).labels_) > 0.7


def test_a_far_row_does_not_blur_the_others():
    generator = np.random.RandomState(0)
    points = np.vstack([generator.normal(size=(50, 2)), generator.normal(size=(50, 2)) + 10])
    alone = AdaptiveKNN().fit(points)
    for distance in (1e7, 1e9, 1e12):
        model = AdaptiveKNN().fit(np.vstack([points, [[distance, 0]]]))
        np.testing.assert_allclose(
            model.affinity_matrix_[:100, :100], alone.affinity_matrix_, atol=1e-3
        )
        np.testing.assert_allclose(model.scale_[:100], alone.scale_, rtol=1e-3)


def test_the_largest_numbers_work():
    model = AdaptiveKNN().fit(np.array([[1.7e308], [-1.7e308], [0.0], [1e307]]))
    assert np.isfinite(model.affinity_matrix_).all()


def sparse_texts(n=90):
    """Counts of words in three kinds of texts, of any length, some of them twice."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], n // 3)
    rates = 0.02 + 0.5 * (np.arange(60) // 20 == truth[:, None])
    counts = rng.poisson(rates * rng.integers(1, 9, size=(n, 1)))
    counts[:, 0] += 1
    counts[5:9] = counts[4]
    return counts.astype(float), truth


@pytest.mark.parametrize("form", [csr_array, csc_array, csr_matrix])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_features_give_what_dense_ones_give(form, metric):
    counts, _ = sparse_texts()
    dense = AdaptiveKNN(metric=metric).fit(counts)
    model = AdaptiveKNN(metric=metric).fit(form(counts))
    np.testing.assert_allclose(model.scale_, dense.scale_)
    np.testing.assert_allclose(model.affinity_matrix_, dense.affinity_matrix_, atol=1e-5)
    graphs = [fitted.kneighbors_graph(5).toarray() for fitted in (model, dense)]
    np.testing.assert_allclose(np.sort(graphs[0]), np.sort(graphs[1]), atol=1e-6)
    for fitted in (model, dense):
        for new in (counts[:7], form(counts[:7])):
            np.testing.assert_allclose(fitted.transform(new), dense.affinity_matrix_[:7], atol=1e-5)


def test_the_cosine_metric_is_that_of_rows_of_length_one():
    counts, _ = sparse_texts()
    unit = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    by_angle = AdaptiveKNN(metric="cosine").fit(counts)
    expected = AdaptiveKNN().fit(unit)
    np.testing.assert_allclose(by_angle.affinity_matrix_, expected.affinity_matrix_, atol=1e-5)
    longer = counts * np.random.default_rng(1).integers(1, 50, size=(90, 1))
    again = AdaptiveKNN(metric="cosine").fit(longer)
    np.testing.assert_allclose(again.affinity_matrix_, by_angle.affinity_matrix_, atol=1e-5)
    counts[3] = 0.0
    assert np.isfinite(AdaptiveKNN(metric="cosine").fit(counts).affinity_matrix_).all()
    assert np.isfinite(AdaptiveKNN(metric="cosine").fit(counts * 1e200).affinity_matrix_).all()


def test_similarities_on_its_graph_take_sparse_features():
    counts, truth = sparse_texts()
    known = Constraints.from_labels(truth, 60, random_state=0)
    for similarity in (E2CP(AdaptiveKNN(metric="cosine")), SpectralLearning(), ConsensusKNN()):
        answers = {} if isinstance(similarity, ConsensusKNN) else {"constraints": known}
        model = SimilarityClustering(similarity, SpectralClustering(3), random_state=0)
        labels = model.fit(csr_array(counts), **answers).labels_
        assert labels.shape == (90,)


def test_sparse_distances_are_refused():
    with pytest.raises(TypeError, match="dense"):
        AdaptiveKNN(metric="precomputed").fit(csr_array(D))


def test_scales_of_distances_are_computed_in_blocks(monkeypatch):
    distance = np.random.default_rng(0).random((40, 40))
    distance = distance + distance.T
    np.fill_diagonal(distance, 0.0)
    whole = AdaptiveKNN(5, metric="precomputed").fit(distance)
    monkeypatch.setattr(adaptive_knn, "ROWS_PER_BLOCK", 7)
    blocks = AdaptiveKNN(5, metric="precomputed").fit(distance)
    np.testing.assert_array_equal(blocks.scale_, whole.scale_)
    np.testing.assert_array_equal(blocks.transform(distance), whole.affinity_matrix_)
