"""Lower the cost of a graph coloring by swapping two colors along chains of nodes.

A coloring is valid if no edge joins two nodes of one color. It stays valid if two colors are
swapped in a whole chain: the nodes that paths through these two colors connect (a Kempe chain).

References
----------
A. B. Kempe, "On the geographical problem of the four colours", American Journal of Mathematics 2,
1879.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

__all__ = ["swap_chains"]


@bare_kernel
def follow_chain(
    start: int,
    color: int,
    cost: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    labels: NDArray[np.int64],
    stamp: int,
    visits: NDArray[np.int64],
    chain: NDArray[np.int64],
) -> tuple[int, float]:
    """Collect the chain of `start` and `color`; return its length and how much the swap saves.

    The length is 0 if the chain does not fit into `chain`.
    """
    own = labels[start]
    chain[0] = start
    visits[start] = stamp
    stop = 1
    saved = 0.0
    at_node = 0
    while at_node < stop:
        node = chain[at_node]
        at_node += 1
        other_color = own + color - labels[node]
        saved += cost[node, labels[node]] - cost[node, other_color]
        for at in range(indptr[node], indptr[node + 1]):
            other = indices[at]
            if labels[other] == other_color and visits[other] != stamp:
                if stop == chain.shape[0]:
                    return 0, 0.0
                visits[other] = stamp
                chain[stop] = other
                stop += 1
    return stop, saved


@kernel
def swap_chains(
    cost: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    max_length: int,
    max_sweeps: int,
    least: float,
    labels: NDArray[np.int64],
) -> int:
    """Swap colors along chains as long as that lowers the cost.

    A node without a neighbor of the other color is a chain by itself, and changes its color.

    Parameters
    ----------
    cost : ndarray of shape (n_nodes, n_colors), float64 (IN)
        Cost of each node in each color.
    indptr, indices : ndarray, int64 (IN)
        Neighbors of each node, in both directions, as in a CSR matrix.
    max_length : int
        Longer chains are not swapped.
    max_sweeps : int
        Maximum number of sweeps over all nodes; a sweep without a swap is the last.
    least : float
        A swap must save more than this.
    labels : ndarray of shape (n_nodes,), int64 (INOUT)
        The color of each node: a valid coloring before and after.

    Returns
    -------
    int
        Number of swaps.

    Notes
    -----
    Each sweep follows at most one chain for each node and cheaper color.
    """
    n, n_colors = cost.shape
    visits = np.zeros(n, dtype=np.int64)
    chain = np.empty(min(max_length, n), dtype=np.int64)
    stamp = 0
    n_swaps = 0
    for _ in range(max_sweeps):
        before = n_swaps
        for node in range(n):
            for color in range(n_colors):
                own = labels[node]
                if cost[node, own] - cost[node, color] <= least:
                    continue
                stamp += 1
                length, saved = follow_chain(
                    node, color, cost, indptr, indices, labels, stamp, visits, chain
                )
                if length > 0 and saved > least:
                    for k in range(length):
                        labels[chain[k]] = own + color - labels[chain[k]]
                    n_swaps += 1
        if n_swaps == before:
            break
    return n_swaps
