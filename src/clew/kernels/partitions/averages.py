"""Averages of probabilities of all pairs, and the expected Jaccard index of labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["add_average", "expected_pairs"]

Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

ONE, HALF = np.float32(1.0), np.float32(0.5)
#: A number minus what this multiple of it leaves keeps 11 bits (Veltkamp's splitting).
SPLIT = np.float32(2**13 + 1)
#: Smaller numbers of half precision are multiples of 2⁻²⁴.
SMALL = np.float32(2.0**-14)


@kernel
def add_average(
    labels: Singles,
    questions: Singles,
    share: np.float32,
    start: Ints,
    start_share: np.float32,
    weight: np.float32,
    average: Singles,
) -> Singles:
    """Average new probabilities with older ones, in half precision: (n_rows, n_rows).

    The new ones are the mean of `labels` and `questions`, which has the share `share`, and of 1
    where `start` has a pair in one group; that has the share `start_share`. They weigh `weight`,
    and `average` the rest. The diagonal of the new ones is 1.
    """
    n = len(average)
    result = np.empty((n, n), np.float32)
    for i in range(n):
        for j in range(n):
            new = (ONE - share) * labels[i, j] + share * questions[i, j]
            if i == j:
                new = ONE
            together = ONE if start[i] == start[j] else np.float32(0.0)
            new = (ONE - start_share) * new + start_share * together
            mean = weight * new + (ONE - weight) * average[i, j]
            if mean < SMALL:
                result[i, j] = (mean + HALF) - HALF
            else:
                split = SPLIT * mean
                result[i, j] = split - (split - mean)
    return result


@kernel
def expected_pairs(same: Singles, labels: Ints) -> tuple[float, float, float]:
    """Sum probabilities of pairs: those within groups, their number, and of all pairs."""
    found, total = 0.0, 0.0
    n_within = 0
    for i in range(len(labels)):
        for j in range(i):
            total += same[i, j]
            if labels[i] == labels[j]:
                found += same[i, j]
                n_within += 1
    return found, float(n_within), total
