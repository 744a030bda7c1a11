"""Confusion matrices of annotators if only probabilities of groups are known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.trust.groups.test_confusion import PAIR, TRIPLET, Y, answers_of, with_dont_know

from clew import Constraints
from clew.answers import CODES, KINDS
from clew.exceptions import InvalidParameterError
from clew.trust import ConfusionMatrices
from clew.trust.groups._outcomes import OUTCOMES, outcome_probabilities

SWAPPED = np.array([[0.1, 0.8, 0.1], [0.85, 0.1, 0.05]])


def probabilities_of(known, groups):
    """Probabilities of the outcomes of each answer, from groups or probabilities of groups."""
    q = np.eye(3)[groups] if groups.ndim == 1 else groups
    return {
        of.kind: outcome_probabilities(of.kind, [q[r] for r in of.rows.T]) for of in known.tables
    }


def uncertain(probabilities, rng, n_looks=2):
    """Make calibrated probabilities, from observations of the true outcome of which 30 % err."""
    found = {}
    for kind, certain in probabilities.items():
        case = certain.argmax(axis=1)
        n_cases = certain.shape[1]
        probability = np.ones(certain.shape)
        for _ in range(n_looks):
            errs = rng.uniform(size=len(case)) < 0.3
            seen = np.where(errs, (case + rng.integers(1, n_cases, len(case))) % n_cases, case)
            probability *= np.where(np.arange(n_cases) == seen[:, None], 0.7, 0.3 / (n_cases - 1))
        shares = np.bincount(case, minlength=n_cases) / max(len(case), 1)
        probability *= shares
        found[kind] = probability / np.maximum(probability.sum(axis=1, keepdims=True), 1e-300)
    return found


def annotators(n=1500, seed=0):
    """Three annotators: one who errs a little, one who says the opposite, and one who guesses."""
    rng = np.random.default_rng(seed)
    tables = {"usual": PAIR, "opposite": SWAPPED, "guesses": np.array([[0.5, 0.5, 0]] * 2)}
    parts = [
        answers_of(
            rng,
            n,
            kinds=("pair",),
            names=(name,),
            confusion={"pair": with_dont_know(table)},
        )
        for name, table in tables.items()
    ]
    return sum(parts[1:], parts[0]), tables


@pytest.mark.parametrize("seed", range(2))
def test_annotators_are_found_from_uncertain_groups(seed):
    known, tables = annotators(seed=seed)
    probabilities = uncertain(probabilities_of(known, Y), np.random.default_rng(seed))
    found = ConfusionMatrices().fit_probabilities(known, probabilities)
    for name, table in tables.items():
        # Shrinkage draws an annotator who differs from all others a little toward them.
        np.testing.assert_allclose(found.of(name)["pair"], table, atol=0.15)
        if name != "guesses":
            # Counting answers weighted by these probabilities would make everybody a guesser.
            at = known.pair_annotators == known.annotators.index(name)
            said = known.pair_answers[at][:, None] == np.array(CODES["pair"])
            naive = probabilities["pair"][at].T @ said
            naive /= naive.sum(axis=1, keepdims=True)
            assert np.abs(found.of(name)["pair"] - table).max() < np.abs(naive - table).max()
    rates = dict(zip(found.annotators_, found.error_rates_, strict=True))
    assert rates["opposite"] > 0.8
    assert rates["guesses"] == pytest.approx(0.5, abs=0.05)


def test_triplets_with_uncertain_groups():
    known = answers_of(
        np.random.default_rng(0), 2500, kinds=("triplet",), confusion={"triplet": TRIPLET}
    )
    probabilities = uncertain(probabilities_of(known, Y), np.random.default_rng(1))
    found = ConfusionMatrices().fit_probabilities(known, probabilities)
    np.testing.assert_allclose(found.of("ann")["triplet"], TRIPLET, atol=0.08)


def test_probabilities_of_0_and_1_give_the_same_as_groups():
    rng = np.random.default_rng(1)
    kinds = ("pair", "triplet", "odd_one_out")
    parts = [
        answers_of(rng, 60, kinds=kinds, names=(name,), error=error)
        for name, error in (("ann", 0.1), ("ben", 0.4))
    ]
    known = parts[0] + parts[1]
    expected = ConfusionMatrices().fit(known, Y)
    found = ConfusionMatrices().fit_probabilities(known, probabilities_of(known, Y))
    assert found.annotators_ == expected.annotators_
    np.testing.assert_array_equal(found.n_answers_, expected.n_answers_)
    for kind in KINDS:
        np.testing.assert_allclose(found.matrices_[kind], expected.matrices_[kind])
        np.testing.assert_allclose(found.pooled_[kind], expected.pooled_[kind])
        np.testing.assert_allclose(found.intervals_[kind], expected.intervals_[kind])
    np.testing.assert_allclose(found.error_rates_, expected.error_rates_)
    np.testing.assert_allclose(found.error_intervals_, expected.error_intervals_)


def test_answers_of_weight_0_are_ignored():
    known = answers_of(np.random.default_rng(2), 100, error=0.2)
    probabilities = uncertain(probabilities_of(known, Y), np.random.default_rng(2))
    is_kept = np.arange(100) < 60
    weights = is_kept.astype(float)
    weighted = known.with_weights(pair_weights=weights, triplet_weights=weights)
    kept = known.select(pairs=is_kept, triplets=is_kept, odd_one_out=np.zeros(0, bool))
    fewer = {kind: of[is_kept] if len(of) else of for kind, of in probabilities.items()}
    first = ConfusionMatrices().fit_probabilities(weighted, probabilities)
    other = ConfusionMatrices().fit_probabilities(kept, fewer)
    for kind in KINDS:
        np.testing.assert_allclose(first.matrices_[kind], other.matrices_[kind])
    np.testing.assert_array_equal(first.n_answers_, other.n_answers_)


def test_without_answers_the_prior_remains():
    known = Constraints(9)
    probabilities = {kind: np.zeros((0, len(cases))) for kind, cases in OUTCOMES.items()}
    found = ConfusionMatrices(prior_error=0.2).fit_probabilities(known, probabilities)
    expected = ConfusionMatrices(prior_error=0.2).fit(known, np.arange(9))
    for kind in KINDS:
        np.testing.assert_allclose(found.pooled_[kind], expected.pooled_[kind])


def test_bad_parameters_are_refused():
    with pytest.raises(InvalidParameterError, match="prior_error"):
        ConfusionMatrices(prior_error=0.0).fit_probabilities(Constraints(3), {})
