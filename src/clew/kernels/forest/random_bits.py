"""SplitMix64: one random stream for each tree, so that the result does not depend on threads.

References
----------
G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel

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
