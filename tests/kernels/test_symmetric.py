"""Copies of one triangle of a matrix to the other."""

from __future__ import annotations

import numpy as np
import pytest

from clew.kernels.propagation import mirror_lower


@pytest.mark.parametrize("n", [0, 1, 5, 8, 9, 20])
@pytest.mark.parametrize("block", [1, 4, 64])
def test_the_lower_triangle_is_mirrored(n, block):
    given = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32)
    found = given.copy()
    mirror_lower(found, block)
    np.testing.assert_array_equal(found, np.tril(given) + np.tril(given, -1).T)
