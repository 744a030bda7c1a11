"""Seeds: `random_state` is read once in `fit`, and every other seed is derived from it."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

RandomState = int | np.random.RandomState | None


def derived_seeds(random_state: RandomState, n: int) -> list[int]:
    """Derive `n` seeds below 2³¹ from a `random_state`."""
    random = check_random_state(random_state)
    return [int(seed) for seed in random.randint(np.iinfo(np.int32).max, size=n)]
