"""Guided clustering of distances."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.exceptions import InvalidArgumentError, InvalidDataError
from clew.graphs import DistanceSpace

X, Y = load_iris(return_X_y=True)
D = pairwise_distances(X)


@pytest.fixture(scope="module")
def answers():
    return Constraints.from_labels(Y, 150, error=0.1, random_state=0)


def test_coordinates_have_the_distances():
    space = DistanceSpace.fit(D)
    assert space.axes.shape[1] == 4
    assert np.allclose(pairwise_distances(space.transform(D)), D, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-150, 1e100])
def test_units_do_not_matter(factor):
    space = DistanceSpace.fit(D * factor)
    assert np.allclose(pairwise_distances(space.transform(D * factor) / factor), D, atol=1e-6)


def test_many_rows_by_landmarks(monkeypatch):
    monkeypatch.setattr("clew.cluster.guided._features.distance_space.N_LANDMARKS", 40)
    space = DistanceSpace.fit(D)
    assert len(space.landmarks) == 40
    assert np.allclose(pairwise_distances(space.transform(D)), D, atol=1e-6)


def test_distances_that_are_not_euclidean_have_coordinates():
    random = np.random.RandomState(0)
    distances = random.uniform(1, 2, (30, 30))
    distances = np.triu(distances, 1) + np.triu(distances, 1).T
    found = DistanceSpace.fit(distances).transform(distances)
    assert np.isfinite(found).all()


def test_equal_rows_have_coordinates():
    assert not DistanceSpace.fit(np.zeros((5, 5))).transform(np.zeros((5, 5))).any()


def test_it_is_as_good_as_on_the_features(answers):
    by_features = GuidedClustering(3, standardize=False, random_state=0)
    by_distances = GuidedClustering(3, metric="precomputed", random_state=0)
    by_features.fit(X, constraints=answers)
    by_distances.fit(D, constraints=answers)
    best = adjusted_rand_score(Y, by_features.labels_)
    assert adjusted_rand_score(Y, by_distances.labels_) > best - 0.05
    assert adjusted_rand_score(by_distances.predict(D), by_distances.labels_) > 0.9
    assert by_distances.n_features_in_ == 150


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (D[:, :100], "square"),
        (D + np.eye(150), "diagonal"),
        (np.tril(D), "symmetric"),
        (-D, "Negative"),
        (np.where(D > 5, np.nan, D), "NaN"),
    ],
    ids=["not square", "diagonal", "not symmetric", "negative", "missing"],
)
def test_what_is_not_a_distance_matrix_is_refused(bad, message):
    with pytest.raises((InvalidDataError, ValueError), match=message):
        GuidedClustering(3, metric="precomputed").fit(bad)


def test_anchors_need_features():
    with pytest.raises(InvalidArgumentError, match="anchors are means"):
        GuidedClustering(3, metric="precomputed", scale="anchors").fit(D)
