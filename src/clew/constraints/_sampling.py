"""Random distinct integers and pairs, in memory linear in the sample."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

__all__ = ["as_random", "distinct_integers", "pair_from_rank"]


def as_random(random_state: int | RandomState | None) -> RandomState:
    """Resolve a `random_state` as scikit-learn does."""
    # Imported here because scikit-learn imports pandas, if installed, which is slow.
    from sklearn.utils import check_random_state

    random: RandomState = check_random_state(random_state)
    return random


def distinct_integers(total: int, size: int, random: RandomState) -> NDArray[np.int64]:
    """Draw integers in [0, total) uniformly without replacement, in random order.

    Parameters
    ----------
    total : int
        Exclusive upper bound; may be far larger than what fits in memory.
    size : int
        Number of integers, at most `total`.
    random : RandomState
        Source of randomness.

    Returns
    -------
    ndarray of shape (size,), int64

    Notes
    -----
    Memory is linear in `size`: where `total` is larger than ``3 * size``, integers are drawn with
    replacement and repeats dropped, which has the same distribution.
    """
    if total <= 3 * size:
        return random.permutation(total)[:size].astype(np.int64)
    drawn = np.zeros(0, dtype=np.int64)
    while drawn.size < size:
        more = random.randint(0, total, size=size - drawn.size + 8, dtype=np.int64)
        drawn = np.concatenate([drawn, more])
        first = np.unique(drawn, return_index=True)[1]
        drawn = drawn[np.sort(first)]
    return drawn[:size]


def pair_from_rank(ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs (low, high) at some ranks of the list (0,1), (0,2), (1,2), (0,3), ...

    Parameters
    ----------
    ranks : ndarray of int64
        Positions in the list: high·(high - 1)/2 + low.

    Returns
    -------
    low, high : ndarray of int64
    """
    high = ((1 + np.sqrt(1.0 + 8.0 * ranks)) / 2).astype(np.int64)
    # The square root may be off by one where ranks exceed 2**53.
    high -= high * (high - 1) // 2 > ranks
    high += high * (high + 1) // 2 <= ranks
    return ranks - high * (high - 1) // 2, high
