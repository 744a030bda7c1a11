"""The nearest anchors of rows, against sorting all distances."""

from __future__ import annotations

import numpy as np

from clew.kernels.nearest import nearest_by_products


def found(rows, anchors, n_nearest):
    half_squares = ((anchors**2).sum(axis=1) / 2).astype(np.float32)
    nearest = np.empty((len(rows), n_nearest), np.int32)
    distance = np.empty((len(rows), n_nearest), np.float32)
    nearest_by_products(rows @ anchors.T, half_squares, nearest, distance)
    return nearest, distance


def test_against_sorting():
    random = np.random.RandomState(0)
    rows, anchors = (random.normal(size=(n, 3)).astype(np.float32) for n in (200, 40))
    squared = ((rows[:, None] - anchors) ** 2).sum(axis=2)
    nearest, distance = found(rows, anchors, 5)
    assert (nearest == squared.argsort(axis=1, kind="stable")[:, :5]).all()
    own = (rows**2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        2 * distance + own, np.sort(squared, axis=1)[:, :5], rtol=1e-4, atol=1e-5
    )


def test_the_first_of_equal_anchors_comes_first():
    anchors = np.array([[1.0], [0.0], [1.0], [0.0]], np.float32)
    nearest, _ = found(np.zeros((2, 1), np.float32), anchors, 4)
    assert nearest.tolist() == [[1, 3, 0, 2]] * 2


def test_rows_with_nan_get_some_anchor():
    rows = np.full((1, 2), np.nan, np.float32)
    nearest, _ = found(rows, np.ones((3, 2), np.float32), 2)
    assert ((nearest >= 0) & (nearest < 3)).all()
