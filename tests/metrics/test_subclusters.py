"""SJC: that of the subclusters in Figure 3 of the thesis, and invalid input."""

from __future__ import annotations

import numpy as np
import pytest

from clew.exceptions import InvalidDataError
from clew.metrics import subclustering_jaccard

y = np.repeat(np.arange(4), 20)


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
