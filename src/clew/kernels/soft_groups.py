"""Group rows by distance and by answers that may be violated at a price."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

__all__ = ["PairLists", "best_to_part", "settle"]


class PairLists(NamedTuple):
    """Must-links and cannot-links, listed for each row.

    Parameters
    ----------
    start : ndarray of shape (n_rows + 1,), int64
        Where the list of each row begins and ends.
    other : ndarray of shape (2 * n_pairs,), int64
        The lists: the other row of each pair,
    pair : ndarray of shape (2 * n_pairs,), int64
        and the number of the pair.
    is_must : ndarray of shape (n_pairs,), bool
        Whether the pair is a must-link; otherwise it is a cannot-link.
    """

    start: NDArray[np.int64]
    other: NDArray[np.int64]
    pair: NDArray[np.int64]
    is_must: NDArray[np.bool_]


@bare_kernel
def add_prices(
    row: int,
    lists: PairLists,
    price: NDArray[np.float64],
    labels: NDArray[np.int64],
    cost: NDArray[np.float64],
) -> None:
    """Add to the cost of each group what a row's answers would cost there.

    A must-link between two groups costs its price in both, a cannot-link within a group its price
    there. Rows without a group, -1, cost nothing.
    """
    for at in range(lists.start[row], lists.start[row + 1]):
        other = labels[lists.other[at]]
        if other < 0:
            continue
        pair = lists.pair[at]
        if not lists.is_must[pair]:
            cost[other] += price[pair, other]
            continue
        for group in range(cost.shape[0]):
            if group != other:
                cost[group] += price[pair, group] + price[pair, other]


@kernel
def settle(
    order: NDArray[np.int64],
    base: NDArray[np.float64],
    lists: PairLists,
    price: NDArray[np.float64],
    max_sweeps: int,
    labels: NDArray[np.int64],
) -> int:
    """Give each row in turn its cheapest group, given those of all others, until none moves (ICM).

    Parameters
    ----------
    order : ndarray of shape (n_rows,), int64 (IN)
        Whose turn it is.
    base : ndarray of shape (n_rows, n_groups), float64 (IN)
        Cost of each row in each group, answers left out.
    lists : PairLists (IN)
        The answers.
    price : ndarray of shape (n_pairs, n_groups), float64 (IN)
        What a violated answer costs: see `add_prices`.
    max_sweeps : int
        Rounds over all rows at most.
    labels : ndarray of shape (n_rows,), int64 (INOUT)
        Group of each row, -1 for none yet. A row leaves its group only for a cheaper one.

    Returns
    -------
    int
        Number of moves.
    """
    n_groups = base.shape[1]
    cost = np.empty(n_groups)
    n_moves = 0
    for _ in range(max_sweeps):
        before = n_moves
        for row in order:
            for group in range(n_groups):
                cost[group] = base[row, group]
            add_prices(row, lists, price, labels, cost)
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
def best_to_part(
    group: int,
    alone: float,
    base: NDArray[np.float64],
    lists: PairLists,
    price: NDArray[np.float64],
    labels: NDArray[np.int64],
    size: NDArray[np.int64],
) -> tuple[int, float]:
    """Find the row whose move into an empty group saves most.

    Parameters
    ----------
    group : int
        The empty group.
    alone : float
        Cost of a row that is the center of that group.
    base, lists, price, labels
        As for `settle`; every row has a group.
    size : ndarray of shape (n_groups,), int64 (IN)
        Rows of each group. A row that is alone stays where it is.

    Returns
    -------
    row : int
        -1 where no move saves anything.
    saved : float
    """
    cost = np.empty(base.shape[1])
    best = -1
    most = 0.0
    for row in range(base.shape[0]):
        own = labels[row]
        if size[own] < 2:
            continue
        for each in range(len(cost)):
            cost[each] = base[row, each]
        cost[group] = alone
        add_prices(row, lists, price, labels, cost)
        saved = cost[own] - cost[group]
        if saved > most:
            best = row
            most = saved
    return best, most
