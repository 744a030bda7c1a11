from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from clew import metrics
from clew.exceptions import InvalidDataError
from clew.metrics import jaccard_score_pairs, pairwise_f_score

groupings = st.integers(0, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-1, 3), min_size=n, max_size=n)] * 2)
)


def together(labels):
    return {(i, j) for i, j in combinations(range(len(labels)), 2) if labels[i] == labels[j]}


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
