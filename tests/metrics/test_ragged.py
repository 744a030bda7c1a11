"""Ragged lists are refused by name."""

from __future__ import annotations

import pytest

from clew import Constraints, metrics, questions
from clew.exceptions import InvalidDataError
from clew.trust import posterior

RAGGED = [[0, 1], [1]]
KNOWN = Constraints.from_pairs(must_link=[(0, 1)], n_samples=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.area_under_curve(RAGGED),
        lambda: metrics.area_under_curve(["a", "b"]),
        lambda: metrics.answer_log_likelihood(RAGGED, KNOWN),
        lambda: metrics.jaccard_score_pairs(RAGGED, [0, 1]),
        lambda: metrics.n_violated(RAGGED, KNOWN),
        lambda: metrics.pairwise_f_score([0, 1], RAGGED),
        lambda: posterior(RAGGED, KNOWN),
        lambda: posterior(["a"], KNOWN),
        lambda: questions.pair_information(RAGGED),
    ],
)
def test_ragged_lists(call):
    with pytest.raises(InvalidDataError):
        call()
