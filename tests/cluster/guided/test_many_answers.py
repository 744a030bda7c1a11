"""Answers that are held out, moved to anchors, and judged."""

from __future__ import annotations

import numpy as np
import pytest

from clew import Constraints
from clew.cluster.guided import _many_rows as module
from clew.cluster.guided._anchors import Memberships
from clew.cluster.guided._many_rows import (
    AnsweredRows,
    AnswerTies,
    hold_out,
    is_clear,
    moved_answers,
    places_of_ends,
    propagated,
    shared_without_answer,
)
from clew.trust import ConfusionMatrices

Y = np.repeat(np.arange(4), 50)


@pytest.fixture
def known():
    return Constraints.from_labels(
        Y, 80, n_triplets=60, n_odd_one_out=60, error=0.1, dont_know=0.1, random_state=0
    )


def test_a_fifth_of_the_questions_is_held_out(known):
    twice = known + known
    kept, held = hold_out(twice, 0)
    assert 0.1 < len(held.pairs) / len(twice.pairs) < 0.3
    assert len(kept.pairs) + len(held.pairs) == len(twice.pairs)
    assert not {tuple(pair) for pair in kept.pairs} & {tuple(pair) for pair in held.pairs}


def test_without_answers_nothing_is_held_out():
    assert hold_out(Constraints(10), 0) is None
    unsure = Constraints(10, pairs=[(i, j, -2) for i in range(9) for j in range(i + 1, 10)])
    assert hold_out(unsure, 0) is None


def test_the_number_of_held_out_answers_is_limited(known, monkeypatch):
    monkeypatch.setattr(module, "MAX_HELD", 10)
    kept, held = hold_out(known, 0)
    assert sum(map(len, held.tables)) == 10
    assert sum(map(len, kept.tables)) > 140


def test_answers_are_moved_to_the_nearest_anchors():
    known = Constraints(
        6,
        pairs=[(0, 1, 1), (0, 5, 0), (2, 4, -2)],
        triplets=[(0, 2, 4, 0), (0, 2, 3, 1)],
        odd_one_out=[(0, 2, 4, 2), (4, 5, 0, 0)],
        pair_annotators=["ann", "ben", "ann"],
        pair_weights=[1.0, 0.5, 1.0],
        triplet_annotators="ann",
        odd_one_out_annotators="ben",
    )
    moved = moved_answers(known, np.array([2, 2, 1, 1, 0, 0], np.int32), 3, 0)
    assert moved.n_samples == 3
    assert moved.pairs.tolist() == [[0, 2]]  # the smaller row first
    assert moved.pair_weights.tolist() == [0.5]
    assert [moved.annotators[code] for code in moved.pair_annotators] == ["ben"]
    assert moved.triplets.tolist() == [[2, 1, 0]]
    assert moved.odd_one_out.tolist() == [[2, 1, 0]]


def test_the_moved_answers_are_chosen_at_random(known, monkeypatch):
    monkeypatch.setattr(module, "MAX_MOVED", 30)
    moved = moved_answers(known, np.arange(len(Y), dtype=np.int32), len(Y), 0)
    assert sum(map(len, moved.tables)) == 30
    assert all(map(len, moved.tables))


def ties_of(known):
    """Answers as ties, with their rows numbered among those that they name."""
    named = AnsweredRows.of(known).renumbered(known)
    return AnswerTies(named, ConfusionMatrices.uniform(0.1, known.annotators))


def test_must_links_suggest_the_group_of_most_partners():
    known = Constraints.from_pairs(
        must_link=[(0, 1), (0, 2), (0, 3), (4, 5)], cannot_link=[(6, 4)], n_samples=9
    )
    answered = AnsweredRows.of(known)
    assert answered.rows.tolist() == [0, 1, 2, 3, 4, 5, 6]
    ties = ties_of(known)
    labels = np.array([0, 1, 2, 2, 3, 4, 5])
    groups = Memberships(labels[:, None].astype(np.int32), np.ones((7, 1), np.float32), 6)
    assert ties.suggested(groups).tolist() == [2, 0, 0, 0, 4, 3, -1]


def test_places_of_ends_name_the_rows_of_answers(known):
    tied = ties_of(known).tied
    for table, places in zip(tied.tables, places_of_ends(tied.tables), strict=True):
        assert (tied.row_of_end[places] == table.rows).all()


def test_shared_probabilities_are_those_of_dense_memberships():
    """With one answer a row, the cavity of an answer is the prior of its rows."""
    random = np.random.RandomState(0)
    ties = ties_of(Constraints(200, pairs=[(i, i + 100, i % 2) for i in range(100)]))
    prior = random.dirichlet(np.ones(4), 200)
    beliefs = propagated(Memberships.largest_of(prior, 8), ties)
    shared = shared_without_answer(ties, beliefs)[0]
    i, j = ties.tied.tables[0].rows.T
    np.testing.assert_allclose(shared[:, 1], (prior[i] * prior[j]).sum(axis=1), atol=1e-5)


@pytest.mark.parametrize(
    ("lead", "n_errors", "expected"),
    [
        ([2.0, 2.0], 1.0, True),
        ([0.4, 0.4], 1.0, False),
        ([5.0, -4.0], 1.0, False),
        ([], 1.0, False),
    ],
)
def test_a_lead_is_clear_beyond_1_and_its_error(lead, n_errors, expected):
    assert is_clear(np.array(lead), n_errors) is expected
