"""Affinities of answered pairs set to the answers: LinkedAffinity and SpectralLearning."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.sparse import csr_array
from sklearn.cluster import AffinityPropagation
from sklearn.datasets import load_iris
from tests.reference.propagation import linked

from clew import Constraints
from clew._composition import graph_of
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.similarity import (
    COPRF,
    E2CP,
    AdaptiveKNN,
    ClustRF,
    ConsensusKNN,
    DominantNeighbors,
    LinkedAffinity,
    SpectralLearning,
)
from clew.similarity.graphs._base import net_links, with_links

X, y = load_iris(return_X_y=True)
N = len(X)
ANSWERS = Constraints.from_labels(y, 200, random_state=0)
PLAIN = AdaptiveKNN().fit(X).affinity_matrix_


def weighted(seed=0, n=300):
    known = Constraints.from_labels(y[:40], n, error=0.3, random_state=seed)
    return known.with_weights(pair_weights=np.random.RandomState(seed).uniform(size=n))


def quadruples(known):
    return [
        (*pair, is_same, weight)
        for pair, is_same, weight in zip(
            known.pairs, known.is_must_link, known.pair_weights, strict=True
        )
    ]


def test_links_equal_their_twin():
    known = weighted()
    A = PLAIN[:40, :40].astype(np.float64)
    expected = linked(A, quadruples(known), 0.1, 2.0)
    np.testing.assert_allclose(with_links(A, known, 0.1, 2.0), expected, atol=1e-12)
    sparse = with_links(csr_array(A), known, 0.1, 2.0)
    np.testing.assert_allclose(sparse.toarray(), expected, atol=1e-12)


def test_a_full_cannot_link_leaves_no_entry():
    known = Constraints.from_pairs(cannot_link=[(0, 1), (2, 30)], n_samples=40)
    graph = with_links(csr_array(PLAIN[:40, :40]), known, 0.0, 1.0)
    assert graph.nnz == 40 * 40 - 4


def test_answers_about_one_pair_add_up():
    known = Constraints.from_pairs(
        must_link=[(0, 1), (1, 0), (2, 3)], cannot_link=[(2, 3), (4, 5)], dont_know=[(6, 7)],
        n_samples=8,
    )  # fmt: skip
    pairs, strength = net_links(known)
    assert pairs.tolist() == [[0, 1], [4, 5]]
    assert strength.tolist() == [1.0, -1.0]


def test_linked_pairs_get_the_largest_or_the_smallest_affinity():
    A = LinkedAffinity().fit(X, constraints=ANSWERS).affinity_matrix_
    apart = ~np.eye(N, dtype=bool)
    assert (A[tuple(ANSWERS.must_link.T)] == PLAIN[apart].max()).all()
    assert (A[tuple(ANSWERS.cannot_link.T)] == PLAIN[apart].min()).all()
    untouched = np.ones((N, N), bool)
    untouched[tuple(ANSWERS.pairs.T)] = untouched[tuple(ANSWERS.pairs[:, ::-1].T)] = False
    np.testing.assert_array_equal(A[untouched], PLAIN[untouched])
    np.testing.assert_array_equal(A, A.T)


def test_negated_distances_are_affinities_too():
    S = -(np.linalg.norm(X[:, None] - X, axis=2) ** 2)
    A = LinkedAffinity("precomputed").fit(S, constraints=ANSWERS).affinity_matrix_
    assert (A[tuple(ANSWERS.must_link.T)] == 0).all()
    np.testing.assert_allclose(A[tuple(ANSWERS.cannot_link.T)], S.min())


@pytest.mark.parametrize(
    "beneath",
    [
        ClustRF(20),
        COPRF(20),
        AdaptiveKNN(),
        E2CP(),
        LinkedAffinity(),
        DominantNeighbors(n_neighbors=40),
        ConsensusKNN(n_neighbors=40),
    ],
    ids=lambda similarity: type(similarity).__name__,
)
def test_affinity_propagation_works_on_every_similarity(beneath):
    clusterer = AffinityPropagation(
        affinity="precomputed", random_state=0, max_iter=2000, damping=0.9, preference=-1.0
    )
    model = SimilarityClustering(beneath, clusterer, random_state=0)
    extra = {"constraints": ANSWERS} if model.supports.pairs else {}
    assert model.fit(X, **extra).labels_.max() >= 1


def test_affinity_propagation_reads_a_graph():
    clusterer = AffinityPropagation(affinity="precomputed", random_state=0, preference=-1.0)
    model = SimilarityClustering(SpectralLearning(normalization=None), clusterer, random_state=0)
    assert len(model.fit(X, constraints=ANSWERS).labels_) == N


def near_pairs(graph, n):
    """Pairs that an asymmetric graph holds in one direction only."""
    one_way = (graph > 0) & (graph.T == 0)
    return np.argwhere(one_way)[:n]


@pytest.mark.parametrize("way", [1, -1])
def test_neighbors_of_a_linked_affinity_hold_the_links_in_both_directions(way):
    lopsided = AdaptiveKNN().fit(X).kneighbors_graph(5).toarray()
    apart = near_pairs(lopsided, 20)[:, ::way]
    known = Constraints.from_pairs(cannot_link=apart, must_link=[(0, 99)], n_samples=N)
    given = LinkedAffinity("precomputed").fit(csr_array(lopsided), constraints=known)
    for graph in (
        LinkedAffinity().fit(X, constraints=known).kneighbors_graph(5),
        given.affinity_matrix_,
        given.kneighbors_graph(8),
    ):
        A = graph.toarray()
        np.testing.assert_array_equal(A, A.T)
        assert A.min() == 0
        assert A[0, 99] == A.max()
        assert not A[tuple(apart.T)].any()


def test_large_data_are_linked_without_a_dense_matrix(monkeypatch):
    monkeypatch.setattr("clew.cluster.similarity_clustering.ALL_PAIRS_ROWS", 100)
    monkeypatch.setattr("clew._composition.ALL_PAIRS_ROWS", 100)
    for similarity in (LinkedAffinity(), SpectralLearning(), LinkedAffinity(ClustRF(20))):
        model = SimilarityClustering(similarity, SpectralClustering(3), random_state=0)
        assert len(np.unique(model.fit(X, constraints=ANSWERS).labels_)) == 3
        assert "affinity_matrix_" not in vars(getattr(model.similarity_, "similarity_", None))


def test_negative_affinities_make_no_graph():
    S = -(np.linalg.norm(X[:, None] - X, axis=2) ** 2)
    model = LinkedAffinity("precomputed").fit(S, constraints=ANSWERS)
    with pytest.raises(InvalidDataError, match="Negative"):
        model.kneighbors_graph(5)
    with pytest.raises(InvalidDataError, match="Negative"):
        LinkedAffinity("precomputed").fit(csr_array(S))


def test_links_have_the_weights_that_the_forest_estimates():
    known = Constraints.from_labels(y, 300, error=0.2, random_state=0)
    for kind in (LinkedAffinity, SpectralLearning):
        model = kind(COPRF(50, trust="posterior", random_state=0)).fit(X, constraints=known)
        np.testing.assert_array_equal(
            model.constraint_weight_, model.similarity_.constraint_weight_
        )
        assert model.constraint_weight_.min() < 0.5


def test_links_on_a_graph_make_a_graph():
    assert LinkedAffinity(SpectralLearning()).is_graph
    assert not LinkedAffinity().is_graph


def test_new_rows_get_the_affinities_of_the_base_similarity():
    model = LinkedAffinity().fit(X, constraints=ANSWERS)
    np.testing.assert_array_equal(model.transform(X[:9]), AdaptiveKNN().fit(X).transform(X[:9]))
    assert not hasattr(LinkedAffinity("precomputed").fit(PLAIN), "transform")
    joined = SimilarityClustering(LinkedAffinity(), SpectralClustering(3), random_state=0)
    labels = joined.fit(X, constraints=ANSWERS).labels_
    assert (joined.predict(X) == labels).mean() > 0.9


def test_rows_of_the_random_walk_add_up_to_one():
    model = SpectralLearning(n_neighbors=10).fit(X, constraints=ANSWERS)
    np.testing.assert_allclose(model.affinity_matrix_.sum(axis=1), 1, atol=1e-12)
    assert model.affinity_matrix_.min() >= 0
    plain = SpectralLearning(n_neighbors=10, normalization=None).fit(X, constraints=ANSWERS)
    graph = graph_of(AdaptiveKNN().fit(X), N, 10)
    expected = with_links(graph, ANSWERS, 0.0, 1.0).toarray()
    np.testing.assert_allclose(plain.affinity_matrix_.toarray(), expected)


def test_groups_are_cut_along_the_papers_eigenvectors():
    model = SimilarityClustering(SpectralLearning(), SpectralClustering(3), random_state=0)
    model.fit(X, constraints=ANSWERS)
    W = SpectralLearning(normalization=None).fit(X, constraints=ANSWERS).affinity_matrix_.toarray()
    degree = W.sum(axis=1)
    walk = (W + np.diag(degree.max() - degree)) / degree.max()
    _, vectors = eigh(walk, subset_by_index=[N - 3, N - 1])
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert subspace_angles(model.clusterer_.embedding_, rows).max() < 1e-6


def test_the_random_walk_of_a_graph_without_edges_stays_in_place():
    model = SpectralLearning("precomputed").fit(np.eye(6))
    np.testing.assert_array_equal(model.affinity_matrix_.toarray(), np.eye(6))
    assert model.kneighbors_graph(2).nnz == 0


def test_must_links_get_the_largest_affinity_if_it_exceeds_one():
    known = Constraints.from_pairs(must_link=[(0, 100)], n_samples=N)
    model = SpectralLearning("precomputed", normalization=None).fit(50 * PLAIN, constraints=known)
    assert model.affinity_matrix_[0, 100] == model.affinity_matrix_.max() > 40


def test_parameters_are_checked():
    with pytest.raises(InvalidParameterError, match="normalization='both'"):
        SpectralLearning(normalization="both").fit(X)
    with pytest.raises(InvalidParameterError, match="n_neighbors=None"):
        SpectralLearning(n_neighbors=None).fit(X)
    with pytest.raises(InvalidParameterError, match="similarity='rbf'"):
        LinkedAffinity("rbf").fit(X)
    for wrong in (5, object(), ClustRF):
        with pytest.raises(InvalidParameterError, match="similarity must be an estimator"):
            LinkedAffinity(wrong).fit(X)
        with pytest.raises(InvalidParameterError, match="similarity must be an estimator"):
            SimilarityClustering(wrong, SpectralClustering(2)).fit(X)
    for clusterer in ("kmeans", None):
        with pytest.raises(InvalidParameterError, match="clusterer must be an estimator"):
            SimilarityClustering(E2CP(), clusterer).fit(X)
