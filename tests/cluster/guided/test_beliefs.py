"""Who errs how, and how far to believe each, by partitions that did not see the answers."""

from __future__ import annotations

import numpy as np
import pytest

from clew import Constraints, Question
from clew.cluster.guided._beliefs import MOST_RATE, beliefs_about, credit_of, credited
from clew.cluster.guided._ensemble import Clustering, Ensemble, Fold
from clew.constraints._folds import held_out_folds
from clew.oracles import SimulatedOracle

Y = np.arange(60) % 3
ANNOTATORS = {"good": 0.02, "careless": 0.2, "guesses": 0.5, "swapped": 0.95}
SIZES = {"pair": 2, "triplet": 3, "odd_one_out": 3}


def answers(kinds=("pair",), n_each=300, rates=ANNOTATORS, seed=0):
    """What annotators say, each asked so many questions of each kind."""
    rng = np.random.default_rng(seed)
    oracle = SimulatedOracle(
        Y, error=list(rates.values()), annotators=list(rates), random_state=seed
    )
    said = [
        oracle.answer(Question(kind, tuple(rng.permutation(60)[: SIZES[kind]].tolist())), name)
        for name in rates
        for kind in kinds
        for _ in range(n_each)
    ]
    return Constraints.from_answers(said, n_samples=60)


def parted(known):
    return [Fold(*parts) for parts in held_out_folds(known, 3, np.random.RandomState(0))]


def poor(seed=1, moved=0.25):
    """Ways to group of which each has some rows in wrong groups."""
    rng = np.random.default_rng(seed)
    ways = []
    for at in range(6):
        labels = np.where(rng.uniform(size=60) < moved, rng.integers(3, size=60), Y)
        ways.append(Clustering(f"{at}", lambda _, labels=labels: labels))
    return ways


@pytest.fixture(scope="module")
def judged():
    folds = parted(answers())
    ensemble = Ensemble.of(poor(), folds)
    return ensemble, folds, credit_of(ensemble, folds)


def test_credit_follows_from_how_much_somebody_errs(judged):
    _, _, credit = judged
    assert set(credit) == set(ANNOTATORS)
    assert max(map(abs, credit.values())) == 1
    assert credit["good"] > credit["careless"] > credit["guesses"] > 0 > credit["swapped"]
    assert credit["good"] > 0.9
    assert credit["guesses"] < 0.35
    assert credit["swapped"] < -0.4


def test_who_says_the_opposite_is_turned_round(judged):
    _, folds, credit = judged
    known = sum((fold.held for fold in folds[1:]), folds[0].held)
    believed = credited(known, credit)
    i, j = known.pairs.T
    is_swapped = known.pair_annotators == known.annotators.index("swapped")
    is_right = believed.is_must_link == (Y[i] == Y[j])
    assert is_right[is_swapped].mean() > 0.9
    np.testing.assert_array_equal(believed.pairs, known.pairs)
    np.testing.assert_array_equal(
        believed.pair_answers[~is_swapped], known.pair_answers[~is_swapped]
    )
    expected = [abs(credit[known.annotators[code]]) for code in known.pair_annotators]
    np.testing.assert_allclose(believed.pair_weights, expected)
    assert [believed.annotators[a] for a in believed.pair_annotators] == [
        known.annotators[a] for a in known.pair_annotators
    ]


def test_dont_knows_are_not_turned_and_other_kinds_not_used():
    known = Constraints(
        9,
        pairs=[(0, 1, 1), (0, 1, -2), (2, 3, 0)],
        pair_weights=[0.5, 1.0, 1.0],
        pair_annotators=["bad", "bad", "good"],
        triplets=[(0, 1, 2, 1), (3, 4, 5, 0)],
        triplet_annotators=["bad", "good"],
        odd_one_out=[(0, 1, 2, 1), (6, 7, 8, 0)],
        odd_one_out_annotators=["bad", "good"],
    )
    found = credited(known, {"bad": -0.8, "good": 0.5})
    np.testing.assert_array_equal(found.pair_answers, [0, -2, 0])
    np.testing.assert_allclose(found.pair_weights, [0.4, 0.8, 0.5])
    np.testing.assert_allclose(found.triplet_weights, [0.0, 0.5])
    np.testing.assert_allclose(found.odd_one_out_weights, [0.0, 0.5])
    np.testing.assert_array_equal(found.triplet_answers, known.triplet_answers)
    np.testing.assert_array_equal(found.odd_one_out_answers, known.odd_one_out_answers)


@pytest.mark.parametrize("kind", ["triplet", "odd_one_out"])
def test_credit_from_answers_about_three_rows(kind):
    folds = parted(answers((kind,), rates={"good": 0.02, "swapped": 1.0}))
    credit = credit_of(Ensemble.of(poor(), folds), folds)
    assert credit["good"] > 0.5
    assert credit["swapped"] < -0.1


def test_matrices_tell_annotators_apart(judged):
    ensemble, folds, _ = judged
    beliefs = beliefs_about(ensemble, folds)
    rates = dict(zip(beliefs.confusion.annotators_, beliefs.confusion.error_rates_, strict=True))
    for name, rate in ANNOTATORS.items():
        assert rates[name] == pytest.approx(rate, abs=0.15)
    assert beliefs.confusion.of("swapped")["pair"][0].argmax() == 1


def test_one_annotator_has_one_error_rate():
    folds = parted(answers(rates={"ann": 0.15}, n_each=200))
    rate, confusion = beliefs_about(Ensemble.of(poor(), folds), folds)
    assert rate.interval[0] < 0.15 < rate.interval[1]
    table = confusion.of("ann")["pair"]
    # Of same and different, the wrong one as often as was found.
    assert table[0, 1] / table[0, :2].sum() == pytest.approx(rate.rate)
    assert confusion.annotators_ == ("ann",)


def test_error_rates_that_would_turn_all_answers_round_are_not_believed():
    folds = parted(answers(rates={"ann": 0.9}))
    confusion = beliefs_about(Ensemble.of(poor(), folds), folds).confusion
    table = confusion.of("ann")["pair"]
    assert table[0, 0] > table[0, 1]
    assert table[0, 1] / table[0, :2].sum() <= MOST_RATE + 1e-9


def test_nothing_is_known_without_answers():
    rate, confusion = beliefs_about(Ensemble.of(poor(), []), [])
    assert np.isnan(rate.rate)
    assert rate.interval == (0.0, 1.0)
    assert confusion.annotators_ == ("",)
