"""MPCKMeans: metrics and penalties follow the paper's formulas, and metrics separate groups."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from clew import Constraints
from clew.cluster import MPCKMeans, PCKMeans
from clew.cluster.kmeans._soft import weighted_pairs
from clew.cluster.kmeans.mpckmeans import LearnedMetrics, costs_at, inverse_scatter, squares
from clew.exceptions import FewerGroupsWarning, InvalidDataError, InvalidParameterError
from clew.metrics import n_violated

IRIS, SPECIES = load_iris(return_X_y=True)
KINDS = pytest.mark.parametrize(
    ("diagonal", "per_cluster"),
    [(diagonal, per) for diagonal in (True, False) for per in (False, True)],
)


def stretched(seed=0):
    """Three groups along the first feature; the second has more variance, so k-means fails."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 40)
    return np.column_stack([y + rng.normal(0, 0.18, 120), rng.normal(0, 0.8, 120)]), y


def model_of(diagonal, per_cluster, c, X=IRIS, ridge=1e-9):
    X = X - X.mean(axis=0)
    is_full = not diagonal
    return X, LearnedMetrics(
        X, weighted_pairs(c), 0.7, ridge, 3, is_full=is_full, is_per_group=per_cluster
    )


@KINDS
def test_without_violated_answers_a_metric_is_the_inverse_covariance(diagonal, per_cluster):
    X, model = model_of(diagonal, per_cluster, Constraints(150))
    centers = np.array([X[group == SPECIES].mean(axis=0) for group in range(3)])
    model.learn(SPECIES, centers)
    R = X - centers[SPECIES]
    scatter = [R[g == SPECIES].T @ R[g == SPECIES] / 50 for g in range(3)] if per_cluster else [
        R.T @ R / 150
    ]  # fmt: skip
    expected = [np.linalg.inv(S) if not diagonal else 1 / np.diag(S) for S in scatter]
    np.testing.assert_allclose(model.metrics, expected, rtol=1e-5)


@KINDS
def test_metrics_from_violated_answers_follow_the_paper(diagonal, per_cluster):
    c = Constraints.from_pairs(must_link=[(0, 60), (1, 2)], cannot_link=[(3, 9), (70, 4)],
                               n_samples=150)  # fmt: skip
    c = c.with_weights(pair_weights=[0.5, 1, 0.25, 1])
    X, model = model_of(diagonal, per_cluster, c)
    centers = np.array([X[group == SPECIES].mean(axis=0) for group in range(3)])
    far = model._far.copy()
    model.learn(SPECIES, centers)
    R, outer = X - centers[SPECIES], lambda v: np.outer(v, v)
    # (0, 60) is a must-link between groups 0 and 1; (3, 9) a cannot-link within group 0.
    must, cannot = (
        0.7 * 0.5 * outer(X[0] - X[60]),
        0.7 * 0.25 * (outer(far[0]) - outer(X[3] - X[9])),
    )
    rows = [R[g == SPECIES].T @ R[g == SPECIES] for g in range(3)]
    if per_cluster:
        scatter = [(rows[0] + must / 2 + cannot) / 50, (rows[1] + must / 2) / 50, rows[2] / 50]
    else:
        scatter = [(sum(rows) + must + cannot) / 150]
    expected = [np.linalg.inv(S) if not diagonal else 1 / np.diag(S) for S in scatter]
    np.testing.assert_allclose(model.metrics, expected, rtol=1e-5)


@KINDS
def test_penalties_are_those_of_the_paper(diagonal, per_cluster):
    c = Constraints.from_pairs(must_link=[(0, 60)], cannot_link=[(3, 9)], n_samples=150)
    X, model = model_of(diagonal, per_cluster, c, ridge=0.1)
    model.learn(SPECIES, np.array([X[group == SPECIES].mean(axis=0) for group in range(3)]))
    penalty, between = model.penalties(), X[:, None] - X
    for group in range(3):
        A = model.metrics[group if per_cluster else 0]
        A = A if A.ndim == 2 else np.diag(A)
        D = np.einsum("ijk,kl,ijl->ij", between, A, between)
        assert penalty[0, group] == pytest.approx(0.7 * 0.5 * D[0, 60])
        assert penalty[1, group] <= 0.7 * (D.max() - D[3, 9]) + 1e-9
        # The farthest pair is found approximately.
        assert penalty[1, group] >= 0.7 * (0.8 * D.max() - D[3, 9])
    assert (penalty >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_metrics_are_positive_definite_for_any_scatter(seed):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(5, 5))
    S += S.T  # has negative eigenvalues
    A = inverse_scatter(S, 0.01)
    np.testing.assert_allclose(A, A.T, atol=1e-9)
    assert np.linalg.eigvalsh(A).min() > 0
    assert (inverse_scatter(np.diag(S), 0.01) > 0).all()
    positive = S @ S
    np.testing.assert_allclose(
        inverse_scatter(positive, 0.01), np.linalg.inv(positive + 0.01 * np.eye(5)), rtol=1e-6
    )


@KINDS
def test_costs_are_squared_distances_minus_log_determinants(diagonal, per_cluster):
    model = MPCKMeans(3, diagonal=diagonal, per_cluster=per_cluster, random_state=0).fit(IRIS)
    assert model.metrics_.shape == (3 if per_cluster else 1, 4, 4)[: 3 if not diagonal else 2]
    cost = costs_at(IRIS, model.cluster_centers_, model.metrics_)
    for group, center in enumerate(model.cluster_centers_):
        A = model.metrics_[group if per_cluster else 0]
        A = A if A.ndim == 2 else np.diag(A)
        expected = [(x - center) @ A @ (x - center) - np.log(np.linalg.det(A)) for x in IRIS]
        np.testing.assert_allclose(cost[:, group], expected)
        np.testing.assert_allclose(squares(IRIS, A), np.einsum("ij,jk,ik->i", IRIS, A, IRIS))
    np.testing.assert_array_equal(model.predict(IRIS), cost.argmin(axis=1))


@KINDS
def test_answers_raise_the_weight_of_the_feature_that_separates_groups(diagonal, per_cluster):
    X, y = stretched()
    c = Constraints.from_labels(y, 60, random_state=0)
    model = MPCKMeans(3, diagonal=diagonal, per_cluster=per_cluster, random_state=0)
    assert adjusted_rand_score(y, model.fit(X, constraints=c).labels_) > 0.9
    plain = PCKMeans(3, random_state=0).fit(X, constraints=c)
    assert adjusted_rand_score(y, plain.labels_) < 0.6
    diagonal = np.array([A if A.ndim == 1 else np.diag(A) for A in model.metrics_])
    assert (diagonal[:, 0] > 2 * diagonal[:, 1]).all()


@KINDS
def test_units_of_all_features_do_not_matter(diagonal, per_cluster):
    c = Constraints.from_labels(SPECIES, 60, error=0.1, random_state=0)
    model = MPCKMeans(3, diagonal=diagonal, per_cluster=per_cluster, random_state=0)
    labels, metrics = model.fit(IRIS, constraints=c).labels_, model.metrics_
    model.fit(IRIS * 1024 + 5, constraints=c)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.metrics_ * 1024**2, metrics, rtol=1e-6)


@KINDS
@pytest.mark.parametrize("feature", range(4))
def test_units_of_any_feature_do_not_matter(diagonal, per_cluster, feature):
    c = Constraints.from_labels(SPECIES, 60, error=0.1, random_state=0)
    unit = np.ones(4)
    unit[feature] = 1e-3
    first, second = (
        MPCKMeans(3, diagonal=diagonal, per_cluster=per_cluster, random_state=0).fit(
            X, constraints=c
        )
        for X in (IRIS, IRIS * unit - 3)
    )
    np.testing.assert_array_equal(second.labels_, first.labels_)
    np.testing.assert_array_equal(second.predict(IRIS * unit - 3), first.predict(IRIS))
    np.testing.assert_allclose(second.cluster_centers_ + 3, first.cluster_centers_ * unit)
    assert second.objective_ == pytest.approx(first.objective_)
    back = unit[:, None] * unit if not diagonal else unit**2
    np.testing.assert_allclose(second.metrics_ * back, first.metrics_, rtol=1e-6, atol=1e-6)


@KINDS
def test_a_column_of_noise_does_little_harm_in_any_unit(diagonal, per_cluster):
    c = Constraints.from_labels(SPECIES, 200, random_state=0)
    model = MPCKMeans(3, diagonal=diagonal, per_cluster=per_cluster, random_state=0)
    noise = np.random.default_rng(0).normal(size=150)
    for unit in (1e-3, 10, 1e4):
        model.fit(np.column_stack([IRIS, unit * noise]), constraints=c)
        assert adjusted_rand_score(SPECIES, model.labels_) > 0.85


def test_constant_columns_are_ignored():
    c = Constraints.from_labels(SPECIES, 60, error=0.1, random_state=0)
    model = MPCKMeans(3, random_state=0)
    metrics = model.fit(IRIS, constraints=c).metrics_
    model.fit(np.column_stack([IRIS, np.full(150, 0.1), np.zeros(150)]), constraints=c)
    np.testing.assert_allclose(model.metrics_[:, :4], metrics)
    np.testing.assert_allclose(model.cluster_centers_[:, 4:], np.tile([0.1, 0.0], (3, 1)))


@pytest.mark.parametrize(
    "wrong",
    [{"penalty": np.inf}, {"ridge": np.inf}, {"ridge": 0.0}, {"per_cluster": "no"},
     {"per_cluster": 1}],
)  # fmt: skip
def test_parameters_outside_their_ranges_raise(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        MPCKMeans(3, **wrong).fit(IRIS)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_features_whose_metric_would_overflow_raise(unit):
    X = IRIS.copy()
    X[:, 2] *= unit
    with pytest.raises(InvalidDataError, match=r"feature 2 span .* other units"):
        MPCKMeans(3).fit(X)


def test_answers_of_weight_0_are_ignored_and_seeds_repeat():
    c = Constraints.from_labels(SPECIES, 100, error=0.1, random_state=0)
    model = MPCKMeans(3, random_state=0)
    alone = model.fit(IRIS).labels_
    weightless = c.with_weights(pair_weights=np.zeros(100))
    np.testing.assert_array_equal(model.fit(IRIS, constraints=weightless).labels_, alone)
    first = model.fit(IRIS, constraints=c).labels_
    assert model.n_violated_ == n_violated(first, c)
    np.testing.assert_array_equal(model.fit(IRIS, constraints=c).labels_, first)


@KINDS
def test_fewer_different_rows_than_groups_warn(diagonal, per_cluster):
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 4, axis=0)
    model = MPCKMeans(3, diagonal=diagonal, per_cluster=per_cluster, random_state=0)
    with pytest.warns(FewerGroupsWarning, match="only 2 different rows"):
        model.fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 4), model.labels_) == 1
    assert np.isfinite(model.metrics_).all()
