"""Correlation clustering: greedy merges, moves and draws of single rows, and splits of trees."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["Scoring", "anneal_rows", "cut_sums", "merge_groups", "move_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EMPTY = -1
REMOVED = -2
MIX = np.uint64(0x9E3779B97F4A7C15)


class Scoring(NamedTuple):
    """Weights in the score of two groups: the log-odds that they are one.

    The score of groups of a and b rows is a sum over the pairs of rows between them: the evidence
    of each asked pair, and `unasked` for each other pair. To this is added `attraction` times
    ``log((a + b - 1)! / ((a - 1)! (b - 1)!))``, and the prior, which is `mean_share` of the mean
    and the rest of the maximum of the prior log-odds of the asked pairs, or `no_prior` if there are
    none.
    """

    mean_share: float
    unasked: float
    no_prior: float
    attraction: float


@kernel
def _score(
    scoring: Scoring,
    evidence: float,
    prior: float,
    top: float,
    n_asked: float,
    size: float,
    other: float,
) -> float:
    """Compute the score of two groups of these sizes."""
    crowd = math.lgamma(size + other) - math.lgamma(size) - math.lgamma(other)
    return (
        scoring.no_prior
        + scoring.attraction * crowd
        + _beside_no_prior(scoring, evidence, prior, top, n_asked, size * other)
    )


@kernel
def _beside_no_prior(
    scoring: Scoring, evidence: float, prior: float, top: float, n_asked: float, n_pairs: float
) -> float:
    """Compute the score without `no_prior` and without the term of the sizes."""
    unasked = scoring.unasked * (n_pairs - n_asked)
    if n_asked == 0:
        return unasked
    mixed = scoring.mean_share * prior / n_asked + (1.0 - scoring.mean_share) * top
    return evidence + unasked + mixed - scoring.no_prior


@kernel
def _find(keys: Ints, key: int) -> int:
    """Return the slot of a key in a hash table with linear probing, or -1."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * MIX) >> np.uint64(20)) & mask
    while keys[slot] != EMPTY:
        if keys[slot] == key:
            return slot
        slot = (slot + 1) & mask
    return -1


@kernel
def _insert(keys: Ints, values: Ints, key: int, value: int) -> None:
    """Insert a key that is not in the table."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * MIX) >> np.uint64(20)) & mask
    while keys[slot] >= 0:
        slot = (slot + 1) & mask
    keys[slot], values[slot] = key, value


@kernel
def _push(heap: Floats, edges: Ints, size: int, score: float, edge: int) -> None:
    """Add an entry to a binary heap: the largest score first, then the smallest edge."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if heap[above] > score or (heap[above] == score and edges[above] <= edge):
            break
        heap[at], edges[at] = heap[above], edges[above]
        at = above
    heap[at], edges[at] = score, edge


@kernel
def _pop(heap: Floats, edges: Ints, size: int) -> None:
    """Remove the first of the `size` entries."""
    last = size - 1
    score, edge = heap[last], edges[last]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        right = below + 1
        if right < last and (
            heap[right] > heap[below]
            or (heap[right] == heap[below] and edges[right] < edges[below])
        ):
            below = right
        if score > heap[below] or (score == heap[below] and edge <= edges[below]):
            break
        heap[at], edges[at] = heap[below], edges[below]
        at = below
    heap[at], edges[at] = score, edge


@kernel
def merge_groups(
    first: Ints,
    second: Ints,
    evidence: Floats,
    prior: Floats,
    top: Floats,
    n_asked: Floats,
    sizes: Floats,
    scoring: Scoring,
    threshold: float,
    n_least: int,
    into: Ints,
    merged: Ints,
    scores: Floats,
) -> int:
    """Merge the two groups of largest score, again and again.

    Parameters
    ----------
    first, second : ndarray of shape (n_edges,), int64 (INOUT)
        Edges: the two groups of each, every two groups with asked pairs between them once.
    evidence, prior, top, n_asked : ndarray of shape (n_edges,), float64 (INOUT)
        Sum of the evidence, sum and maximum of the prior, and number of the asked pairs between
        the two groups.
    sizes : ndarray of shape (n_groups,), float64 (INOUT)
        Number of rows of each group.
    scoring : Scoring
        Weights of the score.
    threshold : float
        Merges end when no score exceeds it.
    n_least : int
        Merges end at this number of groups.
    into : ndarray of shape (n_groups,), int64 (OUT)
        For each group the group that it was merged into, or itself.
    merged : ndarray of shape (n_groups, 2), int64 (OUT)
        The two groups of each merge; the second was merged into the first.
    scores : ndarray of shape (n_groups,), float64 (OUT)
        Score of the two groups of each merge.

    Returns
    -------
    int
        Number of merges.

    Notes
    -----
    When a group grows, all its scores change with its size. Those of edges without new pairs are
    computed again only when they reach the head of the heap, so that some merges are out of order,
    and a merge whose score has risen may be missed. A second call with the groups found makes it.
    """
    n, m = len(sizes), len(first)
    n_slots = 16
    while n_slots < 4 * m + 4:
        n_slots *= 2
    keys, values = np.full(n_slots, EMPTY, np.int64), np.empty(n_slots, np.int64)
    n_used = 0
    # Half-edge 2e is edge e seen from its first group, 2e + 1 from its second.
    head, follow = np.full(n, -1, np.int64), np.empty(2 * m, np.int64)
    degree, is_live = np.zeros(n, np.int64), np.ones(m, np.bool_)
    heap, queue = np.empty(2 * m + 1, np.float64), np.empty(2 * m + 1, np.int64)
    stamp = np.empty(m, np.float64)  # latest score of each edge in the heap
    size = 0
    for edge in range(m):
        a, b = first[edge], second[edge]
        _insert(keys, values, min(a, b) * n + max(a, b), edge)
        n_used += 1
        follow[2 * edge], head[a] = head[a], 2 * edge
        follow[2 * edge + 1], head[b] = head[b], 2 * edge + 1
        degree[a] += 1
        degree[b] += 1
        stamp[edge] = _score(
            scoring, evidence[edge], prior[edge], top[edge], n_asked[edge], sizes[a], sizes[b]
        )
        _push(heap, queue, size, stamp[edge], edge)
        size += 1
    for group in range(n):
        into[group] = group
    left, n_merges = n, 0
    while size > 0 and left > n_least:
        score, edge = heap[0], queue[0]
        _pop(heap, queue, size)
        size -= 1
        if not is_live[edge] or score != stamp[edge]:
            continue
        i, j = first[edge], second[edge]
        now = _score(
            scoring, evidence[edge], prior[edge], top[edge], n_asked[edge], sizes[i], sizes[j]
        )
        if now != score:  # a group has grown since
            stamp[edge] = now
            _push(heap, queue, size, now, edge)
            size += 1
            continue
        if score <= threshold:
            break
        if degree[i] < degree[j]:
            i, j = j, i
        is_live[edge] = False
        keys[_find(keys, min(i, j) * n + max(i, j))] = REMOVED
        into[j] = i
        merged[n_merges, 0], merged[n_merges, 1], scores[n_merges] = i, j, score
        n_merges += 1
        left -= 1
        sizes[i] += sizes[j]
        half = head[j]
        while half >= 0:
            after, moved = follow[half], half // 2
            if is_live[moved]:
                k = second[moved] if half % 2 == 0 else first[moved]
                keys[_find(keys, min(j, k) * n + max(j, k))] = REMOVED
                slot = _find(keys, min(i, k) * n + max(i, k))
                if slot >= 0:
                    kept = values[slot]
                    evidence[kept] += evidence[moved]
                    prior[kept] += prior[moved]
                    top[kept] = max(top[kept], top[moved])
                    n_asked[kept] += n_asked[moved]
                    is_live[moved] = False
                    degree[k] -= 1
                else:
                    kept = moved
                    if half % 2 == 0:
                        first[moved] = i
                    else:
                        second[moved] = i
                    follow[half], head[i] = head[i], half
                    degree[i] += 1
                    if n_used > n_slots // 2:
                        keys[:] = EMPTY
                        n_used = 0
                        for other in range(m):
                            if is_live[other] and other != moved:
                                a, b = first[other], second[other]
                                _insert(keys, values, min(a, b) * n + max(a, b), other)
                                n_used += 1
                    _insert(keys, values, min(i, k) * n + max(i, k), moved)
                    n_used += 1
                stamp[kept] = _score(
                    scoring, evidence[kept], prior[kept], top[kept], n_asked[kept],
                    sizes[i], sizes[k],
                )  # fmt: skip
                if size == len(heap):
                    heap = np.concatenate((heap, np.empty(size)))
                    queue = np.concatenate((queue, np.empty(size, np.int64)))
                _push(heap, queue, size, stamp[kept], kept)
                size += 1
            half = after
        head[j] = -1
    return n_merges


@kernel
def move_rows(
    indptr: Ints,
    indices: Ints,
    evidence: Floats,
    prior: Floats,
    scoring: Scoring,
    margin: float,
    is_fixed: bool,
    n_few: int,
    labels: Ints,
    sizes: Floats,
) -> int:
    """Move each row, in order, to the group that it fits best, or to a group of its own.

    Parameters
    ----------
    indptr, indices : ndarray, int64 (IN)
        CSR structure of the asked pairs; each pair is stored for both of its rows.
    evidence, prior : ndarray of shape (n_stored,), float64 (IN)
        Evidence and prior log-odds of each pair.
    scoring : Scoring
        Weights of the score.
    margin : float
        A row moves if its score improves by more than this.
    is_fixed : bool
        Whether the number of groups is fixed: no group is emptied, and none added.
    n_few : int
        Each row is scored with the first `n_few` groups, and with all groups that an asked pair
        connects it to.
    labels : ndarray of shape (n_rows,), int64 (INOUT)
        Group of each row, below `n_rows`.
    sizes : ndarray of shape (n_rows,), float64 (INOUT)
        Number of rows of each group.

    Returns
    -------
    int
        Number of moves.
    """
    n = len(labels)
    total, mass, top = np.zeros(n), np.zeros(n), np.empty(n)
    count, touched = np.zeros(n), np.empty(n, np.int64)
    n_moves, empty = 0, 0
    for row in range(n):
        own, n_touched = labels[row], 0
        if is_fixed and sizes[own] == 1:
            continue
        for at in range(indptr[row], indptr[row + 1]):
            group = labels[indices[at]]
            if count[group] == 0:
                touched[n_touched] = group
                n_touched += 1
                top[group] = prior[at]
            total[group] += evidence[at]
            mass[group] += prior[at]
            top[group] = max(top[group], prior[at])
            count[group] += 1
        if n_few > 0:  # also groups without an asked pair to this row
            for group in range(n_few):
                if count[group] == 0 and sizes[group] > 0:
                    touched[n_touched] = group
                    n_touched += 1
        here = 0.0
        if is_fixed:
            here = _beside_no_prior(
                scoring, total[own], mass[own], top[own], count[own], sizes[own] - 1
            )
        elif sizes[own] > 1:
            here = _score(scoring, total[own], mass[own], top[own], count[own], sizes[own] - 1, 1.0)
        best, score = own, here
        for at in range(n_touched):
            group = touched[at]
            if group == own:
                continue
            if is_fixed:
                there = _beside_no_prior(
                    scoring, total[group], mass[group], top[group], count[group], sizes[group]
                )
            else:
                there = _score(
                    scoring, total[group], mass[group], top[group], count[group], sizes[group], 1.0
                )
            if there > score or (there == score and group < best and best != own):
                best, score = group, there
        for at in range(n_touched):
            group = touched[at]
            total[group], mass[group], count[group] = 0.0, 0.0, 0.0
        if best != own and score > margin + (here if is_fixed else max(here, 0.0)):
            target = best
        elif not is_fixed and here < -margin:
            while sizes[empty] > 0:
                empty += 1
            target = empty
        else:
            continue
        labels[row] = target
        sizes[own] -= 1
        sizes[target] += 1
        if sizes[own] == 0 and own < empty:
            empty = own
        n_moves += 1
    return n_moves


@kernel
def anneal_rows(
    indptr: Ints,
    indices: Ints,
    evidence: Floats,
    prior: Floats,
    scoring: Scoring,
    temperature: float,
    random: Floats,
    labels: Ints,
    sizes: Floats,
) -> None:
    """Draw the group of each row, in order, given those of all others (one Gibbs sweep).

    Parameters
    ----------
    indptr, indices, evidence, prior, scoring
        As in `move_rows`.
    temperature : float
        Divisor of the scores. Near 0, the best group is drawn.
    random : ndarray of shape (n_rows,), float64 (IN)
        Uniform numbers in [0, 1).
    labels : ndarray of shape (n_rows,), int64 (INOUT)
        Group of each row.
    sizes : ndarray of shape (n_groups,), float64 (INOUT)
        Number of rows of each group. Groups may become empty.
    """
    n_groups = len(sizes)
    total, mass, top = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups)
    count, score = np.empty(n_groups), np.empty(n_groups)
    for row in range(len(labels)):
        sizes[labels[row]] -= 1
        total[:] = 0.0
        mass[:] = 0.0
        top[:] = -np.inf
        count[:] = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            group = labels[indices[at]]
            total[group] += evidence[at]
            mass[group] += prior[at]
            top[group] = max(top[group], prior[at])
            count[group] += 1
        best = -np.inf
        for group in range(n_groups):
            score[group] = _beside_no_prior(
                scoring, total[group], mass[group], top[group], count[group], sizes[group]
            )
            best = max(best, score[group])
        whole = 0.0
        for group in range(n_groups):
            score[group] = np.exp((score[group] - best) / temperature)
            whole += score[group]
        level, chosen = random[row] * whole, 0
        while chosen < n_groups - 1 and level >= score[chosen]:
            level -= score[chosen]
            chosen += 1
        labels[row] = chosen
        sizes[chosen] += 1


@kernel
def cut_sums(
    order: Ints,
    above: Ints,
    first: Ints,
    second: Ints,
    values: Floats,
    sums: Floats,
    size: Floats,
) -> None:
    """Sum values of pairs over the cut that each edge of a tree makes when it is removed.

    Parameters
    ----------
    order : ndarray of shape (n_nodes,), int64 (IN)
        Nodes of the tree, each after its parent; the root first.
    above : ndarray of shape (n_nodes,), int64 (IN)
        Parent of each node; that of the root is not read.
    first, second : ndarray of shape (n_pairs,), int64 (IN)
        Nodes of each pair.
    values : ndarray of shape (n_pairs, n_values), float64 (IN)
        Values of each pair.
    sums : ndarray of shape (n_nodes, n_values), float64 (OUT)
        For each node, sums over the pairs of which exactly one node is in its subtree.
    size : ndarray of shape (n_nodes,), float64 (OUT)
        Number of nodes in each subtree.
    """
    n, n_values = len(order), values.shape[1]
    depth = np.zeros(n, np.int64)
    sums[:] = 0.0
    size[:] = 1.0
    for at in range(1, n):
        depth[order[at]] = depth[above[order[at]]] + 1
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        for column in range(n_values):
            sums[a, column] += values[pair, column]
            sums[b, column] += values[pair, column]
        while a != b:
            if depth[a] < depth[b]:
                a, b = b, a
            a = above[a]
        for column in range(n_values):
            sums[a, column] -= 2.0 * values[pair, column]
    for at in range(n - 1, 0, -1):
        node = order[at]
        size[above[node]] += size[node]
        for column in range(n_values):
            sums[above[node], column] += sums[node, column]
