"""Correlation clustering: moves of single rows, and greedy merges of groups by a heap of edges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Pairs(NamedTuple):
    """The asked pairs as a matrix in CSR format; each pair is stored for both of its rows."""

    indptr: Ints
    indices: Ints
    evidence: Floats
    """Evidence of each pair, (n_stored,)."""
    prior: Floats
    """Prior log-odds of each pair, (n_stored,)."""


class Sums(NamedTuple):
    """Sums over the asked pairs of one row, by group."""

    evidence: Floats
    prior: Floats
    top: Floats
    """Maximum of their prior."""
    n_asked: Floats
    groups: Ints
    """Groups that a move compares; their number is kept by the caller."""


@kernel
def empty_sums(n_groups: int) -> Sums:
    """Return sums of no pairs."""
    return Sums(
        np.zeros(n_groups), np.zeros(n_groups), np.full(n_groups, -np.inf), np.zeros(n_groups),
        np.empty(n_groups, np.int64),
    )  # fmt: skip


@bare_kernel
def add_pair(pairs: Pairs, at: int, group: int, sums: Sums) -> None:
    """Add a pair to the sums of a group."""
    sums.evidence[group] += pairs.evidence[at]
    sums.prior[group] += pairs.prior[at]
    sums.top[group] = max(sums.top[group], pairs.prior[at])
    sums.n_asked[group] += 1


@bare_kernel
def sum_pairs(pairs: Pairs, row: int, labels: Ints, sums: Sums) -> int:
    """Sum the pairs of a row by the group of the other row; return the number of groups."""
    n_groups = 0
    for at in range(pairs.indptr[row], pairs.indptr[row + 1]):
        group = labels[pairs.indices[at]]
        if sums.n_asked[group] == 0:
            sums.groups[n_groups] = group
            n_groups += 1
        add_pair(pairs, at, group, sums)
    return n_groups


@bare_kernel
def clear(sums: Sums, group: int) -> None:
    """Remove all pairs from the sums of a group."""
    sums.evidence[group], sums.prior[group], sums.n_asked[group] = 0.0, 0.0, 0.0
    sums.top[group] = -np.inf


@bare_kernel
def row_score(scoring: Scoring, sums: Sums, group: int, n_others: float, is_fixed: bool) -> float:
    """Compute the score of a row and the `n_others` other rows of a group.

    If the number of groups is fixed, a row cannot be alone: terms equal for all groups are left
    out.
    """
    evidence, prior, top = sums.evidence[group], sums.prior[group], sums.top[group]
    n_asked = sums.n_asked[group]
    if is_fixed:
        return score_beside_no_prior(scoring, evidence, prior, top, n_asked, n_others)
    if n_others == 0:
        return 0.0
    return score(scoring, evidence, prior, top, n_asked, n_others, 1.0)


@kernel
def move_rows(
    pairs: Pairs,
    scoring: Scoring,
    margin: float,
    is_fixed: bool,
    n_few: int,
    labels: Ints,
    sizes: Floats,
) -> int:
    """Move each row, in order, to the group that it fits best, or to a group of its own.

    IN margin: a row moves if its score improves by more; is_fixed: no group is emptied, and none
    added; n_few: each row is scored with the first `n_few` groups, and with all that asked pairs
    connect it to.
    INOUT labels (n_rows,): group of each row, below `n_rows`; sizes (n_rows,): rows of each group.
    Returns number of moves.
    """
    sums = empty_sums(len(labels))
    n_moves, empty = 0, 0
    for row in range(len(labels)):
        own = labels[row]
        if is_fixed and sizes[own] == 1:
            continue
        n_groups = sum_pairs(pairs, row, labels, sums)
        for group in range(n_few):  # also groups without an asked pair to this row
            if sums.n_asked[group] == 0 and sizes[group] > 0:
                sums.groups[n_groups] = group
                n_groups += 1
        here = row_score(scoring, sums, own, sizes[own] - 1, is_fixed)
        best, there = best_group(scoring, sums, n_groups, sizes, is_fixed, own, here)
        for at in range(n_groups):
            clear(sums, sums.groups[at])
        if best != own and there > margin + (here if is_fixed else max(here, 0.0)):
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


@bare_kernel
def best_group(
    scoring: Scoring,
    sums: Sums,
    n_groups: int,
    sizes: Floats,
    is_fixed: bool,
    own: int,
    here: float,
) -> tuple[int, float]:
    """Return the best group and its score; ties go to `own`, then to the smallest label."""
    best, largest = own, here
    for at in range(n_groups):
        group = sums.groups[at]
        if group == own:
            continue
        there = row_score(scoring, sums, group, sizes[group], is_fixed)
        if there > largest or (there == largest and group < best and best != own):
            best, largest = group, there
    return best, largest


@kernel
def anneal_rows(
    pairs: Pairs, scoring: Scoring, temperature: float, random: Floats, labels: Ints, sizes: Floats
) -> None:
    """Draw the group of each row, in order, given those of all others (one Gibbs sweep).

    IN temperature: divisor of the scores; random (n_rows,): uniform numbers in [0, 1).
    INOUT labels (n_rows,), sizes (n_groups,): as in `move_rows`. Groups may become empty.
    """
    n_groups = len(sizes)
    sums, weight = empty_sums(n_groups), np.empty(n_groups)
    for row in range(len(labels)):
        sizes[labels[row]] -= 1
        for at in range(pairs.indptr[row], pairs.indptr[row + 1]):
            add_pair(pairs, at, labels[pairs.indices[at]], sums)
        best = -np.inf
        for group in range(n_groups):
            weight[group] = score_beside_no_prior(
                scoring, sums.evidence[group], sums.prior[group], sums.top[group],
                sums.n_asked[group], sizes[group],
            )  # fmt: skip
            best = max(best, weight[group])
            clear(sums, group)
        whole = 0.0
        for group in range(n_groups):
            weight[group] = np.exp((weight[group] - best) / temperature)
            whole += weight[group]
        level, chosen = random[row] * whole, 0
        while chosen < n_groups - 1 and level >= weight[chosen]:
            level -= weight[chosen]
            chosen += 1
        labels[row] = chosen
        sizes[chosen] += 1


class Scoring(NamedTuple):
    """Weights in the score of two groups.

    The score of groups of a and b rows is a sum over the pairs of rows between them: the evidence
    of each asked pair, and `unasked` for each other pair. Two terms are added: `attraction` times
    ``log((a + b - 1)! / ((a - 1)! (b - 1)!))``, and the prior, ``mean_share * mean + (1 -
    mean_share) * max`` of the prior log-odds of the asked pairs, or `no_prior` if there are none.
    """

    mean_share: float
    unasked: float
    no_prior: float
    attraction: float


@bare_kernel
def score(
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
        + score_beside_no_prior(scoring, evidence, prior, top, n_asked, size * other)
    )


@bare_kernel
def score_beside_no_prior(
    scoring: Scoring, evidence: float, prior: float, top: float, n_asked: float, n_pairs: float
) -> float:
    """Compute the score without `no_prior` and without the term of the sizes."""
    unasked = scoring.unasked * (n_pairs - n_asked)
    if n_asked == 0:
        return unasked
    mixed = scoring.mean_share * prior / n_asked + (1.0 - scoring.mean_share) * top
    return evidence + unasked + mixed - scoring.no_prior


@kernel
def cut_sums(
    order: Ints, above: Ints, first: Ints, second: Ints, values: Floats, sums: Floats, size: Floats
) -> None:
    """Sum values of pairs over the cut that each edge of a tree makes when it is removed.

    IN order (n_nodes,): nodes of the tree, each after its parent; above (n_nodes,): parents; that
    of the root is not read; first, second (n_pairs,), values (n_pairs, n_values): the pairs.
    OUT sums (n_nodes, n_values): sums over the pairs with exactly one node in each node's subtree;
    size (n_nodes,): nodes of each subtree.
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


EMPTY = -1
REMOVED = -2
MIX = np.uint64(0x9E3779B97F4A7C15)


class Edges(NamedTuple):
    """One edge for every two groups with asked pairs between them; arrays of shape (n_edges,)."""

    first: Ints
    second: Ints
    evidence: Floats
    """Sum of the evidence of the asked pairs between the two groups."""
    prior: Floats
    """Sum of their prior log-odds."""
    top: Floats
    """Maximum of these."""
    n_asked: Floats
    """Number of these pairs."""


class Graph(NamedTuple):
    """Groups and their edges, and how to find an edge."""

    edges: Edges
    sizes: Floats
    """Number of rows of each group."""
    head: Ints
    """First half-edge of each group, or -1. Half-edge 2e is edge e seen from its first group,
    2e + 1 from its second."""
    follow: Ints
    """Next half-edge of the same group, or -1."""
    degree: Ints
    """Lower bound on the number of half-edges of each group."""
    is_live: NDArray[np.bool_]
    """False for edges of groups that were merged."""
    keys: Ints
    """Table of the edges by their groups."""
    values: Ints
    n_used: Ints
    """Number of slots of the table in use, in an array of one."""


@kernel
def graph_of(edges: Edges, sizes: Floats) -> Graph:
    """Link the edges of each group, and enter all edges into the table."""
    n, m = len(sizes), len(edges.first)
    n_slots = n_slots_for(m)
    keys, values = np.full(n_slots, EMPTY, np.int64), np.empty(n_slots, np.int64)
    head, follow = np.full(n, -1, np.int64), np.empty(2 * m, np.int64)
    degree, is_live = np.zeros(n, np.int64), np.ones(m, np.bool_)
    for edge in range(m):
        a, b = edges.first[edge], edges.second[edge]
        link(head, follow, degree, 2 * edge, a)
        link(head, follow, degree, 2 * edge + 1, b)
        insert(keys, values, key_of(a, b, n), edge)
    n_used = np.full(1, m, np.int64)
    return Graph(edges, sizes, head, follow, degree, is_live, keys, values, n_used)


@bare_kernel
def link(head: Ints, follow: Ints, degree: Ints, half: int, group: int) -> None:
    """Add a half-edge to a group."""
    follow[half], head[group] = head[group], half
    degree[group] += 1


@bare_kernel
def edge_score(edges: Edges, scoring: Scoring, edge: int, size: float, other: float) -> float:
    """Compute the score of the two groups of an edge, from their sizes."""
    return score(
        scoring, edges.evidence[edge], edges.prior[edge], edges.top[edge], edges.n_asked[edge],
        size, other,
    )  # fmt: skip


@kernel
def merge_groups(
    edges: Edges,
    sizes: Floats,
    scoring: Scoring,
    threshold: float,
    n_least: int,
    into: Ints,
    merged: Ints,
    scores: Floats,
) -> int:
    """Merge the two groups of largest score, again and again; return the number of merges.

    IN threshold: merges end when no score exceeds it; n_least: or at this number of groups.
    INOUT edges: one for every two groups with asked pairs between them; sizes (n_groups,): rows of
    each.
    OUT into (n_groups,): the group that each was merged into, or itself; merged (n_groups, 2): the
    two groups of each merge, the second into the first; scores (n_groups,): of each merge.

    When a group grows, all its scores change. Those of edges without new pairs are computed again
    only at the head of the heap, so that some merges are out of order, and one whose score has
    risen may be missed. A second call with the groups found makes it.
    """
    n, m = len(sizes), len(edges.first)
    graph = graph_of(edges, sizes)
    heap = Heap(np.empty(2 * m + 1, np.float64), np.empty(2 * m + 1, np.int64))
    latest = np.empty(m, np.float64)  # latest score of each edge in the heap
    size = n_merges = 0
    for edge in range(m):
        i, j = edges.first[edge], edges.second[edge]
        latest[edge] = edge_score(edges, scoring, edge, sizes[i], sizes[j])
        push(heap, size, latest[edge], edge)
        size += 1
    for group in range(n):
        into[group] = group
    while size > 0 and n - n_merges > n_least:
        largest, edge = heap.scores[0], heap.edges[0]
        pop(heap, size)
        size -= 1
        if not graph.is_live[edge] or largest != latest[edge]:
            continue
        i, j = edges.first[edge], edges.second[edge]
        now = edge_score(edges, scoring, edge, sizes[i], sizes[j])
        if now != largest:  # the score is old: a group has grown
            latest[edge] = now
            push(heap, size, now, edge)
            size += 1
            continue
        if largest <= threshold:
            break
        if graph.degree[i] < graph.degree[j]:
            i, j = j, i
        into[j] = i
        merged[n_merges, 0], merged[n_merges, 1], scores[n_merges] = i, j, largest
        n_merges += 1
        graph.is_live[edge] = False
        remove(graph.keys, key_of(i, j, n))
        heap = with_room(heap, size + graph.degree[j])
        size = merge_edges(graph, scoring, heap, size, latest, i, j)
    return n_merges


@bare_kernel
def merge_edges(
    graph: Graph, scoring: Scoring, heap: Heap, size: int, latest: Floats, i: int, j: int
) -> int:
    """Move the edges of group j to group i, and push their scores; return the heap's new size."""
    edges, sizes, keys, n = graph.edges, graph.sizes, graph.keys, len(graph.head)
    sizes[i] += sizes[j]
    half = graph.head[j]
    while half >= 0:
        after, edge = graph.follow[half], half // 2
        if graph.is_live[edge]:
            k = edges.second[edge] if half % 2 == 0 else edges.first[edge]
            remove(keys, key_of(j, k, n))
            slot = find(keys, key_of(i, k, n))
            if slot >= 0:  # there is an edge to k already
                kept = graph.values[slot]
                add_edge(edges, kept, edge)
                graph.is_live[edge] = False
                graph.degree[k] -= 1
            else:
                kept = edge
                if half % 2 == 0:
                    edges.first[edge] = i
                else:
                    edges.second[edge] = i
                link(graph.head, graph.follow, graph.degree, half, i)
                if graph.n_used[0] > len(keys) // 2:
                    graph.n_used[0] = fill_table(keys, graph.values, edges, graph.is_live, edge, n)
                insert(keys, graph.values, key_of(i, k, n), edge)
                graph.n_used[0] += 1
            latest[kept] = edge_score(edges, scoring, kept, sizes[i], sizes[k])
            push(heap, size, latest[kept], kept)
            size += 1
        half = after
    graph.head[j] = -1
    return size


@bare_kernel
def add_edge(edges: Edges, kept: int, ended: int) -> None:
    """Add the pairs of one edge to another."""
    edges.evidence[kept] += edges.evidence[ended]
    edges.prior[kept] += edges.prior[ended]
    edges.top[kept] = max(edges.top[kept], edges.top[ended])
    edges.n_asked[kept] += edges.n_asked[ended]


@bare_kernel
def fill_table(
    keys: Ints, values: Ints, edges: Edges, is_live: NDArray[np.bool_], without: int, n: int
) -> int:
    """Rebuild the table without removed entries and without one edge; return its size."""
    keys[:] = EMPTY
    n_used = 0
    for edge in range(len(is_live)):
        if is_live[edge] and edge != without:
            insert(keys, values, key_of(edges.first[edge], edges.second[edge], n), edge)
            n_used += 1
    return n_used


class Heap(NamedTuple):
    """Scores and edges; the number of entries is kept by the caller."""

    scores: NDArray[np.float64]
    edges: NDArray[np.int64]


@kernel
def with_room(heap: Heap, n_entries: int) -> Heap:
    """Return the heap, in larger arrays if it has less room than for these entries."""
    n_more = n_entries - len(heap.scores)
    if n_more <= 0:
        return heap
    n_more = max(n_more, len(heap.scores))
    return Heap(
        np.concatenate((heap.scores, np.empty(n_more))),
        np.concatenate((heap.edges, np.empty(n_more, np.int64))),
    )


@bare_kernel
def push(heap: Heap, size: int, score: float, edge: int) -> None:
    """Add an entry to a heap of `size` entries."""
    scores, edges = heap
    at = size
    while at > 0:
        above = (at - 1) // 2
        if scores[above] > score or (scores[above] == score and edges[above] <= edge):
            break
        scores[at], edges[at] = scores[above], edges[above]
        at = above
    scores[at], edges[at] = score, edge


@bare_kernel
def pop(heap: Heap, size: int) -> None:
    """Remove the first of the `size` entries."""
    scores, edges = heap
    last = size - 1
    score, edge = scores[last], edges[last]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        right = below + 1
        if right < last and (
            scores[right] > scores[below]
            or (scores[right] == scores[below] and edges[right] < edges[below])
        ):
            below = right
        if score > scores[below] or (score == scores[below] and edge <= edges[below]):
            break
        scores[at], edges[at] = scores[below], edges[below]
        at = below
    scores[at], edges[at] = score, edge


@bare_kernel
def n_slots_for(n_edges: int) -> int:
    """Return a power of 2, at least four times the number of edges."""
    n_slots = 16
    while n_slots < 4 * n_edges + 4:
        n_slots *= 2
    return n_slots


@bare_kernel
def key_of(a: int, b: int, n: int) -> int:
    """Return the key of two of n groups."""
    return min(a, b) * n + max(a, b)


@bare_kernel
def find(keys: Ints, key: int) -> int:
    """Return the slot of a key, or -1."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * MIX) >> np.uint64(20)) & mask
    while keys[slot] != EMPTY:
        if keys[slot] == key:
            return slot
        slot = (slot + 1) & mask
    return -1


@bare_kernel
def insert(keys: Ints, values: Ints, key: int, value: int) -> None:
    """Insert a key that is not in the table."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * MIX) >> np.uint64(20)) & mask
    while keys[slot] >= 0:
        slot = (slot + 1) & mask
    keys[slot], values[slot] = key, value


@bare_kernel
def remove(keys: Ints, key: int) -> None:
    """Remove a key that is in the table."""
    keys[find(keys, key)] = REMOVED
