"""Units: scaling of features by common or by individual units."""

import numpy as np
import pytest
from scipy.fft import dct
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import normalize

from clew._units import MAX_DEVIATION_RATIO, Units, have_own_units
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


@pytest.mark.parametrize("n_far", [1, 13])
def test_columns_far_from_zero_are_no_rows_of_one_length(n_far):
    # Seconds since 1970, or years, are large and nearly constant.
    wine = load_wine().data
    far = np.column_stack([wine, 1.7e9 + 86400 * np.random.default_rng(0).random(len(wine))])
    far[:, :n_far] += 1e9
    deviation = far.std(axis=0)
    assert have_own_units(far, deviation)
    np.testing.assert_allclose(Units.standardized(far, "auto").scale(far).std(axis=0), 1, rtol=1e-3)


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


PIXELS = load_digits().data[:300]
#: A spectrum that decays, as that of features of images and texts does.
SMOOTH = (
    np.random.default_rng(1).normal(size=(400, 80))
    @ (
        np.geomspace(50, 1, 80)[:, None]
        * np.linalg.qr(np.random.default_rng(2).normal(size=(80, 80)))[0]
    )
    + 40
)


def differ(values):
    return have_own_units(values, values.std(axis=0))


@pytest.mark.parametrize("table", [load_wine().data, load_breast_cancer().data], ids=len)
def test_columns_of_a_table_have_their_own_units(table):
    for values in (table, np.hstack([table, table]), 1e-9 * table, table[::3], table[:, ::-1]):
        assert differ(values)


def components(X):
    """What people compute from features: all components, some, of other rows, of texts."""
    whole = PCA(svd_solver="full").fit_transform(X)[:, :-1]
    of_half = PCA(50, random_state=0).fit(X[::2])
    texts = TruncatedSVD(50, random_state=0).fit_transform(X)
    shuffled = np.random.default_rng(0).permutation(50)
    return {
        "all": whole,
        "50": whole[:, :50],
        "single precision": whole[:, :50].astype(np.float32).astype(np.float64),
        "in another order": whole[:, shuffled],
        "repeated": np.hstack([whole[:, :50], whole[:, :7]]),
        "of other rows": of_half.transform(X[1::2]),
        "of texts": texts,
        "of length 1": normalize(texts),
        "cosine transform": dct(X, norm="ortho"),
    }


@pytest.mark.parametrize("X", [PIXELS[:, PIXELS.std(axis=0) > 0], SMOOTH], ids=["pixels", "smooth"])
def test_features_that_were_rotated_share_a_unit(X):
    assert not differ(X)
    for name, values in components(X).items():
        assert not differ(values), name


def test_such_components_do_differ_in_deviation():
    deviation = components(SMOOTH)["all"].std(axis=0)
    assert deviation.max() > MAX_DEVIATION_RATIO * np.median(deviation)


def test_counts_share_a_unit():
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.dirichlet(np.full(8, 0.1), 300) @ rng.gamma(0.05, 8, (8, 200)))
    counts = counts[:, counts.any(axis=0)].astype(np.float64)
    assert counts.std(axis=0).max() > MAX_DEVIATION_RATIO * np.median(counts.std(axis=0))
    assert not differ(counts)
    # Categories beside an amount of money are a table.
    assert differ(np.column_stack([counts > 0, rng.lognormal(10, 1, 300).round()]))


def test_counts_of_words_that_are_in_nearly_all_texts_share_a_unit():
    rng = np.random.default_rng(0)
    lengths = rng.integers(20, 400, 200)
    share = 1 / np.arange(1, 3001)
    counts = np.stack([rng.multinomial(n, share / share.sum()) for n in lengths])[:, :200] * 1.0
    assert (counts[:, 0] > 0).mean() > 0.9
    assert counts.std(axis=0).max() > MAX_DEVIATION_RATIO * np.median(counts.std(axis=0))
    assert not differ(counts)
    # Ages beside categories stand out; so do amounts that are no whole numbers.
    ages = rng.integers(0, 90, 200)
    assert differ(np.column_stack([counts[:, 50:] > 0, ages]))
    assert differ(np.column_stack([counts[:, 50:] > 0, rng.gamma(2, 2, 200)]))


def test_a_factorial_design_has_units_though_its_columns_are_uncorrelated():
    design = np.array(np.meshgrid(range(5), range(0, 120, 20), range(0, 1200, 300)))
    assert differ(design.reshape(3, -1).T.astype(np.float64))
