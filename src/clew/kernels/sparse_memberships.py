"""Memberships of many groups: a few candidate groups for each row, the most probable ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

#: Share of a suggested group that no anchor of the row has.
LEAST_SHARE = 1e-6


@bare_kernel
def insert(
    group: int,
    share: float,
    groups: NDArray[np.int32],
    shares: NDArray[np.float32],
) -> None:
    """Insert a group into the descending list of the largest shares, if it is large enough."""
    place = shares.shape[0] - 1
    if groups[place] >= 0 and share <= shares[place]:
        return
    while place > 0 and (groups[place - 1] < 0 or shares[place - 1] < share):
        groups[place] = groups[place - 1]
        shares[place] = shares[place - 1]
        place -= 1
    groups[place] = group
    shares[place] = share


@bare_kernel
def sharpen(
    groups: NDArray[np.int32], shares: NDArray[np.float32], floor: float, strength: float
) -> None:
    """Add `floor` to the shares, raise them to a power, and scale their sum to 1."""
    if groups[0] < 0:
        return
    largest = shares[0] + floor
    total = 0.0
    for place in range(groups.shape[0]):
        if groups[place] < 0:
            break
        shares[place] = ((shares[place] + floor) / largest) ** strength
        total += shares[place]
    for place in range(groups.shape[0]):
        shares[place] /= total


@bare_kernel
def keep_suggested(
    suggested: int,
    share: float,
    groups: NDArray[np.int32],
    shares: NDArray[np.float32],
) -> None:
    """Put a group that is not in the list in its last place."""
    last = groups.shape[0] - 1
    for place in range(last + 1):
        if groups[place] == suggested:
            return
    groups[last] = suggested
    shares[last] = share


@kernel
def mix_memberships(
    nearest: NDArray[np.int32],
    weight: NDArray[np.float32],
    anchor_groups: NDArray[np.int32],
    anchor_shares: NDArray[np.float32],
    suggested: NDArray[np.int32],
    floor: float,
    strength: float,
    total: NDArray[np.float32],
    groups: NDArray[np.int32],
    shares: NDArray[np.float32],
) -> None:
    """Average the memberships of each row's anchors, keep the largest and sharpen them.

    IN nearest (n_rows, n_nearest): anchors of each row; weight (n_rows, n_nearest): their weights;
    each row sums to 1; anchor_groups, anchor_shares (n_anchors, n_candidates): candidate groups of
    each anchor and their probabilities; -1 after the last; suggested (n_rows,): a group that each
    row keeps in any case; -1 for none; floor: added to each share before it is sharpened; strength:
    exponent of the shares.
    INOUT total (n_groups,): work space; 0 before and after the call.
    OUT groups (n_rows, n_kept): candidate groups of each row, the most probable first; -1 after the
    last. A suggested group may be last although it is more probable; shares (n_rows, n_kept): their
    probabilities; each row sums to 1.

    Time O(n_rows·n_nearest·n_candidates), whatever the number of groups.
    """
    touched = np.empty(nearest.shape[1] * anchor_groups.shape[1] + 1, np.int32)
    for row in range(nearest.shape[0]):
        n_touched = 0
        for near in range(nearest.shape[1]):
            anchor = nearest[row, near]
            for place in range(anchor_groups.shape[1]):
                group = anchor_groups[anchor, place]
                share = weight[row, near] * anchor_shares[anchor, place]
                if group < 0:
                    break
                if share <= 0.0:
                    continue
                if total[group] == 0.0:
                    touched[n_touched] = group
                    n_touched += 1
                total[group] += share
        kept = suggested[row]
        if kept >= 0 and total[kept] == 0.0:
            touched[n_touched] = kept
            n_touched += 1
            total[kept] = LEAST_SHARE
        groups[row] = -1
        shares[row] = 0.0
        for at in range(n_touched):
            insert(touched[at], total[touched[at]], groups[row], shares[row])
        if kept >= 0:
            keep_suggested(kept, total[kept], groups[row], shares[row])
        for at in range(n_touched):
            total[touched[at]] = 0.0
        sharpen(groups[row], shares[row], floor, strength)


@kernel
def add_to_anchors(
    nearest: NDArray[np.int32],
    weight: NDArray[np.float32],
    groups: NDArray[np.int32],
    shares: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> None:
    """Add the memberships of rows to those of their anchors.

    IN nearest, weight (n_rows, n_nearest): anchors of each row and their weights; groups, shares
    (n_rows, n_candidates): candidate groups of each row and their probabilities; -1 after the last.
    INOUT sums (n_anchors, n_groups): weighted sums of the memberships of each anchor's rows.
    """
    for row in range(nearest.shape[0]):
        for near in range(nearest.shape[1]):
            anchor = nearest[row, near]
            for place in range(groups.shape[1]):
                if groups[row, place] < 0:
                    break
                sums[anchor, groups[row, place]] += weight[row, near] * shares[row, place]


@kernel
def largest_shares(
    start: NDArray[np.int32],
    group: NDArray[np.int32],
    share: NDArray[np.float32],
    groups: NDArray[np.int32],
    shares: NDArray[np.float32],
) -> None:
    """Keep the largest shares of each row of a sparse matrix, and scale their sum to 1.

    IN start, group, share: the matrix as compressed sparse rows: `indptr`, `indices` and `data`,
    nonnegative; each row with a positive entry.
    OUT groups, shares (n_rows, n_kept): columns and shares, the largest first; -1 after the last.
    """
    for row in range(groups.shape[0]):
        groups[row] = -1
        shares[row] = 0.0
        for at in range(start[row], start[row + 1]):
            if share[at] > 0.0:
                insert(group[at], share[at], groups[row], shares[row])
        sharpen(groups[row], shares[row], 0.0, 1.0)
