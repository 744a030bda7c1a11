"""Dominant sets against maximal cliques, the conditions of a maximum, and a slow twin."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array
from tests.reference import neighbors as reference

from clew.kernels.dominant_sets import bound_eigenvalue, dominant_members, maximize

MARGIN = 1e-3


def affinities(n, seed, density=1.0):
    """Random symmetric affinities in [0, 1], with an empty diagonal."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < density), 1)
    return A + A.T


def climb(B, start=None, tol=1e-9, max_iter=100_000):
    share = np.full(len(B), 1 / len(B)) if start is None else start.copy()
    is_done = maximize(np.ascontiguousarray(B), len(B), share, np.empty(len(B)), tol, max_iter)
    assert is_done
    return share


def members_of(A, k, tol=1e-9, max_iter=100_000):
    """Run the kernel on the graph of k nearest rows; return the neighbors and set of each row."""
    lists = reference.neighbor_lists(A, k)
    graph = csr_array(reference.linked(A, lists))
    first = np.cumsum([0] + [len(listed) for listed in lists])
    listed = np.array([j for row in lists for j in row], dtype=np.int64)
    found = np.zeros(len(listed), dtype=bool)
    n_not_converged = dominant_members(
        graph.indptr.astype(np.int64),
        graph.indices.astype(np.int64),
        graph.data,
        first.astype(np.int64),
        listed,
        MARGIN,
        tol,
        max_iter,
        found,
    )
    sets = [
        {j for j, is_in in zip(lists[i], found[first[i] : first[i + 1]], strict=True) if is_in}
        for i in range(len(A))
    ]
    return lists, sets, n_not_converged


@given(n=st.integers(1, 9), seed=st.integers(0, 10**6), density=st.sampled_from([0.0, 0.3, 1.0]))
def test_bound_is_not_below_the_eigenvalue(n, seed, density):
    A = affinities(n, seed, density)
    bound = bound_eigenvalue(A, 0, n, np.empty(n), np.empty(n), MARGIN, 100)
    largest = np.linalg.eigvalsh(A)[-1]
    assert bound >= largest * (1 - 1e-12)
    assert bound == pytest.approx(reference.eigenvalue_bound(A, MARGIN))
    if density == 1.0 and n > 1:
        assert bound <= largest * (1 + 2 * MARGIN)


def test_bound_of_a_part_of_the_matrix():
    A = affinities(8, 0)
    bound = bound_eigenvalue(A, 2, 6, np.empty(8), np.empty(8), MARGIN, 100)
    assert bound == pytest.approx(np.linalg.eigvalsh(A[2:6, 2:6])[-1], rel=2 * MARGIN)


@given(n=st.integers(2, 7), seed=st.integers(0, 10**6), density=st.sampled_from([0.3, 0.6, 0.9]))
def test_maxima_on_unweighted_edges_are_maximal_cliques(n, seed, density):
    # Motzkin and Straus; with 1/2 on the diagonal every local maximum is a clique (Bomze).
    adjacency = affinities(n, seed, density) > 0
    start = np.random.default_rng(seed).dirichlet(np.ones(n))
    share = climb(adjacency + np.eye(n) / 2, start)
    clique = set(np.flatnonzero(share).tolist())
    assert clique in reference.maximal_cliques(adjacency)
    np.testing.assert_allclose(share[sorted(clique)], 1 / len(clique), atol=1e-6)


@given(n=st.integers(2, 10), seed=st.integers(0, 10**6), density=st.sampled_from([0.4, 1.0]))
def test_a_maximum_satisfies_the_karush_kuhn_tucker_conditions(n, seed, density):
    A = affinities(n, seed, density)
    for B in (A, reference.with_penalty(A, MARGIN)[0]):
        share = climb(B)
        payoff, mean = B @ share, share @ B @ share
        assert share.min() >= 0
        assert share.sum() == pytest.approx(1)
        np.testing.assert_allclose(payoff[share > 0], mean, atol=1e-8)
        assert (payoff <= mean + 1e-8).all()


@given(n=st.integers(2, 12), seed=st.integers(0, 10**6), density=st.sampled_from([0.4, 1.0]))
def test_with_the_penalty_the_row_is_in_its_set(n, seed, density):
    A = affinities(n, seed, density)
    A[0, 1] = A[1, 0] = 0.5
    assert climb(reference.with_penalty(A, MARGIN)[0])[0] > 0


@pytest.mark.parametrize("seed", range(5))
def test_the_maximum_is_that_of_replicator_dynamics(seed):
    B, _ = reference.with_penalty(affinities(8, seed), MARGIN)
    slow = reference.replicator_dynamics(B, 10_000)
    np.testing.assert_allclose(climb(B), slow, atol=2e-3)


def test_rows_that_do_not_converge_are_counted():
    B = affinities(8, 0)
    share = np.full(8, 1 / 8)
    assert not maximize(B, 8, share, np.empty(8), 1e-9, 1)
    _, _, n_not_converged = members_of(B, 5, max_iter=1)
    assert n_not_converged > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_sets_of_all_rows_are_those_of_the_twin(seed):
    A = affinities(12, seed) ** 2
    lists, sets, n_not_converged = members_of(A, 6)
    assert n_not_converged == 0
    graph = reference.linked(A, lists)
    for i, listed in enumerate(lists):
        nodes = [i, *listed]
        B, _ = reference.with_penalty(graph[np.ix_(nodes, nodes)], MARGIN)
        share = reference.replicator_dynamics(B, 10_000)
        # The twin converges only in the limit, so tiny shares may belong to either.
        assert {nodes[a] for a in range(1, len(nodes)) if share[a] > 1e-3} <= sets[i]
        assert sets[i] <= {nodes[a] for a in range(1, len(nodes)) if share[a] > 1e-12}


def test_rows_without_neighbors_have_empty_sets():
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = 1.0
    _, sets, n_not_converged = members_of(A, 2)
    assert sets == [{1}, {0}, set(), set()]
    assert n_not_converged == 0
