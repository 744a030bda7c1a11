"""Swaps of subcluster centers that lower a cost, or raise the silhouettes of the centers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


@kernel
def swap_eagerly(
    own: NDArray[np.float64],
    pair: NDArray[np.float32],
    overlap: NDArray[np.bool_],
    centers: NDArray[np.int64],
    tolerance: float,
    max_swaps: int,
) -> int:
    """Swap each center in turn for its best replacement, until none lowers the cost.

    IN own (n_candidates,): cost of each candidate by itself; pair (n_candidates, n_candidates): of
    two together, symmetric, 0 on the diagonal; overlap (n_candidates, n_candidates): whether two
    subclusters share rows: no swap may raise a center's number of overlaps; empty for no such rule;
    tolerance: swaps must lower the cost by more; max_swaps: ends the search.
    INOUT centers (n_clusters,): different candidates.
    Returns number of swaps. Time O(n_candidates) for each center that is looked at, and for each
    swap.
    """
    load, n_overlaps, is_center = _loads(pair, overlap, centers)
    n_swaps, at, n_kept = 0, 0, 0
    while n_kept < len(centers) and n_swaps < max_swaps:
        found, change = _replacement(own, pair, overlap, load, n_overlaps, is_center, centers[at])
        n_kept += 1
        if change < -tolerance:
            _swap(pair, overlap, load, n_overlaps, is_center, centers, at, found)
            n_swaps += 1
            n_kept = 0
        at = (at + 1) % len(centers)
    return n_swaps


@kernel
def swap_best(
    own: NDArray[np.float64],
    pair: NDArray[np.float32],
    overlap: NDArray[np.bool_],
    centers: NDArray[np.int64],
    tolerance: float,
    max_swaps: int,
) -> int:
    """Make the best of all swaps again and again, until none lowers the cost; as `swap_eagerly`.

    Time O(n_clusters·n_candidates) for each swap.
    """
    load, n_overlaps, is_center = _loads(pair, overlap, centers)
    n_swaps = 0
    while n_swaps < max_swaps:
        lowest, best_at, best = -tolerance, -1, -1
        for at in range(len(centers)):
            found, change = _replacement(
                own, pair, overlap, load, n_overlaps, is_center, centers[at]
            )
            if change < lowest:
                lowest, best_at, best = change, at, found
        if best < 0:
            break
        _swap(pair, overlap, load, n_overlaps, is_center, centers, best_at, best)
        n_swaps += 1
    return n_swaps


@kernel
def swap_for_silhouette(
    own: NDArray[np.float64],
    pair: NDArray[np.float32],
    apart: NDArray[np.float32],
    within: NDArray[np.float64],
    weight: float,
    centers: NDArray[np.int64],
    tolerance: float,
    max_looks: int,
) -> int:
    """Swap centers in turn to raise the sum of their silhouettes minus `weight` times the cost.

    The silhouette of a center compares `within` with the distance from the nearest other center.

    IN own, pair: the cost, as `swap_eagerly` takes it; apart (n_candidates, n_candidates):
    distances; within (n_candidates,): mean distance of each candidate from the rows of its
    subcluster, in the same unit; tolerance: swaps must gain more; max_looks: centers looked at
    before the search ends.
    INOUT centers (n_clusters,): different candidates.
    Returns number of swaps. Time O(n_clusters·n_candidates) for each center that is looked at.
    """
    load, _, is_center = _loads(pair, np.zeros((0, 0), np.bool_), centers)
    score, nearest = np.empty(len(own)), np.empty(len(own), np.float32)
    n_swaps, n_kept, looks = 0, 0, 0
    while n_kept < len(centers) and looks < max_looks:
        at = looks % len(centers)
        old = centers[at]
        _silhouettes(apart, within, centers, at, score, nearest)
        best, highest = old, score[old] - weight * (own[old] + load[old]) + tolerance
        for i in range(len(own)):
            gain = score[i] - weight * (own[i] + load[i] - pair[old, i])
            if gain > highest and not is_center[i]:
                best, highest = i, gain
        n_kept += 1
        if best != old:
            _swap(pair, np.zeros((0, 0), np.bool_), load, np.zeros(0, np.int64), is_center,
                  centers, at, best)  # fmt: skip
            n_swaps += 1
            n_kept = 0
        looks += 1
    return n_swaps


@kernel
def _silhouettes(
    apart: NDArray[np.float32],
    within: NDArray[np.float64],
    centers: NDArray[np.int64],
    at: int,
    score: NDArray[np.float64],
    nearest: NDArray[np.float32],
) -> None:
    """Sum the silhouettes of all centers, for each candidate in place of the center `at`."""
    score[:] = 0.0
    nearest[:] = np.inf
    for k in range(len(centers)):
        if k == at:
            continue
        center, limit = centers[k], np.inf
        for other in range(len(centers)):
            if other not in (k, at):
                limit = min(limit, apart[center, centers[other]])
        alone = _silhouette(within[center], limit)
        for i in range(len(score)):
            gap = apart[center, i]
            nearest[i] = min(nearest[i], gap)
            score[i] += _silhouette(within[center], gap) if gap < limit else alone
    for i in range(len(score)):
        score[i] += _silhouette(within[i], nearest[i])


@kernel
def _silhouette(within: float, between: float) -> float:
    """Return the silhouette of two mean distances."""
    larger = max(within, between)
    if larger == 0.0:
        return 0.0
    if larger == np.inf:
        return 1.0
    return (between - within) / larger


@kernel
def _loads(
    pair: NDArray[np.float32], overlap: NDArray[np.bool_], centers: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Sum each candidate's pair costs and overlaps with all centers."""
    n = len(pair)
    load, n_overlaps = np.zeros(n), np.zeros(n, np.int64)
    is_center = np.zeros(n, np.bool_)
    for center in centers:
        is_center[center] = True
        for i in range(n):
            load[i] += pair[center, i]
        for i in range(len(overlap)):
            n_overlaps[i] += overlap[center, i]
    return load, n_overlaps, is_center


@kernel
def _replacement(
    own: NDArray[np.float64],
    pair: NDArray[np.float32],
    overlap: NDArray[np.bool_],
    load: NDArray[np.float64],
    n_overlaps: NDArray[np.int64],
    is_center: NDArray[np.bool_],
    center: int,
) -> tuple[int, float]:
    """Find the best replacement of a center, and the change of the cost; -1 if there is none."""
    best, lowest = -1, np.inf
    has_rule = len(overlap) > 0
    for i in range(len(own)):
        change = own[i] + load[i] - pair[center, i]
        if change < lowest and not is_center[i]:
            if has_rule and n_overlaps[i] - overlap[center, i] > n_overlaps[center]:
                continue
            best, lowest = i, change
    return best, lowest - own[center] - load[center]


@kernel
def _swap(
    pair: NDArray[np.float32],
    overlap: NDArray[np.bool_],
    load: NDArray[np.float64],
    n_overlaps: NDArray[np.int64],
    is_center: NDArray[np.bool_],
    centers: NDArray[np.int64],
    at: int,
    new: int,
) -> None:
    """Replace a center, and update the sums."""
    old = centers[at]
    for i in range(len(load)):
        load[i] += pair[new, i] - pair[old, i]
    for i in range(len(overlap)):
        n_overlaps[i] += np.int64(overlap[new, i]) - np.int64(overlap[old, i])
    is_center[old], is_center[new] = False, True
    centers[at] = new
