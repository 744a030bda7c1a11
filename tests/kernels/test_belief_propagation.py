"""Belief propagation against a slow twin that enumerates the groups for every message."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.kernels.test_mean_field import case_of
from tests.reference import belief_propagation as reference

from clew import Constraints
from clew.answers import ANSWER_WORDS, DONT_KNOW
from clew.cluster.dcrc._em import AnsweredRows
from clew.cluster.guided._answer_model import TiedRows
from clew.kernels.belief_propagation import propagate_beliefs, update_all_messages
from clew.kernels.sparse_memberships import propagate_sparse_beliefs, shared_probabilities
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import co_membership

CODES = {kind: tuple(words.values()) for kind, words in ANSWER_WORDS.items()}
SIZES = {"pair": 2, "triplet": 3, "odd_one_out": 3}
N_CASES = {"pair": 2, "triplet": 3, "odd_one_out": 5}
NAMES = {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd_one_out"}
ANNOTATORS = ("ann", "ben")
N_ROWS, N_GROUPS, N_KEPT = 12, 6, 4
#: Log-probability of a group that is not a candidate, for the dense twin.
NONE = -60.0


def random_answers(rng, n, rows_of, *, weights=(1.0,)):
    """Random answers of two annotators about given rows, with don't-knows."""
    columns = {}
    for kind, rows in rows_of.items():
        columns[NAMES[kind]] = [(*of, rng.choice(CODES[kind])) for of in rows]
        columns[f"{kind}_weights"] = rng.choice(weights, len(rows))
        columns[f"{kind}_annotators"] = rng.choice(ANNOTATORS, len(rows))
    return Constraints(n, **columns)


def random_matrices(rng):
    """Random confusion matrices of two annotators."""
    confusion = ConfusionMatrices.uniform(0.1, ANNOTATORS)
    for kind, codes in CODES.items():
        confusion.matrices_[kind] = rng.dirichlet(np.ones(len(codes)), (2, N_CASES[kind]))
    return confusion


def as_functions(known, confusion):
    """Convert answers for the twin; don't-knows about pairs are ignored."""

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
    """The kernel, with the methods of the twin."""

    def __init__(self, known, confusion, q):
        tied = TiedRows(known, confusion)
        self.factors, self.cavity = tied.ties, q[tied.row_of_end]
        self.message, self.q = np.zeros_like(self.cavity), np.empty_like(q)
        update_all_messages(self.factors, self.cavity, self.message)

    def propagate(self, log_prior, damping, max_sweeps, tol):
        n_sweeps = propagate_beliefs(
            log_prior, self.factors, damping, max_sweeps, tol, self.cavity, self.message, self.q
        )
        return self.q.copy(), n_sweeps


@st.composite
def problems(draw):
    """Random answers of all kinds by two annotators, and a number of groups."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    n, n_groups, n_each = draw(st.integers(3, 6)), draw(st.integers(1, 4)), draw(st.integers(0, 5))
    rows_of = {
        kind: [rng.permutation(n)[:size] for _ in range(n_each)] for kind, size in SIZES.items()
    }
    return (
        random_answers(rng, n, rows_of, weights=(0.0, 0.3, 1.0)),
        random_matrices(rng),
        n_groups,
        rng,
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.05]))
def test_against_enumeration(problem, damping, tol):
    known, confusion, n_groups, rng = problem
    n = known.n_samples
    q, first, second = rng.dirichlet(np.ones(n_groups), (3, n))
    twin = reference.BeliefPropagation(as_functions(known, confusion), q.tolist())
    kernel = Kernel(known, confusion, q)
    for prior in (first, second):  # messages are kept when the prior changes
        expected, n_expected = twin.propagate(np.log(prior).tolist(), damping, 3, tol)
        found, n_sweeps = kernel.propagate(np.log(prior), damping, 3, tol)
        np.testing.assert_allclose(found, expected, atol=1e-10)
        assert n_sweeps == n_expected


def tree(rng, kinds):
    """Rows of answers without loops: each answer joins new rows to one earlier row."""
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
def test_probabilities_are_exact_if_answers_form_no_loop(kinds, seed):
    rng = np.random.default_rng(seed)
    n, rows_of = tree(rng, kinds)
    known, confusion = random_answers(rng, n, rows_of), random_matrices(rng)
    prior = rng.dirichlet(np.ones(3), n)
    exact = reference.marginals(np.log(prior).tolist(), as_functions(known, confusion))
    kernel = Kernel(known, confusion, rng.dirichlet(np.ones(3), n))
    found, n_sweeps = kernel.propagate(np.log(prior), 0.0, 100, 1e-12)
    np.testing.assert_allclose(found, exact, atol=1e-8)
    assert n_sweeps < 100


def test_messages_to_a_row_leave_out_its_own_evidence():
    # The only evidence on row 1 is its must-link to row 0: that is not evidence on row 0.
    prior = np.array([[0.8, 0.2], [0.5, 0.5]])
    known = Constraints.from_pairs(must_link=[(0, 1)], n_samples=2)
    confusion = ConfusionMatrices.uniform(0.2)
    found, _ = Kernel(known, confusion, prior).propagate(np.log(prior), 0.0, 100, 1e-12)
    np.testing.assert_allclose(found[0], prior[0])
    # The likelihood of "same" is .8 for rows in one group, and .1 for others.
    np.testing.assert_allclose(found[1], [(0.8 * 8 + 0.2) / 9, (0.8 + 0.2 * 8) / 9])
    # In mean field it does return, so both rows become overconfident.
    field = prior.copy()
    AnsweredRows(known, with_dont_know_pairs=False, is_hard=False).update_memberships(
        np.log(prior), confusion.matrices_, field, max_sweeps=100, tol=1e-12
    )
    assert field[0, 0] > 0.9


def test_random_answers_are_ignored():
    prior = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    known = Constraints(6, pairs=[(0, 1, 1), (2, 3, 0)], triplets=[(3, 4, 5, 1)])
    confusion = ConfusionMatrices.uniform(2 / 3)
    found, _ = Kernel(known, confusion, prior).propagate(np.log(prior), 0.3, 10, 1e-9)
    np.testing.assert_allclose(found, prior)


@pytest.fixture
def random():
    return np.random.default_rng(0)


def candidates(random, n_kept=N_KEPT):
    """Draw candidates of each row, in any order, and their shares; every third row has one less."""
    groups = np.stack([random.permutation(N_GROUPS)[:n_kept] for _ in range(N_ROWS)])
    shares = random.dirichlet(np.ones(n_kept), N_ROWS)
    if n_kept > 1:
        groups[::3, -1], shares[::3, -1] = -1, 0.0
    shares /= shares.sum(axis=1, keepdims=True)
    return groups.astype(np.int32), shares.astype(np.float32)


def dense(groups, shares):
    whole = np.zeros((N_ROWS, N_GROUPS))
    for row in range(N_ROWS):
        whole[row, groups[row][groups[row] >= 0]] = shares[row][groups[row] >= 0]
    return whole


def answers(random, n_each):
    rows_of = {
        kind: [random.permutation(N_ROWS)[:size] for _ in range(n_each)]
        for kind, size in SIZES.items()
    }
    return random_answers(random, N_ROWS, rows_of, weights=(0.3, 1.0))


@pytest.mark.parametrize("n_each", [0, 1, 4])
@pytest.mark.parametrize("n_kept", [N_KEPT, N_GROUPS])
def test_against_all_groups(random, n_each, n_kept):
    known, confusion = answers(random, n_each), random_matrices(random)
    groups, shares = candidates(random, n_kept)
    tied, q = TiedRows(known, confusion), np.empty_like(shares)
    cavities = shares[tied.row_of_end]
    propagate_sparse_beliefs(
        np.log(np.maximum(shares, 1e-30)), groups, tied.ties, tied.row_of_end, 0.0, 40, 1e-7,
        cavities, np.zeros_like(cavities), q,
    )  # fmt: skip
    whole = dense(groups, shares)
    with np.errstate(divide="ignore"):
        log_prior = np.maximum(np.log(whole), NONE)
    expected, n_sweeps = Kernel(known, confusion, whole).propagate(log_prior, 0.0, 100, 1e-10)
    if n_sweeps < 100:  # it may not converge in graphs with loops
        np.testing.assert_allclose(dense(groups, q), expected, atol=2e-3)
    np.testing.assert_allclose(q.sum(axis=1), 1, rtol=1e-5)


def test_cavities_leave_out_the_answer(random):
    known, confusion = (
        answers(random, 1).select(triplets=[], odd_one_out=[]),
        random_matrices(random),
    )
    groups, shares = candidates(random)
    tied, q = TiedRows(known, confusion), np.empty_like(shares)
    cavities = shares[tied.row_of_end]
    propagate_sparse_beliefs(
        np.log(np.maximum(shares, 1e-30)), groups, tied.ties, tied.row_of_end, 0.0, 40, 1e-7,
        cavities, np.zeros_like(cavities), q,
    )  # fmt: skip
    # One answer only: without it the rows are as before.
    np.testing.assert_allclose(cavities, shares[tied.row_of_end], atol=1e-5)


@pytest.mark.parametrize("size", [2, 3])
def test_shared_probabilities(random, size):
    groups, shares = candidates(random)
    rows = np.stack([random.permutation(N_ROWS)[:size] for _ in range(30)])
    shared = np.empty((30, 5))
    shared_probabilities(rows, groups, rows, shares, shared)
    whole = dense(groups, shares)
    expected = co_membership([whole[of] for of in rows.T])
    np.testing.assert_allclose(shared, expected, atol=1e-6)
