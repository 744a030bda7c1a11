"""The largest and the smallest entries of each row."""

from __future__ import annotations

import numpy as np
import pytest

from clew.kernels.nearest import largest_of_rows, smallest_of_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 7, 38, 39])
def test_the_first_of_equal_entries_are_found(dtype, k):
    table = np.random.default_rng(k).integers(0, 6, (40, 40)).astype(dtype)
    columns, values = np.empty((40, k), np.int64), np.empty((40, k))
    largest_of_rows(table, columns, values)
    for i, row in enumerate(table):
        others = [j for j in range(40) if j != i]
        expected = sorted(sorted(others, key=lambda j, row=row: (-row[j], j))[:k])
        assert columns[i].tolist() == expected
        assert values[i].tolist() == row[expected].tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 7, 39, 40])
@pytest.mark.parametrize("above", [-np.inf, 0.0])
def test_the_smallest_are_found_in_order(dtype, k, above):
    table = np.random.default_rng(k).integers(0, 6, (30, 40)).astype(dtype)
    columns, values = np.empty((30, k), np.int64), np.empty((30, k))
    smallest_of_rows(table, above, columns, values)
    for i, row in enumerate(table):
        expected = sorted((j for j in range(40) if row[j] > above), key=lambda j: (row[j], j))[:k]
        n_missing = k - len(expected)
        assert columns[i].tolist() == [*expected, *[0] * n_missing]
        assert values[i].tolist() == [*row[expected], *[np.inf] * n_missing]
