"""Affinities from leaves and paths: dense, of nearest rows, and squared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.forest.layout import Trees, fraction
from clew.kernels.random_bits import State, random_below, seed_stream


@bare_kernel
def add_leaf_affinity(
    trees: Trees,
    order: NDArray[np.int32],
    leaf: NDArray[np.int32],
    first_row: int,
    last_row: int,
    affinity: NDArray[np.float32],
) -> None:
    """Add 1 for each tree in which a row shares the leaf of a fitted row.

    IN order (n_trees, n_fitted): fitted rows, those of each node consecutive; leaf (n_trees,
    n_rows): leaf of each row; first_row, last_row: the rows ``first_row:last_row`` are computed.
    INOUT affinity (n_rows, n_fitted): the sums.
    """
    for tree in range(leaf.shape[0]):
        base = trees.offset[tree]
        for row in range(first_row, last_row):
            node = base + leaf[tree, row]
            for k in range(trees.start[node], trees.stop[node]):
                affinity[row, np.uint32(order[tree, k])] += np.float32(1.0)


@bare_kernel
def line_up_leaves(
    trees: Trees,
    tree: int,
    parent: NDArray[np.int32],
    place: NDArray[np.int32],
    line: NDArray[np.int32],
    fork: NDArray[np.int32],
) -> int:
    """Assign numbers to the leaves of a tree, in preorder; return how many there are.

    IN parent (n_nodes,): from `measure_paths`.
    OUT place: number of each node that is a leaf; line: node of each leaf, by number; fork: lowest
    common ancestor of each leaf and the one before it, by number.
    """
    base = trees.offset[tree]
    n_leaves = 0
    above = np.int32(0)
    for node in range(trees.offset[tree + 1] - base):
        if node > 0 and parent[base + node] != node - 1:
            above = parent[base + node]
        if trees.feature[base + node] < 0:
            place[node] = n_leaves
            line[n_leaves] = node
            fork[n_leaves] = above
            n_leaves += 1
    return n_leaves


@bare_kernel
def affinities_of_leaf(
    here: int,
    n_leaves: int,
    base: int,
    depth: NDArray[np.int32],
    mass: NDArray[np.float32],
    line: NDArray[np.int32],
    fork: NDArray[np.int32],
    table: NDArray[np.float32],
) -> None:
    """Set `table` to the affinities of leaf number `here` to all leaves of its tree."""
    own_depth = depth[base + line[here]]
    own_mass = mass[base + line[here]]
    table[here] = 1.0
    lowest = np.int32(2**31 - 1)
    for other in range(here - 1, -1, -1):
        lowest = min(lowest, fork[other + 1])
        node = base + line[other]
        table[other] = fraction(mass[base + lowest], own_depth, own_mass, depth[node], mass[node])
    lowest = np.int32(2**31 - 1)
    for other in range(here + 1, n_leaves):
        lowest = min(lowest, fork[other])
        node = base + line[other]
        table[other] = fraction(mass[base + lowest], own_depth, own_mass, depth[node], mass[node])


@bare_kernel
def add_path_affinity(
    trees: Trees,
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    mass: NDArray[np.float32],
    fitted_leaf: NDArray[np.int32],
    leaf: NDArray[np.int32],
    first_row: int,
    last_row: int,
    first_column: int,
    place: NDArray[np.int32],
    line: NDArray[np.int32],
    fork: NDArray[np.int32],
    column: NDArray[np.int32],
    table: NDArray[np.float32],
    affinity: NDArray[np.float32],
) -> None:
    """Add, for each tree, the share of the path that a row has in common with each fitted row.

    IN parent, depth, mass (n_nodes,): from `measure_paths`; fitted_leaf (n_trees, n_fitted), leaf
    (n_trees, n_rows): leaves; computed are the rows ``first_row:last_row`` and the fitted rows from
    `first_column` on; place, line, fork, table: buffers, an entry for each node of the largest
    tree; column (n_fitted,).
    INOUT affinity (n_rows, n_fitted): the sums. Time O(n_fitted + leaves) for each tree and row.
    """
    n_fitted = fitted_leaf.shape[1]
    for tree in range(leaf.shape[0]):
        base = trees.offset[tree]
        n_leaves = line_up_leaves(trees, tree, parent, place, line, fork)
        for k in range(first_column, n_fitted):
            column[k] = place[fitted_leaf[tree, k]]
        last = -1
        for row in range(first_row, last_row):
            here = place[leaf[tree, row]]
            if here != last:
                affinities_of_leaf(here, n_leaves, base, depth, mass, line, fork, table)
                last = here
            for k in range(first_column, n_fitted):
                affinity[row, k] += table[np.uint32(column[k])]


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

    IN parent, depth, mass: from `measure_paths`; order (n_trees, n_rows): fitted rows, those of
    each node consecutive; leaf_of_row (n_rows, n_trees); leaf_depth, leaf_mass (n_trees, n_rows):
    from `measure_leaves`; (0, 0) unless `climbs`; visit (n_rows,): order of the rows, of which
    ``visit[first:last]`` are processed: similar ones in sequence read the same memory; climbs:
    whether a row also meets rows outside its leaf; cap: largest subtree that is visited; seed: of
    the random positions in larger leaves; touched (n_rows + 1,), total (n_rows,), zeros before and
    after, state (1,): buffers.
    OUT neighbor, value (n_rows, k): the k most similar rows, in no order, and their sums; -1 and 0
    where a row met fewer.

    Time O(n_trees·cap) for each row.
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


@kernel
def list_leaves(
    trees: Trees,
    leaf: NDArray[np.int32],
    rows: NDArray[np.int64],
    start: NDArray[np.int64],
    member: NDArray[np.int32],
) -> None:
    """List some rows by their leaves, in time O(n_trees·n_listed + n_nodes).

    IN leaf (n_trees, n_rows): leaf of each row; rows (n_listed,).
    OUT start (n_nodes + 1,), 0 before: the list of a node, numbered over all trees, is
    ``member[start[node]:start[node + 1]]``; member (n_trees · n_listed,): positions in `rows`.
    """
    n_trees, n_listed = leaf.shape[0], rows.shape[0]
    for tree in range(n_trees):
        for k in range(n_listed):
            start[trees.offset[tree] + leaf[tree, rows[k]] + 1] += 1
    for node in range(start.shape[0] - 1):
        start[node + 1] += start[node]
    # Filling a list moves its start to its end; afterwards all starts are shifted back by one.
    for tree in range(n_trees):
        for k in range(n_listed):
            node = trees.offset[tree] + leaf[tree, rows[k]]
            member[start[node]] = k
            start[node] += 1
    for node in range(start.shape[0] - 1, 0, -1):
        start[node] = start[node - 1]
    start[0] = 0


@bare_kernel
def add_shared_leaves(
    offset: NDArray[np.int64],
    leaf: NDArray[np.int32],
    row: int,
    start: NDArray[np.int64],
    member: NDArray[np.int32],
    shared: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> int:
    """Count the trees in which a row shares the leaf of each listed row.

    Returns the number of listed rows with a count above 0, which are listed in `touched`.
    """
    n_met = 0
    for tree in range(leaf.shape[0]):
        node = offset[tree] + leaf[tree, row]
        for at in range(start[node], start[node + 1]):
            k = member[at]
            if shared[k] == 0:
                touched[n_met] = k
                n_met += 1
            shared[k] += 1
    return n_met


@kernel
def sum_squared_affinities(
    trees: Trees,
    leaf: NDArray[np.int32],
    first_row: int,
    last_row: int,
    rows: NDArray[np.int64],
    weight: NDArray[np.float64],
    start: NDArray[np.int64],
    member: NDArray[np.int32],
    total: NDArray[np.float64],
) -> None:
    """Sum, over listed rows, weight times squared affinity (the share of trees with a common leaf).

    IN leaf (n_trees, n_rows): leaf of each row; first_row, last_row: sums are computed for the rows
    ``first_row:last_row``; rows, weight (n_listed,): the listed rows; a row is left out of its own
    sum; start, member: from `list_leaves`.
    OUT total (n_rows,): the sums; other entries are not changed.
    """
    shared = np.zeros(rows.shape[0], np.int32)
    touched = np.empty(rows.shape[0], np.int32)
    for row in range(first_row, last_row):
        total[row] = 0.0
        n_met = add_shared_leaves(trees.offset, leaf, row, start, member, shared, touched)
        for at in range(n_met):
            k = touched[at]
            if rows[k] != row:
                share = shared[k] / leaf.shape[0]
                total[row] += weight[k] * share * share
            shared[k] = 0
