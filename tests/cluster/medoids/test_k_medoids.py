"""KMedoids ends where no swap lowers the sum of distances, whatever the metric and the input."""

import sys
from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

from clew.cluster import KMedoids
from clew.cluster.medoids import k_medoids
from clew.exceptions import (
    FewerGroupsWarning,
    InvalidDataError,
    InvalidParameterError,
    MissingDependencyError,
    TooLargeError,
)

X, y = make_blobs(90, 3, centers=4, cluster_std=2.0, random_state=1)
D = cdist(X, X)


def cost(table, medoids):
    return table[:, medoids].min(axis=1).sum()


def test_no_swap_lowers_the_sum_of_distances():
    model = KMedoids(4, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(cost(D, model.medoid_indices_), rel=1e-5)
    for at, row in product(range(4), range(len(X))):
        swapped = model.medoid_indices_.copy()
        swapped[at] = row
        assert cost(D, swapped) >= model.inertia_ * (1 - 1e-6)


def test_distances_give_the_groups_of_features():
    model, given = KMedoids(4, random_state=0), KMedoids(4, metric="precomputed", random_state=0)
    np.testing.assert_array_equal(model.fit(X).labels_, given.fit(D).labels_)
    np.testing.assert_array_equal(model.medoid_indices_, given.medoid_indices_)
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(given.predict(D[:9]), model.labels_[:9])
    assert not hasattr(given, "cluster_centers_")
    with pytest.raises(ValueError, match="features"):
        given.predict(D[:, :9])


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("manhattan", {}),
        ("l2", {}),
        ("cosine", {}),
        ("minkowski", {"p": 3}),
        ("seuclidean", {}),
        ("mahalanobis", {}),
        ("haversine", {}),
        (lambda a, b: abs(a - b).max(), {}),
    ],
)
def test_any_metric(metric, params):
    rows = X[:40, :2] if metric == "haversine" else X[:40]
    model = KMedoids(3, metric=metric, metric_params=params, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    table = pairwise_distances(rows, metric=metric, **params)
    assert model.inertia_ == pytest.approx(cost(table, model.medoid_indices_), rel=1e-5)


def test_units_do_not_matter():
    model = KMedoids(4, random_state=0).fit(X)
    far = KMedoids(4, random_state=0).fit(X * 1e120 + 1e121)
    np.testing.assert_array_equal(model.labels_, far.labels_)


def test_samples_are_nearly_as_good():
    whole = KMedoids(4, random_state=0).fit(X)
    sampled = KMedoids(4, sample_size=30, random_state=0).fit(X)
    assert whole.inertia_ <= sampled.inertia_ * (1 + 1e-6) < 1.2 * whole.inertia_
    assert sampled.inertia_ == pytest.approx(cost(D, sampled.medoid_indices_), rel=1e-5)


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(k_medoids, "MAX_DENSE_ROWS", 60)
    monkeypatch.setattr(k_medoids, "SAMPLE_SIZE", 30)
    monkeypatch.setattr(k_medoids, "SAMPLE_SIZE_PER_GROUP", 5)
    sampled = KMedoids(4, sample_size=30, random_state=0).fit(X)
    np.testing.assert_array_equal(KMedoids(4, random_state=0).fit(X).labels_, sampled.labels_)
    with pytest.raises(TooLargeError, match="FastPAM"):
        KMedoids(4, sample_size=None).fit(X)
    assert KMedoids(4, metric="precomputed", sample_size=None).fit(D).labels_.shape == (90,)


def test_build_needs_no_seed():
    first, second = (KMedoids(4, init="build", random_state=seed).fit(X) for seed in (0, 1))
    np.testing.assert_array_equal(first.labels_, second.labels_)


def test_fewer_different_rows_than_groups():
    rows = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(FewerGroupsWarning, match="only 2 different rows"):
        model = KMedoids(3, random_state=0).fit(rows)
    assert model.labels_.tolist() == [0] * 5 + [1] * 5
    assert model.inertia_ == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d[:, :5], "square"),
        (lambda d: d + np.triu(d, 1), "symmetric"),
        (lambda d: -d, "Negative"),
        (lambda d: d + np.eye(len(d)), "diagonal"),
    ],
)
def test_bad_distances(change, message):
    with pytest.raises(InvalidDataError, match=message):
        KMedoids(3, metric="precomputed").fit(change(D))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "levenshtein"}, "metric must be a function of two rows or one of 'braycurtis'"),
        ({"metric_params": {"q": 1}, "metric": "minkowski"}, "does not take metric_params"),
        ({"n_clusters": 91}, "only 90 rows"),
        ({"sample_size": 3}, "at least one row for each group"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        KMedoids(**{"n_clusters": 4, **parameters}).fit(X)


def test_a_row_of_zeros_has_no_cosine():
    with pytest.raises(InvalidDataError, match="cosine"):
        KMedoids(2, metric="cosine").fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "kmedoids", None)
    with pytest.raises(MissingDependencyError, match="pip install clew\\[medoids\\]"):
        KMedoids(2).fit(X)
