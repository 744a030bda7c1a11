"""Features and closeness of pairs of rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from clew.trust.features._pair_forest import closeness


def rows_of(n, seed=0):
    random = np.random.default_rng(seed)
    return np.array([random.choice(n, 2, replace=False) for _ in range(60)])


def test_closeness_compares_the_distance_with_local_scales():
    X = np.random.default_rng(0).normal(size=(80, 3)) * [1.0, 100.0, 0.01]
    rows = rows_of(80)
    D = cdist(*[2 * X / np.ptp(X, axis=0)] * 2)
    scale = np.sort(D, axis=1)[:, 7]
    i, j = rows.T
    expected = -np.log(D[i, j] ** 2 / (scale[i] * scale[j]))
    np.testing.assert_allclose(closeness(X, rows), expected, rtol=1e-6)


def test_closeness_does_not_depend_on_the_order_of_a_pair():
    X = np.random.default_rng(0).normal(size=(80, 3))
    rows = rows_of(80)
    np.testing.assert_allclose(closeness(X, rows), closeness(X, rows[:, ::-1]))


def test_rows_that_coincide_are_closest_of_all_but_not_infinitely():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X[1] = X[0]
    close = closeness(X, np.vstack([[0, 1], rows_of(80)]))
    assert np.isfinite(close).all()
    assert close[0] > close[1:].max() + 1
    same = closeness(np.ones((10, 2)), rows_of(10))
    assert np.isfinite(same).all()
    assert np.ptp(same) == 0
