"""Argmin and sums by group against slow twins."""

import numpy as np
import pytest
from tests.reference import means as reference

from clew.kernels.means import add_groups, cheapest


@pytest.mark.parametrize("seed", range(5))
def test_the_cheapest_column_of_each_row_is_found(seed):
    cost = np.random.default_rng(seed).integers(0, 4, size=(30, 1 + seed)).astype(float)
    labels = np.empty(30, dtype=np.int64)
    cheapest(cost, labels)
    assert labels.tolist() == reference.cheapest(cost.tolist())


@pytest.mark.parametrize("seed", range(5))
def test_rows_and_weights_are_summed_by_group(seed):
    rng = np.random.default_rng(seed)
    rows, weight, labels = rng.normal(size=(30, 3)), rng.uniform(size=30), rng.integers(0, 6, 30)
    sums, mass = np.zeros((7, 3)), np.zeros(7)
    add_groups(rows, weight, labels, sums, mass)
    expected = reference.group_sums(rows.tolist(), weight.tolist(), labels.tolist(), 7)
    np.testing.assert_allclose(sums, expected[0], atol=1e-12)
    np.testing.assert_allclose(mass, expected[1], atol=1e-12)
