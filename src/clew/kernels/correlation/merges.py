"""Greedy merges: the two groups with the largest score are merged, again and again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.correlation.edge_heap import Heap, pop, push, with_room
from clew.kernels.correlation.edge_table import EMPTY, find, insert, key_of, n_slots_for, remove
from clew.kernels.correlation.scores import Scoring, score

__all__ = ["Edges", "merge_groups"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    """Merge the two groups of largest score, again and again.

    Parameters
    ----------
    edges : Edges (INOUT)
        One edge for every two groups with asked pairs between them.
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
