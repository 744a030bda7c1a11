"""Units: scaling of features by common or by individual units."""

from __future__ import annotations

import numpy as np
import pytest

from clew._units import MAX_DEVIATION_RATIO, Units
from clew.exceptions import InvalidDataError

X = np.random.default_rng(0).normal(size=(50, 3))


def test_features_are_divided_by_their_standard_deviations_on_request():
    scaled = Units.standardized(X * [1, 10, 100] + 7, True).scale(X * [1, 10, 100] + 7)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_otherwise_all_are_divided_by_one_number():
    applied = Units.standardized(X * [1, 10, 100], False).scale(X * [1, 10, 100])
    deviation = applied.std(axis=0) / X.std(axis=0)
    np.testing.assert_allclose(deviation / deviation[0], [1, 10, 100])
    np.testing.assert_allclose(applied.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("times", [0.8, 1.3])
def test_units_differ_if_the_largest_deviation_is_five_times_the_median(times):
    values = (X - X.mean(axis=0)) / X.std(axis=0) * [1, 1, MAX_DEVIATION_RATIO * times]
    deviation = Units.standardized(values, "auto").scale(values).std(axis=0)
    is_divided = times > 1
    assert np.allclose(deviation, deviation[0]) == is_divided


def test_constant_features_do_not_count():
    values = np.column_stack([X[:, 0], 20 * X[:, 1], np.full((50, 3), 4.0)])
    # The median of all five would be 0.
    units = Units.standardized(values, "auto")
    applied = units.scale(values)
    assert np.isfinite(applied).all()
    np.testing.assert_allclose(applied[:, 2:], 0, atol=1e-12)


@pytest.mark.parametrize("standardize", [True, False, "auto"])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_huge_and_tiny_numbers(standardize, scale):
    applied = Units.standardized(X * scale, standardize).scale(X * scale)
    np.testing.assert_allclose(applied, Units.standardized(X, standardize).scale(X), atol=1e-9)


def test_nothing_varies():
    for standardize in (True, False, "auto"):
        zeros = np.zeros((4, 2))
        np.testing.assert_array_equal(Units.standardized(zeros, standardize).scale(zeros), 0)


def test_new_rows_are_scaled_as_the_fitted_ones():
    units = Units.standardized(X, True)
    np.testing.assert_allclose(units.scale(X[:5]), units.scale(X)[:5])


def test_unit_range_undoes_units_and_keeps_constants_at_zero():
    Z = np.column_stack([np.random.default_rng(0).normal(size=(50, 3)), np.full(50, 7.0)])
    Y = Z * [1e-6, 1e9, -3.0, 1.0] + [5.0, -1e10, 0.1, 0.0]
    scaled = Units.to_unit_range(Z).scale(Z)
    np.testing.assert_allclose(scaled[:, :3].min(axis=0), -1)
    np.testing.assert_allclose(scaled[:, :3].max(axis=0), 1)
    assert not scaled[:, 3].any()
    assert not Units.to_unit_range(Z).scale(Z + 1)[:, 3].any()
    other = Units.to_unit_range(Y).scale(Y)
    np.testing.assert_allclose(np.abs(other), np.abs(scaled), atol=1e-5)


def test_unit_range_of_huge_numbers_is_finite():
    Z = np.array([[-1.7e308], [0.0], [1.7e308]])
    np.testing.assert_allclose(Units.to_unit_range(Z).scale(Z).ravel(), [-1, 0, 1])


def test_around_the_median_one_far_row_moves_no_other():
    far = np.vstack([X, np.full((1, 3), 1e12)])
    units = Units.around_median(far)
    scaled = units.scale(far)
    assert np.abs(scaled).max() <= 2
    np.testing.assert_allclose(scaled[:50] * units.unit, X - np.median(far, axis=0), atol=1e-3)


def test_ranges_whose_squares_overflow_are_refused():
    with pytest.raises(InvalidDataError, match="feature 1 span"):
        Units.of_ranges(X * [1, 1e160, 1])


@pytest.mark.parametrize("choose", [Units.around_mean, Units.of_mean_variance, Units.of_ranges])
def test_unscale_undoes_scale(choose):
    values = X * [1, 10, 100] + 7
    units = choose(values)
    np.testing.assert_allclose(units.unscale(units.scale(values)), values)
