"""A hash table that finds the edge between two groups, with linear probing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel

__all__ = ["EMPTY", "find", "insert", "key_of", "n_slots_for", "remove"]

Ints = NDArray[np.int64]

EMPTY = -1
REMOVED = -2
MIX = np.uint64(0x9E3779B97F4A7C15)


@bare_kernel
def n_slots_for(n_edges: int) -> int:
    """Return a power of 2, at least four times the number of edges."""
    n_slots = 16
    while n_slots < 4 * n_edges + 4:
        n_slots *= 2
    return n_slots


@bare_kernel
def key_of(a: int, b: int, n: int) -> int:
    """Return the key of two of n groups."""
    return min(a, b) * n + max(a, b)


@bare_kernel
def find(keys: Ints, key: int) -> int:
    """Return the slot of a key, or -1."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * MIX) >> np.uint64(20)) & mask
    while keys[slot] != EMPTY:
        if keys[slot] == key:
            return slot
        slot = (slot + 1) & mask
    return -1


@bare_kernel
def insert(keys: Ints, values: Ints, key: int, value: int) -> None:
    """Insert a key that is not in the table."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * MIX) >> np.uint64(20)) & mask
    while keys[slot] >= 0:
        slot = (slot + 1) & mask
    keys[slot], values[slot] = key, value


@bare_kernel
def remove(keys: Ints, key: int) -> None:
    """Remove a key that is in the table."""
    keys[find(keys, key)] = REMOVED
