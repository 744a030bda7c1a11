"""Projections onto triangle inequalities and bounds, and paths through must-linked rows."""

import numpy as np
import pytest
from tests.reference import dist_lqp as twin

from clew.kernels.dist_lqp import Bounds, close_triangles, sweep_bounds, sweep_triangles
from clew.kernels.graphs import shorten_through


def problem(seed, n=7):
    rng = np.random.default_rng(seed)
    sides = twin.all_triangles(n).astype(np.int32)
    x = rng.uniform(0.1, 1, n * (n - 1) // 2)
    return sides, x, rng.uniform(0.2, 2, len(x))


def excess(sides, x):
    a, b, c = x[sides].T
    return max((a - (b + c)).max(), (b - (a + c)).max(), (c - (a + b)).max())


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_are_those_of_the_twin(seed):
    sides, x, step = problem(seed)
    every = np.arange(len(sides), dtype=np.int32)
    active, multipliers = np.empty_like(every), np.zeros(sides.shape)
    own, slow = x.copy(), np.zeros(sides.shape)
    for _ in range(4):
        n_active, _ = sweep_triangles(sides, step, every, len(every), x, multipliers, active)
        own, slow = twin.sweep_triangles(sides, step, own, slow)
        np.testing.assert_allclose(x, own)
        np.testing.assert_allclose(multipliers, slow, atol=1e-15)
        np.testing.assert_array_equal(active[:n_active], np.flatnonzero(slow.sum(axis=1) > 0))


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_the_given_ones_minus_the_steps_of_all_multipliers(seed):
    sides, x, step = problem(seed)
    given, every = x.copy(), np.arange(len(sides), dtype=np.int32)
    multipliers = np.zeros(sides.shape)
    for _ in range(3):
        sweep_triangles(sides, step, every, len(every), x, multipliers, every.copy())
    rows = twin.triangle_rows(sides, len(x))
    np.testing.assert_allclose(x, given - step * (multipliers.ravel() @ rows))


@pytest.mark.parametrize("seed", range(3))
def test_closing_leaves_no_triangle_inequality_violated(seed):
    sides, x, _ = problem(seed)
    before = x.copy()
    close_triangles(sides, x)
    assert excess(sides, before) > 0.1
    assert excess(sides, x) <= 0
    assert (x <= before).all()
    assert (x >= 0).all()


def test_bounds_hold_unless_the_whole_penalty_is_used():
    bounds = Bounds(np.array([9.0, 0.1, 0.0]), np.array([0.0, 0.0, 9.0]), 0.2, 0.7)
    x, step = np.array([0.5, 0.5, 0.5]), np.full(3, 0.5)
    over, under = np.zeros(3), np.zeros(3)
    sweep_bounds(bounds, step, x, over, under)
    np.testing.assert_allclose(x, [0.2, 0.45, 0.7])
    np.testing.assert_allclose(over, [0.6, 0.1, 0])
    np.testing.assert_allclose(under, [0, 0, 0.4])


@pytest.mark.parametrize("seed", range(3))
def test_paths_through_components_are_those_through_their_rows(seed):
    rng = np.random.default_rng(seed)
    D = rng.uniform(1, 9, (12, 12))
    D = np.triu(D, 1) + np.triu(D, 1).T
    must = [(0, 1), (1, 2), (5, 6), (8, 9)]
    found = D.copy()
    shorten_through(np.array([0, 3, 5, 7]), np.array([0, 1, 2, 5, 6, 8, 9]), found)
    np.testing.assert_allclose(found, twin.shortest_paths(D, must, []))
