"""Rows from which the number of groups is estimated: distinct ones, and a sample of many."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from clew._limits import MANY_ROWS
from clew.cluster.guided._ensemble.ensemble import Fold
from clew.cluster.guided._numbers.unconstrained import SAMPLE_ROWS
from clew.trust._outcomes import informative_tables

__all__ = ["n_different_rows", "sampled_rows"]

Floats = NDArray[np.float64]


def n_different_rows(X: Floats, at_most: int, distances: NDArray[np.floating] | None = None) -> int:
    """Count distinct rows, up to `at_most`; by given distances, rows at distance 0 are equal."""
    if distances is not None:
        is_first = (not (row[:at] == 0).any() for at, row in enumerate(distances))
        return sum(1 for _ in islice(filter(None, is_first), at_most))
    n_rows = max(SAMPLE_ROWS, at_most)
    while True:
        n_different = len(np.unique(X[:n_rows], axis=0))
        if n_different >= at_most or n_rows >= len(X):
            return min(n_different, at_most)
        n_rows *= 4


def sampled_rows(folds: Sequence[Fold], n_rows: int, seed: int) -> NDArray[np.int64]:
    """Sample 5,000 rows: those in answers to random questions first, then others.

    Parameters
    ----------
    folds : sequence of Fold
        The folds of the answers; empty if there are no answers.
    n_rows : int
        Number of rows.
    seed : int
        Seed of the sample.

    Returns
    -------
    ndarray of shape (min(n_rows, 5_000),)
        Ascending.
    """
    random = np.random.RandomState(seed)
    candidates = [random.permutation(n_rows)]
    if folds:
        tables = informative_tables(folds[0].kept + folds[0].held, with_dont_know_pairs=False)
        named = [table.rows[:, [0, 1, -1]] for table in tables]  # pairs repeat their second row
        candidates.insert(0, random.permutation(np.concatenate(named)).ravel())
    rows, first = np.unique(np.concatenate(candidates), return_index=True)
    return np.sort(rows[np.argsort(first)[:MANY_ROWS]])
