"""Smoothers: each row is predicted from the other rows alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import euclidean_distances

from clew.cluster.guided._smoothers import (
    RIDGE,
    WIDTH,
    NeighborSmoother,
    RidgeSmoother,
    Smoother,
    ValueSmoother,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 2)), rng.dirichlet(np.ones(3), 30)


def ranks(X):
    """The share of rows below, ties counted half."""
    below = (X[:, None, :] > X[None, :, :]).sum(axis=1)
    ties = (X[:, None, :] == X[None, :, :]).sum(axis=1)
    return (below + ties / 2) / len(X)


def refitted(X, q):
    """Ridge regression with an intercept, refitted without each row in turn.

    The inner products of the features are the kernel. Features are centered over all rows, and the
    penalty is the sum of squares of their coefficients.
    """
    kernel = np.zeros((len(X), len(X)))
    for part in (X, ranks(X)):
        squared = euclidean_distances(part, squared=True)
        width = WIDTH * np.median(squared[squared > 0])
        kernel += RBF(np.sqrt(width / 2))(part) / 2
    value, vectors = np.linalg.eigh(kernel)
    features = vectors * np.sqrt(np.maximum(value, 0.0))
    n, expected = len(X), np.empty_like(q)
    penalty = np.diag([RIDGE * n] * n + [0.0])
    features = np.column_stack([features - features.mean(axis=0), np.ones(n)])
    for row in range(n):
        kept = np.arange(n) != row
        gram = features[kept].T @ features[kept] + penalty
        expected[row] = features[row] @ np.linalg.solve(gram, features[kept].T @ q[kept])
    return expected


def test_ridge_leaves_each_row_out(rows):
    X, q = rows
    np.testing.assert_allclose(RidgeSmoother(X).smooth(q), refitted(X, q), atol=1e-6)


def test_the_prediction_of_a_row_does_not_depend_on_its_own_memberships(rows):
    X, q = rows
    graph = csr_array(np.exp(-euclidean_distances(X)) * (1 - np.eye(len(X))))
    for smoother in (RidgeSmoother(X), NeighborSmoother(graph)):
        before = smoother.smooth(q)
        other = q.copy()
        other[4] = [0, 0, 1]
        after = smoother.smooth(other)
        np.testing.assert_allclose(after[4], before[4], atol=1e-10)
        assert np.abs(after - before).max() > 0.01


def test_ridge_predicts_new_rows():
    X = np.linspace(0, 1, 60)[:, None]
    q = np.eye(2)[(X[:, 0] > 0.5).astype(int)]
    smoother = RidgeSmoother(X)
    found = smoother.predict(q, np.array([[0.1], [0.9], [-50.0], [50.0]]))
    np.testing.assert_array_equal(found.argmax(axis=1), [0, 1, 0, 1])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_ridge_predictions_of_fitted_rows_are_the_fit(rows):
    # A fitted value is a weighted mean of the left-out prediction and of the row's own value.
    X, q = rows
    smoother = RidgeSmoother(X)
    fitted, left_out = smoother.predict(q, X), smoother.smooth(q)
    own = (fitted - left_out) / (q - left_out)
    np.testing.assert_allclose(own, own[:, :1] @ np.ones((1, 3)), atol=1e-6)
    assert own.min() > 0
    assert own.max() < 1


@pytest.mark.parametrize("change", [lambda X: 1e9 * X + 5, lambda X: 1e-200 * X, lambda X: -X])
def test_ridge_does_not_depend_on_unit_and_origin(rows, change):
    X, q = rows
    new = np.random.default_rng(1).normal(size=(8, 2))
    first, other = RidgeSmoother(X), RidgeSmoother(change(X))
    np.testing.assert_allclose(first.smooth(q), other.smooth(q), atol=1e-5)
    np.testing.assert_allclose(first.predict(q, new), other.predict(q, change(new)), atol=1e-5)


def grouped(rng, weights):
    """Rows of three groups in a few directions of many columns, and most of their memberships."""
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 30)) * 0.3
    X[:, :3] += 3 * np.eye(3)[y] + rng.normal(size=(240, 3))
    q = np.eye(3)[np.where(rng.random(240) < 0.3, rng.integers(3, size=240), y)]
    return X * weights, y, q


def accuracy(X, y, q):
    return (RidgeSmoother(X).smooth(q).argmax(axis=1) == y).mean()


@pytest.mark.slow
def test_ridge_predicts_rotated_features_and_components_as_well():
    X, y, q = grouped(np.random.default_rng(0), 1.0)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(30, 30)))[0]
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    wanted = accuracy(X, y, q)
    assert wanted > 0.9
    for other in (X @ rotation, X @ axes.T):
        assert abs(accuracy(other, y, q) - wanted) < 0.03


def test_an_outlier_in_one_column_does_not_hide_the_groups():
    X, y, q = grouped(np.random.default_rng(0), 1.0)
    wanted = accuracy(X, y, q)
    X[0, 5] = 1e6
    assert accuracy(X, y, q) > wanted - 0.05


def test_constant_features_and_equal_rows():
    rng = np.random.default_rng(2)
    q = rng.dirichlet(np.ones(3), 20)
    mean = (q.sum(axis=0) - q) / 19
    np.testing.assert_allclose(RidgeSmoother(np.ones((20, 3))).smooth(q), mean, atol=1e-9)
    X = np.repeat(rng.normal(size=(10, 2)), 2, axis=0)
    q = np.repeat(np.eye(2)[np.arange(10) % 2], 2, axis=0)
    found = RidgeSmoother(X).smooth(q)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found.argmax(axis=1), q.argmax(axis=1))
    with_constant = RidgeSmoother(np.column_stack([X, np.full(20, 3.0)])).smooth(q)
    np.testing.assert_allclose(found, with_constant, atol=1e-9)


def test_few_pivots_do_nearly_as_well(monkeypatch):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 100)
    X = rng.normal(size=(300, 2)) + 3 * np.eye(3)[y][:, :2]
    q = np.eye(3)[y]
    whole = RidgeSmoother(X).smooth(q)
    monkeypatch.setattr("clew.cluster.guided._smoothers.MAX_PIVOTS", 60)
    for seed in range(2):
        found = RidgeSmoother(X, seed).smooth(q)
        assert (found.argmax(axis=1) == whole.argmax(axis=1)).mean() > 0.97


@pytest.mark.parametrize(
    ("X", "words"),
    [([[0.0], [np.nan]], "NaN"), ([[0.0], [np.inf]], "X holds inf in row 1, column 0"), ([], "2D")],
)
def test_ridge_refuses_features_that_are_not_finite_numbers(X, words):
    with pytest.raises(ValueError, match=words):
        RidgeSmoother(X)


def test_neighbors_vote_by_affinity():
    graph = csr_array(np.array([[0, 3, 1], [1, 0, 0], [0, 0, 0]], float))
    smoother: Smoother = NeighborSmoother(graph)
    q = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(smoother.smooth(q), [[0.75, 0.25], [0.5, 0.5], [0, 0]])


def test_rows_of_one_value_vote_for_each_other_and_not_for_themselves():
    smoother: Smoother = ValueSmoother(np.array([0, 0, 0, 1]))
    q = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(smoother.smooth(q), [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 0]])
