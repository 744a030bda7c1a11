"""Groups of new rows: at least as good as the nearest centroid, and those of the fitted rows."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import euclidean_distances

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._features import FeatureSpace
from clew.cluster.guided._predict import WAYS, RowPredictor
from clew.cluster.guided._smoothers import RidgeSmoother
from clew.metrics import adjusted_rand_score

pytestmark = pytest.mark.usefixtures("small_search")


def halves(X, y):
    order = np.random.default_rng(0).permutation(len(X))
    kept, new = order[: len(X) // 2], order[len(X) // 2 :]
    return X[kept], y[kept], X[new], y[new]


def nearest_centroid(X, labels, new):
    groups = np.unique(labels)
    centers = np.stack([X[labels == group].mean(axis=0) for group in groups])
    return groups[euclidean_distances(new, centers).argmin(axis=1)]


def many_groups():
    """Uneven groups in many columns, far more of them than a smoother with few pivots can tell."""
    rng = np.random.default_rng(0)
    y = rng.choice(60, 3000, p=rng.dirichlet(np.ones(60)))
    return 0.4 * rng.normal(size=(60, 384))[y] + rng.normal(size=(3000, 384)), y


def table():
    X, y = load_wine(return_X_y=True)
    return X, y


def pixels():
    X, y = load_digits(return_X_y=True)
    return X[:800], y[:800]


def moons():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    angle = rng.uniform(0, np.pi, 400) + np.pi * y
    center = np.column_stack([y, 0.5 * y])
    return np.column_stack([np.cos(angle), np.sin(angle)]) + center + 0.08 * rng.normal(
        size=(400, 2)
    ), y


def predictor(X, labels, is_wrong=0.0):
    """A predictor fitted to groups, of which a share is drawn at random."""
    rng = np.random.default_rng(1)
    drawn = np.where(rng.random(len(labels)) < is_wrong, rng.permutation(labels), labels)
    space = FeatureSpace.fit(X)
    columns = space.transform(X)
    _, drawn = np.unique(drawn, return_inverse=True)
    n_groups = drawn.max() + 1
    probabilities = 0.9 * np.eye(n_groups)[drawn] + 0.1 / n_groups
    return RowPredictor(columns, probabilities, drawn, RidgeSmoother(columns)), space, drawn


@pytest.mark.slow
@pytest.mark.parametrize("is_wrong", [0.0, 0.2])
@pytest.mark.parametrize("data", [many_groups, table, pixels, moons])
def test_new_rows_are_at_least_as_good_as_by_the_nearest_centroid(data, is_wrong):
    X, y, new, truth = halves(*data())
    found, space, labels = predictor(X, y, is_wrong)
    by_centroid = nearest_centroid(X, labels, new)
    by_clew = found.predict_proba(space.transform(new)).argmax(axis=1)
    assert adjusted_rand_score(truth, by_clew) > adjusted_rand_score(truth, by_centroid) - 0.01


@pytest.mark.slow
@pytest.mark.parametrize("data", [many_groups, table, pixels, moons])
def test_fitted_rows_keep_their_probabilities(data):
    X, y, *_ = halves(*data())
    found, space, labels = predictor(X, y, 0.3)
    probabilities = found.predict_proba(space.transform(X[::3]))
    n_groups = labels.max() + 1
    np.testing.assert_array_equal(
        probabilities, 0.9 * np.eye(n_groups)[labels[::3]] + 0.1 / n_groups
    )


@pytest.mark.slow
def test_probabilities_are_those_of_being_right():
    X, y, new, truth = halves(*pixels())
    found, space, _ = predictor(X, y)
    probabilities = found.predict_proba(space.transform(new))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    right = probabilities.argmax(axis=1) == truth
    assert abs(probabilities.max(axis=1).mean() - right.mean()) < 0.1


@pytest.mark.parametrize(
    "X",
    [np.zeros((6, 2)), np.arange(3.0)[:, None], np.repeat(np.eye(4), 5, axis=0), np.ones((2, 1))],
)
def test_few_rows_and_equal_rows(X):
    labels = np.arange(len(X)) % 2
    found, space, _ = predictor(X, labels)
    for rows in (X, X + 0.3, X - 1e6):
        probabilities = found.predict_proba(space.transform(rows))
        assert np.isfinite(probabilities).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert found.way in WAYS


@pytest.mark.slow
def test_guided_clustering_predicts_its_labels_and_new_rows():
    X, y, new, truth = halves(*table())
    answers = Constraints.from_labels(y, n_pairs=150, error=0.1, random_state=0)
    model = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert (model.predict(X) == model.labels_).mean() >= 0.99
    assert (model.predict(X[:5]) == model.labels_[:5]).all()
    by_centroid = nearest_centroid(X, model.labels_, new)
    score = adjusted_rand_score(truth, model.predict(new))
    assert score >= adjusted_rand_score(truth, by_centroid) - 0.01
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(new), model.predict_proba(new))


@pytest.mark.slow
def test_predictions_follow_further_answers():
    X, y, *_ = halves(*table())
    answers = Constraints.from_labels(y, n_pairs=200, random_state=0)
    model = GuidedClustering(3, random_state=0).fit(X)
    model.predict(X)
    model.partial_fit(constraints=answers)
    assert (model.predict(X) == model.labels_).mean() >= 0.99


@pytest.mark.slow
def test_distances_to_new_rows():
    X, y, new, truth = halves(*pixels())
    X, y = X[:200], y[:200]
    answers = Constraints.from_labels(y, n_pairs=400, random_state=0)
    distances = euclidean_distances(X)
    model = GuidedClustering(10, metric="precomputed", random_state=0)
    model.fit(distances, constraints=answers)
    assert (model.predict(distances) == model.labels_).mean() >= 0.99
    by_centroid = nearest_centroid(X, model.labels_, new)
    score = adjusted_rand_score(truth, model.predict(euclidean_distances(new, X)))
    assert score >= adjusted_rand_score(truth, by_centroid) - 0.01
