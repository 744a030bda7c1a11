"""Features of kernels: their inner products are the kernel, for fitted rows and new ones."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from clew.exceptions import InvalidDataError
from clew.similarity.kernels import feature_maps as maps
from clew.similarity.kernels.feature_maps import (
    AdaptiveGaussian,
    CallableKernel,
    FourierFeatures,
    PrecomputedKernel,
    pivoted_cholesky,
)

X, _ = make_blobs(120, 4, centers=3, random_state=0)


def papers_kernel(X, neighbor):
    """Equation 19, row by row."""
    distance = cdist(X, X)
    scale = [np.sort(row)[neighbor] for row in distance]
    return np.exp(-(distance**2) / np.outer(scale, scale))


def test_adaptive_features_are_the_papers_kernel() -> None:
    features = AdaptiveGaussian(rank=120).fit(X).transform(X)
    np.testing.assert_allclose(features @ features.T, papers_kernel(X, 120 // 8), atol=0.05)


def test_the_hundredth_neighbor_gives_the_scale_where_there_are_enough() -> None:
    many = np.random.default_rng(0).normal(size=(900, 2))
    features = AdaptiveGaussian().fit(many).transform(many)
    np.testing.assert_allclose(features @ features.T, papers_kernel(many, 100), atol=0.1)


def test_rank_is_as_low_as_99_percent_of_the_trace_allow() -> None:
    feature_map = AdaptiveGaussian().fit(X)
    features = feature_map.transform(X)
    assert 0.99 * len(X) <= np.square(features).sum() <= len(X) + 1e-8
    fewer = AdaptiveGaussian(features.shape[1] - 1).fit(X).transform(X)
    assert np.square(fewer).sum() < 0.99 * len(X)


@pytest.mark.parametrize(
    "feature_map",
    [AdaptiveGaussian(), CallableKernel(laplacian_kernel), FourierFeatures(50)],
    ids=["adaptive", "callable", "fourier"],
)
def test_each_row_has_the_same_features_alone_as_among_others(feature_map) -> None:
    features = feature_map.fit(X).transform(X)
    np.testing.assert_allclose(feature_map.transform(X[7:8])[0], features[7], atol=1e-10)
    assert len(feature_map.transform(X[:30] + 0.1)) == 30


@pytest.mark.parametrize("n_samples", [50, 200])
def test_a_sample_is_enough_for_many_rows(monkeypatch, n_samples) -> None:
    monkeypatch.setattr(maps, "SAMPLE_ROWS", n_samples)
    rows, group = make_blobs(600, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=1)
    features = AdaptiveGaussian(seed=3).fit(rows).transform(rows)
    kernel = features @ features.T
    same = group[:, None] == group
    assert kernel[same].mean() > 0.1 > 0.01 > kernel[~same].mean()
    again = AdaptiveGaussian(seed=3).fit(rows).transform(rows)
    np.testing.assert_array_equal(features, again)


def test_copies_of_a_row_give_no_scale_of_0() -> None:
    copies = np.vstack([np.repeat(X[:1], 80, axis=0), X])
    features = AdaptiveGaussian(rank=60).fit(copies).transform(copies)
    assert np.isfinite(features).all()
    np.testing.assert_allclose(features[:80], features[80:81].repeat(80, axis=0), atol=1e-10)
    assert np.square(features[0] - features[100]).sum() > 0.01


def test_rows_that_all_coincide_have_one_feature() -> None:
    assert AdaptiveGaussian().fit(np.ones((20, 3))).transform(np.ones((20, 3))).shape == (20, 1)


def test_units_of_features_do_not_matter() -> None:
    features = AdaptiveGaussian().fit(X).transform(X)
    huge = AdaptiveGaussian().fit(X * 1e150).transform(X * 1e150)
    np.testing.assert_allclose(huge @ huge.T, features @ features.T, atol=1e-8)


def test_features_of_an_indefinite_kernel_are_no_longer_than_its_diagonal() -> None:
    rows = np.array(np.meshgrid(*[range(5)] * 3)).reshape(3, -1).T / 2.0
    kernel = papers_kernel(rows, 100)
    assert np.linalg.eigvalsh(kernel)[0] < -1e-3
    features = PrecomputedKernel().fit(kernel).transform(kernel)
    assert np.square(features).sum(axis=1).max() < 1.1
    np.testing.assert_allclose(features @ features.T, kernel, atol=0.15)


def test_the_kernel_among_pivots_is_exact() -> None:
    kernel = rbf_kernel(X, gamma=0.1)
    pivots, root = pivoted_cholesky(np.ones(len(X)), lambda at: kernel[:, at], 10, 0.0)
    assert len(set(pivots)) == 10
    np.testing.assert_allclose(root @ root.T, kernel[np.ix_(pivots, pivots)], atol=1e-12)
    assert not np.triu(root, 1).any()


@pytest.mark.parametrize("kernel", [rbf_kernel, laplacian_kernel])
def test_callables_and_given_kernels_agree(kernel) -> None:
    given = kernel(X, X)
    a = CallableKernel(kernel).fit(X).transform(X)
    b = PrecomputedKernel().fit(given).transform(given)
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_fourier_features_come_near_their_kernel() -> None:
    features = FourierFeatures(4000, seed=0).fit(X).transform(X)
    width = np.median(cdist(X, X)[np.triu_indices(len(X), 1)])
    np.testing.assert_allclose(features @ features.T, rbf_kernel(X, gamma=width**-2), atol=0.12)


def test_asymmetric_kernels_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="symmetric"):
        PrecomputedKernel().fit(np.triu(np.ones((4, 4))))
    with pytest.raises(InvalidDataError, match="square"):
        PrecomputedKernel().fit(X)
