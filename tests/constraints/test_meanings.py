"""Pairs implied by answers about three rows."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from clew import Constraints
from clew.constraints._meanings import (
    TRUTH,
    distinct_integers,
    equalities_of,
    inequalities_of,
    pair_from_rank,
)
from clew.exceptions import InvalidDataError, InvalidParameterError

CLASSES = np.array([0, 0, 0, 1, 1, 2])
KNOWN = Constraints(
    9,
    pairs=[(0, 1, 1)],
    triplets=[(0, 1, 2, 1), (3, 4, 5, -2), (0, 1, 2, 0)],
    odd_one_out=[(0, 1, 2, 0), (6, 7, 8, -1), (3, 4, 5, -2), (0, 1, 2, 2)],
    triplet_weights=[0.5, 1, 1],
    odd_one_out_weights=[0.25, 1, 1, 1],
)
Y = np.random.RandomState(0).randint(0, 5, 100)


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


def truth(y, rows):
    return (y[rows[:, 0]] == y[rows[:, 1]]).astype(int)


@pytest.mark.parametrize("n_pairs", [1, 7, 333, 4950])
@pytest.mark.parametrize("error", [0.0, 0.1, 0.15, 1.0])
def test_pairs_are_distinct_and_exactly_the_share_asked_for_is_wrong(n_pairs, error):
    c = Constraints.from_labels(Y, n_pairs, error=error, random_state=3)
    assert c.n_samples == 100
    assert len(c) == len(set(map(tuple, c.pairs.tolist()))) == n_pairs
    assert (c.pairs[:, 0] < c.pairs[:, 1]).all()
    assert (c.pair_answers != truth(Y, c.pairs)).sum() == round(error * n_pairs)


def test_dont_knows_and_mistakes_have_exact_shares_and_do_not_overlap():
    c = Constraints.from_labels(Y, 1000, error=0.2, dont_know=0.3, random_state=0)
    known = ~c.is_dont_know
    assert c.is_dont_know.sum() == 300
    assert (c.pair_answers[known] != truth(Y, c.pairs)[known]).sum() == 200


def test_results_depend_on_the_seed():
    def draw(seed):
        return Constraints.from_labels(
            Y, 50, n_triplets=50, n_odd_one_out=50, error=0.2, random_state=seed
        )

    assert draw(1) == draw(1) == draw(np.random.RandomState(1))
    assert draw(1) != draw(2)


@pytest.mark.slow
@pytest.mark.parametrize("n_pairs", [3, 40])
def test_every_pair_is_equally_likely(n_pairs):
    # Few of the 45 pairs, which are drawn one by one, and most of them, which are shuffled.
    counts = np.zeros((10, 10))
    n_draws = 3000 // n_pairs
    for seed in range(n_draws):
        rows = Constraints.from_labels(np.zeros(10), n_pairs, random_state=seed).pairs
        counts[rows[:, 0], rows[:, 1]] += 1
    probability = n_pairs / 45
    deviation = counts[np.triu_indices(10, 1)] - n_draws * probability
    assert np.abs(deviation).max() < 5 * np.sqrt(n_draws * probability * (1 - probability))


def test_must_links_and_cannot_links_are_wrong_equally_often():
    y = np.arange(2000) % 2
    c = Constraints.from_labels(y, 20_000, error=0.25, random_state=0)
    wrong = c.pair_answers != truth(y, c.pairs)
    for answer in (0, 1):
        share = wrong[truth(y, c.pairs) == answer].mean()
        assert abs(share - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 10_000)


def test_triplets_and_odd_one_out():
    y = np.arange(60) % 2
    c = Constraints.from_labels(y, n_triplets=800, n_odd_one_out=800, error=0.1, random_state=0)
    a, b, k = y[c.triplets].T
    determined = b != k
    expected = np.where(a == b, 0, 1)
    assert (c.triplet_answers[~determined] == -2).all()
    wrong = c.triplet_answers[determined] != expected[determined]
    assert wrong.sum() == round(0.1 * determined.sum())
    classes = y[c.odd_one_out]
    odd = np.where(
        classes[:, 1] == classes[:, 2], 0, np.where(classes[:, 0] == classes[:, 2], 1, 2)
    )
    odd[(classes == classes[:, :1]).all(axis=1)] = -1
    wrong = c.odd_one_out_answers != odd
    assert wrong.sum() == 80
    assert set(c.odd_one_out_answers[wrong].tolist()) == {-1, 0, 1, 2}


def test_odd_one_out_of_three_classes_is_dont_know():
    c = Constraints.from_labels([0, 1, 2], n_odd_one_out=20, error=0.5, random_state=0)
    assert (c.odd_one_out_answers == -2).all()


def test_triples_are_uniform_over_ordered_triples():
    c = Constraints.from_labels(np.zeros(4), n_triplets=4800, random_state=0)
    _, counts = np.unique(c.triplets, axis=0, return_counts=True)
    assert counts.size == 24
    assert np.abs(counts - 200).max() < 5 * np.sqrt(200)


def test_a_million_rows_need_no_matrix():
    y = np.random.RandomState(0).randint(0, 3, 1_000_000)
    c = Constraints.from_labels(y, 1000, error=0.15, random_state=0)
    assert c.pairs.max() > 900_000
    assert (c.pair_answers != truth(y, c.pairs)).sum() == 150


def test_labels_of_any_type():
    names = np.array(["rose", "tulip"])[np.arange(20) % 2]
    assert Constraints.from_labels(names, 30, random_state=0) == Constraints.from_labels(
        np.arange(20) % 2, 30, random_state=0
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_pairs": 4951}, "100 labeled rows have 4950"),
        ({"n_pairs": -1}, "n_pairs must be an integer of 0 or more, got -1"),
        ({"n_pairs": 10.5}, "n_pairs must be an integer of 0 or more, got 10.5"),
        ({"n_triplets": -1}, "n_triplets must be an integer of 0 or more, got -1"),
        ({"error": 1.5}, r"error must lie in \[0, 1\], got 1.5"),
        ({"error": np.nan}, "error must lie in"),
        ({"dont_know": -0.1}, "dont_know must lie in"),
        ({"error": 0.6, "dont_know": 0.6}, "must not exceed 1"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        Constraints.from_labels(Y, **arguments)


def test_bad_labels():
    with pytest.raises(InvalidDataError, match=r"y\[2\] is None: every row needs a class"):
        Constraints.from_labels(["a", "b", None])
    with pytest.raises(InvalidDataError, match=r"y\[1\] is NaN"):
        Constraints.from_labels([0, np.nan], 1)
    with pytest.raises(InvalidDataError, match="shape"):
        Constraints.from_labels([[0, 1]], 1)
    with pytest.raises(InvalidDataError, match="one type"):
        Constraints.from_labels(np.array([0, "a"], dtype=object), 1)
    with pytest.raises(InvalidParameterError, match="only 2 have a label"):
        Constraints.from_labels([0, 1], n_triplets=1)


def test_rows_without_a_label_are_never_drawn():
    y = np.array([-1, 0, 1, 0, -1, 1, 0])
    c = Constraints.from_labels(
        y, 10, n_triplets=100, n_odd_one_out=100, error=0.1, dont_know=0.1, random_state=0
    )
    labeled = Constraints.from_labels(
        y[y != -1], 10, n_triplets=100, n_odd_one_out=100, error=0.1, dont_know=0.1, random_state=0
    )
    assert c.n_samples == 7
    assert c.subset(np.flatnonzero(y != -1)) == labeled
    with pytest.raises(InvalidParameterError, match="5 labeled rows have 10"):
        Constraints.from_labels(y.astype(float), 11)
    # The string "-1" is a label.
    assert len(Constraints.from_labels(["-1", "a", "b"], 3)) == 3


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1))
def test_ranks_count_pairs(pairs):
    low, high = np.sort(np.array(pairs), axis=1).T
    high = high + (low == high)
    found = pair_from_rank(high * (high - 1) // 2 + low)
    np.testing.assert_array_equal(found, (low, high))


def test_ranks_where_floats_are_no_longer_exact():
    high = np.array([2**31 - 1, 2**31, 3_000_000_000])
    for low in (np.zeros(3, dtype=np.int64), high - 1):
        np.testing.assert_array_equal(pair_from_rank(high * (high - 1) // 2 + low), (low, high))


@given(total=st.integers(0, 60), data=st.data())
def test_distinct_integers_are_distinct(total, data):
    size = data.draw(st.integers(0, total))
    drawn = distinct_integers(total, size, np.random.RandomState(0))
    assert drawn.dtype == np.int64
    assert drawn.size == size == len(set(drawn.tolist()))
    assert all(0 <= value < total for value in drawn)
