"""ITML: the nearest metric with bounded distances, compared with the paper's algorithm."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris, make_blobs

from clew import Constraints
from clew.exceptions import InconsistentConstraintsError, InvalidParameterError
from clew.similarity import ITML

X, y = load_iris(return_X_y=True)
KNOWN = Constraints.from_labels(y, 40, random_state=0)


def papers_algorithm(X, known, gamma, upper, lower, prior, n_sweeps=4000):
    """Algorithm 1 of Davis et al., as printed."""
    A = prior.copy()
    is_must = known.is_must_link
    delta = np.where(is_must, 1.0, -1.0)
    bound, pull = np.where(is_must, upper, lower), np.zeros(len(known.pairs))
    for _ in range(n_sweeps):
        for at, (i, j) in enumerate(known.pairs):
            c = X[i] - X[j]
            p = c @ A @ c
            alpha = min(pull[at], delta[at] * gamma / (gamma + 1) * (1 / p - 1 / bound[at]))
            beta = delta[at] * alpha / (1 - delta[at] * alpha * p)
            bound[at] = gamma * bound[at] / (gamma + delta[at] * alpha * bound[at])
            pull[at] -= alpha
            A += beta * np.outer(A @ c, A @ c)
    return A


def squared(metric, i, j):
    return float((X[i] - X[j]) @ metric @ (X[i] - X[j]))


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_it_ends_where_the_papers_algorithm_does(gamma, prior) -> None:
    model = ITML(gamma, bounds=(1.0, 8.0), prior=prior, tol=1e-7, max_iter=5000, random_state=0)
    model.fit(X, constraints=KNOWN)
    first = np.eye(4) if prior == "identity" else np.linalg.inv(np.cov(X.T, bias=True))
    expected = papers_algorithm(X, KNOWN, gamma, 1.0, 8.0, first, n_sweeps=600)
    np.testing.assert_allclose(model.metric_, expected, rtol=1e-3, atol=1e-3)
    assert abs(model.duality_gap_) < 1e-4
    assert model.bounds_ == pytest.approx((1.0, 8.0))


def test_bounds_that_do_not_move_are_kept() -> None:
    rows = np.array([[0, 1], [60, 70], [0, 60], [70, 120]])
    known = Constraints.from_pairs(must_link=rows[:2], cannot_link=rows[2:], n_samples=150)
    model = ITML(np.inf, bounds=(0.1, 9.0), random_state=0).fit(X, constraints=known)
    assert max(squared(model.metric_, *pair) for pair in rows[:2]) <= 0.1 * 1.001
    assert min(squared(model.metric_, *pair) for pair in rows[2:]) >= 9.0 * 0.999
    contradiction = known + Constraints.from_pairs(cannot_link=[(0, 1)], n_samples=150)
    with pytest.raises(InconsistentConstraintsError):
        ITML(np.inf).fit(X, constraints=contradiction)
    assert np.isfinite(ITML().fit(X, constraints=contradiction).metric_).all()


def test_bounds_are_percentiles_of_squared_distances() -> None:
    model = ITML(percentiles=(20, 80), random_state=0).fit(X, constraints=KNOWN)
    expected = np.percentile(pdist(X, "sqeuclidean"), (20, 80))
    np.testing.assert_allclose(model.bounds_, expected, rtol=0.15)


def test_without_answers_the_metric_is_the_given_one() -> None:
    unsure = Constraints.from_pairs(dont_know=[(0, 1)], n_samples=150)
    for known in (None, unsure):
        np.testing.assert_array_equal(ITML().fit(X, constraints=known).metric_, np.eye(4))
    whole = ITML(prior="covariance").fit(X).metric_
    np.testing.assert_allclose(whole, np.linalg.inv(np.cov(X.T, bias=True)), rtol=1e-8)


def test_weights_multiply_the_penalty() -> None:
    half = KNOWN.with_weights(pair_weights=np.full(40, 0.5))
    a = ITML(2.0, tol=1e-6, random_state=0).fit(X, constraints=half).metric_
    b = ITML(1.0, tol=1e-6, random_state=0).fit(X, constraints=KNOWN).metric_
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    nothing = KNOWN.with_weights(pair_weights=np.zeros(40))
    np.testing.assert_array_equal(ITML().fit(X, constraints=nothing).metric_, np.eye(4))


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_units_of_all_features_together_do_not_matter(unit) -> None:
    a, b = (ITML(random_state=0).fit(X * scale, constraints=KNOWN) for scale in (1.0, unit))
    np.testing.assert_allclose(b.metric_, a.metric_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(b.bounds_, np.array(a.bounds_) * unit**2)


def test_a_constant_feature_has_no_weight_under_the_covariance() -> None:
    flat = np.column_stack([X, np.ones(150)])
    metric = ITML(prior="covariance", random_state=0).fit(flat, constraints=KNOWN).metric_
    np.testing.assert_allclose(metric[4], 0)


@pytest.mark.slow
def test_thousands_of_close_pairs_end_in_a_positive_definite_metric() -> None:
    rows, _ = make_blobs(120, 8, centers=2, cluster_std=6.0, random_state=0)
    close = np.repeat(rows, 2, axis=0) + np.random.default_rng(0).normal(size=(240, 8)) * 1e-4
    known = Constraints.from_labels(np.arange(240) % 2, 2000, random_state=0)
    known += Constraints.from_pairs(cannot_link=np.arange(240).reshape(-1, 2), n_samples=240)
    model = ITML(random_state=0).fit(close, constraints=known)
    assert abs(model.duality_gap_) < 1e-3
    assert np.linalg.eigvalsh(model.metric_)[0] > 0


def test_cannot_links_between_copies_are_skipped_and_listed() -> None:
    known = Constraints.from_pairs(must_link=[(0, 2)], cannot_link=[(0, 1)], n_samples=3)
    model = ITML().fit(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]]), constraints=known)
    assert [(skip.kind, skip.answer) for skip in model.skipped_] == [("pair", 1)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"gamma": 0.0},
        {"bounds": (2.0, 1.0)},
        {"bounds": (0.0, 1.0)},
        {"bounds": 3.0},
        {"bounds": (1.0, np.inf)},
        {"percentiles": (5, 101)},
        {"percentiles": ("a", "b")},
        {"prior": "random"},
    ],
)
def test_parameters_outside_their_range_are_refused(wrong) -> None:
    with pytest.raises(InvalidParameterError, match=rf"ITML\({next(iter(wrong))}"):
        ITML(**wrong).fit(X, constraints=KNOWN)


@pytest.mark.parametrize("bounds", [(1e-320, 1.0), (1.0, 1e300)])
def test_bounds_that_cannot_be_computed_with_are_refused(bounds):
    with pytest.raises(InvalidParameterError, match="bounds must be between"):
        ITML(bounds=bounds).fit(np.eye(4))
