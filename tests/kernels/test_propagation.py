"""Conjugate gradients over a graph, and matrix products at its edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import random_array
from scipy.stats import ortho_group
from tests.reference.propagation import solved

from clew.kernels.propagation import add_symmetric_products, diffuse


def solve(S, alpha, right, tol=1e-4, max_iter=500):
    matrix = S.tocsr().astype(np.float32)
    residual = np.ascontiguousarray(right, np.float32)
    solution, direction, image = (np.empty_like(residual) for _ in range(3))
    arrays = (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)
    buffers = (solution, residual, direction, image, np.empty((4, residual.shape[1])))
    return diffuse(*arrays, alpha, tol, max_iter, *buffers), solution


def graph(n, seed):
    W = random_array((n, n), density=0.1, rng=np.random.default_rng(seed))
    W = (W + W.T).tocsr()
    root = 1 / np.sqrt(np.maximum(W.sum(axis=1), 1e-12))
    return W.multiply(root[:, None]).multiply(root)


@pytest.mark.parametrize("alpha", [0.1, 0.8, 0.99])
def test_diffusion_solves_the_system(alpha):
    S = graph(80, 0)
    right = np.random.RandomState(0).normal(size=(80, 5))
    is_solved, solution = solve(S, alpha, right)
    assert is_solved
    expected = solved(S.toarray(), alpha, right)
    assert np.abs(solution - expected).max() < 2e-3 * np.abs(expected).max() / (1 - alpha) ** 0.5


def test_the_solution_for_zeros_is_zero():
    is_solved, solution = solve(graph(30, 1), 0.8, np.zeros((30, 2)))
    assert is_solved
    assert not solution.any()


def test_a_row_without_neighbors_keeps_its_value():
    S = graph(30, 2).tolil()
    S[3] = S[:, 3] = 0
    right = np.eye(30)[:, 2:5]
    _, solution = solve(S, 0.8, right)
    np.testing.assert_array_equal(solution[3], [0, 1, 0])


def test_too_few_steps_are_reported():
    is_solved, _ = solve(graph(80, 3), 0.999, np.eye(80)[:, :2], tol=1e-6, max_iter=2)
    assert not is_solved


def test_columns_do_not_depend_on_each_other():
    # A column that converges early must not change while others go on.
    S = graph(60, 4)
    right = np.column_stack([np.zeros(60), np.eye(60)[0], np.random.RandomState(1).normal(size=60)])
    _, together = solve(S, 0.9, right)
    for c in range(3):
        _, alone = solve(S, 0.9, right[:, [c]])
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
