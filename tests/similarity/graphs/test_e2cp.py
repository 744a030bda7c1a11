"""E2CP: closed forms, propagation with and without a dense matrix, and single precision."""

import numpy as np
import pytest
from scipy.linalg.blas import ssyr2k
from scipy.linalg.lapack import spotrf, spotri
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from tests.reference.propagation import exhaustive

from clew import Constraints
from clew._composition import graph_of
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.exceptions import InvalidDataError, InvalidParameterError, TooLargeError
from clew.metrics import adjusted_rand_score
from clew.similarity import COPRF, E2CP, AdaptiveKNN, ClustRF
from clew.similarity.graphs import Propagation, e2cp as module
from clew.similarity.graphs._base import NetAnswers
from clew.similarity.graphs.e2cp import inverse, upper_of_product_sum

X, y = load_iris(return_X_y=True)
N = len(X)
ANSWERS = Constraints.from_labels(y, 60, random_state=0)


def triples(known):
    return [(*pair, is_same) for pair, is_same in zip(known.pairs, known.is_must_link, strict=True)]


def dense(matrix):
    return matrix.toarray() if issparse(matrix) else matrix


@pytest.mark.parametrize("alpha", [0.2, 0.8, 0.95])
@pytest.mark.parametrize("n_neighbors", [10, "paper", None])
def test_dense_form_is_the_papers_formula(alpha, n_neighbors):
    model = E2CP(alpha=alpha, n_neighbors=n_neighbors, form="dense").fit(X, constraints=ANSWERS)
    k = {"paper": 15, None: N - 1}.get(n_neighbors, n_neighbors)
    graph = graph_of(AdaptiveKNN().fit(X), N, k).toarray()
    expected = exhaustive(graph, triples(ANSWERS), alpha)
    np.testing.assert_allclose(model.affinity_matrix_, expected, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.2, 0.8, 0.95])
def test_sparse_form_has_the_dense_forms_entries(alpha):
    digits, truth = load_digits(return_X_y=True)
    known = Constraints.from_labels(truth[:400], 300, error=0.1, random_state=0)
    model = E2CP(alpha=alpha, n_neighbors=10, form="dense").fit(digits[:400], constraints=known)
    sparse = clone(model).set_params(form="sparse").fit(digits[:400], constraints=known)
    assert issparse(sparse.affinity_matrix_)
    kept = sparse.affinity_matrix_.toarray()
    at = kept != 0
    # Both are scaled by their own largest value, which the sparse form may not hold.
    np.testing.assert_allclose(kept[at], model.affinity_matrix_[at], atol=0.02)
    np.testing.assert_array_equal(kept, kept.T)


@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_forms_agree_where_many_answers_are_about_one_row(kind):
    around = graph_of(AdaptiveKNN().fit(X), N, 5)[[0]].indices
    known = Constraints.from_pairs(**{kind: [(0, j) for j in around]}, n_samples=N)
    thick = E2CP(n_neighbors=5, form="dense").fit(X, constraints=known).affinity_matrix_
    thin = E2CP(n_neighbors=5, form="sparse").fit(X, constraints=known).affinity_matrix_.toarray()
    np.testing.assert_allclose(thin[thin != 0], thick[thin != 0], atol=5e-3)


def test_answers_that_share_a_row_are_stored_at_that_row():
    known = Constraints.from_pairs(must_link=[(0, 7), (3, 7)], cannot_link=[(7, 9)], n_samples=N)
    rows, heads, strength = NetAnswers.of(known)
    assert rows.tolist() == [0, 3, 7, 9]
    assert rows[heads].tolist() == [7]
    assert strength.toarray().tolist() == [[1, 1, 0, -1]]


@pytest.mark.slow
@pytest.mark.parametrize("n_pairs", [10, 300])
@pytest.mark.parametrize("n_rows", [150, 2_100])
def test_a_prepared_propagation_equals_e2cp_bit_for_bit(n_pairs, n_rows):
    points, truth = make_blobs(n_rows, 4, centers=3, random_state=0)
    graph = graph_of(AdaptiveKNN().fit(points), n_rows, 10)
    prepared = Propagation(graph, alpha=0.9)
    for seed in range(2):
        known = Constraints.from_labels(truth, n_pairs, random_state=seed)
        method = E2CP("precomputed", alpha=0.9, n_neighbors=None)
        expected = method.fit(graph, constraints=known).affinity_matrix_
        found = prepared.affinity(known)
        assert issparse(found) == issparse(expected) == (n_rows > 2_000)
        np.testing.assert_array_equal(dense(found), dense(expected))


@pytest.mark.parametrize(("n_pairs", "name"), [(10, "cho_factor"), (300, "dpotrf")])
def test_a_prepared_propagation_is_factorized_once(monkeypatch, n_pairs, name):
    calls, factorize = [], getattr(module, name)

    def counted(*args, **kwargs):
        calls.append(name)
        return factorize(*args, **kwargs)

    monkeypatch.setattr(module, name, counted)
    prepared = Propagation(graph_of(AdaptiveKNN().fit(X), N, 10))
    for seed in range(4):
        prepared.affinity(Constraints.from_labels(y, n_pairs, random_state=seed))
    assert len(calls) == 1


@pytest.mark.parametrize("n_pairs", [1, 10, 300])
def test_the_fast_affinity_is_the_dense_one_without_small_entries(n_pairs):
    points, truth = make_blobs(150, 4, centers=3, random_state=0)
    prepared = Propagation(graph_of(AdaptiveKNN().fit(points), 150, 10), alpha=0.9)
    known = Constraints.from_labels(truth, n_pairs, error=0.2, random_state=0)
    expected = prepared.dense_affinity(known)
    is_small = expected < module.LEAST_AFFINITY
    found = prepared.fast_affinity(known)
    assert found.nnz == pytest.approx((~is_small).sum(), abs=10)  # some are at the limit
    np.testing.assert_allclose(found.toarray(), np.where(is_small, 0.0, expected), atol=1.1e-3)
    at = found.toarray() > 0
    np.testing.assert_allclose(found.toarray()[at], expected[at], atol=1e-5)


@pytest.mark.slow
def test_the_fast_affinity_of_many_rows_is_the_sparse_one():
    points, truth = make_blobs(2_100, 4, centers=3, random_state=0)
    prepared = Propagation(graph_of(AdaptiveKNN().fit(points), 2_100, 10), alpha=0.9)
    known = Constraints.from_labels(truth, 300, random_state=0)
    assert (prepared.fast_affinity(known) != prepared.sparse_affinity(known)).nnz == 0


def test_a_prepared_propagation_does_not_change_its_graph():
    graph = graph_of(AdaptiveKNN().fit(X), N, 10) * 0.5
    before = graph.toarray()
    Propagation(graph).affinity(ANSWERS)
    np.testing.assert_array_equal(graph.toarray(), before)


def test_sparse_form_holds_the_pairs_near_answers():
    known = Constraints.from_pairs(must_link=[(0, 60)], cannot_link=[(0, 1)], n_samples=N)
    model = E2CP(n_neighbors=5, form="sparse").fit(X, constraints=known)
    graph = graph_of(AdaptiveKNN().fit(X), N, 5)
    around = [np.append(graph[[row]].indices, row) for row in (0, 60)]
    A = model.affinity_matrix_.toarray()
    assert (A[np.ix_(*around)] > 0).all()
    assert A[0, 60] > 0.3
    at = graph.toarray() > 0
    at[0, 1] = at[1, 0] = False
    assert (A[at] > 0).all()


def test_blocks_that_are_not_stored_are_recomputed(monkeypatch):
    model = E2CP(form="sparse").fit(X, constraints=ANSWERS)
    monkeypatch.setattr(module, "MAX_STORED", 10)
    again = E2CP(form="sparse").fit(X, constraints=ANSWERS)
    np.testing.assert_allclose(
        again.affinity_matrix_.toarray(), model.affinity_matrix_.toarray(), atol=5e-3
    )


def test_number_of_pairs_near_must_links_is_limited(monkeypatch):
    everything = E2CP(form="sparse").fit(X, constraints=ANSWERS).affinity_matrix_
    monkeypatch.setattr(module, "MAX_ADDED_PER_ROW", 2)
    less = E2CP(form="sparse").fit(X, constraints=ANSWERS).affinity_matrix_
    assert less.nnz < everything.nnz
    must = ANSWERS.pairs[ANSWERS.is_must_link]
    assert (less.toarray()[tuple(must.T)] > 0).all()


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_without_answers_the_graph_is_not_changed(form):
    model = E2CP(form=form, n_neighbors=7).fit(X)
    graph = graph_of(AdaptiveKNN().fit(X), N, 7).toarray()
    np.testing.assert_allclose(dense(model.affinity_matrix_), graph / graph.max(), atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_answers_propagate_to_neighbors(form):
    points, truth = make_blobs(90, 2, centers=[(0, 0), (6, 0), (0, 6)], random_state=0)
    a, b = np.flatnonzero(truth == 0)[:2], np.flatnonzero(truth == 1)[:2]
    known = Constraints.from_pairs(must_link=[(a[0], b[0])], n_samples=90)
    A = dense(E2CP(n_neighbors=40, form=form).fit(points, constraints=known).affinity_matrix_)
    without = dense(E2CP(n_neighbors=40, form=form).fit(points).affinity_matrix_)
    assert A[a[1], b[1]] > without[a[1], b[1]]


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_weights_scale_propagation_and_contradictions_cancel(form):
    pair = [(0, 60)]
    half = Constraints.from_pairs(must_link=pair, cannot_link=pair, n_samples=N)
    at_odds = E2CP(form=form).fit(X, constraints=half).affinity_matrix_
    np.testing.assert_allclose(dense(at_odds), dense(E2CP(form=form).fit(X).affinity_matrix_))
    zero = Constraints.from_pairs(must_link=pair, n_samples=N).with_weights(pair_weights=[0.0])
    ignored = E2CP(form=form).fit(X, constraints=zero).affinity_matrix_
    np.testing.assert_allclose(dense(ignored), dense(at_odds))
    both = Constraints.from_pairs(must_link=[(0, 60), (5, 110)], n_samples=N)
    weak = both.with_weights(pair_weights=[1.0, 0.2])
    A = dense(E2CP(form=form).fit(X, constraints=weak).affinity_matrix_)
    assert A[0, 60] > A[5, 110]


def test_dont_knows_are_ignored():
    unknown = Constraints.from_pairs(dont_know=[(0, 60), (3, 4)], n_samples=N)
    model = E2CP().fit(X, constraints=unknown)
    np.testing.assert_array_equal(model.affinity_matrix_, E2CP().fit(X).affinity_matrix_)
    np.testing.assert_array_equal(model.constraint_weight_, [0, 0])


def test_any_similarity_can_be_the_base():
    forest = ClustRF(30, random_state=0)
    composed = E2CP(forest).fit(X, constraints=ANSWERS)
    given = E2CP("precomputed").fit(forest.fit(X).affinity_matrix_, constraints=ANSWERS)
    sparse = E2CP("precomputed").fit(csr_array(forest.affinity_matrix_), constraints=ANSWERS)
    np.testing.assert_allclose(composed.affinity_matrix_, given.affinity_matrix_, atol=1e-6)
    np.testing.assert_allclose(sparse.affinity_matrix_, given.affinity_matrix_, atol=1e-6)
    free = X + np.random.RandomState(0).uniform(size=X.shape)  # of ties
    distances = np.linalg.norm(free[:, None] - free, axis=2)
    by_distance = E2CP(AdaptiveKNN(metric="precomputed")).fit(distances, constraints=ANSWERS)
    by_features = E2CP().fit(free, constraints=ANSWERS)
    np.testing.assert_allclose(
        by_distance.affinity_matrix_, by_features.affinity_matrix_, atol=1e-5
    )


def test_weights_estimated_by_a_forest_are_propagated():
    known = Constraints.from_labels(y, 300, error=0.2, random_state=0)
    model = E2CP(COPRF(50, trust="posterior", random_state=0)).fit(X, constraints=known)
    np.testing.assert_array_equal(model.constraint_weight_, model.similarity_.constraint_weight_)
    assert model.constraint_weight_.min() < 0.5


def test_the_base_similarity_gets_the_seed_if_it_has_none():
    a, b = (E2CP(ClustRF(10), random_state=3).fit(X).affinity_matrix_ for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert E2CP(ClustRF(10), random_state=3).similarity.random_state is None


def test_threads_do_not_change_the_result():
    one, two = (
        E2CP(form="sparse", n_jobs=n).fit(X, constraints=ANSWERS).affinity_matrix_ for n in (1, 2)
    )
    np.testing.assert_array_equal(one.toarray(), two.toarray())


def test_a_sparse_affinity_is_used_unchanged():
    graph = graph_of(AdaptiveKNN().fit(X), N, 7)
    own = E2CP("precomputed", n_neighbors=None, form="sparse").fit(graph, constraints=ANSWERS)
    made = E2CP(n_neighbors=7, form="sparse").fit(X, constraints=ANSWERS)
    np.testing.assert_allclose(
        own.affinity_matrix_.toarray(), made.affinity_matrix_.toarray(), atol=1e-5
    )


def test_tiny_affinities_are_rescaled():
    A = AdaptiveKNN().fit(X).affinity_matrix_.astype(np.float64)
    tiny = E2CP("precomputed").fit(A * 1e-300, constraints=ANSWERS).affinity_matrix_
    plain = E2CP("precomputed").fit(A, constraints=ANSWERS).affinity_matrix_
    np.testing.assert_allclose(tiny, plain, atol=1e-9)


def test_a_refit_that_fails_or_is_interrupted_changes_nothing(monkeypatch):
    model = E2CP(form="sparse").fit(X, constraints=ANSWERS)
    before = dict(vars(model))
    with pytest.raises(InvalidParameterError):
        model.set_params(n_neighbors=None).fit(X[:60])
    model.set_params(n_neighbors="auto")

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "diffuse", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, constraints=Constraints.from_labels(y, 9, random_state=0))
    assert vars(model) == before


def test_callback_is_called_by_the_sparse_form():
    calls = []
    E2CP(form="sparse").fit(X, constraints=ANSWERS, callback=lambda *done: calls.append(done))
    assert calls[-1] == (1, 1)
    assert len(calls) == 2


def test_a_refit_does_not_depend_on_earlier_fits():
    model = E2CP().fit(X, constraints=ANSWERS)
    np.testing.assert_array_equal(
        model.fit(X[:60]).affinity_matrix_, E2CP().fit(X[:60]).affinity_matrix_
    )


def test_neighbors_are_the_largest_entries():
    model = E2CP().fit(X, constraints=ANSWERS)
    graph = model.kneighbors_graph(1)
    row = int(np.argmax(model.affinity_matrix_.max(axis=1)))
    assert graph[row, model.affinity_matrix_[row].argmax()] == model.affinity_matrix_[row].max()
    with pytest.raises(InvalidParameterError, match=r"\[1, 149\]"):
        model.kneighbors_graph(150)


def test_answers_improve_the_groups():
    known = Constraints.from_labels(y, 300, random_state=0)
    scores = [
        adjusted_rand_score(
            y, SimilarityClustering(E2CP(), SpectralClustering(3), random_state=0)
            .fit(X, constraints=c).labels_,
        )
        for c in (None, known)
    ]  # fmt: skip
    assert scores[1] > scores[0]


def test_a_neighbor_graph_is_clustered_as_it_is():
    model = SimilarityClustering(E2CP(), SpectralClustering(3), random_state=0)
    model.fit(X, constraints=ANSWERS)
    np.testing.assert_allclose(
        model.clusterer_.graph_.toarray(), model.similarity_.affinity_matrix_, atol=1e-12
    )
    fewer = SimilarityClustering(E2CP(), SpectralClustering(3, n_neighbors=5), random_state=0)
    assert fewer.fit(X, constraints=ANSWERS).clusterer_.graph_.nnz < 2 * 5 * N


def test_new_rows_have_no_affinity():
    assert not hasattr(E2CP().fit(X), "transform")
    model = SimilarityClustering(E2CP(), SpectralClustering(3)).fit(X)
    assert not hasattr(model, "predict")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": 1.0}, r"alpha=1.0.*\(0, 1\)"),
        ({"alpha": 0}, r"alpha=0.*\(0, 1\)"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"form": "sparse", "n_neighbors": None}, "needs a sparse affinity"),
        ({"form": "thick"}, "form='thick'"),
        ({"similarity": "euclidean"}, "similarity='euclidean'"),
    ],
)
def test_parameters_are_checked(parameters, words):
    with pytest.raises(InvalidParameterError, match=words):
        E2CP(**parameters).fit(X)


def test_a_matrix_without_affinities_is_refused():
    with pytest.raises(InvalidDataError, match="square"):
        E2CP("precomputed").fit(X)
    with pytest.raises(InvalidDataError, match="Negative"):
        E2CP("precomputed").fit(-np.ones((5, 5)))
    lopsided = np.triu(np.ones((5, 5)))
    with pytest.raises(InvalidDataError, match="symmetric"):
        E2CP("precomputed").fit(lopsided)


def test_dense_form_has_a_limit(monkeypatch):
    monkeypatch.setattr("clew.graphs._distances.MAX_DENSE_ROWS", 100)
    with pytest.raises(TooLargeError, match="150 rows"):
        E2CP(form="dense").fit(X)


def test_propagation_that_does_not_converge_warns(monkeypatch):
    monkeypatch.setattr(module, "MAX_ITER", 1)
    with pytest.warns(ConvergenceWarning, match="alpha"):
        E2CP(alpha=0.99, form="sparse").fit(X, constraints=ANSWERS)


def definite(n, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n + 5))
    return (a @ a.T / n + np.eye(n)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 150])
def test_inverse(n):
    matrix = definite(n)
    expected, _ = spotri(spotrf(matrix.T)[0])
    found = inverse(matrix.copy())
    np.testing.assert_array_equal(np.tril(found), np.triu(expected).T)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found.astype(float) @ matrix, np.eye(n), atol=1e-4)


def test_a_matrix_that_is_not_definite_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="spotrf"):
        inverse(-definite(5))


@pytest.mark.parametrize(("k", "n"), [(1, 1), (3, 7), (40, 100)])
def test_product_sum(k, n):
    a, b = np.random.default_rng(1).normal(size=(2, k, n)).astype(np.float32)
    found = upper_of_product_sum(a, b)
    np.testing.assert_array_equal(found, ssyr2k(1.0, a.T, b.T, lower=True).T)
    np.testing.assert_allclose(found, np.triu(a.T @ b + b.T @ a), atol=1e-4)
