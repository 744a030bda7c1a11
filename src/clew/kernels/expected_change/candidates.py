"""Blocks of pairs whose answers change the groups in the same way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.expected_change.tree import Tree


class Candidates(NamedTuple):
    """Blocks of pairs: an answer to any pair of a block changes the groups in the same way."""

    nodes: NDArray[np.int64]
    """The two nodes whose rows are the pairs, (n, 2)."""
    merges: NDArray[np.int64]
    """The merge at which the groups begin to differ, (n,)."""
    rows: NDArray[np.int64]
    """The pair with the extreme probability, (n, 2); -1 if all pairs were asked about."""
    probability: NDArray[np.float64]
    """Its probability, (n,)."""


@kernel
def extreme_pair(
    P: NDArray[np.float32],
    rows: NDArray[np.int64],
    ranges: tuple[int, int, int, int],
    sign: int,
) -> tuple[float, int, int]:
    """Find the pair with the largest (sign 1) or smallest (-1) probability between two ranges.

    `ranges` has the start and stop of each in `rows`. NaN entries are skipped.
    """
    best, i, j = -np.inf, -1, -1
    for p in range(ranges[0], ranges[1]):
        of_row = P[rows[p]]
        for q in range(ranges[2], ranges[3]):
            value = sign * of_row[rows[q]]
            if value > best:
                best, i, j = value, rows[p], rows[q]
    return sign * best, i, j


@kernel
def fill(
    found: Candidates,
    at: int,
    nodes: tuple[int, int],
    merge: int,
    P: NDArray[np.float32],
    rows: NDArray[np.int64],
    bounds: NDArray[np.int64],
    sign: int,
) -> None:
    """Write one block."""
    a, b = nodes
    ranges = (bounds[a, 0], bounds[a, 1], bounds[b, 0], bounds[b, 1])
    value, i, j = extreme_pair(P, rows, ranges, sign)
    found.nodes[at, 0], found.nodes[at, 1] = a, b
    found.merges[at] = merge
    found.rows[at, 0], found.rows[at, 1] = i, j
    found.probability[at] = value


@kernel
def empty_candidates(n: int) -> Candidates:
    """Return `n` blocks to be written."""
    return Candidates(
        np.empty((n, 2), np.int64), np.empty(n, np.int64), np.empty((n, 2), np.int64), np.empty(n)
    )


@kernel
def splits(
    tree: Tree, n_present: int, P: NDArray[np.float32], rows: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> Candidates:  # fmt: skip
    """List cannot-links within present groups: one block for each merge.

    All cannot-links between rows that the same merge joins forbid that merge, so these pairs are
    one block.

    IN tree: the merges; n_present: number of present groups; P (n_rows, n_rows): probabilities; NaN
    for pairs that were asked about; rows (n_rows,): rows, so that those of a node are contiguous;
    bounds (n_nodes, 2): start and stop of each node in `rows`.
    Returns with the least probable pair of each block.
    """
    n = tree.items.shape[0]
    found = empty_candidates(n - n_present)
    for m in range(n - n_present):
        pair = (tree.children[m, 0], tree.children[m, 1])
        fill(found, m, pair, m, P, rows, bounds, -1)
    return found


@kernel
def free_joins(
    tree: Tree, group: NDArray[np.int64], piece: NDArray[np.int64], is_apart: NDArray[np.bool_],
    P: NDArray[np.float32], rows: NDArray[np.int64], bounds: NDArray[np.int64],
) -> Candidates:  # fmt: skip
    """List must-links between groups that no cannot-link separates: one block for each two pieces.

    A must-link joins two groups, so one merge fewer is needed. Its blocks are therefore pairs of
    groups in the cut with one group more; these groups are the pieces.

    IN tree: the merges; group (n_nodes,): present group of each node, for the nodes that are
    pieces; piece (n_pieces,): nodes of the cut with one group more; is_apart (n_pieces, n_pieces):
    whether a cannot-link is between two pieces; P, rows, bounds.
    Returns with the most probable pair of each block; `merges` is -1.
    """
    n = piece.shape[0]
    found = empty_candidates(n * (n - 1) // 2)
    at = 0
    for a in range(n):
        for b in range(a):
            if group[piece[a]] != group[piece[b]] and not is_apart[a, b]:
                fill(found, at, (piece[a], piece[b]), -1, P, rows, bounds, 1)
                at += 1
    return Candidates(found.nodes[:at], found.merges[:at], found.rows[:at], found.probability[:at])


@kernel
def blocked_joins(
    tree: Tree, links: NDArray[np.int64], tops: NDArray[np.int64],
    P: NDArray[np.float32], rows: NDArray[np.int64], bounds: NDArray[np.int64], capacity: int,
) -> tuple[Candidates, int]:  # fmt: skip
    """List must-links between two pieces that cannot-links separate.

    The later of two nodes with cannot-links between them is split into its two children, until no
    cannot-link is left between the two nodes: the merge that was undone last is the first one that
    a must-link between their rows forbids. Pairs of single items with a cannot-link are left out:
    they are known to differ.

    IN tree: the merges; tops (m, 2): the two pieces of each; P, rows, bounds; capacity: number of
    blocks that are returned at most.
    INOUT links (m, 2): items of all cannot-links between two pieces of different groups, the item
    in the piece with the smaller node first, sorted by pieces. Reordered.
    Returns candidates: with the most probable pair of each block; n_found: number of blocks; if
    above `capacity`, not all were returned.
    """
    found = empty_candidates(capacity)
    stack = np.empty((2 * links.shape[0] + 2, 4), np.int64)
    at, end = 0, 0
    for begin in range(links.shape[0]):
        if begin < end:
            continue
        end = begin + 1
        while end < links.shape[0] and (
            tops[end, 0] == tops[begin, 0] and tops[end, 1] == tops[begin, 1]
        ):
            end += 1
        depth = push(stack, 0, (tops[begin, 0], tops[begin, 1]), begin, end)
        while depth > 0:
            depth -= 1
            pair, low, high = (stack[depth, 0], stack[depth, 1]), stack[depth, 2], stack[depth, 3]
            side = 0 if pair[0] > pair[1] else 1
            if pair[side] < tree.items.shape[0]:
                continue
            merge = pair[side] - tree.items.shape[0]
            middle = partition(tree, links, side, tree.children[merge, 0], low, high)
            for which in range(2):
                child = tree.children[merge, which]
                part = (child, pair[1]) if side == 0 else (pair[0], child)
                first, last = (low, middle) if which == 0 else (middle, high)
                if first < last:
                    depth = push(stack, depth, part, first, last)
                    continue
                if at < capacity:
                    fill(found, at, part, merge, P, rows, bounds, 1)
                at += 1
    n = min(at, capacity)
    return Candidates(found.nodes[:n], found.merges[:n], found.rows[:n], found.probability[:n]), at


@kernel
def push(stack: NDArray[np.int64], depth: int, pair: tuple[int, int], first: int, last: int) -> int:
    """Put two nodes and the range of their cannot-links on a stack; return the new depth."""
    stack[depth, 0], stack[depth, 1] = pair
    stack[depth, 2], stack[depth, 3] = first, last
    return depth + 1


@kernel
def partition(
    tree: Tree, links: NDArray[np.int64], side: int, node: int, first: int, last: int
) -> int:
    """Move links whose item on one side is in a node to the front; return the end of these."""
    middle = first
    for k in range(first, last):
        position = tree.start[links[k, side]]
        if tree.start[node] <= position < tree.stop[node]:
            for column in range(2):
                links[k, column], links[middle, column] = links[middle, column], links[k, column]
            middle += 1
    return middle
