"""DistLQP: answers, weights, graphs, units, new rows, bad input, and the theorems of the thesis."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, squareform
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from tests.reference import dist_lqp as twin
from tests.reference.dist_lqp import shortest_paths

from clew import Constraints
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.kernels.dist_lqp import Bounds
from clew.similarity import DistLQP, ShortestPaths
from clew.similarity.distances._base import given_distances, links_of
from clew.similarity.distances.dist_lqp import (
    Problem,
    Settings,
    build,
    primal_objective,
    sampled_triangles,
    solve,
)

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
        fitted(half).dense_distances(), fitted(lambda_must=5.0, lambda_cannot=0.5).dense_distances()
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


SEEDS = range(4)
#: The answered pair, and the others.
LINK, N = (0, 1), 7
OTHERS = [pair for pair in combinations(range(N), 2) if pair != LINK]


def plane(seed, n=N):
    """Distances of points in the plane; the largest is 1."""
    D = cdist(*[np.random.default_rng(seed).normal(size=(n, 2))] * 2)
    return D / D.max()


def whole(D, *, is_must):
    """Solve eq. 2.1: the answered pair has the distance 0, or the largest one."""
    return twin.brute_force(D, {LINK: 0.0 if is_must else 1.0})


@pytest.mark.parametrize("seed", SEEDS)
def test_lemmas_1_and_2_a_must_link_averages_the_distances_of_its_rows(seed):
    D = plane(seed)
    found = whole(D, is_must=True)
    for k in range(2, N):
        mean = (D[0, k] + D[1, k]) / 2
        np.testing.assert_allclose(found[[0, 1], k], mean, atol=1e-8)
        assert found[0, k] >= min(D[0, k], D[1, k]) - 1e-9
    np.testing.assert_allclose(found[2:, 2:], D[2:, 2:], atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemmas_3_and_4_a_cannot_link_shortens_nothing(seed):
    D = plane(seed)
    found = whole(D, is_must=False)
    assert (found[:2, 2:] >= D[:2, 2:] - 1e-8).all()
    np.testing.assert_allclose(found[2:, 2:], D[2:, 2:], atol=1e-8)


def sampled_solution(D, threshold, *, is_must):
    """Solve eq. 2.2 with the graph of distances up to a threshold, and a hard answer."""
    given = given_distances(D)
    near = (threshold >= D) & ~np.eye(N, dtype=bool)
    key = np.array([LINK[0] * N + LINK[1]])
    sampled = sampled_triangles(key, key, sp.csr_array(near.astype(np.int8)))
    target, _ = given.of_pairs(*np.divmod(sampled.keys, N))
    weight = np.ones(len(target))
    weight[0] = 0.0
    bounds = Bounds(np.array([1e3 * is_must]), np.array([1e3 * (not is_must)]), 0.0, 1.0)
    found = solve(Problem(sampled.sides, target, weight, bounds), 1e-9, 20_000)
    x = D.copy()
    i, j = np.divmod(sampled.keys, N)
    x[i, j] = x[j, i] = found.x
    return x


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_must", [True, False])
def test_theorem_5_small_distances_are_those_of_all_triangle_inequalities(seed, is_must):
    D, threshold = plane(seed), 0.45
    full, some = whole(D, is_must=is_must), sampled_solution(D, threshold, is_must=is_must)
    for i, k in OTHERS:
        if D[i, k] > threshold and full[i, k] > threshold:
            assert some[i, k] > threshold - 1e-4
        else:
            assert some[i, k] == pytest.approx(full[i, k], abs=1e-4)


def random_program(seed, link_weight, *, is_relative=False):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), rng.integers(3, size=30)
    known = Constraints.from_labels(y, 25, error=0.2, random_state=seed)
    settings = Settings(5, 0.01, 0.6, 10.0, 1.0, is_relative, link_weight)
    return build(given_distances(cdist(X, X)), links_of(known), settings)[0]


def optimum(problem):
    """Solve a program by Clarabel, an interior point method."""
    V, B = len(problem.target), len(problem.bounds.over)
    n = V + 2 * B
    triangles = sp.csc_array(twin.triangle_rows(problem.sides, V))
    triangles = sp.hstack([triangles, sp.csc_array((triangles.shape[0], 2 * B))])
    eye, gap = sp.eye_array(B), sp.csc_array((B, V - B))
    none = sp.csc_array((B, B))
    G = sp.vstack(
        [
            triangles,
            sp.hstack([eye, gap, -eye, none]),
            sp.hstack([-eye, gap, none, -eye]),
            -sp.eye_array(n),
        ]
    )
    upper, lower = problem.bounds.upper, problem.bounds.lower
    h = np.concatenate([np.zeros(triangles.shape[0]), np.full(B, upper), np.full(B, -lower),
                        np.zeros(n)])  # fmt: skip
    P = sp.diags_array(np.concatenate([2 * problem.weight, np.zeros(2 * B)]))
    q = np.concatenate(
        [-2 * problem.weight * problem.target, problem.bounds.over, problem.bounds.under]
    )
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.NonnegativeConeT(len(h))]
    solver = clarabel.DefaultSolver(sp.csc_matrix(P), q, sp.csc_matrix(G), h, cones, options)
    return solver.solve().obj_val + problem.weight @ problem.target**2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("link_weight", "is_relative"), [(0.0, False), (0.0, True), (1.0, False)])
def test_the_objective_is_that_of_clarabel(seed, link_weight, is_relative):
    problem = random_program(seed, link_weight, is_relative=is_relative)
    best = optimum(problem)
    found = solve(problem, 1e-3, 5000)
    assert found.is_converged
    assert best * (1 - 1e-6) <= found.objective <= best * (1 + 1e-3)
    assert found.dual_objective <= best * (1 + 1e-6)
    assert found.gap <= 1e-3 * found.objective
    assert found.objective == pytest.approx(twin.objective(problem, found.x))
    assert found.objective == pytest.approx(primal_objective(problem, found.x))


@pytest.mark.parametrize("seed", range(3))
def test_sampled_triangles_have_an_answered_pair_and_a_neighbor(seed):
    D = plane(seed, 12)
    known = Constraints.from_pairs(must_link=[(0, 3)], cannot_link=[(4, 5), (2, 9)], n_samples=12)
    problem, sampled = build(
        given_distances(D), links_of(known), Settings(3, 0.01, 1.0, 10.0, 1.0, False, 0.0)
    )
    pairs = np.column_stack(np.divmod(sampled.keys, 12))
    found = {frozenset(pairs[triangle].ravel().tolist()) for triangle in problem.sides}
    assert found == twin.sampled(D, known.pairs.tolist(), 3)
    assert len(found) == len(problem.sides)
