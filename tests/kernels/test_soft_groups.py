"""Iterated conditional modes against slow twins that recompute the whole objective."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.reference import soft_groups as reference

from clew import Constraints
from clew.cluster.kmeans._soft import weighted_pairs
from clew.kernels.means import best_for_empty_group, iterated_conditional_modes


@st.composite
def problems(draw):
    """Random distances, pairs and penalties, without ties."""
    n, n_groups = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    row = st.integers(0, n - 1)
    pair = st.tuples(row, row, st.booleans()).filter(lambda p: p[0] != p[1])
    pairs = draw(st.lists(pair, max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    codes = [(min(i, j), max(i, j), int(same)) for i, j, same in pairs]
    answers = weighted_pairs(Constraints(n, pairs=codes if codes else None))
    penalty = rng.uniform(size=(len(pairs), n_groups))
    return rng.uniform(size=(n, n_groups)), answers, penalty, rng


@given(problems())
def test_moves_are_those_of_the_twin(problem):
    distances, answers, penalty, rng = problem
    order, start = (
        rng.permutation(len(distances)),
        rng.integers(0, distances.shape[1], len(distances)),
    )
    labels = start.copy()
    iterated_conditional_modes(order, distances, answers.lists, penalty, 100, labels)
    pairs, is_must = answers.rows.tolist(), answers.lists.is_must.tolist()
    expected = reference.iterated_conditional_modes(
        order, distances.tolist(), pairs, is_must, penalty, start.tolist()
    )
    assert labels.tolist() == expected


@given(problems())
def test_answers_about_a_row_without_a_group_add_no_penalty(problem):
    distances, answers, penalty, rng = problem
    labels = np.full(len(distances), -1)
    iterated_conditional_modes(
        rng.permutation(len(distances))[:1], distances, answers.lists, penalty, 1, labels
    )
    (first,) = np.flatnonzero(labels >= 0)
    assert labels[first] == distances[first].argmin()


@given(problems())
def test_the_row_for_an_empty_group_is_that_of_the_twin(problem):
    distances, answers, penalty, rng = problem
    group = distances.shape[1] - 1
    if group == 0:
        return
    labels = rng.integers(0, group, len(distances))
    size = np.bincount(labels, minlength=group + 1)
    row, saved = best_for_empty_group(group, 0.1, distances, answers.lists, penalty, labels, size)
    pairs, is_must = answers.rows.tolist(), answers.lists.is_must.tolist()
    expected = reference.best_for_empty_group(
        group, 0.1, distances.tolist(), pairs, is_must, penalty, labels.tolist()
    )
    assert row == expected[0]
    assert saved == pytest.approx(expected[1])
