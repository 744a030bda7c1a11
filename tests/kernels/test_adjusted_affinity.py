"""Affinities adjusted by propagated answers, in sparse form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from clew.kernels.propagation import adjust, collect

N, LEAST = 30, 0.05


def affinities(n, seed):
    W = random_array((n, n), density=0.2, rng=np.random.default_rng(seed)).toarray()
    W = np.maximum(W, W.T)
    np.fill_diagonal(W, 0.0)
    return W


def adjusted_in_sparse_form(W, F):
    graph, found = csr_array(W), np.triu(F, 1).astype(np.float32)
    count = np.empty(len(W), np.int64)
    arrays = (graph.indptr, graph.indices, graph.data)
    adjust(found, *arrays, LEAST, np.empty(len(W), np.float32), count)
    start = np.concatenate([[0], count.cumsum()])
    indices, data = np.empty(start[-1], np.int32), np.empty(start[-1])
    collect(found, LEAST, start[:-1].copy(), indices, data)
    return csr_array((data, indices, start), shape=W.shape)


@pytest.mark.parametrize("seed", range(3))
def test_affinities_are_raised_or_lowered_as_published(seed):
    W = affinities(N, seed)
    F = np.random.default_rng(seed).normal(size=(N, N)) * 7.0
    F = F + F.T
    np.fill_diagonal(F, 0.0)
    f = F / np.abs(F).max()
    expected = np.where(f >= 0, 1 - (1 - f) * (1 - W), (1 + f) * W)
    np.fill_diagonal(expected, 0.0)
    expected[expected < LEAST] = 0.0
    sparse = adjusted_in_sparse_form(W, F)
    assert sparse.has_sorted_indices
    np.testing.assert_allclose(sparse.toarray(), expected, atol=1e-6)


def test_without_propagated_answers_affinities_do_not_change():
    W = affinities(N, 3)
    W[W < LEAST] = 0.0
    np.testing.assert_allclose(adjusted_in_sparse_form(W, np.zeros((N, N))).toarray(), W, rtol=1e-6)
