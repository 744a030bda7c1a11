"""Kruskal's algorithm with cannot-links: components are merged along edges in a given order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.disjoint_sets import find_root

__all__ = ["first_edges", "merge_in_order"]


@kernel
def first_edges(
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    group: NDArray[np.integer],
    is_decided: NDArray[np.bool_],
    kept_first: NDArray[np.integer],
    kept_second: NDArray[np.integer],
) -> int:
    """Keep the first edge between each two groups that no cannot-link separates.

    Parameters
    ----------
    first, second : ndarray of shape (n_edges,) (IN)
        Items of the edges, in order.
    group : ndarray of shape (n_items,) (IN)
        Group of each item.
    is_decided : ndarray of shape (n_groups, n_groups), bool (INOUT)
        On entry, pairs of groups with a cannot-link, symmetric. Pairs with an edge are added.
    kept_first, kept_second : ndarray of shape (n_edges,) (OUT)
        Groups of the kept edges, in order.

    Returns
    -------
    int
        Number of edges kept.

    Notes
    -----
    Kruskal's algorithm on the groups needs no other edge: if the first one between two groups is
    refused, a later one is refused too, and if it is redundant, so is a later one.
    """
    n_kept = 0
    for e in range(first.shape[0]):
        g, h = group[first[e]], group[second[e]]
        if g == h or is_decided[g, h]:
            continue
        is_decided[g, h] = True
        is_decided[h, g] = True
        kept_first[n_kept] = g
        kept_second[n_kept] = h
        n_kept += 1
    return n_kept


@kernel
def merge_in_order(
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    is_apart: NDArray[np.bool_],
    children: NDArray[np.int64],
    times: NDArray[np.int64],
) -> int:
    """Merge the components of each edge, in order, unless a cannot-link separates them.

    Parameters
    ----------
    first, second : ndarray of shape (n_edges,) (IN)
        Items of the edges, in order.
    is_apart : ndarray of shape (n_items, n_items), bool (INOUT)
        Pairs of items with a cannot-link, symmetric. Entries of components are added.
    children : ndarray of shape (n_items - 1, 2), int64 (OUT)
        The two nodes of each merge: nodes below `n_items` are items, and merge m makes node
        ``n_items + m``.
    times : ndarray of shape (n_items - 1,), int64 (OUT)
        Position of the edge of each merge, ascending.

    Returns
    -------
    int
        Number of merges; ``n_items - 1`` without cannot-links, if the edges connect all items.

    Notes
    -----
    Time O(n_items²) and nearly linear in the edges.
    """
    n = is_apart.shape[0]
    parent = np.arange(n)
    node = np.arange(n)
    n_merges = 0
    for e in range(first.shape[0]):
        if n_merges == n - 1:
            break
        a = find_root(parent, first[e])
        b = find_root(parent, second[e])
        if a == b or is_apart[a, b]:
            continue
        children[n_merges, 0] = node[a]
        children[n_merges, 1] = node[b]
        times[n_merges] = e
        parent[b] = a
        node[a] = n + n_merges
        n_merges += 1
        for other in range(n):
            if is_apart[b, other]:
                is_apart[a, other] = True
                is_apart[other, a] = True
    return n_merges
