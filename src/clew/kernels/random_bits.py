"""Random bits, numbers and orders from a stream of SplitMix64, and draws from log-weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

State = NDArray[np.uint64]


@bare_kernel
def next_bits(state: State) -> np.uint64:
    """Advance ``state[0]`` and return 64 random bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@bare_kernel
def seed_stream(state: State, seed: int, stream: int) -> None:
    """Set `state` to the start of stream number `stream` of `seed`."""
    state[0] = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    state[0] ^= np.uint64(stream + 1) * np.uint64(0xD1B54A32D192ED03)
    state[0] = next_bits(state)


@bare_kernel
def random_below(state: State, n: int) -> int:
    """Return a random integer in ``[0, n)``, with `n` below 2³²."""
    return np.int64(((next_bits(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@bare_kernel
def random_unit(state: State) -> float:
    """Return a random float in ``[0, 1)``."""
    return np.float64(next_bits(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


#: Entries with a smaller log-weight, relative to the largest, are never drawn.
NEGLIGIBLE = -30.0


@kernel
def draw(
    log_weight: NDArray[np.float64], n: int, temperature: float, state: NDArray[np.uint64]
) -> int:
    """Draw an index below `n`, with weights ``exp(log_weight / temperature)``, left in place."""
    largest = log_weight[:n].max()
    total = 0.0
    for k in range(n):
        gap = (log_weight[k] - largest) / temperature
        log_weight[k] = np.exp(gap) if gap > NEGLIGIBLE else 0.0
        total += log_weight[k]
    left = random_unit(state) * total
    drawn = 0
    for k in range(n):
        if log_weight[k] > 0:
            drawn = k
            left -= log_weight[k]
            if left <= 0:
                break
    return drawn


@kernel
def random_order(order: NDArray[np.int64], state: NDArray[np.uint64]) -> None:
    """Shuffle `order` in place."""
    for i in range(len(order) - 1, 0, -1):
        j = random_below(state, i + 1)
        order[i], order[j] = order[j], order[i]
