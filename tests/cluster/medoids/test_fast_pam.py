"""FastPAM and CLARANS end where no swap of theirs lowers the sum of distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from tests.reference import subclusters as reference

from clew.cluster import CLARANS, FastPAM, KMedoids
from clew.cluster.medoids import fast_pam
from clew.exceptions import FewerGroupsWarning, InvalidParameterError, TooLargeError

X, y = make_blobs(60, 3, centers=4, cluster_std=2.0, random_state=1)
D = cdist(X, X)


@pytest.mark.parametrize("swaps", ["eager", "best"])
def test_with_all_candidates_the_result_is_one_of_pam(swaps):
    table = D[:25, :25].tolist()
    model = FastPAM(4, n_candidates=25, swaps=swaps, random_state=0).fit(X[:25])
    medoids = model.medoid_indices_.tolist()
    found = reference.medoid_cost(table, medoids)
    assert model.inertia_ == pytest.approx(found)
    end = reference.pam(table, medoids)
    assert reference.medoid_cost(table, end) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("method", [FastPAM(4, n_candidates=12), CLARANS(4)])
def test_costs_are_near_those_of_all_swaps(method):
    best = KMedoids(4, random_state=0).fit(X).inertia_
    model = method.set_params(random_state=0).fit(X)
    assert best <= model.inertia_ * (1 + 1e-6) < 1.25 * best
    assert model.inertia_ == pytest.approx(D[:, model.medoid_indices_].min(axis=1).sum())
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("method", [FastPAM(4), CLARANS(4)])
def test_distances_give_the_result_of_features(method):
    by_features = method.set_params(random_state=0, metric="euclidean").fit(X).labels_
    given = method.set_params(metric="precomputed").fit(D)
    np.testing.assert_array_equal(given.labels_, by_features)


@pytest.mark.parametrize("method", [FastPAM(1), CLARANS(1), KMedoids(1)])
def test_one_group_has_the_medoid_of_all_rows(method):
    method.set_params(n_init=1, random_state=0)
    if isinstance(method, FastPAM):
        method.set_params(n_candidates=60)
    if isinstance(method, CLARANS):
        method.set_params(max_neighbors=1000)
    assert method.fit(X).medoid_indices_.tolist() == [D.sum(axis=1).argmin()]


@pytest.mark.parametrize("method", [FastPAM(3), CLARANS(3)])
def test_fewer_different_rows_than_groups(method):
    rows = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(FewerGroupsWarning, match="only 2 different rows"):
        assert method.set_params(random_state=0).fit(rows).inertia_ == 0


def test_bad_numbers_of_candidates(monkeypatch):
    for candidates in (3, 61):
        with pytest.raises(InvalidParameterError, match="at least n_clusters and at most"):
            FastPAM(4, n_candidates=candidates).fit(X)
    monkeypatch.setattr(fast_pam, "MAX_ENTRIES", 1000)
    with pytest.raises(TooLargeError, match="lower n_candidates"):
        FastPAM(4, n_candidates=20).fit(X)
