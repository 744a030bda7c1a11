"""Random distinct numbers and pairs without writing out what they are drawn from."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

__all__ = ["as_random", "distinct_integers", "pair_from_rank"]


def as_random(random_state: int | RandomState | None) -> RandomState:
    """Resolve a `random_state` as scikit-learn does."""
    # Here and not above: scikit-learn loads pandas where it is there, and `import clew` need not.
    from sklearn.utils import check_random_state

    random: RandomState = check_random_state(random_state)
    return random


def distinct_integers(total: int, size: int, rng: RandomState) -> NDArray[np.int64]:
    """Draw `size` different integers below `total` uniformly, in random order.

    Parameters
    ----------
    total : int
        Upper bound, not reached; may be far beyond what fits in memory.
    size : int
        How many, at most `total`.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    ndarray of shape (size,), int64

    Notes
    -----
    Memory is linear in `size`. Drawing with replacement and dropping what was drawn before is
    the same as drawing without replacement, one after the other.
    """
    if total <= 3 * size:
        return rng.permutation(total)[:size].astype(np.int64)
    drawn = np.zeros(0, dtype=np.int64)
    while drawn.size < size:
        more = rng.randint(0, total, size=size - drawn.size + 8, dtype=np.int64)
        drawn = np.concatenate([drawn, more])
        first = np.unique(drawn, return_index=True)[1]
        drawn = drawn[np.sort(first)]
    return drawn[:size]


def pair_from_rank(ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pair (low, high) at each rank of the list (0,1), (0,2), (1,2), (0,3), ...

    Parameters
    ----------
    ranks : ndarray of int64
        high·(high - 1)/2 + low for the pair wanted.

    Returns
    -------
    low, high : ndarray of int64
    """
    high = ((1 + np.sqrt(1.0 + 8.0 * ranks)) / 2).astype(np.int64)
    # The square root may be off by one where ranks exceed what a float holds exactly.
    high -= high * (high - 1) // 2 > ranks
    high += high * (high + 1) // 2 <= ranks
    return ranks - high * (high - 1) // 2, high
