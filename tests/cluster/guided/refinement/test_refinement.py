"""Refinement: groups that agree with the neighbors of each row and with the answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clew import Constraints, Question
from clew.cluster.guided._refinement.refinement import TiedRows, refine
from clew.cluster.guided._refinement.smoothers import RidgeSmoother
from clew.exceptions import InvalidDataError
from clew.oracles import SimulatedOracle
from clew.trust import ConfusionMatrices

CONFUSION = ConfusionMatrices.uniform(0.05)
LABELS = np.repeat([0, 1, 2], 4)
#: Row 0 is in group 0, and these would have it in group 1.
MOVING = {
    "pairs": Constraints.from_pairs(must_link=[(0, 4), (5, 0)], cannot_link=[(0, 1)], n_samples=12),
    "triplets": Constraints(12, triplets=[(0, 4, 1, 0), (0, 5, 8, 0), (0, 6, 2, 0)]),
    "odd_one_out": Constraints(12, odd_one_out=[(1, 0, 4, 0), (0, 5, 9, 2), (6, 2, 0, 1)]),
}
WEIGHTS = {
    "pairs": "pair_weights",
    "triplets": "triplet_weights",
    "odd_one_out": "odd_one_out_weights",
}


class Same:
    """A smoother that always predicts the initial groups."""

    def __init__(self, labels, sure=0.7):
        self._probabilities = np.full((len(labels), 3), (1 - sure) / 2)
        self._probabilities[np.arange(len(labels)), labels] = sure

    def smooth(self, memberships):
        assert memberships.shape == self._probabilities.shape
        return self._probabilities


@pytest.mark.parametrize("kind", MOVING)
def test_answers_move_a_row(kind):
    tied = TiedRows(MOVING[kind], CONFUSION)
    q = refine(LABELS, 3, tied, Same(LABELS), 1.0)
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    assert q[0].argmax() == 1
    np.testing.assert_array_equal(q[1:].argmax(axis=1), LABELS[1:])


@pytest.mark.parametrize("kind", MOVING)
def test_answers_do_not_move_a_row_against_a_strong_smoother(kind):
    q = refine(LABELS, 3, TiedRows(MOVING[kind], CONFUSION), Same(LABELS), 1e3)
    np.testing.assert_array_equal(q.argmax(axis=1), LABELS)


@pytest.mark.parametrize("kind", MOVING)
def test_answers_of_weight_0_and_random_answers_have_no_effect(kind):
    zeros = np.zeros(len(MOVING[kind]))
    silent = MOVING[kind].with_weights(**{WEIGHTS[kind]: zeros})
    nothing = refine(LABELS, 3, TiedRows(Constraints(12), CONFUSION), Same(LABELS), 1.0)
    guessed = ConfusionMatrices.uniform(0.8 if kind == "odd_one_out" else 2 / 3)
    for known, confusion in ((silent, CONFUSION), (MOVING[kind], guessed)):
        q = refine(LABELS, 3, TiedRows(known, confusion), Same(LABELS), 1.0)
        np.testing.assert_allclose(q, nothing, atol=1e-12)


def test_only_dont_knows_about_three_rows_are_informative():
    pairs = Constraints(12, pairs=[(0, 4, -2)])
    three = Constraints(12, triplets=[(0, 1, 4, -2)])
    nothing = refine(LABELS, 3, TiedRows(Constraints(12), CONFUSION), Same(LABELS), 1.0)
    apart = refine(LABELS, 3, TiedRows(pairs, CONFUSION), Same(LABELS), 1.0)
    np.testing.assert_array_equal(apart, nothing)
    # A don't-know lowers the probability that row 0 is with row 1 and not with row 4.
    q = refine(LABELS, 3, TiedRows(three, CONFUSION), Same(LABELS), 1.0)
    assert q[0] @ q[1] < nothing[0] @ nothing[1]


def test_without_answers_rows_follow_the_rows_around_them():
    X, y = make_blobs(60, centers=3, cluster_std=0.3, random_state=0)
    start = y.copy()
    start[::6] = (start[::6] + 1) % 3
    q = refine(start, 3, TiedRows(Constraints(60), CONFUSION), RidgeSmoother(X), 3.0)
    np.testing.assert_array_equal(q.argmax(axis=1), y)


def test_opposite_answers_help_if_the_confusion_matrix_is_known():
    X, y = make_blobs(60, centers=3, cluster_std=6.0, random_state=1)
    rng = np.random.default_rng(0)
    asked = [Question("pair", tuple(rng.choice(60, 2, replace=False).tolist())) for _ in range(150)]
    said = SimulatedOracle(y, error=[0.95], annotators=["ben"], random_state=0).answer_all(asked)
    known = Constraints.from_answers(said, n_samples=60)
    smoother, scores = RidgeSmoother(X), {}
    for name, confusion in {
        "known": ConfusionMatrices().fit(known, y),
        "not known": ConfusionMatrices.uniform(0.05, ["ben"]),
    }.items():
        q = refine(y, 3, TiedRows(known, confusion), smoother, 1.0)
        scores[name] = adjusted_rand_score(y, q.argmax(axis=1))
    assert scores["known"] > 0.9
    assert scores["known"] > scores["not known"] + 0.3


def test_one_group_and_groups_without_rows():
    tied = TiedRows(MOVING["pairs"], CONFUSION)
    X = np.arange(12.0)[:, None]
    np.testing.assert_array_equal(refine(LABELS * 0, 1, tied, RidgeSmoother(X), 1.0), 1.0)
    q = refine(LABELS, 5, tied, RidgeSmoother(X), 1.0)
    assert q.shape == (12, 5)
    assert np.isfinite(q).all()


@pytest.mark.parametrize("labels", [[0, 1, -1], [0, 1, 2], [0, 1], [0.0, 1.0, 1.0]])
def test_invalid_groups_are_refused(labels):
    tied = TiedRows(Constraints(3, pairs=[(0, 1, 1)]), ConfusionMatrices.uniform(0.1))
    rows = np.arange(6.0).reshape(3, 2)
    with pytest.raises(InvalidDataError, match="3 groups from 0 to 1"):
        refine(np.array(labels), 2, tied, RidgeSmoother(rows), 1.0)
