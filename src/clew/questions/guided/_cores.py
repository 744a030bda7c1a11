"""Cores: the rows that are surely in the same group as a row of a question."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.questions.guided._posterior import Singles

Ints = NDArray[np.int64]

#: The core of a row holds the rows that are in its group with a larger probability than this.
CORE = 0.7


def cores(same: Singles, i: int, j: int) -> tuple[Ints, Ints]:
    """Return the rows that are surely in the group of i, and those in that of j; disjoint."""
    near = same[[i, j]] > CORE
    both = near[0] & near[1]
    of_first = both & (same[i] >= same[j])
    near[0, both & ~of_first] = False
    near[1, of_first] = False
    near[0, i], near[1, j] = True, True
    near[0, j], near[1, i] = False, False
    return np.flatnonzero(near[0]), np.flatnonzero(near[1])


def count_cores(same: Singles) -> int:
    """Count disjoint cores of `same` (n_rows, n_rows), removing the largest one by one."""
    near = same > CORE
    left = np.ones(len(same), np.bool_)
    count = 0
    for i in np.argsort(-near.sum(axis=1), kind="stable"):
        if left[i]:
            left &= ~near[i]
            left[i] = False
            count += 1
    return count
