"""Mixing of distances into the neighbor graph of a forest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from clew.similarity import COPRF
from clew.similarity.forests import _affinity as module
from clew.similarity.forests._affinity import remixed_graph


def expected_graph(proposed, rows, mix, n_neighbors):
    """Mix row by row, and keep the largest entries; the first ones if some are equal."""
    n = len(rows)
    squared = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    scale = np.ones(n)
    for i in range(n):
        apart = sorted(d for d in squared[i, proposed[i] > 0] if d > 1e-10)
        scale[i] = np.sqrt(apart[min(7, len(apart)) - 1]) if apart else 1.0
    graph = np.zeros((n, n))
    for i in range(n):
        candidates = np.flatnonzero(proposed[i])
        gaussian = np.exp(-squared[i, candidates] / (scale[i] * scale[candidates]))
        value = np.float32((1 - mix) * proposed[i, candidates] + mix * gaussian)
        kept = np.argsort(-value, kind="stable")[:n_neighbors]
        graph[i, candidates[kept]] = value[kept]
    return graph


@pytest.mark.parametrize("mix", [0.3, 1.0])
@pytest.mark.parametrize("n_entries", [50, 1 << 16])
def test_graph_is_that_of_the_definition(monkeypatch, mix, n_entries):
    monkeypatch.setattr(module, "ENTRIES_PER_BLOCK", n_entries)
    random = np.random.default_rng(0)
    rows = np.round(random.normal(size=(60, 2)), 1)
    rows[10:14] = rows[9]
    proposed = np.round(random.uniform(size=(60, 60)), 1).astype(np.float32)
    proposed[random.uniform(size=(60, 60)) < 0.8] = 0
    np.fill_diagonal(proposed, 0)
    proposed[5] = 0  # a row without candidates
    proposed[:, 6:8] = 0
    graph = remixed_graph(csr_array(proposed), rows, mix, 4)
    np.testing.assert_allclose(
        graph.toarray(), expected_graph(proposed, rows, mix, 4), rtol=1e-5, atol=1e-7
    )
    assert graph.dtype == np.float32


def test_rows_that_never_meet_have_an_empty_graph():
    X = np.random.default_rng(0).normal(size=(4, 3))
    model = COPRF(
        1, affinity="leaf", euclidean=0.5, components=None, max_samples=8, max_features=None,
        random_state=0,
    ).fit(X)  # fmt: skip
    assert not np.triu(model.forest_.leaf[0][:, None] == model.forest_.leaf[0], 1).any()
    graph = model.kneighbors_graph(2)
    assert graph.shape == (4, 4)
    assert graph.nnz == 0
