"""Swaps of medoids against PAM written out."""

import numpy as np
import pytest
from tests.reference import subclusters as reference

from clew.cluster.medoids._base import empty_assignment
from clew.kernels.medoids import assign, swap_best, swap_eagerly, try_swaps


def problem(seed, n_clusters):
    random = np.random.RandomState(seed)
    rows = random.normal(size=(30, 2))
    # Distances of twelve candidates, in single precision as the methods compute them.
    table = np.linalg.norm(rows[:12, None] - rows, axis=2).astype(np.float32)
    medoids = random.permutation(12)[:n_clusters].astype(np.int64)
    found, far = empty_assignment(30), 2 * float(table.max()) + 1
    assign(table, medoids, far, found)
    return table, medoids, found, far


def check_assignment(near, found, far):
    order = np.sort(near, axis=0)
    np.testing.assert_allclose(found.apart, order[0])
    np.testing.assert_allclose(found.apart, near[found.nearest, np.arange(near.shape[1])])
    np.testing.assert_allclose(found.apart_second, order[1] if len(near) > 1 else far)


@pytest.mark.parametrize("n_clusters", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_best_swaps_are_those_of_pam(seed, n_clusters):
    table, medoids, found, far = problem(seed, n_clusters)
    expected = reference.pam(table.tolist(), medoids.tolist())
    n_iter, n_swaps = swap_best(table, medoids, far, 1e-9, 100, found)
    # Costs, because two swaps may lower the cost by the same.
    cost = reference.medoid_cost(table.tolist(), medoids.tolist())
    assert cost == pytest.approx(reference.medoid_cost(table.tolist(), expected))
    assert n_iter == n_swaps + 1
    check_assignment(table[medoids], found, far)


@pytest.mark.parametrize("n_clusters", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_no_swap_is_left_after_eager_ones(seed, n_clusters):
    table, medoids, found, far = problem(seed, n_clusters)
    swap_eagerly(table, medoids, far, 1e-9, 100, found)
    assert reference.pam(table.tolist(), medoids.tolist()) == medoids.tolist()
    check_assignment(table[medoids], found, far)


def test_random_swaps_lower_the_cost_or_are_not_made():
    table, medoids, found, far = problem(0, 3)
    near, numbers = table[medoids].copy(), medoids.copy()
    cost = reference.medoid_cost(table.tolist(), medoids.tolist())
    random = np.random.RandomState(0)
    for _ in range(60):
        row, at = random.randint(12, size=1), random.randint(3, size=1)
        swapped = numbers.copy()
        swapped[at] = row
        lower = reference.medoid_cost(table.tolist(), swapped.tolist()) < cost - 1e-9
        n_failed, n_made = try_swaps(table[row], row, at, near, numbers, far, 1e-9, 0, 10, found)
        assert n_made == (lower and row[0] not in numbers[: at[0]]) or not lower
        assert n_failed == 1 - n_made
        if n_made:
            cost = reference.medoid_cost(table.tolist(), numbers.tolist())
        assert cost == pytest.approx(found.apart.sum())
        check_assignment(near, found, far)
    assert try_swaps(table[:5], np.arange(5), np.zeros(5, np.int64), near, numbers, far, 1e-9,
                     10, 10, found) == (10, 0)  # fmt: skip
