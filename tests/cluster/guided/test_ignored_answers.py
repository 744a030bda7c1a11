"""Answers of weight 0, and don't-knows about pairs, are ignored."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from clew import Constraints

pytestmark = pytest.mark.usefixtures("small_search")


def same(first, other):
    np.testing.assert_array_equal(first.labels_, other.labels_)
    np.testing.assert_array_equal(first.probabilities_, other.probabilities_)


@pytest.mark.slow
def test_uninformative_answers_are_ignored(fitted, blobs):
    nothing = fitted(blobs.X)
    rows = Constraints.from_labels(blobs.y, 40, random_state=0)
    cases = {
        "none": Constraints(60),
        "weight 0": rows.with_weights(pair_weights=np.zeros(40)),
        "don't know": Constraints(60, pairs=[(i, j, -2) for i, j in rows.pairs]),
    }
    for known in cases.values():
        model = fitted(blobs.X, known)
        same(nothing, model)
        assert np.isnan(model.error_rate_)


def test_answers_of_weight_0_hardly_change_the_result(fitted, blobs):
    known = blobs.known
    wrong = Constraints.from_labels(blobs.y, 60, error=1.0, random_state=1)
    both = known + wrong.with_weights(pair_weights=np.zeros(60))
    model = fitted(blobs.X, both)
    # The folds differ, so the result is similar but not equal.
    unmixed, mixed = (adjusted_rand_score(blobs.y, m.labels_) for m in (blobs.model, model))
    assert mixed > unmixed - 0.1
    assert model.error_rate_ < 0.2


def test_uninformative_answers_and_their_annotators_are_ignored(fitted, blobs):
    model, known = blobs.model, blobs.known
    said = np.column_stack([known.pairs, known.pair_answers])
    other = Constraints.from_labels(blobs.y, 40, error=0.5, random_state=9)
    more = np.column_stack([other.pairs, other.pair_answers])
    both = Constraints(
        60,
        pairs=np.concatenate([said, more]),
        pair_weights=[1.0] * len(said) + [0.0] * len(more),
        pair_annotators=[""] * len(said) + ["ghost"] * len(more),
    )
    found = fitted(blobs.X, both)
    same(found, model)
    assert found.error_rate_ == model.error_rate_
    assert np.isnan(found.answer_posterior_.pairs[len(said) :]).all()


def test_dont_knows_alone_are_ignored(fitted, blobs):
    known = Constraints(60, pairs=[(0, 1, -2), (2, 3, -2)], pair_annotators=["ann", "ben"])
    model, unasked = fitted(blobs.X, known), fitted(blobs.X)
    assert np.array_equal(model.probabilities_, unasked.probabilities_)
    assert np.isnan(model.error_rate_)


def test_answers_of_weight_0_are_not_violated(fitted, blobs):
    known = Constraints.from_labels(blobs.y, 60, random_state=0)
    answers = np.r_[known.pair_answers, 1 - known.pair_answers]
    said = np.column_stack([np.r_[known.pairs, known.pairs], answers])
    weights = np.r_[np.ones(60), np.zeros(60)]
    weighed = fitted(blobs.X, Constraints(60, pairs=said, pair_weights=weights))
    assert weighed.n_violated_ == fitted(blobs.X, known).n_violated_


def test_nothing_is_scored_without_answers(fitted, blobs):
    model = fitted(blobs.X)
    assert set(model.scores_) == set(model.weights_)
    assert np.isnan(model.error_rate_)
