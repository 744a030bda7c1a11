"""DistLQP: answers, weights, contradictions, graphs, units, new rows, and bad input."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, squareform
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from tests.reference.dist_lqp import shortest_paths

from clew import Constraints
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.similarity import DistLQP, ShortestPaths

X, y = make_blobs(50, 3, centers=3, cluster_std=3, random_state=0)
D = cdist(X, X, "cityblock")
ANSWERS = Constraints.from_labels(y, 40, random_state=0)


def fitted(known=ANSWERS, distances=D, **parameters):
    return DistLQP(8, alpha=2.0, **parameters).fit(distances, constraints=known)


def of_pairs(matrix, rows):
    return matrix[rows[:, 0], rows[:, 1]]


@pytest.mark.parametrize("changes", ["relative", "absolute"])
@pytest.mark.parametrize("link_weight", [0.0, 1.0])
def test_answers_hold_and_triangle_inequalities_too(changes, link_weight):
    model = fitted(changes=changes, link_weight=link_weight, lambda_cannot=100.0)
    learned = model.dense_distances()
    assert of_pairs(learned, ANSWERS.must_link).max() <= 0.011 * D.max()
    assert of_pairs(learned, ANSWERS.cannot_link).min() >= 0.49 * D.max()
    assert 0 <= model.gap_ <= 1e-3 * model.objective_
    np.testing.assert_array_equal(learned, learned.T)
    touched = model.distances_.toarray() != 0
    np.testing.assert_array_equal(learned[~touched], D[~touched])
    changed = np.abs(learned - D)[np.triu_indices(len(D), 1)] > 1e-6 * D.max()
    assert model.n_changed_ == changed.sum() > len(ANSWERS)
    assert model.slack_.shape == (40,)
    assert model.slack_.max() < 0.01 * D.max()


def test_without_answers_nothing_changes():
    for known in (None, Constraints(50), Constraints.from_pairs(dont_know=[(0, 1)], n_samples=50)):
        model = fitted(known)
        np.testing.assert_array_equal(model.dense_distances(), D)
        assert model.n_changed_ == model.distances_.nnz == model.objective_ == model.gap_ == 0
        np.testing.assert_allclose(model.transform(D[:4] + 1), D[:4] + 1)


def test_weights_scale_the_slack_penalty():
    half = ANSWERS.with_weights(pair_weights=0.5)
    np.testing.assert_allclose(
        fitted(half).dense_distances(),
        fitted(lambda_must=5.0, lambda_cannot=0.5).dense_distances(),
    )
    np.testing.assert_allclose(fitted(half + half).dense_distances(), fitted().dense_distances())
    none = ANSWERS + ANSWERS.select(pairs=np.arange(5)).with_weights(pair_weights=0.0)
    np.testing.assert_allclose(fitted(none).dense_distances(), fitted().dense_distances())


def test_contradictions_use_slack_and_are_listed():
    known = Constraints.from_pairs(
        must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2), (0, 1)], n_samples=50
    )
    model = fitted(known)
    assert sorted(conflict.chain for conflict in model.conflicts_) == [(0, 1), (0, 1, 2)]
    assert model.slack_[known.is_cannot_link].max() > 0.1 * D.max()
    assert model.gap_ <= 1e-3 * model.objective_


def test_a_wrong_answer_of_low_weight_moves_less():
    rows = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    moved = []
    for weight in (1.0, 0.01):
        known = Constraints.from_pairs(must_link=[rows], weights=weight, n_samples=50)
        model = fitted(known, link_weight=1.0)
        moved.append(D[rows] - model.dense_distances()[rows])
    assert moved[0] > 2 * moved[1] >= 0


def test_units_and_the_form_of_the_distances_do_not_matter():
    learned = fitted().dense_distances()
    for factor in (1e-100, 1e100):
        scaled = fitted(distances=D * factor).dense_distances()
        np.testing.assert_allclose(scaled / factor, learned, rtol=1e-6)
    np.testing.assert_array_equal(fitted(distances=squareform(D)).dense_distances(), learned)
    whole = csr_array(np.where(np.eye(50) == 1, 0.0, D))
    np.testing.assert_allclose(fitted(distances=whole).dense_distances(), learned)
    euclidean = fitted(distances=cdist(X, X)).dense_distances()
    of_features = fitted(distances=X, metric="euclidean").dense_distances()
    np.testing.assert_allclose(of_features, euclidean, rtol=1e-4, atol=1e-4 * D.max())


def test_a_neighbor_graph_is_learned_without_a_dense_matrix():
    nearest = np.argsort(D, axis=1)[:, :9]
    near = np.zeros(D.shape, bool)
    np.put_along_axis(near, nearest, True, axis=1)
    graph = csr_array(np.where(near, D, 0.0))
    model = fitted(distances=graph)
    assert of_pairs(model.dense_distances(), ANSWERS.must_link).max() < 0.05 * graph.max()
    assert isinstance(model.affinity_matrix_, csr_array)
    assert isinstance(model.kneighbors_graph(5), csr_array)


def test_violated_triangle_inequalities_are_allowed_and_counted(caplog):
    bent = D.copy()
    bent[0, 5] = bent[5, 0] = 10 * D.max()
    known = Constraints.from_pairs(must_link=[(0, 7)], n_samples=50)
    with caplog.at_level("INFO", logger="clew"):
        model = DistLQP(49).fit(bent, constraints=known)
    assert model.n_triangles_ == 48
    assert model.n_violated_triangles_ == 1
    assert "1 of 48 triangle inequalities" in caplog.text
    assert DistLQP(49).fit(D, constraints=known).n_violated_triangles_ == 0


def test_new_rows_follow_the_learned_distances():
    far = np.flatnonzero(y == 1)
    known = Constraints.from_pairs(
        must_link=[(0, far[0])], cannot_link=[(0, int(np.argsort(D[0])[1]))], n_samples=50
    )
    model = fitted(known, lambda_cannot=100.0)
    new = D[[0]] * 1.01
    learned = model.transform(new)[0]
    between = model.dense_distances()
    for i, j in known.pairs:
        assert abs(learned[i] - learned[j]) <= between[i, j] + 2e-3 * D.max()
        assert between[i, j] <= learned[i] + learned[j] + 2e-3 * D.max()
    unaffected = np.setdiff1d(np.arange(50), known.pairs)
    np.testing.assert_allclose(learned[unaffected], new[0, unaffected])
    one_by_one = np.vstack([model.transform(D[[i]]) for i in range(50)])
    np.testing.assert_allclose(model.transform(D), one_by_one, atol=1e-3 * D.max())


@pytest.mark.parametrize("learner", [DistLQP(8), ShortestPaths()])
def test_clusters_join_and_new_rows_get_groups(learner):
    model = SimilarityClustering(learner, SpectralClustering(3), random_state=0)
    labels = model.fit(D, constraints=ANSWERS).labels_
    assert labels.shape == (50,)
    assert (model.predict(D) == labels).mean() > 0.6


BAD = {
    "symmetric": (np.triu(D), "triangle is filled|symmetric"),
    "negative": (np.where(np.eye(50) == 1, 0.0, D - D.max()), "0 or more"),
    "NaN": (np.where(D.max() == D, np.nan, D), "NaN|finite"),
    "diagonal": (D + D.max() * np.eye(50), "diagonal"),
    "features": (X, "square"),
}


@pytest.mark.parametrize("learner", [DistLQP(), ShortestPaths()])
@pytest.mark.parametrize("name", BAD)
def test_bad_distances_are_refused(learner, name):
    wrong, message = BAD[name]
    with pytest.raises(InvalidDataError, match=message):
        learner.fit(wrong)


def test_bad_parameters_and_new_rows_are_refused():
    for wrong in ({"alpha": 0.5}, {"lower": "max"}, {"lambda_must": 0}, {"changes": "log"}):
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            DistLQP(**wrong).fit(D)
    with pytest.raises(InvalidDataError, match="0 or more"):
        fitted().transform(-D[:2])
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fitted(max_iter=1, tol=1e-9)


def test_shortest_paths_are_those_of_the_definition():
    model = ShortestPaths().fit(D, constraints=ANSWERS)
    learned = model.dense_distances()
    slow = shortest_paths(D, ANSWERS.must_link.tolist(), ANSWERS.cannot_link.tolist())
    np.testing.assert_allclose(learned, slow, rtol=1e-12)
    assert model.n_changed_ == (np.abs(np.triu(learned - D)) > 1e-6 * D.max()).sum()
    new = model.transform(D[:3])
    assert (new <= D[:3] + 1e-12).all()
    must = ANSWERS.must_link
    np.testing.assert_allclose(new[:, must[:, 0]], new[:, must[:, 1]], atol=1e-9)


def test_fits_at_once_in_threads_are_those_of_one_thread():
    learned = fitted().dense_distances()
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(lambda _: fitted().dense_distances(), range(4)):
            np.testing.assert_array_equal(other, learned)


def test_progress_is_reported_and_an_interrupted_fit_leaves_nothing():
    calls = []
    DistLQP(8, max_iter=90).fit(D, constraints=ANSWERS, callback=lambda *n: calls.append(n))
    assert calls
    assert {n for _, n in calls} == {90}

    def give_up(done, n):
        raise RuntimeError("enough")

    model = DistLQP(8)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(D, constraints=ANSWERS, callback=give_up)
    assert not hasattr(model, "distances_")


@pytest.mark.slow
def test_the_sizes_of_the_thesis():
    points, truth = make_blobs(1000, 10, centers=20, cluster_std=4, random_state=0)
    known = Constraints.from_labels(truth, 5000, random_state=0)
    model = DistLQP().fit(cdist(points, points, "cityblock"), constraints=known)
    assert model.gap_ <= 1e-3 * model.objective_
    assert model.distances_.nnz < 1000 * 999 // 2
