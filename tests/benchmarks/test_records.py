"""Duplicates in tables: the made tables, the questions, and the closure of answers."""

import numpy as np
import pytest
from benchmarks.studies._human import MajorityClosure
from benchmarks.studies.records import asked_pairs, table_of

from clew import Constraints


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_rows", "n_things"), [
    ("restaurants", 1_500, 906), ("products", 1_200, 800),
])  # fmt: skip
def test_a_seed_gives_the_same_table(name, n_rows, n_things):
    frame, truth = table_of(name, 3)
    again, same = table_of(name, 3)
    assert frame.equals(again)
    np.testing.assert_array_equal(truth, same)
    assert len(frame) == len(truth) == n_rows
    assert len(np.unique(truth)) == n_things
    assert not frame.equals(table_of(name, 4)[0])


def test_the_given_share_of_answers_is_wrong():
    truth = np.repeat(np.arange(50), 2)
    cosine = np.random.RandomState(0).uniform(size=(100, 100))
    pairs, is_same = asked_pairs(cosine, truth, 60, 0.1, 0)
    assert len(np.unique(pairs, axis=0)) == 60
    assert (is_same != (truth[pairs[:, 0]] == truth[pairs[:, 1]])).sum() == 6


def test_rows_that_most_call_the_same_are_joined():
    known = Constraints.from_pairs(
        must_link=[(0, 1), (1, 0), (1, 2), (3, 4)],
        cannot_link=[(0, 1), (3, 4), (4, 3)],
        n_samples=5,
    )
    labels = MajorityClosure().fit(constraints=known).labels_
    assert labels[0] == labels[1] == labels[2]
    assert len(set(labels.tolist())) == 3
