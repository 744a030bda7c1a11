"""Random streams: those of the paper, uniform, and independent of each other."""

import numpy as np
import pytest

from clew.kernels.random_bits import next_bits, random_below, random_unit, seed_stream


def stream(seed, number, draw, n):
    state = np.empty(1, np.uint64)
    seed_stream(state, seed, number)
    return np.array([draw(state) for _ in range(n)])


def test_bits_are_those_of_splitmix64():
    # The first outputs for the seed 1234567, as published with the reference implementation.
    state = np.array([1234567], np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(next_bits(state)) for _ in expected] == expected


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100])
def test_integers_are_in_range_and_uniform(n):
    drawn = stream(0, 0, lambda state: random_below(state, n), 20_000)
    counts = np.bincount(drawn, minlength=n)
    assert len(counts) == n
    assert np.abs(counts - 20_000 / n).max() < 5 * np.sqrt(20_000 / n)


def test_floats_are_in_the_unit_interval_and_uniform():
    drawn = stream(1, 2, random_unit, 20_000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert np.abs(np.bincount((drawn * 10).astype(int)) - 2000).max() < 5 * np.sqrt(2000)


def test_streams_and_seeds_are_independent():
    starts = {
        int(bits)
        for seed in range(20)
        for number in range(50)
        for bits in stream(seed, number, next_bits, 2)
    }
    assert len(starts) == 20 * 50 * 2
    a, b = (stream(0, number, random_unit, 5000) for number in (6, 7))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.05
    assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 0.05
