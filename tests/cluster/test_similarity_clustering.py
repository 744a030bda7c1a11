"""SimilarityClustering: a similarity and a clusterer in one estimator."""

import pickle
from typing import Any, ClassVar
from unittest.mock import PropertyMock, patch

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import DBSCAN, AffinityPropagation, AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew._limits import ALL_PAIRS_ROWS
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.constraints import Support
from clew.exceptions import InvalidParameterError
from clew.metrics import answer_log_likelihood, n_violated
from clew.similarity import COPRF, ClustRF
from clew.similarity._embedding import LearnedSpace
from clew.similarity.clustrf import ForestSimilarity

X, y = load_iris(return_X_y=True)
ANSWERS = Constraints.from_labels(y, 80, random_state=0)


def model(**parameters: object) -> SimilarityClustering:
    return SimilarityClustering(
        COPRF(n_trees=60), SpectralClustering(3), random_state=0, **parameters
    )


def test_answers_bring_the_groups_closer_to_the_truth() -> None:
    without = model().fit(X)
    guided = model().fit(X, constraints=ANSWERS)
    assert adjusted_rand_score(y, guided.labels_) > adjusted_rand_score(y, without.labels_)
    assert guided.n_violated_ == n_violated(guided.labels_, ANSWERS)
    assert without.n_violated_ == 0


def test_given_parts_are_not_changed() -> None:
    similarity, clusterer = COPRF(n_trees=20), SpectralClustering(3)
    SimilarityClustering(similarity, clusterer, random_state=0).fit(X, constraints=ANSWERS)
    assert not hasattr(similarity, "forest_")
    assert not hasattr(clusterer, "labels_")
    assert similarity.random_state is None


def test_the_seed_does_not_replace_seeds_of_parts() -> None:
    parts = COPRF(n_trees=20, random_state=7), SpectralClustering(3)
    fits = [SimilarityClustering(*parts, random_state=seed).fit(X) for seed in (0, 1)]
    A, B = (fit.similarity_.affinity_matrix_ for fit in fits)
    np.testing.assert_array_equal(A, B)
    assert fits[0].clusterer_.random_state != fits[1].clusterer_.random_state


def test_clones_and_pickles_agree() -> None:
    first = model().fit(X, constraints=ANSWERS)
    again = clone(first).fit(X, constraints=ANSWERS)
    revived = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(first.labels_, again.labels_)
    np.testing.assert_array_equal(first.predict(X), revived.predict(X))


def test_runs_in_a_pipeline_by_name_and_by_routing() -> None:
    pipeline = make_pipeline(StandardScaler(), model())
    by_name = pipeline.fit(X, similarityclustering__constraints=ANSWERS)[-1].labels_
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), model().set_fit_request(constraints=True))
        by_routing = routed.fit(X, constraints=ANSWERS)[-1].labels_
    np.testing.assert_array_equal(by_name, by_routing)


def test_predict_gives_new_rows_the_group_of_their_surroundings() -> None:
    points, truth = make_blobs(300, 4, centers=4, cluster_std=0.7, random_state=1)
    fitted, new = points[:200], points[200:]
    groups = SimilarityClustering(ClustRF(n_trees=60), SpectralClustering(4), random_state=0)
    groups.fit(fitted)
    assert adjusted_rand_score(truth[:200], groups.labels_) == 1.0
    assert adjusted_rand_score(truth[200:], groups.predict(new)) == 1.0
    np.testing.assert_array_equal(groups.predict(fitted), groups.labels_)


def test_affinity_propagation_works_on_the_same_matrix() -> None:
    clusterer = AffinityPropagation(affinity="precomputed", damping=0.8, random_state=0)
    groups = SimilarityClustering(COPRF(n_trees=60, random_state=0), clusterer)
    groups.fit(X, constraints=ANSWERS)
    assert groups.labels_.min() == 0
    assert 2 < len(np.unique(groups.labels_)) < 60
    pure = [np.bincount(y[groups.labels_ == g]).max() for g in np.unique(groups.labels_)]
    assert sum(pure) / len(y) > 0.9


def test_answers_choose_the_graph_only_with_auto() -> None:
    fixed = SimilarityClustering(COPRF(n_trees=30), SpectralClustering(3, n_neighbors=7))
    assert fixed.fit(X, constraints=ANSWERS).clusterer_.n_neighbors == 7
    free = model().fit(X, constraints=ANSWERS)
    assert free.clusterer_.n_neighbors in {10, 15, 20}
    assert model().fit(X).clusterer_.n_neighbors == 15


@pytest.mark.slow
def test_large_data_never_become_dense() -> None:
    points, truth = make_blobs(ALL_PAIRS_ROWS + 500, 5, centers=3, random_state=0)
    answers = Constraints.from_labels(truth, 200, error=0.1, random_state=0)
    dense = PropertyMock(side_effect=AssertionError("a dense affinity was asked for"))
    with patch.object(ForestSimilarity, "affinity_matrix_", dense):
        groups = SimilarityClustering(
            COPRF(n_trees=20, n_jobs=2), SpectralClustering(3, n_init=3), random_state=0
        ).fit(points, constraints=answers)
    assert adjusted_rand_score(truth, groups.labels_) > 0.95


@pytest.mark.parametrize(
    "clusterer",
    [
        SpectralClustering(3, affinity="nearest_neighbors"),
        AffinityPropagation(),
        KMeans(3),
        AgglomerativeClustering(3, metric="precomputed", linkage="average"),
        DBSCAN(metric="precomputed"),
    ],
)
def test_a_clusterer_that_takes_no_affinities_is_refused(clusterer: BaseEstimator) -> None:
    with pytest.raises(InvalidParameterError, match="precomputed"):
        SimilarityClustering(ClustRF(n_trees=5), clusterer).fit(X)


def test_a_given_number_of_neighbors_is_honored_above_the_dense_size() -> None:
    points, _ = make_blobs(ALL_PAIRS_ROWS + 100, 3, centers=3, random_state=0)
    groups = SimilarityClustering(
        ClustRF(n_trees=10, proximity="leaf"), SpectralClustering(3, n_neighbors=120, n_init=1)
    )
    assert groups.fit(points).clusterer_.n_neighbors == 120


def test_callback_is_called_with_the_progress() -> None:
    calls: list[tuple[int, int]] = []
    model().fit(X, callback=lambda done, n: calls.append((done, n)))
    assert calls[-1][0] == calls[-1][1]
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))


@pytest.mark.slow
def test_distances_are_left_out_if_answers_show_that_they_mislead() -> None:
    # One feature separates the groups that people mean; the other eight separate other groups.
    generator = np.random.RandomState(0)
    truth, others = generator.randint(0, 2, (2, 240))
    informative = generator.normal(size=(240, 1)) + 3 * truth[:, None]
    misleading = 0.3 * generator.normal(size=(240, 8)) + 2 * others[:, None]
    points = np.hstack([informative, misleading])
    answers = Constraints.from_labels(truth, 300, random_state=0)
    found = {
        euclidean: SimilarityClustering(
            COPRF(n_trees=60, euclidean=euclidean), SpectralClustering(2), random_state=0
        ).fit(points, constraints=answers)
        for euclidean in ("auto", 0.5)
    }
    assert found["auto"].similarity_.euclidean_ == 0
    likelihood, score = (
        {name: measure(groups.labels_) for name, groups in found.items()}
        for measure in (
            lambda labels: answer_log_likelihood(labels, answers),
            lambda labels: adjusted_rand_score(truth, labels),
        )
    )
    assert likelihood["auto"] > likelihood[0.5] + 3
    assert score["auto"] > score[0.5] + 0.5


def test_distances_are_kept_if_they_are_informative() -> None:
    groups = SimilarityClustering(COPRF(n_trees=100), SpectralClustering(3), random_state=0)
    assert groups.fit(X, constraints=ANSWERS).similarity_.euclidean_ == 0.5
    assert groups.fit(X).similarity_.euclidean_ == 0.5


class Stretched(LearnedSpace):
    """The given features, the first one stretched."""

    _allowed: ClassVar[dict[str, Any]] = {}
    supports = Support()

    def _solve(self, X, known, callback):
        self.embedding_ = self._embed(X)

    def _embed(self, X):
        return X * np.array([10.0, 0.1])


def test_a_clusterer_of_features_gets_learned_ones() -> None:
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    X = np.column_stack([truth + random.normal(0, 0.1, 120), random.normal(0, 50, 120)])
    model = SimilarityClustering(Stretched(), KMeans(2), random_state=0).fit(X[:100])
    assert adjusted_rand_score(truth[:100], model.labels_) == 1.0
    assert adjusted_rand_score(truth[100:], model.predict(X[100:])) == 1.0
    ward = SimilarityClustering(Stretched(), AgglomerativeClustering(2)).fit(X[:100])
    assert adjusted_rand_score(truth[:100], ward.labels_) == 1.0
    np.testing.assert_array_equal(ward.predict(X[:100]), ward.labels_)  # by affinities
    spectral = SimilarityClustering(Stretched(), SpectralClustering(2), random_state=0)
    assert spectral.fit(X[:100]).predict(X[100:]).shape == (20,)
