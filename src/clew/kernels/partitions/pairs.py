"""Pairs of rows, each once: (1, 0), (2, 0), (2, 1), (3, 0) and so on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["below", "core_features", "fill_below", "fill_log_odds", "number_of_pairs"]

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


@kernel
def number_of_pairs(n_rows: int) -> int:
    """Count the pairs of so many rows; also the position of the first pair of row `n_rows`."""
    return n_rows * (n_rows - 1) // 2


@kernel
def below(of_pairs: Singles, row: int) -> Singles:
    """Return the part about a row and the rows before it."""
    start = number_of_pairs(row)
    return of_pairs[start : start + row]


@kernel
def fill_below(first: Singles, second: Singles, divisor: np.float32, square: Singles) -> None:
    """Divide sums of two numbers of each pair, and put them below the diagonal of a matrix."""
    at = 0
    for i in range(len(square)):
        for j in range(i):
            square[i, j] = (first[at] + second[at]) / divisor
            at += 1


@kernel
def fill_log_odds(
    features: Singles,
    ratio: Singles,
    weights: Singles,
    low: float,
    high: float,
    block_weights: Singles,
    block_limit: float,
    pairs: Singles,
    blocks: Singles,
) -> None:
    """Compute two weighted sums of the features of all pairs, below the diagonals.

    Parameters
    ----------
    features : ndarray of shape (n_pairs, n_features), float32
        Features of pairs.
    ratio : ndarray of shape (n_pairs,), float32
        One more feature.
    weights : ndarray of shape (n_features + 2,), float32
        Intercept, weights of the features, and of `ratio`.
    low, high : float
        Beyond these bounds, the first sum grows logarithmically.
    block_weights : ndarray of shape (n_features + 2,), float32
        Weights of the second sum.
    block_limit : float
        The second sum is clipped to plus and minus this.
    pairs, blocks : ndarray of shape (n_rows, n_rows), float32
        Output.
    """
    n_features = features.shape[1]
    at = 0
    for i in range(len(pairs)):
        for j in range(i):
            first, second = weights[0], block_weights[0]
            for k in range(n_features):
                first += weights[k + 1] * features[at, k]
                second += block_weights[k + 1] * features[at, k]
            first += weights[n_features + 1] * ratio[at]
            second += block_weights[n_features + 1] * ratio[at]
            if first < low:
                first = np.float32(low - np.log1p(low - first))
            elif first > high:
                first = np.float32(high + np.log1p(first - high))
            pairs[i, j] = first
            blocks[i, j] = min(max(second, np.float32(-block_limit)), np.float32(block_limit))
            at += 1


@kernel
def core_features(
    features: Singles,
    ratio: Singles,
    log_odds: Singles,
    first: Ints,
    second: Ints,
    top_share: float,
    mixed: NDArray[np.float64],
) -> None:
    """Mix the mean features of all pairs between two sets with those of their nearest pair.

    Parameters
    ----------
    features : ndarray of shape (n_pairs, n_features), float32
        Features of pairs.
    ratio : ndarray of shape (n_pairs,), float32
        One more feature.
    log_odds : ndarray of shape (n_rows, n_rows), float32
        The nearest pair is that of the largest log-odds.
    first, second : ndarray of int64
        Rows of the two sets, which are disjoint.
    top_share : float
        Share of the nearest pair.
    mixed : ndarray of shape (n_features + 1,), float64
        Output.
    """
    n_features = features.shape[1]
    mixed[:] = 0.0
    nearest, most = 0, -np.inf
    for i in first:
        for j in second:
            at = number_of_pairs(max(i, j)) + min(i, j)
            for k in range(n_features):
                mixed[k] += features[at, k]
            mixed[n_features] += ratio[at]
            if log_odds[i, j] > most:
                nearest, most = at, log_odds[i, j]
    mixed *= (1 - top_share) / (len(first) * len(second))
    for k in range(n_features):
        mixed[k] += top_share * features[nearest, k]
    mixed[n_features] += top_share * ratio[nearest]
