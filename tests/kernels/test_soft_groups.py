"""Rows that take their cheapest group in turn, against twins that count all costs anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import soft_groups as reference

from clew import Constraints
from clew.cluster.kmeans._soft import answers_of
from clew.kernels.soft_groups import best_to_part, settle


@st.composite
def problems(draw):
    """Costs of rows, pairs, and what they cost; without ties."""
    n, n_groups = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    row = st.integers(0, n - 1)
    pair = st.tuples(row, row, st.booleans()).filter(lambda p: p[0] != p[1])
    pairs = draw(st.lists(pair, max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    codes = [(min(i, j), max(i, j), int(same)) for i, j, same in pairs]
    answers = answers_of(Constraints(n, pairs=codes if codes else None))
    price = rng.uniform(size=(len(pairs), n_groups))
    return rng.uniform(size=(n, n_groups)), answers, price, rng


@given(problems())
def test_settling_against_the_plain_twin(problem):
    base, answers, price, rng = problem
    order, start = rng.permutation(len(base)), rng.integers(0, base.shape[1], len(base))
    labels = start.copy()
    settle(order, base, answers.lists, price, 100, labels)
    pairs, is_must = answers.rows.tolist(), answers.lists.is_must.tolist()
    expected = reference.settled(order, base.tolist(), pairs, is_must, price, start.tolist())
    assert labels.tolist() == expected


@given(problems())
def test_rows_without_a_group_cost_others_nothing(problem):
    base, answers, price, rng = problem
    labels = np.full(len(base), -1)
    settle(rng.permutation(len(base))[:1], base, answers.lists, price, 1, labels)
    (first,) = np.flatnonzero(labels >= 0)
    assert labels[first] == base[first].argmin()


@given(problems())
def test_best_row_to_part_against_the_plain_twin(problem):
    base, answers, price, rng = problem
    group = base.shape[1] - 1
    if group == 0:
        return
    labels = rng.integers(0, group, len(base))
    size = np.bincount(labels, minlength=group + 1)
    row, saved = best_to_part(group, 0.1, base, answers.lists, price, labels, size)
    pairs, is_must = answers.rows.tolist(), answers.lists.is_must.tolist()
    expected = reference.best_to_part(
        group, 0.1, base.tolist(), pairs, is_must, price, labels.tolist()
    )
    assert row == expected[0]
    assert saved == pytest.approx(expected[1])
