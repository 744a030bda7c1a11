"""KernelMeanShift: the groups of scikit-learn's MeanShift, on features and on a kernel."""

import numpy as np
import pytest
from sklearn.cluster import MeanShift, estimate_bandwidth
from sklearn.datasets import make_blobs

from clew.cluster import KernelMeanShift
from clew.exceptions import InvalidDataError, TooLargeError
from clew.metrics import adjusted_rand_score

X, y = make_blobs([60, 40, 20], centers=[(0, 0, 0), (9, 0, 0), (0, 9, 0)], random_state=0)
K = X @ X.T


@pytest.mark.parametrize(("kernel", "data"), [("features", X), ("precomputed", K)])
def test_it_finds_the_groups_and_their_number(kernel, data):
    model = KernelMeanShift(kernel=kernel, random_state=0).fit(data)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_, y) == 1
    np.testing.assert_array_equal(np.bincount(model.labels_), [60, 40, 20])  # the largest first
    np.testing.assert_array_equal(model.predict(data), model.labels_)


@pytest.mark.slow
def test_on_features_the_result_is_that_of_scikit_learn():
    bandwidth = 2.5
    model, peer = KernelMeanShift(bandwidth).fit(X), MeanShift(bandwidth=bandwidth).fit(X)
    assert adjusted_rand_score(model.labels_, peer.labels_) == 1
    assert model.bandwidth_ == pytest.approx(bandwidth)


def test_inner_products_as_kernel_give_the_groups_of_features():
    for bandwidth in (3.0, 5.0):
        on_features = KernelMeanShift(bandwidth).fit(X)
        on_kernel = KernelMeanShift(bandwidth, kernel="precomputed").fit(K)
        assert adjusted_rand_score(on_features.labels_, on_kernel.labels_) == 1
        new = X[:9] + 0.1
        np.testing.assert_array_equal(on_features.predict(new), on_kernel.predict(new @ X.T))


def test_the_estimated_bandwidth_is_that_of_scikit_learn():
    model = KernelMeanShift(quantile=0.1, random_state=0).fit(X)
    distance = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)
    assert model.bandwidth_ == pytest.approx(
        distance[:, 11].mean()
    )  # the 12th nearest row, itself included
    assert model.bandwidth_ == pytest.approx(estimate_bandwidth(X, quantile=0.1))


def test_the_unit_does_not_matter():
    base = KernelMeanShift(random_state=0).fit(X)
    for factor in (2.0**-400, 2.0**400):
        model = KernelMeanShift(random_state=0).fit(X * factor)
        np.testing.assert_array_equal(model.labels_, base.labels_)
        assert model.bandwidth_ == pytest.approx(base.bandwidth_ * factor)


def test_equal_rows_are_one_group():
    assert KernelMeanShift().fit(np.ones((5, 2))).n_clusters_ == 1
    assert KernelMeanShift(kernel="precomputed").fit(np.zeros((5, 5))).n_clusters_ == 1
    two = KernelMeanShift(quantile=0.1).fit(np.repeat([[0.0], [1.0]], 20, axis=0))
    assert two.bandwidth_ > 0


def test_eigenvectors_of_negative_eigenvalues_are_left_out():
    noise = np.random.RandomState(0).normal(0, 0.01, K.shape)
    kernel = K + noise + noise.T + 0.5 * np.eye(len(K))
    assert np.linalg.eigvalsh(kernel)[0] < 1
    assert KernelMeanShift(kernel="precomputed", random_state=0).fit(kernel).n_clusters_ >= 3


def test_invalid_and_too_large_kernels_raise(monkeypatch):
    with pytest.raises(InvalidDataError, match="square"):
        KernelMeanShift(kernel="precomputed").fit(X)
    monkeypatch.setattr("clew.cluster.kernel.kernel_mean_shift.EIGENVECTOR_ROWS", 100)
    with pytest.raises(TooLargeError, match="beyond 100 rows"):
        KernelMeanShift(kernel="precomputed").fit(K)


@pytest.mark.parametrize(
    "kernel", [np.ones((30, 30)), np.kron([[4, 1], [1, 1]], np.ones((15, 15)))]
)
def test_equal_rows_of_a_kernel_are_one_group_despite_rounding(kernel):
    model = KernelMeanShift(kernel="precomputed", random_state=0).fit(kernel)
    assert model.n_clusters_ == len(np.unique(kernel, axis=0))
    assert KernelMeanShift(random_state=0).fit(kernel).n_clusters_ == model.n_clusters_
    np.testing.assert_array_equal(model.predict(kernel), model.labels_)
