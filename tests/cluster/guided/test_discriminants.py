"""Discriminants of groups and of answers, and neighbors by them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics import silhouette_score

from clew import Constraints
from clew._composition import graph_of
from clew.cluster.guided._smoothers import (
    NeighborSmoother,
    discriminant_neighbors,
    discriminants,
    discriminants_of_answers,
)
from clew.similarity import AdaptiveKNN

Y = np.repeat([0, 1, 2], 30)


#: Groups differ along the first feature, whose variance is a hundredth of the second's.
NOISE = np.random.RandomState(0).normal(size=(90, 2))
X = np.column_stack([Y + 0.2 * NOISE[:, 0], 10 * NOISE[:, 1]])


def test_directions_in_which_groups_differ_count_most():
    scale = discriminants(X, Y).std(axis=0)
    assert scale.max() > 5 * scale.min()
    shares = discriminant_neighbors(X, Y).smooth(np.eye(3)[Y])
    assert (shares.argmax(axis=1) == Y).mean() > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("n_copies", [1, 25])
def test_neighbors_are_those_of_adaptive_neighbors(n_copies):
    rows, labels = np.repeat(X, n_copies, axis=0), np.repeat(Y, n_copies)
    similarity = AdaptiveKNN().fit(discriminants(rows, labels))
    expected = NeighborSmoother(graph_of(similarity, len(rows), 10)).smooth(np.eye(3)[labels])
    found = discriminant_neighbors(rows, labels).smooth(np.eye(3)[labels])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_units_of_features_hardly_matter():
    one, two = (discriminant_neighbors(of, Y).smooth(np.eye(3)[Y]) for of in (X, 7.0 * X + 3))
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_names_of_groups_do_not_matter():
    one, two = discriminants(X, Y), discriminants(X, np.array([7, 0, 3])[Y])
    np.testing.assert_allclose(np.abs(one), np.abs(two), atol=1e-9)


@pytest.mark.parametrize("labels", [np.zeros(90, int), np.arange(90)], ids=["one", "each its own"])
def test_no_groups_and_a_group_for_each_row(labels):
    shares = discriminant_neighbors(X, labels).smooth(np.eye(3)[Y])
    assert np.isfinite(shares).all()


def test_equal_rows():
    shares = discriminant_neighbors(np.ones((12, 2)), np.arange(12) % 2).smooth(np.eye(12))
    assert np.isfinite(shares).all()


def test_answers_tell_the_axes_along_which_groups_differ():
    """Two of eight columns tell of the groups, whatever the units and the rotation of the rows."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    rows = random.normal(size=(150, 8))
    rows[:, :2] += 8 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    rows[:, 2:] *= 5
    answers = Constraints.from_labels(y, 100, error=0.1, random_state=0)
    turned = rows @ np.linalg.qr(random.normal(size=(8, 8)))[0]
    found = [
        discriminants_of_answers(X, answers.must_link, answers.cannot_link)
        for X in (rows, turned, 1e3 * rows)
    ]
    for one in found:
        np.testing.assert_allclose(pdist(one), pdist(found[0]), rtol=1e-6)
    assert silhouette_score(found[0], y) > 2 * silhouette_score(rows, y) > 0
