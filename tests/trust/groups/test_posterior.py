"""How likely an answer is wrong: by enumeration, without its own say, and on simulated answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from clew import Constraints
from clew.answers import DONT_KNOW
from clew.constraints._meanings import TRUTH
from clew.exceptions import InvalidConstraintsError, InvalidDataError
from clew.trust import AnswerDoubts, ConfusionMatrices, answer_posterior

RNG = np.random.default_rng(0)
Q = RNG.dirichlet(np.ones(3), 6)
KNOWN = Constraints(
    6,
    pairs=[(0, 1, 1), (2, 3, 0), (4, 5, -2)],
    triplets=[(0, 1, 2, 0), (3, 4, 5, 1), (1, 2, 3, -2)],
    odd_one_out=[(0, 1, 2, 0), (3, 4, 5, 2), (1, 3, 5, -1), (0, 2, 4, -2)],
)
FIELDS = {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd_one_out"}
#: What the matrices of an error rate of 0.2 give to one of the wrong answers.
WRONG = {"pair": 0.1, "triplet": 0.1, "odd_one_out": 0.05}


def said(known):
    """Kind, rows and answers."""
    yield "pair", known.pairs, known.pair_answers
    yield "triplet", known.triplets, known.triplet_answers
    yield "odd_one_out", known.odd_one_out, known.odd_one_out_answers


def by_bayes(kind, rows, answer, q):
    """Probability that one answer is wrong, over all groups of its rows."""
    right = wrong = 0.0
    for groups in itertools.product(range(q.shape[1]), repeat=len(rows)):
        chance = np.prod([q[row, group] for row, group in zip(rows, groups, strict=True)])
        true = TRUTH[kind](np.array(groups), np.arange(len(rows))[None])[0]
        if true == answer:
            right += 0.8 * chance
        else:
            wrong += WRONG[kind] * chance
    return wrong / (right + wrong)


def test_against_enumeration():
    model = ConfusionMatrices.uniform(0.2)
    found = answer_posterior(KNOWN, Q, model, saw_answers=False)
    assert isinstance(found, AnswerDoubts)
    for kind, rows, answers in said(KNOWN):
        doubts = getattr(found, FIELDS[kind])
        for row, answer, doubt in zip(rows, answers, doubts, strict=True):
            if answer == DONT_KNOW:
                assert np.isnan(doubt)
            else:
                assert doubt == pytest.approx(by_bayes(kind, row, answer, Q), abs=1e-12)


@pytest.mark.parametrize("kind", FIELDS)
def test_an_answer_does_not_vouch_for_itself(kind):
    # Memberships that the answer alone has moved are moved back.
    from clew.cluster.dcrc._answers import AnsweredRows

    size = 2 if kind == "pair" else 3
    known = Constraints(size, **{FIELDS[kind]: [(*range(size), 1)]})
    model = ConfusionMatrices.uniform(0.2)
    prior = Q[:size]
    q = prior.copy()
    answers = AnsweredRows(known, with_doubtful_pairs=False, is_hard=False)
    answers.settle(np.log(prior), model.matrices_, q, max_sweeps=1000, tol=1e-15)
    assert np.abs(q - prior).max() > 0.01
    (own,) = getattr(answer_posterior(known, q, model), FIELDS[kind])
    assert own == pytest.approx(by_bayes(kind, range(size), 1, prior), abs=1e-9)


def test_wrong_answers_are_doubted_most():
    y = np.repeat([0, 1, 2], 30)
    known = Constraints.from_labels(
        y, 60, n_triplets=60, n_odd_one_out=60, error=0.2, random_state=0
    )
    q = 0.85 * np.eye(3)[y] + 0.05
    found = answer_posterior(known, q, saw_answers=False)
    for kind, rows, answers in said(known):
        doubt = getattr(found, FIELDS[kind])
        heard = answers != DONT_KNOW
        is_wrong = TRUTH[kind](y, rows) != answers
        assert roc_auc_score(is_wrong[heard], doubt[heard]) > 0.95


def test_groups_are_taken_as_certain():
    known = Constraints.from_pairs(must_link=[(0, 1), (0, 2)], n_samples=3)
    found = answer_posterior(known, [0, 0, 1], ConfusionMatrices.uniform(0.1))
    np.testing.assert_allclose(found.pairs, [0, 1], atol=1e-12)
    alone = answer_posterior(known, [-1, -1, -1], ConfusionMatrices.uniform(0.1))
    np.testing.assert_allclose(alone.pairs, [1, 1], atol=1e-12)


def test_an_unreliable_annotator_is_doubted_more():
    known = Constraints(
        4, pairs=[(0, 1, 1), (0, 1, 1)], pair_annotators=["good", "poor"]
    )  # fmt: skip
    both = [ConfusionMatrices.uniform(e, ("good", "poor")) for e in (0.1, 0.5)]
    mixed = both[0]
    mixed.matrices_["pair"][1] = both[1].matrices_["pair"][1]
    q = np.array([[0.8, 0.2]] * 4)
    good, poor = answer_posterior(known, q, mixed, saw_answers=False).pairs
    assert poor > 2 * good


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(InvalidDataError, match="memberships"):
        answer_posterior(KNOWN, Q[:-1])
    with pytest.raises(InvalidConstraintsError, match="no confusion matrix of ''"):
        answer_posterior(KNOWN, Q, ConfusionMatrices.uniform(0.1, ("ann",)))
    with pytest.raises(TypeError, match="Constraints"):
        answer_posterior([(0, 1)], Q)
    with pytest.raises(TypeError, match="ConfusionMatrices, got float"):
        answer_posterior(KNOWN, Q, 0.1)
    with pytest.raises(NotFittedError):
        answer_posterior(KNOWN, Q, ConfusionMatrices())


def test_rows_without_answers_change_nothing():
    wide = np.vstack([np.full((3, 3), 1 / 3), Q])
    known = Constraints(9, pairs=[(3, 4, 1), (5, 6, 0)], triplets=[(3, 8, 4, 1)])
    found = answer_posterior(known, wide)
    alone = answer_posterior(known.subset(np.arange(3, 9)), Q)
    for doubts, expected in zip(found, alone, strict=True):
        np.testing.assert_allclose(doubts, expected)


def test_no_answers_leave_nothing_to_doubt():
    assert [len(doubts) for doubts in answer_posterior(Constraints(6), Q)] == [0, 0, 0]
