"""The parts of a k-means iteration besides matrix products, and penalties for violated answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel


@kernel
def cheapest(cost: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    """Find the column of lowest cost, in a tie the first, in each row: (n_rows,)."""
    for row in range(cost.shape[0]):
        best = 0
        for column in range(1, cost.shape[1]):
            if cost[row, column] < cost[row, best]:
                best = column
        labels[row] = best


@kernel
def add_groups(
    rows: NDArray[np.float64],
    weight: NDArray[np.float64],
    labels: NDArray[np.int64],
    sums: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> None:
    """Add rows and weights to the sums of their groups, in the order of rows.

    IN rows (n_rows, n_columns): multiplied by their weights; weight, labels (n_rows,).
    INOUT sums (n_groups, n_columns); mass (n_groups,): sums of rows and of weights.
    """
    for row in range(rows.shape[0]):
        group = labels[row]
        mass[group] += weight[row]
        for column in range(rows.shape[1]):
            sums[group, column] += rows[row, column]


class PairLists(NamedTuple):
    """Must-links and cannot-links, listed for each row.

    IN start (n_rows + 1,): the list of row i is the slice ``start[i]:start[i + 1]`` of `other`, the
    other row, and `pair`, the number of each pair (2 * n_pairs,); is_must (n_pairs,): or a cannot-
    link.
    """

    start: NDArray[np.int64]
    other: NDArray[np.int64]
    pair: NDArray[np.int64]
    is_must: NDArray[np.bool_]


@bare_kernel
def add_penalties(
    row: int,
    lists: PairLists,
    penalty: NDArray[np.float64],
    labels: NDArray[np.int64],
    cost: NDArray[np.float64],
) -> None:
    """Add the penalties of a row's answers in each group to the cost of the row in that group.

    A violated must-link has its penalties in both groups, a violated cannot-link in the common one;
    answers with a row that has no group yet, -1, have none.
    """
    for at in range(lists.start[row], lists.start[row + 1]):
        other = labels[lists.other[at]]
        if other < 0:
            continue
        pair = lists.pair[at]
        if not lists.is_must[pair]:
            cost[other] += penalty[pair, other]
            continue
        for group in range(cost.shape[0]):
            if group != other:
                cost[group] += penalty[pair, group] + penalty[pair, other]


@kernel
def iterated_conditional_modes(
    order: NDArray[np.int64],
    distances: NDArray[np.float64],
    lists: PairLists,
    penalty: NDArray[np.float64],
    max_sweeps: int,
    labels: NDArray[np.int64],
) -> int:
    """Move rows one by one to their cheapest group, given the groups of all others.

    IN order (n_rows,): in which rows are visited; distances (n_rows, n_groups): cost of each row
    without answers; penalty (n_pairs, n_groups): see `add_penalties`; max_sweeps: a sweep without a
    move is the last.
    INOUT labels (n_rows,): -1 for none yet. A row leaves its group only for a cheaper one.
    Returns number of moves. Time O((n_rows + n_pairs)·n_groups) for each sweep.
    """
    n_groups = distances.shape[1]
    cost = np.empty(n_groups)
    n_moves = 0
    for _ in range(max_sweeps):
        before = n_moves
        for row in order:
            for group in range(n_groups):
                cost[group] = distances[row, group]
            add_penalties(row, lists, penalty, labels, cost)
            best = max(labels[row], 0)
            for group in range(n_groups):
                if cost[group] < cost[best]:
                    best = group
            if best != labels[row]:
                labels[row] = best
                n_moves += 1
        if n_moves == before:
            break
    return n_moves


@kernel
def best_for_empty_group(
    group: int,
    cost_at_center: float,
    distances: NDArray[np.float64],
    lists: PairLists,
    penalty: NDArray[np.float64],
    labels: NDArray[np.int64],
    size: NDArray[np.int64],
) -> tuple[int, float]:
    """Find the row whose move into an empty group lowers the objective most, and by how much.

    IN cost_at_center: cost without answers of a row that is the center of `group`; distances,
    lists, penalty, labels: as for `iterated_conditional_modes`; every row has a group; size
    (n_groups,): the only row of a group is not moved.
    Returns row: -1 if no move lowers the objective; saved: 0 then.
    """
    cost = np.empty(distances.shape[1])
    best = -1
    most = 0.0
    for row in range(distances.shape[0]):
        own = labels[row]
        if size[own] < 2:
            continue
        for each in range(len(cost)):
            cost[each] = distances[row, each]
        cost[group] = cost_at_center
        add_penalties(row, lists, penalty, labels, cost)
        saved = cost[own] - cost[group]
        if saved > most:
            best = row
            most = saved
    return best, most
