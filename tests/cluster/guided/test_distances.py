"""Guided clustering of distances."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, ward
from scipy.spatial.distance import squareform
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from clew import Constraints
from clew.cluster import ConstrainedLinkage, GuidedClustering
from clew.cluster.guided._features import Prepared
from clew.cluster.guided._unconstrained import n_different_rows
from clew.datasets import make_leaf_like
from clew.exceptions import (
    DistancesAsFeaturesWarning,
    FewerGroupsWarning,
    InvalidArgumentError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.graphs import DistanceSpace, nearest_graph
from clew.similarity import AdaptiveKNN

pytestmark = pytest.mark.usefixtures("small_search")

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
    monkeypatch.setattr("clew.graphs._distances.N_LANDMARKS", 40)
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


@pytest.mark.slow
def test_without_answers_noisy_distances_are_grouped_better_than_by_ward():
    model, scores = GuidedClustering(metric="precomputed", random_state=0), []
    for seed in range(2):
        data = make_leaf_like(150, class_size=15, noise=0.8, random_state=seed)
        k = len(np.unique(data.y))
        found = model.set_params(n_clusters=k).fit_predict(data.D)
        cut = fcluster(ward(squareform(data.D)), k, "maxclust")
        scores.append([adjusted_rand_score(data.y, labels) for labels in (found, cut)])
    ours, wards = np.mean(scores, axis=0)
    assert ours > wards


@pytest.mark.slow
def test_groups_by_distances_are_as_good_as_by_features(answers):
    by_features = GuidedClustering(3, standardize=False, random_state=0)
    by_distances = GuidedClustering(3, metric="precomputed", random_state=0)
    by_features.fit(X, constraints=answers)
    by_distances.fit(D, constraints=answers)
    best = adjusted_rand_score(Y, by_features.labels_)
    assert adjusted_rand_score(Y, by_distances.labels_) > best - 0.05
    assert adjusted_rand_score(by_distances.predict(D), by_distances.labels_) > 0.9
    assert by_distances.n_features_in_ == 150
    assert by_distances.summary().endswith("Distances: the triangle inequality holds.")


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


def test_condensed_distances_give_the_same_groups():
    exact = (D + D.T) / 2
    square = GuidedClustering(3, metric="precomputed", random_state=0).fit(exact)
    condensed = GuidedClustering(3, metric="precomputed", random_state=0).fit(squareform(exact))
    assert np.array_equal(square.labels_, condensed.labels_)
    assert condensed.n_features_in_ == 150


def test_condensed_distances_given_as_features_are_recognized():
    condensed = squareform(D[:9, :9], checks=False)
    with pytest.raises(InvalidDataError, match=r"(?s)1D array.*condensed.*metric='precomputed'"):
        GuidedClustering(3).fit(condensed)
    with pytest.raises(ValueError, match="Reshape your data") as raised:
        GuidedClustering(3).fit(condensed[:-1])
    assert "condensed" not in str(raised.value)


def test_features_that_look_like_distances_raise_a_warning():
    with pytest.warns(DistancesAsFeaturesWarning, match="metric='precomputed'"):
        GuidedClustering(3, random_state=0).fit(D)


class TestWhatTheModelReads:
    PREPARED = Prepared.of(D, "precomputed", "auto", (0, 0), None)

    def test_neighbors_are_those_of_the_distances(self):
        expected = nearest_graph(AdaptiveKNN(metric="precomputed").fit(D).affinity_matrix_, 10)
        assert abs(self.PREPARED.neighbors(10) - expected).max() < 1e-6

    def test_the_tree_is_that_of_the_distances(self):
        expected = AgglomerativeClustering(3).fit_predict(X)
        cut = fcluster(self.PREPARED.tree, 3, "maxclust")
        assert adjusted_rand_score(cut, expected) == 1

    def test_copies_of_a_row_are_one(self):
        rows = np.repeat([0, 70, 140], 20)
        copies = Prepared.of(D[np.ix_(rows, rows)], "precomputed", "auto", (0, 0), None)
        with pytest.warns(FewerGroupsWarning, match="only 3 different rows"):
            assert n_different_rows(copies, 10) == 3
        assert n_different_rows(copies, 2) == 2

    @pytest.mark.slow
    def test_a_pool_of_ones_own_may_read_distances(self, answers):
        pool = [
            ("linkage", ConstrainedLinkage(3, metric="precomputed")),
            ("k-means", KMeans(3, n_init=1)),
        ]
        model = GuidedClustering(3, pool=pool, metric="precomputed", random_state=0)
        known = Constraints.from_labels(Y, 40, random_state=0)
        assert adjusted_rand_score(Y, model.fit(D, constraints=known).labels_) > 0.5
        with pytest.raises(InvalidParameterError, match="takes distances, but features are given"):
            model.set_params(metric="euclidean").fit(X, constraints=known)


class TestAnchors:
    def test_anchors_are_means_of_coordinates(self, answers):
        model = GuidedClustering(
            3, metric="precomputed", scale="anchors", n_anchors=60, random_state=0
        ).fit(D.astype(np.float32), constraints=answers)
        assert adjusted_rand_score(Y, model.labels_) > 0.6
        assert adjusted_rand_score(model.predict(D), model.labels_) > 0.8

    def test_anchors_are_used_above_20_000_rows(self):
        model = GuidedClustering(3, metric="precomputed")
        assert model._takes_anchors(20_001)
        assert not model._takes_anchors(20_000)

    def test_anchors_need_features_or_distances(self, answers):
        with pytest.raises(InvalidArgumentError, match="anchors are means"):
            GuidedClustering(3, scale="anchors").fit(constraints=answers)


def test_further_answers_are_followed(answers):
    model = GuidedClustering(3, metric="precomputed", random_state=0).fit(D, constraints=answers)
    more = Constraints.from_labels(Y, 15, random_state=5)
    model.partial_fit(D, constraints=more)
    assert len(model.result_.constraints) == 165
    with pytest.raises(InvalidDataError, match="other rows"):
        model.partial_fit(D[::-1, ::-1], constraints=more)
