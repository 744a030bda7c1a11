"""Errors of annotators and their weights, from clusterings that did not see the answers."""

from __future__ import annotations

import numpy as np
import pytest

from clew import Constraints, Question
from clew.cluster.guided._ensemble.answer_errors import (
    MAX_RATE,
    annotator_weights,
    answer_errors,
    weighted_by,
)
from clew.cluster.guided._ensemble.ensemble import Clustering, Ensemble, Fold
from clew.constraints._folds import held_out_folds
from clew.oracles import SimulatedOracle

Y = np.arange(60) % 3
ANNOTATORS = {"good": 0.02, "careless": 0.2, "guesses": 0.5, "swapped": 0.95}
SIZES = {"pair": 2, "triplet": 3, "odd_one_out": 3}


def answers(kinds=("pair",), n_each=300, rates=ANNOTATORS, seed=0):
    """Answers of annotators with these error rates to `n_each` questions of each kind."""
    rng = np.random.default_rng(seed)
    oracle = SimulatedOracle(
        Y, error=list(rates.values()), annotators=list(rates), random_state=seed
    )
    given = [
        oracle.answer(Question(kind, tuple(rng.permutation(60)[: SIZES[kind]].tolist())), name)
        for name in rates
        for kind in kinds
        for _ in range(n_each)
    ]
    return Constraints.from_answers(given, n_samples=60)


def folds_of(known):
    return [Fold(*parts) for parts in held_out_folds(known, 3, 0)]


def poor(seed=1, moved=0.25):
    """Clusterings that each have some rows in wrong groups."""
    rng = np.random.default_rng(seed)
    clusterings = []
    for at in range(6):
        labels = np.where(rng.uniform(size=60) < moved, rng.integers(3, size=60), Y)
        clusterings.append(Clustering(f"{at}", lambda _, labels=labels: labels))
    return clusterings


@pytest.fixture(scope="module")
def scored():
    folds = folds_of(answers())
    ensemble = Ensemble.of(poor(), folds)
    return ensemble, folds, annotator_weights(ensemble, folds)


def test_weights_decrease_with_the_error_rate(scored):
    _, _, weights = scored
    assert set(weights) == set(ANNOTATORS)
    assert max(map(abs, weights.values())) == 1
    assert weights["good"] > weights["careless"] > weights["guesses"] > 0 > weights["swapped"]
    assert weights["good"] > 0.9
    assert weights["guesses"] < 0.35
    assert weights["swapped"] < -0.4


def test_answers_worse_than_random_are_reversed(scored):
    _, folds, weights = scored
    known = sum((fold.held for fold in folds[1:]), folds[0].held)
    found = weighted_by(known, weights)
    i, j = known.pairs.T
    is_swapped = known.pair_annotators == known.annotators.index("swapped")
    is_right = found.is_must_link == (Y[i] == Y[j])
    assert is_right[is_swapped].mean() > 0.9
    np.testing.assert_array_equal(found.pairs, known.pairs)
    np.testing.assert_array_equal(found.pair_answers[~is_swapped], known.pair_answers[~is_swapped])
    expected = [abs(weights[known.annotators[code]]) for code in known.pair_annotators]
    np.testing.assert_allclose(found.pair_weights, expected)
    assert [found.annotators[a] for a in found.pair_annotators] == [
        known.annotators[a] for a in known.pair_annotators
    ]


def test_dont_knows_are_not_reversed_and_other_kinds_get_weight_0():
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
    found = weighted_by(known, {"bad": -0.8, "good": 0.5})
    np.testing.assert_array_equal(found.pair_answers, [0, -2, 0])
    np.testing.assert_allclose(found.pair_weights, [0.4, 0.8, 0.5])
    np.testing.assert_allclose(found.triplet_weights, [0.0, 0.5])
    np.testing.assert_allclose(found.odd_one_out_weights, [0.0, 0.5])
    np.testing.assert_array_equal(found.triplet_answers, known.triplet_answers)
    np.testing.assert_array_equal(found.odd_one_out_answers, known.odd_one_out_answers)


@pytest.mark.parametrize("kind", ["triplet", "odd_one_out"])
def test_weights_from_answers_about_three_rows(kind):
    folds = folds_of(answers((kind,), rates={"good": 0.02, "swapped": 1.0}))
    weights = annotator_weights(Ensemble.of(poor(), folds), folds)
    assert weights["good"] > 0.5
    assert weights["swapped"] < -0.1


def test_matrices_recover_the_error_rates(scored):
    ensemble, folds, _ = scored
    errors = answer_errors(ensemble, folds)
    rates = dict(zip(errors.confusion.annotators_, errors.confusion.error_rates_, strict=True))
    for name, rate in ANNOTATORS.items():
        assert rates[name] == pytest.approx(rate, abs=0.15)
    assert errors.confusion.of("swapped")["pair"][0].argmax() == 1
    # The mean needs no weights, because each annotator gave equally many answers.
    assert errors.rate.rate == pytest.approx(errors.confusion.error_rates_.mean())
    assert errors.rate.rate == pytest.approx(np.mean([*ANNOTATORS.values()]), abs=0.1)
    assert errors.rate.interval[0] < errors.rate.rate < errors.rate.interval[1]


def test_one_annotator_has_one_error_rate():
    folds = folds_of(answers(rates={"ann": 0.15}, n_each=200))
    rate, confusion = answer_errors(Ensemble.of(poor(), folds), folds)
    assert rate.interval[0] < 0.15 < rate.interval[1]
    table = confusion.of("ann")["pair"]
    # Share of "different" among the definite answers about rows of one group.
    assert table[0, 1] / table[0, :2].sum() == pytest.approx(rate.rate)
    assert confusion.annotators_ == ("ann",)


def test_the_matrix_of_one_annotator_reverses_no_answers():
    folds = folds_of(answers(rates={"ann": 0.9}))
    confusion = answer_errors(Ensemble.of(poor(), folds), folds).confusion
    table = confusion.of("ann")["pair"]
    assert table[0, 0] > table[0, 1]
    assert table[0, 1] / table[0, :2].sum() <= MAX_RATE + 1e-9


def test_the_error_rate_is_unknown_without_answers():
    rate, confusion = answer_errors(Ensemble.of(poor(), []), [])
    assert np.isnan(rate.rate)
    assert rate.interval == (0.0, 1.0)
    assert confusion.annotators_ == ("",)
