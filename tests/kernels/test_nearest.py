"""The largest entries of each row."""

from __future__ import annotations

import numpy as np
import pytest

from clew.kernels.nearest import largest_of_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 7, 38, 39])
def test_of_equal_entries_the_first_are_found(dtype, k):
    table = np.random.default_rng(k).integers(0, 6, (40, 40)).astype(dtype)
    columns, values = np.empty((40, k), np.int64), np.empty((40, k))
    largest_of_rows(table, columns, values)
    for i, row in enumerate(table):
        others = [j for j in range(40) if j != i]
        expected = sorted(sorted(others, key=lambda j, row=row: (-row[j], j))[:k])
        assert columns[i].tolist() == expected
        assert values[i].tolist() == row[expected].tolist()
