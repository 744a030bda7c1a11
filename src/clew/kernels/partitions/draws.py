"""Random draws from log-weights and random orders, from a stream of SplitMix64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.forest.random_bits import random_below, random_unit

__all__ = ["draw", "random_order"]

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
