"""Inverses and products in single precision: equal to SciPy's, and without the GIL."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg.blas import ssyr2k
from scipy.linalg.lapack import spotrf, spotri

from clew.similarity.graphs._single_precision import inverse, upper_of_product_sum


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
