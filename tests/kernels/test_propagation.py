"""Propagation over graphs, and edges adjusted by it, against dense formulas."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, eye_array, random_array
from scipy.stats import ortho_group
from tests.reference.propagation import solved

from clew.kernels.propagation import add_symmetric_products, adjust, collect, diffuse, mirror_lower


def solve(S, alpha, right, tol=1e-4):
    matrix = S.tocsr().astype(np.float32)
    arrays = (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)
    entries = coo_array(right)
    places = (of.astype(np.int32) for of in (entries.row, entries.col))
    solution, buffer = (np.full(right.shape, np.nan, np.float32) for _ in range(2))
    n_steps = int(np.ceil(np.arccosh(1 / tol) / np.arccosh(1 / alpha)))
    diffuse(*arrays, alpha, n_steps, *places, entries.data.astype(np.float32), solution, buffer)
    return solution


def graph(n, seed):
    W = random_array((n, n), density=0.1, rng=np.random.default_rng(seed))
    W = (W + W.T).tocsr()
    root = 1 / np.sqrt(np.maximum(W.sum(axis=1), 1e-12))
    return W.multiply(root[:, None]).multiply(root)


@pytest.mark.parametrize("alpha", [0.1, 0.8, 0.99])
def test_diffusion_solves_the_system(alpha):
    S = graph(80, 0)
    right = np.random.RandomState(0).normal(size=(80, 5))
    solution = solve(S, alpha, right)
    expected = solved(S.toarray(), alpha, right)
    assert np.abs(solution - expected).max() < 2e-3 * np.abs(expected).max() / (1 - alpha) ** 0.5


def test_the_solution_for_zeros_is_zero():
    assert not solve(graph(30, 1), 0.8, np.zeros((30, 2))).any()


def test_a_row_without_neighbors_keeps_its_value():
    S = graph(30, 2).tolil()
    S[3] = S[:, 3] = 0
    right = np.eye(30)[:, 2:5]
    solution = solve(S, 0.8, right, tol=1e-6)
    np.testing.assert_allclose(solution[3], [0, 1, 0], atol=1e-5)


@pytest.mark.parametrize("tol", [0.1, 1e-3])
@pytest.mark.parametrize("alpha", [0.3, 0.8, 0.98])
def test_residuals_are_below_the_tolerance(alpha, tol):
    S, right = graph(80, 3), np.eye(80)[:, :20]
    residual = right - (eye_array(80) - alpha * S) @ solve(S, alpha, right, tol)
    assert np.linalg.norm(residual, axis=0).max() <= tol


def test_entries_of_the_same_place_are_summed():
    S = graph(40, 5).tocsr().astype(np.float32)
    arrays = (S.indptr.astype(np.int32), S.indices.astype(np.int32), S.data)
    twice = np.array([7, 7], np.int32), np.zeros(2, np.int32), np.array([0.25, 0.75], np.float32)
    solution, buffer = np.empty((2, 40, 1), np.float32)
    diffuse(*arrays, 0.8, 12, *twice, solution, buffer)
    once = np.eye(40)[:, [7]]
    np.testing.assert_allclose(solution, solve(graph(40, 5), 0.8, once, 1e-3), atol=2e-3)


def test_columns_do_not_depend_on_each_other():
    S = graph(60, 4)
    right = np.column_stack([np.zeros(60), np.eye(60)[0], np.random.RandomState(1).normal(size=60)])
    together = solve(S, 0.9, right)
    for c in range(3):
        alone = solve(S, 0.9, right[:, [c]])
        np.testing.assert_allclose(together[:, [c]], alone, atol=2e-4 * np.abs(right).max())


def test_edge_products_are_entries_of_a_matrix_product():
    generator = np.random.RandomState(0)
    left, right = generator.normal(size=(2, 20, 7)).astype(np.float32)
    row, column = generator.randint(0, 20, (2, 50)).astype(np.int32)
    total = np.ones(50)
    add_symmetric_products(row, column, left, right, total)
    product = left @ right.T
    expected = 1 + (product + product.T)[row, column]
    np.testing.assert_allclose(total, expected, rtol=1e-5, atol=1e-5)


def test_orthogonal_factors_have_no_product():
    Q = ortho_group.rvs(6, random_state=0).astype(np.float32)
    i, j = (np.triu_indices(6, 1)[side].astype(np.int32) for side in (0, 1))
    total = np.zeros(len(i))
    add_symmetric_products(i, j, Q, Q, total)
    np.testing.assert_allclose(total, 0, atol=1e-6)


N, LEAST = 30, 0.05


def affinities(n, seed):
    W = random_array((n, n), density=0.2, rng=np.random.default_rng(seed)).toarray()
    W = np.maximum(W, W.T)
    np.fill_diagonal(W, 0.0)
    return W


def adjusted_in_sparse_form(W, F):
    graph, found = csr_array(W), np.triu(F, 1).astype(np.float32)
    count = np.empty(len(W), np.int64)
    arrays = (graph.indptr, graph.indices, graph.data)
    adjust(found, *arrays, LEAST, np.empty(len(W), np.float32), count)
    start = np.concatenate([[0], count.cumsum()])
    indices, data = np.empty(start[-1], np.int32), np.empty(start[-1])
    collect(found, LEAST, start[:-1].copy(), indices, data)
    return csr_array((data, indices, start), shape=W.shape)


@pytest.mark.parametrize("seed", range(3))
def test_affinities_are_raised_or_lowered_as_published(seed):
    W = affinities(N, seed)
    F = np.random.default_rng(seed).normal(size=(N, N)) * 7.0
    F = F + F.T
    np.fill_diagonal(F, 0.0)
    f = F / np.abs(F).max()
    expected = np.where(f >= 0, 1 - (1 - f) * (1 - W), (1 + f) * W)
    np.fill_diagonal(expected, 0.0)
    expected[expected < LEAST] = 0.0
    sparse = adjusted_in_sparse_form(W, F)
    assert sparse.has_sorted_indices
    np.testing.assert_allclose(sparse.toarray(), expected, atol=1e-6)


def test_without_propagated_answers_affinities_do_not_change():
    W = affinities(N, 3)
    W[W < LEAST] = 0.0
    np.testing.assert_allclose(adjusted_in_sparse_form(W, np.zeros((N, N))).toarray(), W, rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 5, 8, 9, 20])
@pytest.mark.parametrize("block", [1, 4, 64])
def test_the_lower_triangle_is_mirrored(n, block):
    given = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32)
    found = given.copy()
    mirror_lower(found, block)
    np.testing.assert_array_equal(found, np.tril(given) + np.tril(given, -1).T)
