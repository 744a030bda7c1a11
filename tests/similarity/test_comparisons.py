"""Answers about three rows, read as comparisons of distances."""

import numpy as np

from clew import Constraints
from clew.constraints._meanings import equalities_of, inequalities_of

KNOWN = Constraints(
    9,
    pairs=[(0, 1, 1)],
    triplets=[(0, 1, 2, 1), (3, 4, 5, -2), (0, 1, 2, 0)],
    odd_one_out=[(0, 1, 2, 0), (6, 7, 8, -1), (3, 4, 5, -2), (0, 1, 2, 2)],
    triplet_weights=[0.5, 1, 1],
    odd_one_out_weights=[0.25, 1, 1, 1],
)


def test_the_named_rows_are_the_near_ones() -> None:
    r = inequalities_of(KNOWN)
    assert r.near.tolist() == [[0, 2], [0, 1], [1, 2], [1, 2], [0, 1], [0, 1]]
    assert np.sort(r.far).tolist() == [[0, 1], [0, 2], [0, 1], [0, 2], [0, 2], [1, 2]]
    assert r.weight.tolist() == [0.5, 1, 0.25, 0.25, 1, 1]
    assert r.kind.tolist() == ["triplet"] * 2 + ["odd_one_out"] * 4
    assert r.answer.tolist() == [0, 2, 0, 0, 3, 3]


def test_only_all_alike_implies_equal_distances_and_dont_know_on_request() -> None:
    alike = equalities_of(KNOWN, with_dont_know=False)
    assert np.unique(np.hstack([alike.near, alike.far])).tolist() == [6, 7, 8]
    assert len(alike.near) == 3
    more = equalities_of(KNOWN, with_dont_know=True)
    assert more.kind.tolist() == ["triplet"] + ["odd_one_out"] * 6
    assert more.near[0].tolist() == [3, 4]
    assert more.far[0].tolist() == [3, 5]
    assert more.answer.tolist() == [1, 1, 1, 1, 2, 2, 2]


def test_pairs_imply_no_comparisons() -> None:
    assert inequalities_of(KNOWN.as_pairs()).near.shape == (0, 2)
