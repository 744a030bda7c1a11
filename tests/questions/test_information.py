"""Information of answers about groups: against its definition, by enumeration of all groups."""

import itertools
from collections import defaultdict

import numpy as np
import pytest

from clew.answers import DONT_KNOW
from clew.constraints._meanings import TRUTH
from clew.exceptions import InvalidParameterError
from clew.questions import odd_one_out_information, pair_information, triplet_information

KINDS = {
    "pair": (2, pair_information),
    "triplet": (3, triplet_information),
    "odd_one_out": (3, odd_one_out_information),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_number = pytest.mark.parametrize("k", [1, 2, 3, 5, 8])


def groups_by_answer(kind, k):
    """All groups of a question's rows, by the true answer."""
    size, _ = KINDS[kind]
    found = defaultdict(int)
    for groups in itertools.product(range(k), repeat=size):
        answer = TRUTH[kind](np.array(groups), np.arange(size)[None])[0]
        found[int(answer)] += 1
    return found, k**size


@each_kind
@each_number
def test_information_is_the_entropy_minus_the_conditional_entropy(kind, k):
    # I(Y; l) = H(Y) - H(Y | l); all groups consistent with an answer are equally probable.
    found, n = groups_by_answer(kind, k)
    left = sum(count / n * np.log(count) for count in found.values())
    assert KINDS[kind][1](k) == pytest.approx(np.log(n) - left, abs=1e-12)


@each_kind
@each_number
def test_information_is_the_entropy_of_the_true_answer(kind, k):
    found, n = groups_by_answer(kind, k)
    share = np.array(list(found.values())) / n
    assert KINDS[kind][1](k) == pytest.approx(-(share * np.log(share)).sum(), abs=1e-12)


@pytest.mark.parametrize("kind", ["triplet", "odd_one_out"])
@each_number
def test_ignored_dont_knows_leave_all_groups_possible(kind, k):
    found, n = groups_by_answer(kind, k)
    left = sum(
        count / n * np.log(n if answer == DONT_KNOW else count) for answer, count in found.items()
    )
    assert KINDS[kind][1](k, dont_know=False) == pytest.approx(np.log(n) - left, abs=1e-12)


def test_equations_of_the_paper():
    k = np.arange(2, 30)
    unknown = 1 - 2 * (k - 1) / k**2
    eq_3 = 2 * np.log(k) - (1 - unknown) * np.log(k - 1) - unknown * np.log(k**2 - 2 * (k - 1))
    eq_4 = np.log(k) - (1 - 1 / k) * np.log(k - 1)
    eq_5 = 2 * (1 - unknown) * np.log(k) - (1 - unknown) * np.log(k - 1)
    np.testing.assert_allclose(triplet_information(k), eq_3, atol=1e-12)
    np.testing.assert_allclose(pair_information(k), eq_4, atol=1e-12)
    np.testing.assert_allclose(triplet_information(k, dont_know=False), eq_5, atol=1e-12)


def test_two_triplets_are_at_least_as_informative_as_three_pairs():
    # Figure 2 of the paper compares them at the same number of rows; equal for two groups.
    k = np.arange(2, 21)
    more = 2 * triplet_information(k) - 3 * pair_information(k)
    assert more[0] == pytest.approx(0, abs=1e-12)
    assert (more[1:] > 0.05).all()
    assert (triplet_information(k) > pair_information(k)).all()
    assert (triplet_information(k) >= triplet_information(k, dont_know=False)).all()


@pytest.mark.parametrize("wrong", [0, -1, 2.5, [3, 0], "three"])
def test_invalid_numbers_of_groups_are_refused(wrong):
    for _, function in KINDS.values():
        with pytest.raises(InvalidParameterError, match="n_clusters"):
            function(wrong)
