"""Subclusters of Dask arrays: those of rows in memory."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from clew.cluster import Subclustering
from clew.exceptions import InvalidDataError, InvalidParameterError

da = pytest.importorskip("dask.array", reason="dask is not installed: pip install 'clew[scale]'")
import clew._dask as arrays  # noqa: E402
from clew.cluster.medoids._block_distances import BlockDistances  # noqa: E402

X, Y = make_blobs(500, n_features=5, centers=8, cluster_std=1.5, random_state=0)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 99)  # the last block has 5 rows


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "seuclidean", "mahalanobis"])
@pytest.mark.parametrize("overlap", ["auto", "rule"])
def test_subclusters_are_those_of_rows_in_memory(metric, overlap):
    model = Subclustering(8, size=6, metric=metric, overlap=overlap, random_state=0)
    expected = model.fit(X)
    exemplars, confidence = expected.exemplars_, expected.confidence_
    found = model.fit(da.from_array(X, chunks=(130, 2)))
    np.testing.assert_array_equal(found.exemplars_, exemplars)
    np.testing.assert_allclose(found.confidence_, confidence, rtol=1e-5)
    assert found.n_features_in_ == 5
    assert found.labels_.shape == (500,)


@pytest.mark.parametrize("metric", ["euclidean", "chebyshev"])
@pytest.mark.parametrize("n", [1, 7, 120])
def test_nearest_rows_of_all_blocks(metric, n):
    """Lists that are longer than the last block, or than each block, are whole."""
    distances = BlockDistances.of_array(da.from_array(X, chunks=(130, 2)), metric, None)
    owners = np.array([3, 98, 99, 496, 499])
    nearest, apart = distances.nearest(owners, n)
    exact = cdist(X[owners], X, metric)
    exact[np.arange(5), owners] = np.inf
    np.testing.assert_array_equal(nearest, np.argsort(exact, axis=1, kind="stable")[:, :n])
    np.testing.assert_allclose(apart, np.sort(exact, axis=1)[:, :n], rtol=1e-6)


def test_unsuitable_arrays_are_refused():
    with pytest.raises(InvalidParameterError, match="needs all distances in memory"):
        Subclustering(2, size=2, metric="precomputed").fit(da.ones((9, 9), chunks=3))
    bad = X.copy()
    bad[400, 1] = np.inf
    with pytest.raises(InvalidDataError, match="inf in row 400, column 1"):
        Subclustering(8).fit(da.from_array(bad, chunks=(130, 2)))
