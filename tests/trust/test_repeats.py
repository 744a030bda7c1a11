"""Dawid and Skene's estimate is compared with brute force and with simulated error rates."""

import numpy as np
import pytest
from scipy.special import softmax

from clew import Constraints
from clew.exceptions import InvalidArgumentError, InvalidParameterError
from clew.trust import DawidSkene


def simulated(n_questions, n_repeats, error, seed=0, *, said_same=None, n_samples=80):
    """Answers to pairs, each by several annotators with error rates of their own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_samples)
    i = rng.integers(0, n_samples, n_questions)
    j = (i + rng.integers(1, n_samples, n_questions)) % n_samples
    pairs = np.repeat(np.stack([i, j], axis=1), n_repeats, axis=0)
    who = rng.integers(0, len(error), len(pairs))
    truth = y[pairs[:, 0]] == y[pairs[:, 1]]
    rate = np.asarray(error)[who]
    if said_same is not None:  # other error rates where the truth is "same"
        rate = np.where(truth, np.asarray(said_same)[who], rate)
    said = truth ^ (rng.random(len(pairs)) < rate)
    answers = Constraints(
        n_samples, pairs=np.column_stack([pairs, said]), pair_annotators=who.tolist()
    )
    return answers, y


def test_rates_are_those_of_the_simulation():
    error = [0.02, 0.1, 0.3, 0.45]
    answers, y = simulated(800, 5, error)
    model = DawidSkene().fit(answers)
    np.testing.assert_allclose(model.confusion_.error_rates_, error, atol=0.05)
    rows = model.questions_["pair"]
    truth = y[rows[:, 0]] == y[rows[:, 1]]
    found = model.probabilities_["pair"][:, 0] > 0.5
    assert (found == truth).mean() > 0.95


def test_errors_on_same_and_on_different_are_estimated_separately():
    answers, _ = simulated(1500, 5, [0.02] * 4, said_same=[0.3] * 4)
    pooled = DawidSkene().fit(answers).confusion_.pooled_["pair"]
    np.testing.assert_allclose(pooled[[0, 1], [0, 1]], [0.7, 0.98], atol=0.06)


def test_outcomes_follow_from_matrices_by_bayes():
    answers, _ = simulated(60, 3, [0.1, 0.3])
    model = DawidSkene(tol=0.0, max_iter=300).fit(answers)
    matrices, rates = model.confusion_.matrices_["pair"], model.outcome_rates_["pair"]
    rows, said, who = (
        answers.tables[0].rows,
        answers.tables[0].answers,
        answers.tables[0].annotators,
    )
    for question, found in zip(
        model.questions_["pair"].tolist(), model.probabilities_["pair"], strict=True
    ):
        logits = np.log(rates)
        for at in np.flatnonzero((np.sort(rows, axis=1) == question).all(axis=1)):
            logits = logits + np.log(matrices[who[at], :, 1 - said[at]])
        np.testing.assert_allclose(found, softmax(logits), atol=1e-3)


def test_intervals_hold_the_true_rates():
    rng = np.random.default_rng(0)
    held = []
    for seed in range(20):
        error = rng.uniform(0.02, 0.4, 8)
        confusion = DawidSkene().fit(simulated(400, 5, error, seed)[0]).confusion_
        low, high = confusion.error_intervals_.T
        held += ((low <= error) & (error <= high)).tolist()
    assert 0.88 <= np.mean(held) <= 1.0


def test_without_repeats_intervals_are_wide():
    once, _ = simulated(60, 1, [0.1])
    often, _ = simulated(60, 12, [0.1] * 6)
    width = [
        np.ptp(DawidSkene().fit(c).confusion_.intervals_["pair"][0, 0, 0]) for c in (once, often)
    ]
    assert width[0] > width[1]


def test_without_repeats_matches_are_not_explained_as_errors():
    """A twelfth of the pairs match; nothing compares annotators, so their matrices are equal."""
    rng = np.random.default_rng(0)
    said = np.arange(600) % 12 == 0
    answers = Constraints(
        600,
        pairs=np.column_stack([np.arange(600), np.roll(np.arange(600), 1), said]),
        pair_annotators=rng.integers(0, 30, 600).tolist(),
    )
    model = DawidSkene().fit(answers)
    assert model.outcome_rates_["pair"][0] == pytest.approx(1 / 12, rel=0.3)
    assert (model.probabilities_["pair"][:, 0] > 0.5).sum() == said.sum()
    np.testing.assert_allclose(np.ptp(model.confusion_.matrices_["pair"], axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("kind", ["triplets", "odd_one_out"])
def test_rows_in_another_order_change_nothing(kind):
    rng = np.random.default_rng(0)
    base = np.stack([rng.permutation(12)[:3] for _ in range(30)])
    rows = np.repeat(base, 4, axis=0)
    who = rng.integers(0, 3, len(rows)).tolist()
    n_positions = 2 if kind == "triplets" else 3
    truth = np.repeat(rng.integers(0, n_positions, 30), 4)
    said = np.where(rng.random(len(rows)) < 0.2, rng.integers(0, n_positions, len(rows)), truth)
    annotators = {f"{kind.removesuffix('s')}_annotators": who}
    answers = Constraints(12, **{kind: np.column_stack([rows, said])}, **annotators)
    swapped, other = rows.copy(), said.copy()
    flip = rng.random(len(rows)) < 0.5
    a, b = (1, 2) if kind == "triplets" else (0, 1)
    swapped[flip, a], swapped[flip, b] = rows[flip, b], rows[flip, a]
    other[flip] = np.array([1, 0, 2])[said[flip]]
    again = Constraints(12, **{kind: np.column_stack([swapped, other])}, **annotators)
    first, second = DawidSkene().fit(answers), DawidSkene().fit(again)
    name = "triplet" if kind == "triplets" else "odd_one_out"
    np.testing.assert_allclose(first.probabilities_[name], second.probabilities_[name])
    np.testing.assert_allclose(first.confusion_.error_rates_, second.confusion_.error_rates_)


def test_weights_repeat_answers():
    pairs, who = [(0, 1, 1), (0, 1, 0), (2, 3, 1), (2, 3, 1)], ["a", "b", "a", "b"]
    full = Constraints(4, pairs=pairs, pair_annotators=who, pair_weights=[1, 0, 1, 1])
    less = Constraints(4, pairs=[pairs[0], *pairs[2:]], pair_annotators=["a", "a", "b"])
    first, second = DawidSkene().fit(full), DawidSkene().fit(less)
    np.testing.assert_allclose(first.probabilities_["pair"], second.probabilities_["pair"])
    assert np.isnan(first.answer_posterior_["pair"][1])


def test_answer_that_the_others_contradict_is_wrong():
    pairs = [(0, 1, 1)] * 5 + [(0, 1, 0)] + [(2, 3, 0)] * 6
    answers = Constraints(4, pairs=pairs, pair_annotators=list("abcdef" * 2))
    wrong = DawidSkene().fit(answers).answer_posterior_["pair"]
    assert wrong.argmax() == 5
    assert wrong[5] > 0.9


@pytest.mark.parametrize(
    "answers",
    [
        Constraints(5),
        Constraints.from_pairs(dont_know=[(0, 1), (1, 2)], n_samples=5),
        Constraints.from_pairs(must_link=[(0, 1)] * 50, n_samples=5),
        Constraints(2, pairs=[(0, 1, k % 2) for k in range(40)], pair_annotators=list(range(40))),
    ],
    ids=["none", "dont_know", "all the same", "everybody contradicts"],
)  # fmt: skip
def test_estimates_are_finite_for_no_equal_or_contradictory_answers(answers):
    model = DawidSkene().fit(answers)
    for kind, found in model.probabilities_.items():
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert np.isfinite(model.confusion_.pooled_[kind]).all()


def test_bad_input_is_refused():
    with pytest.raises(InvalidParameterError, match="prior_error"):
        DawidSkene(prior_error=1.5).fit(Constraints(3))
    with pytest.raises(InvalidArgumentError):
        DawidSkene().fit([(0, 1, 1)])
