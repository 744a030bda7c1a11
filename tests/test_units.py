"""Whether features have units of their own."""

from __future__ import annotations

import numpy as np
import pytest

from clew._units import MOST_SPREAD, Units

X = np.random.default_rng(0).normal(size=(50, 3))


def test_features_are_divided_by_what_they_vary_where_that_is_asked_for():
    scaled = Units.of(X * [1, 10, 100] + 7, True).applied(X * [1, 10, 100] + 7)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_otherwise_all_are_divided_by_one_number():
    applied = Units.of(X * [1, 10, 100], False).applied(X * [1, 10, 100])
    deviation = applied.std(axis=0) / X.std(axis=0)
    np.testing.assert_allclose(deviation / deviation[0], [1, 10, 100])
    np.testing.assert_allclose(applied.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("times", [0.8, 1.3])
def test_units_differ_where_the_largest_spread_is_five_times_the_median(times):
    values = (X - X.mean(axis=0)) / X.std(axis=0) * [1, 1, MOST_SPREAD * times]
    deviation = Units.of(values, "auto").applied(values).std(axis=0)
    is_divided = times > 1
    assert np.allclose(deviation, deviation[0]) == is_divided


def test_constant_features_do_not_count():
    values = np.column_stack([X[:, 0], 20 * X[:, 1], np.full((50, 3), 4.0)])
    # The median of all five would be 0.
    units = Units.of(values, "auto")
    applied = units.applied(values)
    assert np.isfinite(applied).all()
    np.testing.assert_allclose(applied[:, 2:], 0, atol=1e-12)


@pytest.mark.parametrize("standardize", [True, False, "auto"])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_huge_and_tiny_numbers(standardize, scale):
    applied = Units.of(X * scale, standardize).applied(X * scale)
    np.testing.assert_allclose(applied, Units.of(X, standardize).applied(X), atol=1e-9)


def test_nothing_varies():
    for standardize in (True, False, "auto"):
        zeros = np.zeros((4, 2))
        np.testing.assert_array_equal(Units.of(zeros, standardize).applied(zeros), 0)


def test_new_rows_are_measured_as_the_fitted_ones():
    units = Units.of(X, True)
    np.testing.assert_allclose(units.applied(X[:5]), units.applied(X)[:5])
