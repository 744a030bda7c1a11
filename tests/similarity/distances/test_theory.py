"""Lemmas 1 to 4 and theorem 5 of the thesis, and the optimum that a general solver finds."""

from __future__ import annotations

from itertools import combinations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from tests.reference import dist_lqp as twin

from clew import Constraints
from clew.kernels.dist_lqp import Bounds
from clew.similarity.distances._dual import Problem, primal_objective, solve
from clew.similarity.distances._given import given_distances
from clew.similarity.distances._links import links_of
from clew.similarity.distances._network import Settings, build
from clew.similarity.distances._triangles import sampled_triangles

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
