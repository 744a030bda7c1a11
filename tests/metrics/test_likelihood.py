"""A partition's score by the answers: what raises it, what cannot upset it."""

from __future__ import annotations

import numpy as np
import pytest

from clew import Constraints
from clew.exceptions import InvalidDataError
from clew.metrics import answer_log_likelihood


def scored_by_hand(labels: np.ndarray, constraints: Constraints) -> float:
    """The definition, answer by answer."""
    table = np.zeros((2, 2))
    for (i, j), answer, weight in zip(
        constraints.pairs, constraints.pair_answers, constraints.pair_weights, strict=True
    ):
        if answer in (0, 1):
            table[int(labels[i] == labels[j]), answer] += weight
    base = (table[:, 1].sum() + 0.5) / (table.sum() + 1)
    p = (table[:, 1] + 2 * base) / (table.sum(axis=1) + 2)
    if p[1] < p[0]:
        p[:] = base
    p = p.clip(1e-3, 1 - 1e-3)
    return float((table[:, 1] * np.log(p) + table[:, 0] * np.log(1 - p)).sum())


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.array([rng.choice(20, 2, replace=False) for _ in range(60)])
    answers = rng.choice([0, 1, -2], 60)
    c = Constraints(20, pairs=np.column_stack([rows, answers]), pair_weights=rng.uniform(size=60))
    labels = rng.integers(3, size=20)
    assert answer_log_likelihood(labels, c) == pytest.approx(scored_by_hand(labels, c))


@pytest.mark.parametrize("error", [0.0, 0.15, 0.3])
def test_truth_scores_above_chance_with_wrong_answers(error: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=300)
    c = Constraints.from_labels(y, 500, error=error, random_state=0)
    truth = answer_log_likelihood(y, c)
    others = [answer_log_likelihood(rng.permutation(y), c) for _ in range(50)]
    assert truth > max(others)


def test_one_group_and_all_groups_tell_nothing() -> None:
    y = np.arange(40) % 4
    c = Constraints.from_labels(y, 200, random_state=0)
    one = answer_log_likelihood(np.zeros(40), c)
    each = answer_log_likelihood(np.arange(40), c)
    assert one == pytest.approx(each, rel=0.02)
    assert answer_log_likelihood(y, c) > one / 2


def test_names_of_groups_and_order_of_rows_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=30)
    c = Constraints.from_labels(y, 50, error=0.2, random_state=1)
    order = rng.permutation(30)
    renamed = np.array([7, -3, 5])[y]
    assert answer_log_likelihood(renamed, c) == answer_log_likelihood(y, c)
    assert answer_log_likelihood(y[order], c.subset(order)) == pytest.approx(
        answer_log_likelihood(y, c)
    )


def test_no_answers_score_zero() -> None:
    assert answer_log_likelihood([0, 1, 1], Constraints(3)) == 0.0


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"shape \(3,\)"):
        answer_log_likelihood([0, 1], Constraints(3))
