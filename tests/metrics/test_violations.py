import numpy as np
import pytest

from clew import Constraints
from clew.exceptions import InvalidConstraintsError, InvalidDataError
from clew.metrics import n_violated


def test_pairs():
    c = Constraints(4, pairs=[(0, 1, 1), (0, 2, 1), (0, 1, 0), (0, 2, 0), (0, 1, -2), (0, 2, -2)])
    # Rows 0 and 1 are together: one must-link and one cannot-link are violated.
    assert n_violated([0, 0, 1, 1], c) == 2
    assert n_violated([0, 0, 1, 1], c.select(pairs=c.is_dont_know)) == 0
    assert n_violated([0, 0, 1, 1], c.select(pairs=c.is_must_link)) == 1


@pytest.mark.parametrize(
    ("labels", "answer", "violated"),
    [
        ([0, 0, 1], 0, False),
        ([0, 0, 1], 1, True),
        ([0, 1, 0], 0, True),
        ([0, 1, 0], 1, False),
        ([0, 0, 0], 0, False),
        ([0, 1, 1], 0, False),
        ([0, 1, 2], 1, False),
        ([0, 1, 0], -2, False),
    ],
)
def test_triplets(labels, answer, violated):
    c = Constraints.from_triplets([(0, 1, 2)], [answer], n_samples=3)
    assert n_violated(labels, c) == violated


@pytest.mark.parametrize(
    ("labels", "not_violated"),
    [
        ([0, 0, 0], {-1, -2}),
        ([1, 0, 0], {0, -2}),
        ([0, 1, 0], {1, -2}),
        ([0, 0, 1], {2, -2}),
        ([0, 1, 2], {0, 1, 2, -2}),
    ],
)
def test_odd_one_out(labels, not_violated):
    for answer in (0, 1, 2, -1, -2):
        c = Constraints.from_odd_one_out([(0, 1, 2)], [answer], n_samples=3)
        assert n_violated(labels, c) == (answer not in not_violated)


def test_noise_is_in_no_group():
    c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 1)], n_samples=3)
    assert n_violated([-1, -1, 0], c.select(pairs=c.is_must_link)) == 1
    assert n_violated([-1, -1, 0], c.select(pairs=c.is_cannot_link)) == 0


def test_the_true_groups_violate_exactly_the_wrong_answers():
    y = np.random.RandomState(0).randint(0, 3, 80)
    c = Constraints.from_labels(
        y, 500, n_triplets=100, n_odd_one_out=100, error=0.1, random_state=0
    )
    determined = (c.triplet_answers != -2).sum(), (c.odd_one_out_answers != -2).sum()
    assert n_violated(y, c) == 50 + sum(round(0.1 * n) for n in determined)
    assert n_violated(y, Constraints.from_labels(y, 500, random_state=0)) == 0


def test_labels_are_checked_and_not_changed():
    labels = np.array([-1, 0, -1])
    assert n_violated(labels, Constraints(3)) == 0
    np.testing.assert_array_equal(labels, [-1, 0, -1])
    with pytest.raises(InvalidConstraintsError, match="about 4 rows, but there are 3 labels"):
        n_violated(labels, Constraints(4))
    with pytest.raises(InvalidDataError, match="integers"):
        n_violated([0.5, 0, 1], Constraints(3))
    assert n_violated([], Constraints(0)) == 0
