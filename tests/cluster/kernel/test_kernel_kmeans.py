"""KernelKMeans on a kernel is k-means on features whose inner products are the kernel."""

import numpy as np
import pytest
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from clew.cluster import KernelKMeans
from clew.cluster.kernel import kernel_kmeans
from clew.cluster.kernel.kernel_kmeans import (
    ComputedProducts,
    GivenProducts,
    descend_in_kernel,
    start_in_kernel,
)
from clew.exceptions import FewerGroupsWarning, InvalidDataError, InvalidParameterError
from clew.metrics import adjusted_rand_score

X, y = make_blobs(120, 4, centers=4, cluster_std=2.5, random_state=3)
K = X @ X.T


def lloyd_inertia(labels, features=X):
    groups = [features[labels == g] for g in np.unique(labels)]
    return sum(((rows - rows.mean(axis=0)) ** 2).sum() for rows in groups)


def test_on_features_the_result_is_that_of_scikit_learn():
    model = KernelKMeans(4, random_state=0).fit(X)
    peer = KMeans(4, n_init=10, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(peer.inertia_)
    assert model.inertia_ == pytest.approx(lloyd_inertia(model.labels_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert adjusted_rand_score(model.labels_, peer.labels_) == 1
    assert model.cluster_centers_.shape == (4, 4)


def test_batches_give_the_result_of_scikit_learn():
    model = KernelKMeans(4, batch_size=50, random_state=0).fit(X)
    peer = MiniBatchKMeans(4, batch_size=50, n_init=10, random_state=0).fit(X)
    assert model.inertia_ < 1.2 * KMeans(4, n_init=10, random_state=0).fit(X).inertia_
    assert adjusted_rand_score(model.labels_, peer.labels_) > 0.7


@pytest.mark.parametrize("seed", range(5))
def test_a_run_on_a_kernel_equals_lloyds_algorithm_on_features(seed):
    start = np.random.RandomState(seed).randint(4, size=len(X))
    means = np.array([X[start == g].mean(axis=0) for g in range(4)])
    lloyd = KMeans(4, init=means, n_init=1, tol=0, algorithm="lloyd").fit(X)
    run = descend_in_kernel(GivenProducts(K), start, 4, 300, 0.0)
    np.testing.assert_array_equal(run.labels, lloyd.labels_)
    assert run.inertia == pytest.approx(lloyd.inertia_)


@pytest.mark.parametrize("kernel", ["precomputed", linear_kernel])
def test_inner_products_as_kernel_give_the_groups_of_features(kernel):
    data, new = (K, X[:7] @ X.T) if kernel == "precomputed" else (X, X[:7])
    model = KernelKMeans(4, kernel=kernel, n_init=20, tol=0, random_state=0).fit(data)
    peer = KMeans(4, n_init=20, tol=0, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, peer.labels_) == 1
    assert model.inertia_ == pytest.approx(peer.inertia_)
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    np.testing.assert_array_equal(model.predict(new), model.labels_[:7])
    assert not hasattr(model, "cluster_centers_")


def test_predict_returns_the_nearest_mean():
    new = np.random.default_rng(0).normal(0, 6, (50, 4))
    model = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K)
    means = np.array([X[model.labels_ == g].mean(axis=0) for g in range(4)])
    nearest = ((new[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(new @ X.T), nearest)


def test_columns_computed_on_demand_give_the_same_result():
    kernel = lambda a, b: rbf_kernel(a, b, gamma=0.05)  # noqa: E731
    dense, lazy = GivenProducts(kernel(X, X)), ComputedProducts(X, kernel)
    starts = [start_in_kernel(p, 4, np.random.RandomState(0)) for p in (dense, lazy)]
    np.testing.assert_array_equal(*starts)
    runs = [descend_in_kernel(p, starts[0], 4, 300, 0.0) for p in (dense, lazy)]
    np.testing.assert_array_equal(runs[0].labels, runs[1].labels)
    assert runs[0].inertia == pytest.approx(runs[1].inertia)


@pytest.mark.parametrize("is_definite", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_no_iteration_raises_the_inertia(seed, is_definite):
    random = np.random.RandomState(seed)
    noise = random.normal(0, 0.3, K.shape)
    kernel = rbf_kernel(X, gamma=0.02) if is_definite else np.exp(noise + noise.T) / 4
    np.fill_diagonal(kernel, 1.0)
    kernel = np.minimum(kernel, 1.0)
    assert (np.linalg.eigvalsh(kernel)[0] > -1e-9) == is_definite
    start = random.randint(6, size=len(kernel))
    inertia = [
        descend_in_kernel(GivenProducts(kernel), start, 6, rounds, 0.0).inertia
        for rounds in range(1, 12)
    ]
    assert (np.diff(inertia) <= 1e-9).all()


def test_empty_groups_get_the_farthest_rows():
    start = np.zeros(len(X), dtype=np.int64)
    run = descend_in_kernel(GivenProducts(K), start, 5, 1, 0.0)
    assert np.bincount(run.labels, minlength=5).min() > 0
    middle = X.mean(axis=0)
    alone = np.flatnonzero(run.labels > 0)
    assert set(alone) == set(np.argsort(((X - middle) ** 2).sum(axis=1))[-4:])


def test_fewer_different_rows_than_groups_warn():
    few = np.repeat(X[:2], 5, axis=0)
    for model, data in (
        (KernelKMeans(3), few),
        (KernelKMeans(3, kernel="precomputed"), few @ few.T),
        (KernelKMeans(3, kernel=linear_kernel), few),
    ):
        with pytest.warns(FewerGroupsWarning, match="only 2 different rows"):
            assert set(model.fit(data).labels_) == {0, 1}


def test_the_scale_of_a_kernel_does_not_matter():
    base = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K).labels_
    for factor in (2.0**-600, 2.0**600):
        model = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K * factor)
        np.testing.assert_array_equal(model.labels_, base)


def test_same_seed_gives_the_same_labels():
    for kernel, data in (("features", X), ("precomputed", K)):
        a, b = (KernelKMeans(5, kernel=kernel, n_init=2, random_state=7).fit(data) for _ in "ab")
        np.testing.assert_array_equal(a.labels_, b.labels_)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (K[:, :50], "square"),
        (K + np.triu(K), "symmetric"),
        (-K, "must not be negative"),
        (np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)), "if X holds distances"),
    ],
)
def test_a_matrix_that_is_not_a_kernel_raises(matrix, message):
    with pytest.raises(InvalidDataError, match=message):
        KernelKMeans(2, kernel="precomputed").fit(matrix)


def test_a_function_that_is_not_a_kernel_raises():
    with pytest.raises(InvalidDataError, match=r"returned shape \(120,\)"):
        KernelKMeans(2, kernel=lambda a, b: np.ones(len(a))).fit(X)
    with pytest.raises(InvalidDataError, match="not all finite"):
        KernelKMeans(2, kernel=lambda a, b: np.full((len(a), len(b)), np.nan)).fit(X)


def test_parameters_outside_their_ranges_raise():
    with pytest.raises(InvalidParameterError, match="batch_size=10"):
        KernelKMeans(2, kernel="precomputed", batch_size=10).fit(K)
    with pytest.raises(InvalidParameterError, match="kernel='rbf'"):
        KernelKMeans(2, kernel="rbf").fit(X)
    with pytest.raises(InvalidParameterError, match="only 120 rows"):
        KernelKMeans(121, kernel="precomputed").fit(K)
    with pytest.raises(InvalidParameterError, match="n_init"):
        KernelKMeans(2, kernel=linear_kernel, n_init=0).fit(X)


def test_block_sizes_do_not_change_the_result(monkeypatch):
    widths = []

    def product(A, B):
        widths.append(len(B))
        return A @ B.T

    monkeypatch.setattr(kernel_kmeans, "ALL_PAIRS_ROWS", 10)
    model = KernelKMeans(3, kernel=product, n_init=2, random_state=0)
    usual = model.fit(X)
    labels, inertia = usual.labels_, usual.inertia_
    monkeypatch.setattr(kernel_kmeans, "ROWS_PER_BLOCK", 7)
    monkeypatch.setattr(kernel_kmeans, "ENTRIES_PER_BLOCK", 7 * len(X))
    widths.clear()
    model.fit(X)
    assert max(widths) <= 7
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(inertia)
