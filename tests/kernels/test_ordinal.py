"""Losses of answers are those of the formulas, and gradients are those of finite differences."""

import numpy as np
import pytest
from tests.reference import ordinal as reference

from clew.kernels.ordinal import DISTANCE, T_STE, comparison_loss, pair_loss

SMOOTHING, LAPSE, THRESHOLD = 1e-3, 0.05, 2.0
FORMS = {"tste": T_STE, "distance": DISTANCE}
OPTIONS = {"triplet": np.array([(0, 1), (0, 2)]), "odd_one_out": np.array([(0, 1), (0, 2), (1, 2)])}


def problem(seed, n_rows=7, n_answers=30, n_components=3):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(n_rows)[:3] for _ in range(n_answers)])
    space = rng.normal(size=(n_rows, n_components))
    return space, rows, rng.lognormal(size=n_answers), rng.uniform(0.1, 2, n_answers)


def by_differences(loss, space, step=1e-5):
    """Central differences of a loss."""
    gradient = np.zeros_like(space)
    for at in np.ndindex(space.shape):
        for sign in (1, -1):
            moved = space.copy()
            moved[at] += sign * step
            gradient[at] += sign * loss(moved) / (2 * step)
    return gradient


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_comparisons(form, kind, seed):
    space, rows, slope, weight = problem(seed)
    options = OPTIONS[kind]

    def loss(where):
        return reference.comparison_loss(
            where, rows, options, slope, weight, LAPSE, form, SMOOTHING
        )

    gradient = np.ones_like(space)
    found = comparison_loss(
        space, rows, options, slope, weight, LAPSE, FORMS[form], SMOOTHING, gradient
    )
    assert found == pytest.approx(loss(space))
    np.testing.assert_allclose(gradient - 1, by_differences(loss, space), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_pairs(seed):
    space, rows, slope, weight = problem(seed)
    rows = np.ascontiguousarray(rows[:, :2])
    is_same = np.random.default_rng(seed).uniform(size=len(rows)) < 0.5

    def loss(where):
        return reference.pair_loss(where, rows, is_same, slope, weight, LAPSE, THRESHOLD)

    gradient = np.ones_like(space)
    found = pair_loss(space, rows, is_same, slope, weight, LAPSE, THRESHOLD, gradient)
    assert found == pytest.approx(loss(space))
    np.testing.assert_allclose(gradient - 1, by_differences(loss, space), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", FORMS.values())
def test_rows_at_one_point_and_far_apart(form):
    rows, ones = np.array([(0, 1, 2), (3, 2, 1)]), np.ones(2)
    for space in (np.zeros((4, 2)), np.arange(8.0).reshape(4, 2) * 1e6):
        gradient = np.zeros_like(space)
        for options in OPTIONS.values():
            loss = comparison_loss(
                space, rows, options, ones, ones, LAPSE, form, SMOOTHING, gradient
            )
            assert np.isfinite(loss)
        is_same = np.array([True, False])
        pairs = np.ascontiguousarray(rows[:, :2])
        assert np.isfinite(pair_loss(space, pairs, is_same, ones, ones, LAPSE, 2.0, gradient))
        assert np.isfinite(gradient).all()
