"""Flags of a table that a rotation, or principal components, hide."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._hidden_flags import HiddenFlags

pytestmark = pytest.mark.usefixtures("fair_search")


def _table(seed, n=400):
    """Standardized measures and columns of 0 and 1 of four kinds of rows."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, n)
    measures = rng.normal(size=(4, 3))[kind] * 3 + rng.normal(size=(n, 3))
    plan = np.where(rng.random(n) < 0.6, kind % 3, rng.integers(0, 3, n))
    told = rng.random(n) < np.array([0.1, 0.9, 0.2, 0.8])[kind]
    noise = rng.integers(0, 3, n)
    flags = np.column_stack([np.eye(3)[plan], told, np.eye(3)[noise]])
    return StandardScaler().fit_transform(np.column_stack([measures, flags])), flags, kind


def _rotated(X, seed=0):
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(X.shape[1],) * 2))[0]
    return X @ axes


@pytest.mark.parametrize("seed", [0, 1])
def test_flags_are_found_in_any_rotation(seed):
    table, flags, _ = _table(seed)
    X = _rotated(table)
    found = HiddenFlags.of(X, 0)
    columns = found.transform(X)
    of_flags = columns[:, : columns.shape[1] - found.measures.shape[1]]
    assert of_flags.shape[1] == flags.shape[1]
    alike = np.abs(np.corrcoef(of_flags.T, flags.T)[: flags.shape[1], flags.shape[1] :])
    np.testing.assert_allclose(alike.max(axis=0), 1.0)
    assert sorted(map(len, found.questions)) == [1, 2, 2]
    np.testing.assert_allclose(  # distances between measures are those of the table
        np.linalg.norm(columns[:1, -3:] - columns[:, -3:], axis=1),
        np.linalg.norm(table[:1, :3] - table[:, :3], axis=1),
        atol=1e-2,
    )


@pytest.mark.slow
def test_a_rotated_table_has_the_groups_of_the_table():
    table, _, kind = _table(1)
    X = _rotated(table)
    model = GuidedClustering(random_state=0).fit(X)
    assert adjusted_rand_score(kind, model.labels_) > 0.97
    answers = Constraints.from_labels(kind, 40, error=0.1, random_state=0)
    guided = GuidedClustering(random_state=0).fit(X, constraints=answers)
    assert adjusted_rand_score(kind, guided.labels_) > 0.97
    half = GuidedClustering(random_state=0).fit(X[::2])
    assert adjusted_rand_score(kind[1::2], half.predict(X[1::2])) > 0.9


@pytest.mark.slow
def test_principal_components_lose_no_groups_but_those_of_flags_that_they_leave_out():
    table, _, kind = _table(3)
    X = PCA(0.95, random_state=0).fit_transform(table)
    assert X.shape[1] < np.linalg.matrix_rank(table)
    model = GuidedClustering(random_state=0).fit(X)
    assert adjusted_rand_score(kind, model.labels_) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 4, 6, 8])
@pytest.mark.parametrize("n_columns", [3, 5, 10])
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_tight_groups_are_no_flags(n_groups, n_columns, seed):
    rng = np.random.default_rng(seed)
    center = rng.normal(size=(n_groups, n_columns))
    for size in (6, 20, 100):
        X = size * center[rng.integers(0, n_groups, 400)] + rng.normal(size=(400, n_columns))
        for Z in (X, PCA(0.95, random_state=0).fit_transform(X)):
            assert HiddenFlags.of(Z - Z.mean(axis=0), 0) is None


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_measured_data_has_no_flags(load):
    X = load().data
    X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
    for Z in (X, PCA(0.95, random_state=0).fit_transform(X)):
        assert HiddenFlags.of(Z, 0) is None


@pytest.mark.parametrize(("n", "d"), [(40, 3), (100, 10), (200, 20), (600, 60)])
def test_noise_has_no_flags(n, d):
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(n, d)), rng.random((n, d)), rng.standard_t(2, (n, d))):
        assert HiddenFlags.of(X - X.mean(axis=0), 0) is None
