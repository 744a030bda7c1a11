"""The most similar fitted rows of each row, found in small subtrees only.

In each tree a row meets the rows of its leaf, and the rows of larger and larger subtrees around the
leaf, up to `cap` rows. Rows that it meets in no tree have affinity 0 to it. In a leaf with
more than `cap` rows, a row meets `cap` consecutive ones, from a random position on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Trees
from clew.kernels.forest.paths import fraction
from clew.kernels.forest.random_bits import State, random_below, seed_stream

__all__ = ["nearest_by_affinity"]


@bare_kernel
def meet(
    row: int, value: float, touched: NDArray[np.int32], n_touched: int, total: NDArray[np.float32]
) -> int:
    """Add to a row's sum; at the first meeting, list the row. Return the number of listed rows."""
    at = np.uint32(row)  # unsigned, so that Numba does not check for a negative index
    before = total[at]
    touched[n_touched] = row
    total[at] = before + np.float32(value)
    return n_touched + np.int64(before == 0.0)


@bare_kernel
def is_less(a: int, b: int, total: NDArray[np.float32]) -> bool:
    """Compare rows by their sums; of two rows with equal sums the later one is less."""
    return total[a] < total[b] or (total[a] == total[b] and a > b)


@bare_kernel
def sift(heap: NDArray[np.int32], row: int, at: int, k: int, total: NDArray[np.float32]) -> None:
    """Move entry `at` of a heap of `k` rows down to its position; the least row is on top."""
    child = 2 * at + 1
    while child < k:
        if child + 1 < k and is_less(heap[row, child + 1], heap[row, child], total):
            child += 1
        if not is_less(heap[row, child], heap[row, at], total):
            return
        swap = heap[row, at]
        heap[row, at] = heap[row, child]
        heap[row, child] = swap
        at = child
        child = 2 * at + 1


@bare_kernel
def keep_largest(
    neighbor: NDArray[np.int32],
    row: int,
    touched: NDArray[np.int32],
    n_touched: int,
    total: NDArray[np.float32],
) -> int:
    """Write the rows with the largest sums to ``neighbor[row]``; return their number."""
    k = neighbor.shape[1]
    n = 0
    for i in range(n_touched):
        if touched[i] == row:
            continue
        if n < k:
            neighbor[row, n] = touched[i]
            n += 1
            if n == k:
                for at in range(k // 2 - 1, -1, -1):
                    sift(neighbor, row, at, k, total)
        elif is_less(neighbor[row, 0], touched[i], total):
            neighbor[row, 0] = touched[i]
            sift(neighbor, row, 0, k, total)
    return n


@bare_kernel
def meet_subtrees(
    trees: Trees,
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    mass: NDArray[np.float32],
    order: NDArray[np.int32],
    leaf_of_row: NDArray[np.int32],
    leaf_depth: NDArray[np.int32],
    leaf_mass: NDArray[np.float32],
    tree: int,
    row: int,
    cap: int,
    touched: NDArray[np.int32],
    n_touched: int,
    total: NDArray[np.float32],
) -> int:
    """Meet the rows outside the leaf, in larger and larger subtrees of at most `cap` rows."""
    base = trees.offset[tree]
    own = base + leaf_of_row[row, tree]
    node = own
    while parent[node] >= 0:
        above = base + parent[node]
        if trees.stop[above] - trees.start[above] > cap:
            break
        sibling = above + 1 if node != above + 1 else base + trees.right[above]
        for k in range(trees.start[sibling], trees.stop[sibling]):
            value = fraction(
                mass[above], depth[own], mass[own], leaf_depth[tree, k], leaf_mass[tree, k]
            )
            if value > 0.0:
                n_touched = meet(order[tree, k], value, touched, n_touched, total)
        node = above
    return n_touched


@bare_kernel
def nearest_by_affinity(
    trees: Trees,
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    mass: NDArray[np.float32],
    order: NDArray[np.int32],
    leaf_of_row: NDArray[np.int32],
    leaf_depth: NDArray[np.int32],
    leaf_mass: NDArray[np.float32],
    visit: NDArray[np.int32],
    first: int,
    last: int,
    climbs: bool,
    cap: int,
    seed: int,
    touched: NDArray[np.int32],
    total: NDArray[np.float32],
    state: State,
    neighbor: NDArray[np.int32],
    value: NDArray[np.float32],
) -> None:
    """Find the most similar rows of each row, by affinities summed over trees.

    Parameters
    ----------
    trees, parent, depth, mass
        The forest, and its paths from `measure_paths`.
    order : ndarray of shape (n_trees, n_rows)
        Fitted rows in such an order that those of each node are consecutive.
    leaf_of_row : ndarray of shape (n_rows, n_trees)
        Leaf of each row.
    leaf_depth, leaf_mass : ndarray of shape (n_trees, n_rows)
        From `measure_leaves`; (0, 0) unless `climbs`.
    visit : ndarray of shape (n_rows,)
        The order in which rows are processed. Consecutive rows that are similar read the same
        memory, which is faster.
    first, last : int
        The rows processed are ``visit[first:last]``.
    climbs : bool
        Whether a row also meets rows outside its leaf.
    cap : int
        Maximum number of rows of a subtree that is visited.
    seed : int
        Seed of the random positions in leaves of more than `cap` rows.
    touched : ndarray of shape (n_rows + 1,)
        Buffer.
    total : ndarray of shape (n_rows,)
        Buffer; zeros before and after.
    state : ndarray of shape (1,)
        Buffer.
    neighbor, value : ndarray of shape (n_rows, k) (OUT)
        The k most similar rows of each row, in no order, and their sums; -1 and 0 where a row
        met fewer.

    Notes
    -----
    Time O(n_trees·cap) for each row. Memory O(n_rows) for the buffers.
    """
    for place in range(first, last):
        row = visit[place]
        n_touched = 0
        seed_stream(state, seed, row)
        for tree in range(order.shape[0]):
            node = trees.offset[tree] + leaf_of_row[row, tree]
            start = trees.start[node]
            size = trees.stop[node] - start
            window = random_below(state, size) if size > cap else 0
            for k in range(min(size, cap)):
                at = window + k
                other = order[tree, start + (at if at < size else at - size)]
                n_touched = meet(other, 1.0, touched, n_touched, total)
            if climbs and size <= cap:
                n_touched = meet_subtrees(
                    trees, parent, depth, mass, order, leaf_of_row, leaf_depth, leaf_mass,
                    tree, row, cap, touched, n_touched, total,
                )  # fmt: skip
        n = keep_largest(neighbor, row, touched, n_touched, total)
        for k in range(neighbor.shape[1]):
            if k < n:
                value[row, k] = total[neighbor[row, k]]
            else:
                neighbor[row, k] = -1
                value[row, k] = 0.0
        for k in range(n_touched):
            total[touched[k]] = 0.0
