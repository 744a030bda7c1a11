"""Distances without units, and the scales around rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from clew._scales import gaussian_affinity, local_scales, to_unit_range


def test_unit_range_undoes_units_and_keeps_constants_at_zero() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    X[:, 3] = 7.0
    Y = X * [1e-6, 1e9, -3.0, 1.0] + [5.0, -1e10, 0.1, 0.0]
    unit = to_unit_range(X, X.min(axis=0), X.max(axis=0))
    np.testing.assert_allclose(unit[:, :3].min(axis=0), -1)
    np.testing.assert_allclose(unit[:, :3].max(axis=0), 1)
    assert not unit[:, 3].any()
    other = to_unit_range(Y, Y.min(axis=0), Y.max(axis=0))
    np.testing.assert_allclose(np.abs(other), np.abs(unit), atol=1e-5)


def test_unit_range_of_huge_numbers_is_finite() -> None:
    X = np.array([[-1.7e308], [0.0], [1.7e308]])
    np.testing.assert_allclose(to_unit_range(X, X.min(axis=0), X.max(axis=0)).ravel(), [-1, 0, 1])


def test_local_scale_is_the_seventh_other_distance() -> None:
    X = np.random.default_rng(1).normal(size=(40, 3))
    squared = cdist(X, X, "sqeuclidean")
    expected = np.sort(np.sqrt(squared), axis=1)[:, 7]
    np.testing.assert_allclose(local_scales(squared), expected)


@pytest.mark.parametrize("n_others", [1, 3, 6])
def test_few_others_give_the_farthest(n_others: int) -> None:
    squared = np.arange(1.0, n_others + 1)[None, :]
    assert local_scales(squared)[0] == pytest.approx(np.sqrt(n_others))


def test_rows_that_all_coincide_have_scale_one_and_affinity_one() -> None:
    X = np.full((12, 2), 0.3)
    np.testing.assert_array_equal(local_scales(np.zeros((12, 12))), 1.0)
    np.testing.assert_allclose(gaussian_affinity(X, X), 1.0)


def test_gaussian_affinity_against_the_formula() -> None:
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(1500, 3)), rng.normal(size=(20, 3))
    scale = local_scales(cdist(X, X, "sqeuclidean"))
    squared = cdist(Y, X, "sqeuclidean")
    expected = np.exp(-squared / (local_scales(squared)[:, None] * scale))
    np.testing.assert_allclose(gaussian_affinity(Y, X), expected, rtol=1e-4, atol=1e-6)


def test_affinity_of_fitted_rows_is_symmetric_with_ones_on_the_diagonal() -> None:
    X = np.random.default_rng(3).normal(size=(60, 5))
    X[10] = X[20]
    A = gaussian_affinity(X, X)
    np.testing.assert_allclose(A, A.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(A), 1, atol=1e-6)
    assert A[10, 20] == pytest.approx(1)
