"""Scores: pairs of rows, subclusters and curves, and what they refuse."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, roc_auc_score

from clew import Constraints, metrics, questions
from clew.exceptions import InvalidConstraintsError, InvalidDataError
from clew.metrics import (
    area_under_curve,
    jaccard_score_pairs,
    n_violated,
    pairwise_f_score,
    subclustering_jaccard,
)
from clew.metrics._scores import weighted_auc
from clew.trust import pair_posterior

groupings = st.integers(0, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-1, 3), min_size=n, max_size=n)] * 2)
)
y = np.repeat(np.arange(4), 20)
RAGGED = [[0, 1], [1]]
KNOWN = Constraints.from_pairs(must_link=[(0, 1)], n_samples=2)


def together(labels):
    return {(i, j) for i, j in combinations(range(len(labels)), 2) if labels[i] == labels[j]}


@pytest.mark.slow
@given(groupings)
def test_scores_are_those_of_the_sets_of_pairs(both):
    y_true, labels = both
    a, b = together(y_true), together(labels)
    jaccard = len(a & b) / len(a | b) if a | b else 1.0
    f_score = 2 * len(a & b) / (len(a) + len(b)) if a | b else 1.0
    assert jaccard_score_pairs(y_true, labels) == pytest.approx(jaccard)
    assert pairwise_f_score(y_true, labels) == pytest.approx(f_score)
    assert jaccard_score_pairs(labels, y_true) == jaccard_score_pairs(y_true, labels)


def test_names_of_groups_do_not_matter():
    y_true = np.array(["a", "b", "b", "a"])
    assert jaccard_score_pairs(y_true, [7, 2, 2, 7]) == 1.0
    assert pairwise_f_score(y_true, [7, 2, 2, 7]) == 1.0
    assert jaccard_score_pairs(y_true, [0, 1, 2, 3]) == 0.0


def test_many_rows_need_no_matrix_and_do_not_overflow():
    y = np.zeros(300_000, dtype=np.int32)
    assert jaccard_score_pairs(y, y) == 1.0
    halves = (np.arange(300_000) < 150_000).astype(np.int32)
    assert jaccard_score_pairs(y, halves) == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("score", [jaccard_score_pairs, pairwise_f_score])
def test_lengths_must_agree(score):
    with pytest.raises(InvalidDataError, match=r"equal length, got shapes \(2,\) and \(3,\)"):
        score([0, 1], [0, 1, 2])
    with pytest.raises(InvalidDataError, match="one-dimensional"):
        score([[0, 1]], [[0, 1]])


def test_scikit_learns_scores_are_exported():
    assert metrics.adjusted_rand_score is adjusted_rand_score
    assert metrics.normalized_mutual_info_score is normalized_mutual_info_score


def subcluster(*counts):
    return [20 * label + at for label, count in enumerate(counts) for at in range(count)]


@pytest.mark.parametrize(
    ("counts", "share"),
    [
        ((10, 0, 0, 0), 1.0),
        ((7, 1, 1, 1), 21 / 45),  # .46 / K in Fig. 3 of the thesis
        ((6, 2, 2, 0), 15 / 45),  # .33 / K
        ((5, 3, 2, 0), 0.0),
        ((0, 4, 0, 6), 15 / 45),
    ],
)
def test_shares_of_figure_3(counts, share):
    assert subclustering_jaccard(y, [subcluster(*counts)]) == pytest.approx(share / 4)


def test_of_two_subclusters_of_a_class_the_purer_one_counts():
    twice = [subcluster(10), subcluster(7, 3)]
    assert subclustering_jaccard(y, twice) == pytest.approx(1 / 4)
    assert subclustering_jaccard(y, twice[::-1]) == pytest.approx(1 / 4)


def test_index_is_1_if_every_class_has_a_subcluster_of_its_rows_only():
    rows = np.arange(80).reshape(4, 20)
    assert subclustering_jaccard(y, rows[:, :9]) == 1
    assert subclustering_jaccard(y, rows[:, :1]) == 1
    assert subclustering_jaccard([f"class {label}" for label in y], rows) == 1


@pytest.mark.parametrize(
    ("exemplars", "message"),
    [
        ([0, 1], "must have shape"),
        ([[0, 80]], "row numbers from 0 to 79"),
        ([[-1, 0]], "row numbers"),
        ([[0.5, 1]], "row numbers"),
        ([[3, 3]], "twice"),
        ([[0, 1], [2]], "rectangular"),
    ],
)
def test_invalid_exemplars(exemplars, message):
    with pytest.raises(InvalidDataError, match=message):
        subclustering_jaccard(y, exemplars)


def test_area_is_that_under_lines_between_points_at_unit_distance():
    assert area_under_curve([1, 1, 1, 1, 1]) == 4.0
    assert area_under_curve([0.2, 0.4]) == pytest.approx(0.3)
    assert area_under_curve([0.0, 0.5, 0.5, 0.1, -0.1]) == pytest.approx(1.05)


@pytest.mark.parametrize(
    "values", [[], [0.5], [[0.1, 0.2]], [0.1, float("nan")], [0, float("inf")]]
)
def test_invalid_curves_are_refused(values):
    with pytest.raises(InvalidDataError, match=r"curve|not finite"):
        area_under_curve(values)


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.area_under_curve(RAGGED),
        lambda: metrics.area_under_curve(["a", "b"]),
        lambda: metrics.answer_log_likelihood(RAGGED, KNOWN),
        lambda: metrics.jaccard_score_pairs(RAGGED, [0, 1]),
        lambda: metrics.n_violated(RAGGED, KNOWN),
        lambda: metrics.pairwise_f_score([0, 1], RAGGED),
        lambda: pair_posterior(RAGGED, KNOWN),
        lambda: pair_posterior(["a"], KNOWN),
        lambda: questions.pair_information(RAGGED),
    ],
)
def test_ragged_lists(call):
    with pytest.raises(InvalidDataError):
        call()


@pytest.mark.parametrize("n_values", [3, 10_000])
def test_area_is_scikit_learn_s(n_values):
    random = np.random.RandomState(0)
    is_positive, weight = random.rand(200) < 0.3, random.rand(200)
    score = random.randint(n_values, size=200) + 0.5 * is_positive
    expected = roc_auc_score(is_positive, score, sample_weight=weight)
    assert weighted_auc(is_positive, score, weight) == pytest.approx(expected)


def test_area_without_a_class_is_unknown():
    assert np.isnan(weighted_auc(np.ones(3, bool), np.arange(3.0), np.ones(3)))


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
