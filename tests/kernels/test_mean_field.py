"""Mean field against a slow twin that enumerates every expectation."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.reference import mean_field as reference

from clew import Constraints
from clew.answers import ANSWER_WORDS
from clew.cluster.dcrc._em import AnsweredRows
from clew.constraints._meanings import TRUTH
from clew.trust import ConfusionMatrices

CODES = {kind: tuple(words.values()) for kind, words in ANSWER_WORDS.items()}


def case_of(kind, groups):
    """Return the case of a question for the groups of its rows, as numbered in `TRUTH`."""
    if kind == "pair":
        return 0 if groups[0] == groups[1] else 1
    a, b, c = groups
    if kind == "triplet":
        return 0 if a == b != c else 1 if a == c != b else 2
    if a == b == c:
        return 3
    return 0 if b == c else 1 if a == c else 2 if a == b else 4


def log_likelihood(kind, label, weight, matrix):
    """Return the weighted log-likelihood of an answer as a function of the groups of its rows."""
    return lambda groups: weight * np.log(matrix[case_of(kind, groups), label])


@st.composite
def problems(draw):
    """Random answers of all kinds by two annotators, and their confusion matrices."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    n, n_groups, n_each = draw(st.integers(3, 5)), draw(st.integers(1, 4)), draw(st.integers(0, 4))
    columns = {}
    for kind, name, size in (
        ("pair", "pairs", 2),
        ("triplet", "triplets", 3),
        ("odd_one_out", "odd_one_out", 3),
    ):
        rows = [rng.permutation(n)[:size] for _ in range(n_each)]
        columns[name] = [(*r, rng.choice(CODES[kind])) for r in rows]
        columns[f"{kind}_weights"] = rng.choice([0.0, 0.3, 1.0], n_each)
        columns[f"{kind}_annotators"] = rng.integers(0, 2, n_each)
    known = Constraints(n, **columns)
    confusion = {
        kind: rng.dirichlet(np.ones(len(codes)), (2, {"pair": 2, "triplet": 3}.get(kind, 5)))
        for kind, codes in CODES.items()
    }
    return known, confusion, n_groups, rng


def as_functions(answers, confusion):
    """Convert answers for the twin."""
    return [
        (rows, log_likelihood(said.kind, label, weight, confusion[said.kind][who]))
        for said in answers.tables
        for rows, label, weight, who in zip(
            said.rows.tolist(), said.answer_index, said.weights, said.annotators, strict=True
        )
    ]


@given(problems(), st.booleans())
def test_a_sweep_is_that_of_enumeration(problem, is_hard):
    known, confusion, n_groups, rng = problem
    answers = AnsweredRows(known, with_dont_know_pairs=True, is_hard=is_hard)
    prior = rng.dirichlet(np.ones(n_groups), len(answers.rows))
    q = rng.dirichlet(np.ones(n_groups), len(answers.rows))
    functions = as_functions(answers, confusion)
    expected = reference.swept(np.log(prior), functions, q, is_hard=is_hard)
    answers.update_memberships(np.log(prior), confusion, q, max_sweeps=1, tol=0.0)
    np.testing.assert_allclose(q, np.reshape(expected, q.shape), atol=1e-12)


@given(problems())
def test_expected_log_likelihood_is_that_of_enumeration(problem):
    known, confusion, n_groups, rng = problem
    answers = AnsweredRows(known, with_dont_know_pairs=True, is_hard=False)
    q = rng.dirichlet(np.ones(n_groups), len(answers.rows))
    expected = sum(reference.expected(rows, f, q) for rows, f in as_functions(answers, confusion))
    assert answers.log_likelihood(confusion, q) == pytest.approx(expected, abs=1e-12)


@given(problems())
def test_no_sweep_lowers_the_bound(problem):
    known, confusion, n_groups, rng = problem
    answers = AnsweredRows(known, with_dont_know_pairs=True, is_hard=False)
    log_prior = np.log(rng.dirichlet(np.ones(n_groups), len(answers.rows)))
    q = rng.dirichlet(np.ones(n_groups), len(answers.rows))
    functions = as_functions(answers, confusion)
    bounds = [reference.lower_bound(log_prior, functions, q)]
    for _ in range(4):
        answers.update_memberships(log_prior, confusion, q, max_sweeps=1, tol=0.0)
        bounds.append(reference.lower_bound(log_prior, functions, q))
    assert np.diff(bounds).min() > -1e-12


@pytest.mark.parametrize(
    ("kind", "rows"), [("pair", (2, 0)), ("triplet", (1, 0, 2)), ("odd_one_out", (2, 1, 0))]
)
def test_a_reliable_answer_moves_a_row_to_a_group_in_which_it_is_true(kind, rows):
    # The groups of rows 0 and 1 are clear; a reliable answer determines that of row 2.
    prior = np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.2, 0.3, 0.5]])
    confusion = ConfusionMatrices.uniform(1e-6).matrices_
    for group in range(3):
        true = int(TRUTH[kind](np.array([0, 1, group]), np.array([rows]))[0])
        name = {"pair": "pairs", "triplet": "triplets"}.get(kind, kind)
        known = Constraints(3, **{name: [(*rows, true)]})
        answers = AnsweredRows(known, with_dont_know_pairs=False, is_hard=False)
        p = prior[answers.rows]
        q = p.copy()
        answers.update_memberships(np.log(p), confusion, q, max_sweeps=100, tol=1e-9)
        likely = q[-1].argmax()
        assert TRUTH[kind](np.array([0, 1, likely]), np.array([rows]))[0] == true


def test_hard_rows_are_divided_among_tied_groups_by_the_prior():
    # A cannot-link excludes the other row's group; the other groups keep the ratio of the prior.
    known = Constraints.from_pairs(cannot_link=[(0, 1)], n_samples=2)
    answers = AnsweredRows(known, with_dont_know_pairs=False, is_hard=True)
    confusion = ConfusionMatrices.uniform(0.001).matrices_
    prior = np.array([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3]])
    # Row 0 is updated first: row 1 is in group 2, so row 0 is divided between groups 0 and 1.
    q = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    answers.update_memberships(np.log(prior), confusion, q, max_sweeps=1, tol=0.0)
    np.testing.assert_allclose(q[0], [0.625, 0.375, 0.0])
    np.testing.assert_allclose(q[1], [0.0, 0.0, 1.0])
