"""Nearest rows, shared rows and swaps of subclusters against slow twins."""

import numpy as np
import pytest
from tests.reference import subclusters as reference

from clew.kernels.medoids import count_shared, index_lists, mean_log_jaccard
from clew.kernels.nearest import keep_nearest
from clew.kernels.subclusters import swap_best, swap_eagerly, swap_for_silhouette


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_rows_are_those_of_the_twin(dtype):
    random = np.random.RandomState(0)
    apart = random.randint(20, size=(6, 50)).astype(dtype)  # with ties
    own = np.array([0, 3, 7, 49, 12, 30])
    nearest, value = np.zeros((6, 5), np.int64), np.full((6, 5), np.inf)
    for start in (0, 20, 40):
        rows = np.arange(start, min(start + 20, 50))
        block = np.ascontiguousarray(-apart[:, rows])
        keep_nearest(block, np.zeros(len(rows), dtype), rows, own, nearest, value)
    assert nearest.tolist() == reference.nearest_rows(apart.tolist(), own.tolist(), 5)
    np.testing.assert_array_equal(value, np.take_along_axis(apart, nearest, 1))


def test_shared_rows_are_those_of_the_twin():
    random = np.random.RandomState(1)
    lists = np.array([random.permutation(15)[:6] for _ in range(9)])
    start, holder = np.empty(16, np.int64), np.empty(lists.size, np.int64)
    index_lists(lists, start, holder)
    shared, result = np.empty((9, 9), np.float32), np.empty(9)
    count_shared(lists, start, holder, shared)
    assert shared.tolist() == reference.shared(lists.tolist())
    mean_log_jaccard(lists, 4, start, holder, 0.02, result)
    np.testing.assert_allclose(result, reference.mean_log_jaccard(lists.tolist(), 4, 0.02))


def problem(seed, n=14):
    random = np.random.RandomState(seed)
    pair = random.rand(n, n).astype(np.float32)
    overlap = random.rand(n, n) < 0.3
    pair, overlap = np.triu(pair, 1), np.triu(overlap, 1)
    return random.rand(n), pair + pair.T, overlap | overlap.T, random.permutation(n)[:5]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("has_rule", [True, False])
def test_best_swaps_are_those_of_the_twin(seed, has_rule):
    own, pair, overlap, centers = problem(seed)
    if not has_rule:
        overlap = np.zeros((0, 0), np.bool_)
    history = reference.best_swaps(own, pair.tolist(), overlap.tolist(), centers.tolist())
    n_swaps = swap_best(own, pair, overlap, centers, 1e-9, 1000)
    assert sorted(centers) == sorted(history[-1])
    assert n_swaps == len(history) - 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("has_rule", [True, False])
def test_no_valid_swap_is_left_after_eager_ones(seed, has_rule):
    own, pair, overlap, centers = problem(seed)
    if not has_rule:
        overlap = np.zeros((0, 0), np.bool_)
    before = reference.cost(own, pair, centers.tolist())
    swap_eagerly(own, pair, overlap, centers, 1e-9, 1000)
    found = reference.cost(own, pair, centers.tolist())
    assert found <= before
    assert len(set(centers)) == 5
    for at, new in reference.valid_swaps(overlap.tolist(), centers.tolist(), len(own)):
        swapped = [*centers[:at], new, *centers[at + 1 :]]
        assert reference.cost(own, pair, swapped) > found - 1e-6


def test_the_number_of_swaps_is_limited():
    own, pair, _, centers = problem(0)
    first = centers.copy()
    for swap in (swap_best, swap_eagerly):
        assert swap(own, pair, np.zeros((0, 0), np.bool_), centers, 1e-9, 0) == 0
    np.testing.assert_array_equal(centers, first)


@pytest.mark.parametrize("weight", [0.0, 0.1])
def test_no_swap_raises_the_silhouettes_further(weight):
    random = np.random.RandomState(3)
    points = random.normal(size=(14, 2))
    apart = np.linalg.norm(points[:, None] - points, axis=2).astype(np.float32)
    own, pair, *_ = problem(3)
    within = random.uniform(0.1, 0.5, 14)

    def score(centers):
        gaps = reference.silhouettes(within.tolist(), apart.tolist(), centers)
        return gaps - weight * reference.cost(own.tolist(), pair.tolist(), centers)

    first = [0, 1, 2, 3]
    centers = np.array(first)
    assert swap_for_silhouette(own, pair, apart, within, weight, centers, 1e-9, 400) > 0
    found = centers.tolist()
    assert len(set(found)) == 4
    assert score(found) > score(first)
    for at, new in reference.valid_swaps([], found, 14):
        assert score([*found[:at], new, *found[at + 1 :]]) <= score(found) + 1e-6


def test_silhouettes_of_one_center_and_of_equal_rows():
    own, pair = np.arange(3.0), np.zeros((3, 3), np.float32)
    same = np.zeros((3, 3), np.float32)
    centers = np.array([2])
    swap_for_silhouette(own, pair, same, np.zeros(3), 0.1, centers, 1e-9, 40)
    assert centers.tolist() == [0]  # the lowest cost
    centers = np.array([2, 1])
    swap_for_silhouette(own, pair, same, np.zeros(3), 0.1, centers, 1e-9, 80)
    assert sorted(centers.tolist()) == [0, 1]
