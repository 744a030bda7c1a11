"""KISSME: the metric of the paper, and the effect of the prior."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from clew import Constraints
from clew.exceptions import InvalidParameterError
from clew.similarity import KISSME

RNG = np.random.default_rng(0)
N = 120
y = np.repeat([0, 1, 2], N // 3)
X = RNG.normal(size=(N, 4)) @ RNG.normal(size=(4, 4)) + 3.0 * RNG.normal(size=(3, 4))[y]
X = (X - X.mean(axis=0)) / X.std(axis=0)
PAIRS = Constraints.from_labels(y, 200, random_state=0)


def covariance(pairs, prior=0.0, data=X):
    apart = data[pairs[:, 0]] - data[pairs[:, 1]]
    return (apart.T @ apart + prior * 2 * np.eye(4)) / (len(pairs) + prior)


@pytest.mark.parametrize(("shrinkage", "prior"), [(0, 0), (7.5, 7.5), ("auto", 12)])
def test_the_metric_is_that_of_the_paper_with_shrunken_covariances(shrinkage, prior):
    must, cannot = covariance(PAIRS.must_link, prior), covariance(PAIRS.cannot_link, prior)
    value, vector = np.linalg.eigh(np.linalg.inv(must) - np.linalg.inv(cannot))
    expected = (vector * np.maximum(value, 0)) @ vector.T
    found = KISSME(shrinkage=shrinkage).fit(X, constraints=PAIRS).metric_
    np.testing.assert_allclose(found / np.trace(found), expected / np.trace(expected), atol=1e-9)


def test_the_distance_orders_pairs_as_the_likelihood_ratio_does():
    groups = RNG.integers(8, size=400)
    data = RNG.normal(size=(400, 4)) + 4 * RNG.normal(size=(8, 4))[groups]
    pairs = Constraints.from_labels(groups, 600, random_state=0)
    must = covariance(pairs.must_link, data=data)
    cannot = covariance(pairs.cannot_link, data=data)
    apart = RNG.normal(size=(50, 4))
    ratio = multivariate_normal(cov=cannot).logpdf(apart)
    ratio -= multivariate_normal(cov=must).logpdf(apart)
    metric = KISSME(shrinkage=0).fit(data, constraints=pairs).metric_
    distance = np.einsum("ij,jk,ik->i", apart, metric, apart)
    np.testing.assert_array_equal(np.argsort(distance), np.argsort(ratio))


@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_the_prior_replaces_pairs_that_are_missing(kind):
    alone = PAIRS.select(pairs=getattr(PAIRS, f"is_{kind}"))
    inverse = np.linalg.inv(covariance(getattr(PAIRS, kind), prior=12))
    ratio = inverse - np.eye(4) / 2 if kind == "must_link" else np.eye(4) / 2 - inverse
    value, vector = np.linalg.eigh(ratio)
    expected = (vector * np.maximum(value, 0)) @ vector.T
    found = KISSME().fit(X, constraints=alone).metric_
    np.testing.assert_allclose(found / np.trace(found), expected / np.trace(expected), atol=1e-9)


def test_the_total_variance_of_the_rows_stays_the_same():
    model = KISSME().fit(3.0 * X, constraints=PAIRS)
    assert model.embedding_.var(axis=0).sum() == pytest.approx((3.0 * X).var(axis=0).sum())


def test_answers_that_separate_no_direction_leave_the_metric_euclidean():
    reversed_answers = Constraints.from_pairs(
        must_link=PAIRS.cannot_link, cannot_link=PAIRS.cannot_link, n_samples=N
    )
    metric = KISSME().fit(X, constraints=reversed_answers).metric_
    np.testing.assert_array_equal(metric, np.eye(4))


def test_too_few_pairs_without_a_prior_are_refused():
    few = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 100)], n_samples=N)
    with pytest.raises(InvalidParameterError, match=r'shrinkage=0\).*"auto"'):
        KISSME(shrinkage=0).fit(X, constraints=few)
    flat = np.column_stack([X, np.ones(N)])
    with pytest.raises(InvalidParameterError, match="no inverse"):
        KISSME(shrinkage=0).fit(flat, constraints=PAIRS)
