"""Pairs implied by answers about three rows."""

import numpy as np
import pytest

from clew import Constraints
from clew.constraints._meanings import TRUTH

CLASSES = np.array([0, 0, 0, 1, 1, 2])


def _rows(random: np.random.RandomState) -> np.ndarray:
    return np.array([random.permutation(6)[:3] for _ in range(300)])


@pytest.mark.parametrize("kind", ["triplet", "odd_one_out"])
def test_correct_answers_imply_correct_pairs(kind: str) -> None:
    rows = _rows(np.random.RandomState(0))
    said = TRUTH[kind](CLASSES, rows)
    make = Constraints.from_triplets if kind == "triplet" else Constraints.from_odd_one_out
    pairs = make(rows, said, n_samples=6).as_pairs()
    np.testing.assert_array_equal(pairs.pair_answers, TRUTH["pair"](CLASSES, pairs.pairs))
    assert pairs.pair_answers.min() == 0
    assert pairs.pair_answers.max() == 1


def test_implied_pairs_weights_and_annotators_of_each_answer() -> None:
    c = Constraints(
        9,
        pairs=[(8, 7, -2)],
        triplets=[(0, 1, 2, 1), (0, 1, 2, -2)],
        odd_one_out=[(3, 4, 5, 0), (6, 7, 8, -1), (0, 1, 2, -2)],
        triplet_weights=[0.5, 1],
        odd_one_out_weights=[0.25, 0.75, 1],
        triplet_annotators=["b", "a"],
        odd_one_out_annotators=["c", "a", "a"],
    )
    read = c.as_pairs()
    assert read.pairs.tolist() == [
        [7, 8], [0, 2], [0, 1], [4, 5], [3, 4], [3, 5], [6, 7], [6, 8], [7, 8],
    ]  # fmt: skip
    assert read.pair_answers.tolist() == [-2, 1, 0, 1, 0, 0, 1, 1, 1]
    assert read.pair_weights.tolist() == [1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75]
    assert [read.annotators[a] for a in read.pair_annotators[1:4]] == ["b", "b", "c"]
    assert len(read.triplets) == len(read.odd_one_out) == 0
