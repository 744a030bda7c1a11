"""How many answers are wrong, judged by partitions that did not see them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from clew.cluster.guided._error_rate import MAX_RATE, error_rate


def simulated(rate, slope=2.0, n=800, seed=0):
    """Co-association of pairs that tells more or less of what they are, and answers."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 2.0, n)
    is_same = rng.uniform(size=n) < expit(slope * logit)
    return expit(logit), is_same ^ (rng.uniform(size=n) < rate), np.ones(n)


@pytest.mark.parametrize("rate", [0.0, 0.15, 0.3])
def test_the_rate_is_found(rate):
    found = [error_rate(*simulated(rate, seed=seed)) for seed in range(6)]
    assert np.mean([of.rate for of in found]) == pytest.approx(rate, abs=0.03)
    assert all(of.interval[0] <= of.rate <= of.interval[1] for of in found)
    assert np.mean([np.ptp(of.interval) for of in found]) < 0.25


@pytest.mark.parametrize("slope", [1.0, 2.0])
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_the_interval_holds_the_rate(rate, slope):
    # What partitions are worth is not known either: that makes it wider.
    found = [error_rate(*simulated(rate, slope, seed=seed)) for seed in range(15)]
    inside = [of.interval[0] <= rate <= of.interval[1] for of in found]
    # Of fifteen intervals of .95, that four miss has probability .005.
    assert sum(inside) >= 12


@pytest.mark.parametrize("slope", [0.3, 0.6])
def test_poor_partitions_do_not_make_answers_wrong(slope):
    score, is_same, weight = simulated(0.0, slope)
    against = np.mean(is_same != (score > 0.5))
    assert against > 0.25
    assert error_rate(score, is_same, weight).rate < against / 2


def test_together_says_how_likely_rows_are_together():
    score, is_same, weight = simulated(0.1, slope=0.7, n=4000)
    found = error_rate(score, is_same, weight)
    truth = expit(0.7 * np.log(score / (1 - score)))
    middle = (score > 0.1) & (score < 0.9)
    np.testing.assert_allclose(found.together(score)[middle], truth[middle], atol=0.1)
    assert (np.diff(found.together(np.linspace(0, 1, 20))) >= 0).all()


def test_more_answers_make_the_interval_narrower():
    few, many = (error_rate(*simulated(0.2, n=n)) for n in (50, 1600))
    assert np.ptp(many.interval) < np.ptp(few.interval) / 2


def test_weight_0_counts_nothing():
    score, is_same, weight = simulated(0.2, n=200)
    half = error_rate(score[:100], is_same[:100], weight[:100])
    weight[100:] = 0.0
    whole = error_rate(score, is_same, weight)
    assert whole.interval == half.interval
    assert whole.rate == pytest.approx(half.rate)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_few_answers_leave_what_was_expected(n):
    found = error_rate(np.full(n, 0.9), np.ones(n, bool), np.ones(n))
    assert 0 < found.interval[0] < found.rate < found.interval[1] < MAX_RATE
    assert found.rate == pytest.approx(2 / 12, abs=0.05)  # the mean of the prior
