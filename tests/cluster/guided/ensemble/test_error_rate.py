"""The share of wrong answers, from clusterings that did not see them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris, load_wine

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._ensemble.error_rate import (
    MAX_RATE,
    P_NO_ERRORS,
    ScoredAnswers,
    _right_answers,
    error_rate,
)


def drawn(rate, slope=2.0, n=800, seed=0):
    """Draw co-association of pairs, calibrated up to `slope`, with answers and weights."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 2.0, n)
    is_same = rng.uniform(size=n) < expit(slope * logit)
    return expit(logit), is_same ^ (rng.uniform(size=n) < rate), np.ones(n)


def simulated(rate, slope=2.0, n=800, seed=0):
    return ScoredAnswers.of(*drawn(rate, slope, n, seed))


@pytest.mark.parametrize("rate", [0.0, 0.15, 0.3])
def test_the_rate_is_found(rate):
    found = [error_rate(simulated(rate, seed=seed)) for seed in range(6)]
    assert np.mean([of.rate for of in found]) == pytest.approx(rate, abs=0.03)
    assert all(of.interval[0] <= of.rate <= of.interval[1] for of in found)
    assert np.mean([np.ptp(of.interval) for of in found]) < 0.25


@pytest.mark.parametrize("slope", [1.0, 2.0])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_the_interval_holds_the_rate(rate, slope):
    found = [error_rate(simulated(rate, slope, seed=seed)) for seed in range(15)]
    inside = [of.interval[0] <= rate <= of.interval[1] for of in found]
    # With coverage .95, fewer than twelve of fifteen have probability .005.
    assert sum(inside) >= 12


@pytest.mark.parametrize("slope", [0.3, 0.6])
def test_poor_clusterings_do_not_make_answers_wrong(slope):
    score, is_same, weight = drawn(0.0, slope)
    against = np.mean(is_same != (score > 0.5))
    assert against > 0.25
    assert error_rate(ScoredAnswers.of(score, is_same, weight)).rate < against / 2


def test_p_together_is_calibrated():
    score, is_same, weight = drawn(0.1, slope=0.7, n=4000)
    found = error_rate(ScoredAnswers.of(score, is_same, weight))
    truth = expit(0.7 * np.log(score / (1 - score)))
    middle = (score > 0.1) & (score < 0.9)
    np.testing.assert_allclose(found.p_together(score)[middle], truth[middle], atol=0.1)
    assert (np.diff(found.p_together(np.linspace(0, 1, 20))) >= 0).all()


def test_more_answers_make_the_interval_narrower():
    few, many = (error_rate(simulated(0.2, n=n)) for n in (50, 1600))
    assert np.ptp(many.interval) < np.ptp(few.interval) / 2


def test_answers_of_weight_0_are_ignored():
    score, is_same, weight = drawn(0.2, n=200)
    half = error_rate(ScoredAnswers.of(score[:100], is_same[:100], weight[:100]))
    weight[100:] = 0.0
    whole = error_rate(ScoredAnswers.of(score, is_same, weight))
    assert whole.interval == half.interval
    assert whole.rate == pytest.approx(half.rate)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_few_answers_leave_the_prior(n):
    found = error_rate(ScoredAnswers.of(np.full(n, 0.9), np.ones(n, bool), np.ones(n)))
    # The interval begins at 0, because all answers may be right.
    assert 0 == found.interval[0] < found.rate < found.interval[1] < MAX_RATE
    assert found.rate == pytest.approx((1 - P_NO_ERRORS) * 2 / 12, abs=0.03)


def forced_choices(n_groups, rate, seed, n=600):
    """Draw forced choices of the row nearer to a third; return the scores of their pairs."""
    rng = np.random.default_rng(seed)
    y = np.arange(200) % n_groups
    moved = rng.integers(n_groups, size=(6, 200)), rng.uniform(size=(6, 200)) < 0.25
    score = np.mean([part[:, None] == part for part in np.where(moved[1], moved[0], y)], axis=0)
    rows = np.array([rng.permutation(200)[:3] for _ in range(n)])
    first, second = (y[rows[:, 0]] == y[rows[:, at]] for at in (1, 2))
    is_open = first == second
    chooses_first = np.where(is_open, rng.uniform(size=n) < 0.5, first)
    chooses_first ^= ~is_open & (rng.uniform(size=n) < rate)
    rows[~chooses_first, 1:] = rows[~chooses_first, :0:-1]
    a, b, c = rows.T
    return np.column_stack([score[a, b], score[a, c], score[b, c]])


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.25])
@pytest.mark.parametrize("n_groups", [2, 6])
def test_forced_choices_that_the_groups_leave_open_are_not_wrong(rate, n_groups):
    nothing, found = (np.empty(0), np.empty(0, bool), np.empty(0)), []
    for seed in range(6):
        score = forced_choices(n_groups, rate, seed)
        found.append(error_rate(ScoredAnswers.of(*nothing, score, np.ones(len(score)))))
    assert np.mean([of.rate for of in found]) == pytest.approx(rate, abs=0.06)
    assert sum(of.interval[0] <= rate <= of.interval[1] for of in found) >= 4


def test_forced_choices_read_as_pairs_would_look_wrong():
    score = forced_choices(2, 0.02, 0)
    near_and_far = np.r_[score[:, 0], score[:, 1]]
    is_same = np.repeat([True, False], len(score))
    assert error_rate(ScoredAnswers.of(near_and_far, is_same, np.ones(len(is_same)))).rate > 0.15


def test_derivatives():
    rng = np.random.default_rng(0)
    some = rng.uniform(size=9), np.ones(9, bool), np.ones(9)
    answers = ScoredAnswers.of(*some, rng.uniform(size=(7, 3)), np.ones(7))
    at, step = np.array([[0.3]]), 1e-6
    _, by_slope, by_intercept = _right_answers(at, at, answers)
    for by, moves in ((by_slope, (step, 0)), (by_intercept, (0, step))):
        up, down = (
            _right_answers(at + s * moves[0], at + s * moves[1], answers)[0] for s in (1, -1)
        )
        np.testing.assert_allclose(by, (up - down) / (2 * step), atol=1e-7)


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_intervals_of_fits_hold_the_rate(rate):
    for seed, load in enumerate((load_iris, load_wine)):
        X, y = load(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(X))
        known = Constraints.from_labels(y[order], len(X), error=rate, random_state=seed)
        model = GuidedClustering(3, random_state=seed).fit(X[order], constraints=known)
        low, high = model.error_interval_
        assert low <= rate <= high
        assert model.error_rate_ == pytest.approx(rate, abs=0.05)
