"""Belief propagation over candidates equals that over all groups if others have probability 0."""

import numpy as np
import pytest
from tests.kernels.test_belief_propagation import SIZES, Kernel, random_answers, random_matrices

from clew.cluster.guided._partitions import TiedRows
from clew.kernels.sparse_memberships import propagate_sparse_beliefs, shared_probabilities
from clew.trust._outcomes import co_membership

N_ROWS, N_GROUPS, N_KEPT = 12, 6, 4
#: Log-probability of a group that is not a candidate, for the dense twin.
NONE = -60.0


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
