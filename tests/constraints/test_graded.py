"""Most central of three, and ratings of likeness: how they are stored and read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clew import Constraints
from clew.answers import DONT_KNOW
from clew.constraints._folds import fold_numbers
from clew.exceptions import FileFormatError, InvalidConstraintsError


def statements(constraints):
    """Return (row, nearer row, farther row, weight, annotator) of each triplet, sorted."""
    names = constraints.annotators
    found = []
    for (a, b, c), answer, weight, who in zip(
        constraints.triplets.tolist(),
        constraints.triplet_answers.tolist(),
        constraints.triplet_weights.tolist(),
        constraints.triplet_annotators.tolist(),
        strict=True,
    ):
        near, far = (b, c) if answer == 0 else (c, b)
        found.append((a, near, far, weight, names[who]))
    return sorted(found)


@pytest.mark.parametrize(
    ("rows", "answer"), [((3, 1, 4), 0), ((1, 3, 4), "second"), ((4, 1, 3), "Third")]
)
def test_the_other_two_are_more_like_the_most_central_one(rows, answer):
    c = Constraints.from_most_central([rows], [answer], n_samples=5, weights=0.5, annotators="ann")
    assert statements(c) == [(1, 3, 4, 0.5, "ann"), (4, 3, 1, 0.5, "ann")]
    assert (len(c), c.annotators) == (2, ("ann",))


def test_distances_that_satisfy_the_triplets_are_those_that_satisfy_the_answer():
    rng = np.random.default_rng(0)
    space = rng.normal(size=(12, 2))
    rows = np.array([rng.permutation(12)[:3] for _ in range(200)])
    i, j, k = (space[column] for column in rows.T)
    opposite = [np.linalg.norm(a - b, axis=1) for a, b in ((j, k), (i, k), (i, j))]
    c = Constraints.from_most_central(rows, np.argmax(opposite, axis=0), n_samples=12)
    for a, near, far, *_ in statements(c):
        assert np.linalg.norm(space[a] - space[near]) < np.linalg.norm(space[a] - space[far])
    assert len(c) == 400


def test_a_dont_know_stays_a_dont_know_about_all_three_rows():
    c = Constraints.from_most_central([(0, 1, 2), (2, 3, 4)], ["dont_know", 1], n_samples=5)
    assert c.triplet_answers.tolist() == [DONT_KNOW] * 3 + [0, 1]
    assert c.triplets[:3, 0].tolist() == [0, 1, 2]


def test_triplets_of_one_answer_share_a_fold():
    rows = np.array([np.random.RandomState(seed).permutation(30)[:3] for seed in range(50)])
    c = Constraints.from_most_central(rows, np.arange(50) % 3, n_samples=30)
    first, second = fold_numbers(c, 10, 0)["triplets"].reshape(50, 2).T
    np.testing.assert_array_equal(first, second)


def test_files_and_frames_have_the_kind_most_central(tmp_path):
    ids = ["a", "b", "c", "d"]
    expected = Constraints.from_triplets(
        [("d", "a", "b")], ["second"], ids=ids, annotators="ann"
    ) + Constraints.from_most_central([("a", "b", "c")], ["third"], ids=ids, annotators="ben")
    lines = [
        "kind,id_i,id_j,id_k,answer,annotator",
        "triplet,d,a,b,second,ann",
        "most-central,a,b,c,third,ben",
    ]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines))
    read = Constraints.read_csv(path, ids=ids)
    assert read == expected
    assert Constraints.from_frame(pd.read_csv(path), ids=ids) == expected
    read.to_jsonl(tmp_path / "answers.jsonl")
    assert Constraints.read_jsonl(tmp_path / "answers.jsonl", ids=ids) == expected
    path.write_text("\n".join([*lines, "most_central,a,b,c,all_alike,ben"]))
    with pytest.raises(
        FileFormatError, match=r"line 4: 'all_alike' is not an answer to a most_central"
    ):
        Constraints.read_csv(path, ids=ids)
    path.write_text("\n".join([*lines, "central,a,b,c,first,ben"]))
    with pytest.raises(FileFormatError, match=r"line 4: unknown kind 'central'.*most_central"):
        Constraints.read_csv(path, ids=ids)


def test_wrong_answers_about_the_most_central_are_refused():
    for answer in ("all_alike", -1, 3, True, "fourth", None):
        with pytest.raises(InvalidConstraintsError, match=r"answers\[0\].*0 \(first\)"):
            Constraints.from_most_central([(0, 1, 2)], [answer], n_samples=3)
    with pytest.raises(InvalidConstraintsError, match=r"shape \(1,\)"):
        Constraints.from_most_central([(0, 1, 2)], [0, 1], n_samples=3)
    assert len(Constraints.from_most_central([], [], n_samples=3)) == 0


def test_ratings_are_shares_of_same_and_different():
    rows = [(0, 1), (2, 1), (0, 2), (1, 2)]
    c = Constraints.from_ratings(
        rows, [1, 7, 4, 2.5], different=7, same=1, n_samples=3, annotators=["a", "b", "b", "a"]
    )
    is_same = c.pair_answers == 1
    assert c.pairs[is_same].tolist() == [[0, 1], [0, 2], [1, 2]]
    np.testing.assert_allclose(c.pair_weights[is_same], [1, 0.5, 0.75])
    assert c.pairs[~is_same].tolist() == [[1, 2], [0, 2], [1, 2]]
    np.testing.assert_allclose(c.pair_weights[~is_same], [1, 0.5, 0.25])
    assert np.array(c.annotators)[c.pair_annotators].tolist() == ["a", "b", "a", "b", "b", "a"]


@pytest.mark.parametrize(
    ("ratings", "ends", "words"),
    [
        ([8], (1, 7), r"ratings\[0\] is 8"),
        ([float("nan")], (1, 7), r"ratings\[0\] is nan"),
        (["high"], (1, 7), "numbers"),
        ([3, 4], (1, 7), r"shape \(1,\)"),
        ([3], (7, 7), "two different numbers"),
        ([3], (0, float("inf")), "two different numbers"),
    ],
)
def test_wrong_ratings_are_refused(ratings, ends, words):
    with pytest.raises(InvalidConstraintsError, match=words):
        Constraints.from_ratings([(0, 1)], ratings, different=ends[0], same=ends[1], n_samples=2)
