"""Memberships in a few candidate groups, against dense matrices of all groups."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from clew.kernels.sparse_memberships import add_to_anchors, largest_shares, mix_memberships

N_ROWS, N_ANCHORS, N_GROUPS, N_NEAREST = 50, 12, 9, 4
FLOOR, STRENGTH = 0.03, 3.0


@pytest.fixture
def random():
    return np.random.RandomState(0)


def dense(groups, shares, n_groups):
    whole = np.zeros((len(groups), n_groups))
    for row, (of, share) in enumerate(zip(groups, shares, strict=True)):
        whole[row, of[of >= 0]] = share[of >= 0]
    return whole


def links(random):
    nearest = np.stack([random.permutation(N_ANCHORS)[:N_NEAREST] for _ in range(N_ROWS)])
    weight = random.dirichlet(np.ones(N_NEAREST), N_ROWS)
    return nearest.astype(np.int32), weight.astype(np.float32)


def candidates(random, n, n_candidates):
    """Some rows have fewer candidates than places."""
    groups = np.stack([random.permutation(N_GROUPS)[:n_candidates] for _ in range(n)])
    shares = random.dirichlet(np.ones(n_candidates), n)
    groups[::3, -1], shares[::3, -1] = -1, 0.0
    return groups.astype(np.int32), shares.astype(np.float32)


def mixed(link, anchors, suggested, n_kept):
    groups = np.empty((N_ROWS, n_kept), np.int32)
    shares = np.empty((N_ROWS, n_kept), np.float32)
    total = np.zeros(N_GROUPS, np.float32)
    mix_memberships(*link, *anchors, suggested, FLOOR, STRENGTH, total, groups, shares)
    assert (total == 0).all()
    return groups, shares


def means(link, anchors):
    nearest, weight = link
    return np.einsum("rn,rng->rg", weight, dense(*anchors, N_GROUPS)[nearest])


@pytest.mark.parametrize("n_kept", [1, 3, N_GROUPS])
def test_rows_get_the_largest_shares_of_their_anchors(random, n_kept):
    link, anchors = links(random), candidates(random, N_ANCHORS, 4)
    groups, shares = mixed(link, anchors, np.full(N_ROWS, -1, np.int32), n_kept)
    whole = means(link, anchors)
    for row in range(N_ROWS):
        kept = [g for g in np.argsort(-whole[row], kind="stable") if whole[row, g] > 0][:n_kept]
        assert groups[row][groups[row] >= 0].tolist() == kept
        expected = (whole[row, kept] + FLOOR) ** STRENGTH
        np.testing.assert_allclose(
            shares[row, : len(kept)], expected / expected.sum(), rtol=1e-4, atol=1e-7
        )


def test_a_suggested_group_stays_a_candidate(random):
    link, anchors = links(random), candidates(random, N_ANCHORS, 4)
    suggested = random.randint(-1, N_GROUPS, N_ROWS).astype(np.int32)
    groups, shares = mixed(link, anchors, suggested, 2)
    for row in np.flatnonzero(suggested >= 0):
        assert shares[row][groups[row] == suggested[row]] > 0
        assert len(set(groups[row][groups[row] >= 0])) == (groups[row] >= 0).sum()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)


def test_anchors_sum_the_memberships_of_their_rows(random):
    link, rows = links(random), candidates(random, N_ROWS, 3)
    sums = np.ones((N_ANCHORS, N_GROUPS), np.float32)
    add_to_anchors(*link, *rows, sums)
    expected = np.ones((N_ANCHORS, N_GROUPS))
    whole = dense(*rows, N_GROUPS)
    for row, (nearest, weight) in enumerate(zip(*link, strict=True)):
        for anchor, share in zip(nearest, weight, strict=True):
            expected[anchor] += share * whole[row]
    np.testing.assert_allclose(sums, expected, rtol=1e-5)


def test_largest_shares_of_a_matrix(random):
    whole = random.uniform(size=(20, N_GROUPS)) * (random.uniform(size=(20, N_GROUPS)) < 0.5)
    whole[3] = 0.0
    sparse = csr_array(whole.astype(np.float32))
    groups, shares = np.empty((20, 3), np.int32), np.empty((20, 3), np.float32)
    largest_shares(sparse.indptr, sparse.indices, sparse.data, groups, shares)
    for row in range(20):
        kept = [g for g in np.argsort(-whole[row], kind="stable") if whole[row, g] > 0][:3]
        assert groups[row][groups[row] >= 0].tolist() == kept
        if kept:
            expected = whole[row, kept] / whole[row, kept].sum()
            np.testing.assert_allclose(shares[row, : len(kept)], expected, rtol=1e-5)
    assert (groups[3] == -1).all()
    assert (shares[3] == 0).all()
