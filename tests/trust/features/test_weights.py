"""Weights of answers: 0 is ignored, and only the ratios of weights matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.similarity import COPRF
from clew.trust import (
    answer_evidence,
    constraint_inconsistency,
    out_of_bag_vote,
    posterior,
)

X, Y = make_blobs(60, 4, centers=3, cluster_std=3.0, random_state=0)
ANSWERS = Constraints.from_labels(Y, 50, error=0.1, random_state=0)


def scores(known):
    """Return what each function computes, an entry or row for each pair, and the error rate."""
    options = {"n_trees": 30, "random_state": 0}
    evidence = answer_evidence(X, known, **options)
    found = posterior(evidence, known)
    return {
        "vote": out_of_bag_vote(X, known, **options),
        "inconsistency": constraint_inconsistency(X, known, **options),
        "evidence": evidence,
        "p_wrong": found.p_wrong,
        "weight": found.weight,
    }, found.error_rate


@settings(max_examples=8, deadline=None)
@given(ignored=st.sets(st.integers(0, 49), max_size=45), seed=st.integers(0, 9))
def test_answers_of_weight_0_are_ignored(ignored, seed):
    weight = np.random.default_rng(seed).uniform(0.1, 1.0, 50)
    counts = np.array([at not in ignored for at in range(50)])
    weight[~counts] = 0.0
    known = ANSWERS.with_weights(pair_weights=weight)
    every, rate = scores(known)
    some, rate_of_some = scores(known.select(pairs=counts))
    assert rate == rate_of_some
    for name, values in some.items():
        np.testing.assert_array_equal(every[name][counts], values)
        if name == "weight":
            assert not every[name][~counts].any()
        else:
            assert np.isnan(every[name][~counts]).all()


def test_a_common_factor_of_weights_changes_only_the_error_rate():
    whole, rate = scores(ANSWERS)
    halved, rate_of_halves = scores(ANSWERS.with_weights(pair_weights=np.full(50, 0.5)))
    for name in ("vote", "inconsistency", "evidence"):
        np.testing.assert_allclose(whole[name], halved[name])
    # With half of the evidence, the prior has more influence on the error rate.
    assert rate != rate_of_halves


def test_two_answers_of_half_the_weight_equal_one():
    evidence = answer_evidence(X, ANSWERS, n_trees=30, random_state=0)
    halves = ANSWERS.with_weights(pair_weights=np.full(50, 0.5))
    once = posterior(evidence, ANSWERS)
    twice = posterior(np.concatenate([evidence, evidence]), halves + halves)
    assert twice.error_rate == pytest.approx(once.error_rate, abs=1e-4)
    np.testing.assert_allclose(twice.p_wrong[:50], once.p_wrong, atol=1e-3)


def test_answers_of_small_weight_hardly_vote():
    wrong = Constraints.from_labels(Y, 200, error=1.0, random_state=1)
    light = wrong.with_weights(pair_weights=np.full(200, 1e-3))
    right = ANSWERS.is_must_link
    errors = [
        np.abs(out_of_bag_vote(X, ANSWERS + more, n_trees=60, random_state=0)[:50] - right).mean()
        for more in (light, wrong)
    ]
    alone = np.abs(out_of_bag_vote(X, ANSWERS, n_trees=60, random_state=0) - right).mean()
    assert errors[0] == pytest.approx(alone, abs=0.05)
    assert errors[1] > alone + 0.2


@pytest.mark.parametrize("trust", ["auto", "posterior", "inconsistency"])
def test_a_forest_ignores_answers_of_weight_0(trust):
    wrong = Constraints.from_labels(Y, 40, error=1.0, random_state=1)
    both = ANSWERS + wrong.with_weights(pair_weights=np.zeros(40))
    forests = [
        COPRF(n_trees=20, trust=trust, random_state=0).fit(X, constraints=known)
        for known in (ANSWERS, both)
    ]
    assert forests[0].error_rate_ == forests[1].error_rate_
    for name in ("doubt_", "constraint_weight_"):
        np.testing.assert_array_equal(
            getattr(forests[0], name), getattr(forests[1], name)[: len(ANSWERS.pairs)]
        )
