"""Comparisons that form a cycle are found, and the shortest cycle is named."""

from __future__ import annotations

import pytest

from clew import Constraints
from clew.exceptions import InconsistentConstraintsError
from clew.similarity.kernels._comparison_cycles import conflicts_of, refuse_conflicts
from clew.similarity.log_det._distance_constraints import PairBounds, limits_of_answers


def conflicts(known, *, equal_if_unknown=False):
    return conflicts_of(
        limits_of_answers(
            known, gamma=2.0, pair_bounds=PairBounds(0.1, 1.9), equal_if_unknown=equal_if_unknown
        )
    )


def triplets(*rows, **more):
    return Constraints(9, triplets=[(*three, 0) for three in rows], **more)


def test_answers_that_can_all_hold_have_no_conflict() -> None:
    assert conflicts(Constraints(9)) == []
    assert conflicts(triplets((0, 1, 2), (0, 2, 3), (1, 0, 3), (0, 1, 3))) == []
    assert conflicts(triplets((0, 1, 2), (0, 1, 2))) == []


def test_opposite_triplets_are_a_conflict() -> None:
    (conflict,) = conflicts(triplets((3, 4, 5), (0, 1, 2), (0, 2, 1)))
    assert conflict.chain == ((0, 1), (0, 2), (0, 1))
    assert str(conflict) == "the answers imply d(0, 1) < d(0, 2) < d(0, 1)"


def test_two_different_odd_ones_are_a_conflict() -> None:
    known = Constraints.from_odd_one_out([(0, 1, 2), (2, 0, 1)], [2, 2], n_samples=9)
    # The odd one is row 2 in the first answer and row 1 in the second.
    (conflict,) = conflicts(known)
    assert conflict.chain == ((0, 1), (0, 2), (0, 1))


def test_the_chain_is_the_shortest() -> None:
    around = [(0, 1, 2), (2, 0, 3), (3, 2, 4), (4, 3, 5), (5, 4, 0), (0, 5, 1)]
    (conflict,) = conflicts(triplets(*around))
    assert conflict.chain == ((0, 1), (0, 2), (2, 3), (3, 4), (4, 5), (0, 5), (0, 1))
    (shorter,) = conflicts(triplets(*around, (0, 2, 1)))
    assert shorter.chain == ((0, 1), (0, 2), (0, 1))


def test_separate_cycles_are_separate_conflicts() -> None:
    found = conflicts(triplets((0, 1, 2), (0, 2, 1), (3, 4, 5), (3, 5, 4)))
    assert [conflict.chain[0] for conflict in found] == [(0, 1), (3, 4)]


def test_where_all_alike_no_distance_is_smaller() -> None:
    same = {"odd_one_out": [(0, 1, 2, -1)]}
    assert conflicts(Constraints(9, **same)) == []
    (conflict,) = conflicts(triplets((0, 1, 2), **same))
    assert conflict.chain == ((0, 1), (0, 2), (0, 1))


def test_dont_know_is_an_equality_only_on_request() -> None:
    known = triplets((0, 1, 2), odd_one_out=[(0, 1, 2, -2)])
    assert conflicts(known) == []
    assert len(conflicts(known, equal_if_unknown=True)) == 1


def test_a_must_link_is_nearer_than_a_cannot_link() -> None:
    pairs = {"pairs": [(0, 1, 1), (0, 2, 0)]}
    assert conflicts(triplets((0, 1, 2), **pairs)) == []
    (conflict,) = conflicts(triplets((0, 2, 1), **pairs))
    assert set(conflict.chain) == {(0, 1), (0, 2)}
    assert conflict.chain[0] == conflict.chain[-1]


def test_a_pair_with_both_answers_is_a_conflict() -> None:
    (conflict,) = conflicts(Constraints(9, pairs=[(0, 1, 1), (0, 1, 0)]))
    assert conflict.chain == ((0, 1), (0, 1))


def test_answers_of_weight_0_contradict_nothing() -> None:
    known = triplets((0, 1, 2), (0, 2, 1), triplet_weights=[1, 0])
    assert conflicts(known) == []


def test_refusal_names_the_chain() -> None:
    refuse_conflicts([])
    found = conflicts(triplets((0, 1, 2), (0, 2, 1), (3, 4, 5), (3, 5, 4)))
    with pytest.raises(InconsistentConstraintsError, match=r"d\(0, 1\) < d\(0, 2\).* 1 more") as e:
        refuse_conflicts(found)
    assert e.value.chain == (0, 1, 0, 2, 0, 1)
