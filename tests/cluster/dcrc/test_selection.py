"""DCRC's choice of the kernel and of its settings, by held-out answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from tests.cluster.dcrc.problem import QUICK, TWO, X, Y, answers

from clew import Constraints
from clew.cluster.dcrc._selection import (
    DEFAULT_LAM,
    DEFAULT_TAU,
    LAMS,
    TAUS,
    Choice,
    agreement,
    n_scorable,
)
from clew.metrics import adjusted_rand_score


def test_answers_of_weight_0_are_ignored_when_settings_are_chosen():
    c = answers(Y, n_triplets=40)
    weightless = answers(TWO, n_pairs=30, n_triplets=30, seed=1)
    weightless = weightless.with_weights(pair_weights=np.zeros(30), triplet_weights=np.zeros(30))
    model = clone(QUICK).set_params(tau="cv", lam="cv", kernel="cv", init="best")
    alone, joined, none = (
        clone(model).fit(X, constraints=k) for k in (c, c + weightless, weightless)
    )
    assert alone.cv_scores_ == joined.cv_scores_
    np.testing.assert_array_equal(alone.probabilities_, joined.probabilities_)
    assert none.cv_scores_ == {}


def test_the_error_of_a_score_counts_informative_answers_only():
    doubtful = Constraints.from_pairs(dont_know=[(0, 1), (2, 3)], n_samples=len(X))
    assert n_scorable(doubtful + answers(n_triplets=7)) == 7
    better, worse = (Choice(1.0, 0.1, {(1.0, 0.1): score}) for score in (0.6, 0.5))
    # Half a standard error of 0.5 is 0.079 for 10 answers, and 0.112 for 5.
    assert better.is_clearly_above(worse, 10)
    assert not better.is_clearly_above(worse, 5)


def test_settings_are_chosen_by_held_out_answers():
    c = answers(Y, n_triplets=80)
    model = clone(QUICK).set_params(tau="cv", lam="cv")
    fits = [clone(model).set_params(n_jobs=n).fit(X, constraints=c) for n in (1, 2)]
    one, two = fits
    assert set(one.cv_scores_) == {(t, lam) for t in TAUS for lam in LAMS}
    assert (one.tau_, one.lam_) in one.cv_scores_
    assert all(0 <= score <= 1 for score in one.cv_scores_.values())
    assert one.cv_scores_ == two.cv_scores_
    np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
    half = clone(model).set_params(lam=0.125).fit(X, constraints=c)
    assert half.lam_ == 0.125
    assert {lam for _, lam in half.cv_scores_} == {0.125}
    few = clone(model).fit(X, constraints=answers(Y, n_triplets=10))
    assert (few.tau_, few.lam_, few.cv_scores_) == (DEFAULT_TAU, DEFAULT_LAM, {})


def test_agreement_of_a_small_example():
    held = Constraints(
        4,
        pairs=[(0, 1, 1), (0, 2, 1), (0, 3, -2)],
        triplets=[(0, 1, 2, -2)],
        odd_one_out=[(0, 1, 2, 2)],
        pair_weights=[1.0, 0.5, 1.0],
    )
    assert agreement(np.array([0, 0, 1, 1]), held) == pytest.approx(2 / 3.5)
    assert agreement(np.zeros(4, int), Constraints(4)) == 0.5


def test_a_kernel_separates_groups_that_planes_cannot():
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, 300), np.repeat([0, 1], 150)
    rings = (1 + 2 * y + rng.normal(0, 0.15, 300))[:, None] * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )
    c = answers(y, n_triplets=200)
    linear = clone(QUICK).set_params(n_clusters=2, tau=0.1).fit(rings, constraints=c)
    kernel = clone(linear).set_params(kernel="adaptive", rank=30).fit(rings, constraints=c)
    assert adjusted_rand_score(y, linear.labels_) < 0.5
    assert adjusted_rand_score(y, kernel.labels_) > 0.9
    np.testing.assert_array_equal(kernel.predict(rings), kernel.labels_)
    assert kernel.coef_.shape == (2, 30)
    chosen = clone(linear).set_params(kernel="cv", rank=30).fit(rings, constraints=c)
    assert chosen.kernel_ == "adaptive"
    np.testing.assert_array_equal(chosen.labels_, kernel.labels_)


def test_no_kernel_is_chosen_if_it_predicts_no_more_answers():
    c = answers(Y, n_triplets=60)
    chosen = clone(QUICK).set_params(kernel="cv").fit(X, constraints=c)
    given = clone(QUICK).fit(X, constraints=c)
    assert chosen.kernel_ is None
    np.testing.assert_array_equal(chosen.probabilities_, given.probabilities_)
    assert len(chosen.cv_scores_) == 1
    few = clone(QUICK).set_params(kernel="cv").fit(X, constraints=answers(Y, n_triplets=20))
    assert few.kernel_ is None
    assert few.cv_scores_ == {}
