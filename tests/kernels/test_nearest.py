"""Nearest rows and largest entries, against sorting."""

import numpy as np
import pytest
from tests.reference import means as reference

from clew.kernels.means import add_groups, cheapest
from clew.kernels.nearest import keep_nearest, largest_of_rows, smallest_of_rows


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


def found(rows, anchors, n_nearest):
    half_squares = ((anchors**2).sum(axis=1) / 2).astype(np.float32)
    nearest = np.zeros((len(rows), n_nearest), np.int32)
    distance = np.full((len(rows), n_nearest), np.inf, np.float32)
    numbers, own = np.arange(len(anchors)), np.full(len(rows), -1)
    keep_nearest(rows @ anchors.T, half_squares, numbers, own, nearest, distance)
    return nearest, distance


def test_against_sorting():
    random = np.random.RandomState(0)
    rows, anchors = (random.normal(size=(n, 3)).astype(np.float32) for n in (200, 40))
    squared = ((rows[:, None] - anchors) ** 2).sum(axis=2)
    nearest, distance = found(rows, anchors, 5)
    assert (nearest == squared.argsort(axis=1, kind="stable")[:, :5]).all()
    own = (rows**2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        2 * distance + own, np.sort(squared, axis=1)[:, :5], rtol=1e-4, atol=1e-5
    )


def test_the_first_of_equal_anchors_comes_first():
    anchors = np.array([[1.0], [0.0], [1.0], [0.0]], np.float32)
    nearest, _ = found(np.zeros((2, 1), np.float32), anchors, 4)
    assert nearest.tolist() == [[1, 3, 0, 2]] * 2


def test_rows_with_nan_get_some_anchor():
    rows = np.full((1, 2), np.nan, np.float32)
    nearest, _ = found(rows, np.ones((3, 2), np.float32), 2)
    assert ((nearest >= 0) & (nearest < 3)).all()


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
