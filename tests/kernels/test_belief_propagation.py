"""Memberships by loopy belief propagation, against a twin that enumerates every message."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.test_mean_field import case_of
from tests.reference import belief_propagation as reference

from clew import Constraints
from clew.answers import ANSWER_WORDS, DONT_KNOW
from clew.cluster.dcrc._answers import AnsweredRows
from clew.cluster.guided._refinement import TiedRows
from clew.kernels.belief_propagation import believe, tell_all
from clew.trust import ConfusionMatrices

CODES = {kind: tuple(words.values()) for kind, words in ANSWER_WORDS.items()}
SIZES = {"pair": 2, "triplet": 3, "odd_one_out": 3}
N_CASES = {"pair": 2, "triplet": 3, "odd_one_out": 5}
NAMES = {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd_one_out"}
ANNOTATORS = ("ann", "ben")


def said(rng, n, rows_of, *, weights=(1.0,)):
    """Answers of two annotators about given rows: any answers, don't-knows among them."""
    columns = {}
    for kind, rows in rows_of.items():
        columns[NAMES[kind]] = [(*of, rng.choice(CODES[kind])) for of in rows]
        columns[f"{kind}_weights"] = rng.choice(weights, len(rows))
        columns[f"{kind}_annotators"] = rng.choice(ANNOTATORS, len(rows))
    return Constraints(n, **columns)


def who_errs(rng):
    """Confusion matrices of two annotators: any chances."""
    confusion = ConfusionMatrices.uniform(0.1, ANNOTATORS)
    for kind, codes in CODES.items():
        confusion.matrices_[kind] = rng.dirichlet(np.ones(len(codes)), (2, N_CASES[kind]))
    return confusion


def as_functions(known, confusion):
    """The answers as the twin takes them; a don't-know about a pair says nothing."""

    def likelihood(kind, matrix, label):
        return lambda groups: matrix[case_of(kind, groups), label]

    return [
        (tuple(rows), likelihood(of.kind, confusion.of(known.annotators[who])[of.kind], label), w)
        for of in known.tables
        for rows, label, w, who in zip(
            of.rows.tolist(), of.answer_index, of.weights, of.annotators, strict=True
        )
        if not (of.kind == "pair" and CODES["pair"][label] == DONT_KNOW)
    ]


class Kernel:
    """The kernel, called as the twin is."""

    def __init__(self, known, confusion, q):
        tied = TiedRows(known, confusion)
        self.ties, self.others = tied.ties, q[tied.row_of_end]
        self.told, self.q = np.zeros_like(self.others), np.empty_like(q)
        tell_all(self.ties, self.others, self.told)

    def settle(self, log_prior, damping, max_sweeps, tol):
        rounds = believe(
            log_prior, self.ties, damping, max_sweeps, tol, self.others, self.told, self.q
        )
        return self.q.copy(), rounds


@st.composite
def problems(draw):
    """Answers of all kinds by two annotators, or none, and how many groups there are."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    n, n_groups, n_each = draw(st.integers(3, 6)), draw(st.integers(1, 4)), draw(st.integers(0, 5))
    rows_of = {
        kind: [rng.permutation(n)[:size] for _ in range(n_each)] for kind, size in SIZES.items()
    }
    return said(rng, n, rows_of, weights=(0.0, 0.3, 1.0)), who_errs(rng), n_groups, rng


@settings(max_examples=60)
@given(problems(), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.05]))
def test_against_enumeration(problem, damping, tol):
    known, confusion, n_groups, rng = problem
    n = known.n_samples
    q, first, second = rng.dirichlet(np.ones(n_groups), (3, n))
    twin = reference.Beliefs(as_functions(known, confusion), q.tolist())
    kernel = Kernel(known, confusion, q)
    for prior in (first, second):  # messages stay when the prior changes
        expected, n_rounds = twin.settle(np.log(prior).tolist(), damping, 3, tol)
        found, rounds = kernel.settle(np.log(prior), damping, 3, tol)
        np.testing.assert_allclose(found, expected, atol=1e-10)
        assert rounds == n_rounds


def tree(rng, kinds):
    """Rows of answers without loops: each brings new rows to one that is there."""
    n, rows_of = 1, {kind: [] for kind in SIZES}
    for kind in kinds:
        new = [*range(n, n + SIZES[kind] - 1), int(rng.integers(n))]
        rows_of[kind].append(rng.permutation(new))
        n += SIZES[kind] - 1
    return n, rows_of


@pytest.mark.parametrize(
    "kinds",
    [
        ["pair"] * 6,
        ["triplet"] * 3,
        ["odd_one_out"] * 3,
        ["pair", "triplet", "odd_one_out", "pair"],
    ],
    ids=["pairs", "triplets", "odd-one-out", "all kinds"],
)
@pytest.mark.parametrize("seed", range(3))
def test_exact_where_answers_form_no_loop(kinds, seed):
    rng = np.random.default_rng(seed)
    n, rows_of = tree(rng, kinds)
    known, confusion = said(rng, n, rows_of), who_errs(rng)
    prior = rng.dirichlet(np.ones(3), n)
    exact = reference.marginals(np.log(prior).tolist(), as_functions(known, confusion))
    kernel = Kernel(known, confusion, rng.dirichlet(np.ones(3), n))
    found, rounds = kernel.settle(np.log(prior), 0.0, 100, 1e-12)
    np.testing.assert_allclose(found, exact, atol=1e-8)
    assert rounds < 100


def test_an_answer_does_not_come_back_to_where_it_came_from():
    # Row 1 knows only that it is, most likely, with row 0: that is no news to row 0.
    prior = np.array([[0.8, 0.2], [0.5, 0.5]])
    known = Constraints.from_pairs(must_link=[(0, 1)], n_samples=2)
    confusion = ConfusionMatrices.uniform(0.2)
    found, _ = Kernel(known, confusion, prior).settle(np.log(prior), 0.0, 100, 1e-12)
    np.testing.assert_allclose(found[0], prior[0])
    # "same" is eight times as likely of rows that are together: .8 and .1.
    np.testing.assert_allclose(found[1], [(0.8 * 8 + 0.2) / 9, (0.8 + 0.2 * 8) / 9])
    # In mean field row 1 tells row 0 what it heard of it, and both grow too sure.
    field = prior.copy()
    AnsweredRows(known, with_doubtful_pairs=False, is_hard=False).settle(
        np.log(prior), confusion.matrices_, field, max_sweeps=100, tol=1e-12
    )
    assert field[0, 0] > 0.9


def test_answers_of_somebody_who_guesses_tell_nothing():
    prior = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    known = Constraints(6, pairs=[(0, 1, 1), (2, 3, 0)], triplets=[(3, 4, 5, 1)])
    confusion = ConfusionMatrices.uniform(2 / 3)
    found, _ = Kernel(known, confusion, prior).settle(np.log(prior), 0.3, 10, 1e-9)
    np.testing.assert_allclose(found, prior)
