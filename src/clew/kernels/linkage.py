"""Constrained agglomerative linkage, and merges along sorted edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.graphs import find_root

#: Codes of the linkages.
LINKAGES = {"single": 0, "complete": 1, "average": 2, "ward": 3}


@bare_kernel
def position(n: int, i: int, j: int) -> int:
    """Return the index of a pair of different rows in a condensed matrix of n rows."""
    if i > j:
        i, j = j, i
    return i * (2 * n - i - 3) // 2 + j - 1


@bare_kernel
def joined_distance(
    linkage: int, a: float, b: float, ab: float, n_a: float, n_b: float, n_other: float
) -> float:
    """Return the distance from the union of A and B to another cluster (Lance and Williams).

    IN linkage: of `LINKAGES`; a, b: distances from A and B; if one is infinite, so is the result;
    ab: distance from A to B; n_a, n_b, n_other: sizes of the clusters.
    """
    if a == np.inf or b == np.inf:
        return np.inf
    if linkage == 0:
        return min(a, b)
    if linkage == 1:
        return max(a, b)
    if linkage == 2:
        return (n_a * a + n_b * b) / (n_a + n_b)
    squared = (n_other + n_a) * a * a + (n_other + n_b) * b * b - n_other * ab * ab
    # Negative only if must-links join rows and the distances are not Euclidean.
    return np.sqrt(max(squared, 0.0) / (n_a + n_b + n_other))


@bare_kernel
def merge(
    distance: NDArray[np.float64],
    linkage: int,
    gone: int,
    kept: int,
    size: NDArray[np.float64],
    active: NDArray[np.int64],
    n_active: int,
) -> int:
    """Merge the cluster of slot `gone` into that of `kept`; return the number of clusters left.

    INOUT distance (n * (n - 1) / 2,): condensed; those of `kept` become those of the union; size
    (n,): rows of the cluster in each slot; active (n,): the slots in use, ascending, in the first
    `n_active` entries.
    """
    n = size.shape[0]
    between = distance[position(n, gone, kept)]
    n_left = 0
    for p in range(n_active):
        other = active[p]
        if other == gone:
            continue
        active[n_left] = other
        n_left += 1
        if other != kept:
            at = position(n, kept, other)
            distance[at] = joined_distance(
                linkage, distance[position(n, gone, other)], distance[at], between,
                size[gone], size[kept], size[other],
            )  # fmt: skip
    size[kept] += size[gone]
    return n_left


@kernel
def merge_components(
    distance: NDArray[np.float64],
    linkage: int,
    links: NDArray[np.int64],
    size: NDArray[np.float64],
    active: NDArray[np.int64],
) -> int:
    """Merge the rows that must-links join; return the number of clusters left. Time O(n·m).

    IN links (m, 2): pairs of slots: the second is merged into the first, and is in no other pair.
    INOUT distance, size, active: as in `merge`; distances are finite, and all slots in use at
    first.
    """
    n_active = active.shape[0]
    for k in range(links.shape[0]):
        n_active = merge(distance, linkage, links[k, 1], links[k, 0], size, active, n_active)
    return n_active


@bare_kernel
def nearest(
    distance: NDArray[np.float64],
    n: int,
    slot: int,
    before: int,
    active: NDArray[np.int64],
    n_active: int,
) -> tuple[int, float]:
    """Find the slot nearest to a slot, and its distance; in a tie `before`, otherwise the first.

    IN distance, active, n_active: as in `merge`; before: the previous slot of the chain, -1 for
    none.
    Returns slot: -1 if every merge with this slot is forbidden; distance: infinite then.
    """
    best = -1
    least = np.inf
    if before >= 0:
        best = before
        least = distance[position(n, slot, before)]
    p = 0
    while active[p] < slot:
        other = active[p]
        here = distance[other * (2 * n - other - 3) // 2 + slot - 1]
        if here < least:
            best, least = other, here
        p += 1
    start = slot * (2 * n - slot - 3) // 2 - 1
    for q in range(p + 1, n_active):  # after the slot itself
        here = distance[start + active[q]]
        if here < least:
            best, least = active[q], here
    return best, least


@kernel
def merge_along_chains(
    distance: NDArray[np.float64],
    linkage: int,
    size: NDArray[np.float64],
    active: NDArray[np.int64],
    n_active: int,
    merges: NDArray[np.int64],
    heights: NDArray[np.float64],
) -> int:
    """Merge mutual nearest neighbors until only forbidden merges are left, in time O(n²).

    INOUT distance, size, active: as in `merge`; infinite between clusters that must not be merged.
    OUT merges (n_active - 1, 2): the slots of the two clusters of each merge, after all merges
    within them; heights (n_active - 1,): their distance, not below the height of any merge within
    them.
    Returns number of merges; fewer than ``n_active - 1`` if the remaining ones are forbidden.

    F. Murtagh, "A survey of recent advances in hierarchical clustering algorithms", The Computer
    Journal 26, 1983.
    """
    n = size.shape[0]
    chain = np.empty(n_active, dtype=np.int64)
    reached = np.zeros(n)  # height of the last merge in each slot
    length = 0
    n_merges = 0
    while n_active > 1:
        if length == 0:
            chain[0] = active[0]
            length = 1
        slot = chain[length - 1]
        before = chain[length - 2] if length > 1 else -1
        found, least = nearest(distance, n, slot, before, active, n_active)
        if found < 0:  # every merge is forbidden, which only happens to the first slot of a chain
            n_active = without(active, n_active, slot)
            length = 0
        elif found != before:
            chain[length] = found
            length += 1
        else:
            gone, kept = min(slot, found), max(slot, found)
            n_active = merge(distance, linkage, gone, kept, size, active, n_active)
            # Through rounding, the mean of equal distances may be below them.
            reached[kept] = max(least, reached[gone], reached[kept])
            merges[n_merges, 0], merges[n_merges, 1] = gone, kept
            heights[n_merges] = reached[kept]
            n_merges += 1
            length -= 2
    return n_merges


@bare_kernel
def without(active: NDArray[np.int64], n_active: int, slot: int) -> int:
    """Remove a slot from the ascending list of slots; return the number of slots left."""
    n_left = 0
    for p in range(n_active):
        if active[p] != slot:
            active[n_left] = active[p]
            n_left += 1
    return n_left


@kernel
def number_nodes(n: int, merges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert merges to the nodes of a tree, as in scikit-learn's `children_`: (m, 2).

    IN merges (m, 2): a row of each of the two clusters, in the order of the merges.
    """
    parent = np.arange(n)
    node = np.arange(n)
    nodes = np.empty_like(merges)
    for k in range(merges.shape[0]):
        a = find_root(parent, merges[k, 0])
        b = find_root(parent, merges[k, 1])
        nodes[k, 0] = min(node[a], node[b])
        nodes[k, 1] = max(node[a], node[b])
        parent[a] = b
        node[b] = n + k
    return nodes


@kernel
def first_edges(
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    group: NDArray[np.integer],
    is_decided: NDArray[np.bool_],
    kept_first: NDArray[np.integer],
    kept_second: NDArray[np.integer],
) -> int:
    """Keep the first edge between each two groups that no cannot-link separates; return how many.

    IN first, second (n_edges,): items of the edges, in order; group (n_items,): group of each item.
    INOUT is_decided (n_groups, n_groups): groups with a cannot-link, symmetric; with an edge, on
    return.
    OUT kept_first, kept_second (n_edges,): groups of the kept edges, in order.

    Kruskal's algorithm on the groups needs no other: if the first is refused or redundant, so are
    later ones.
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

    IN first, second (n_edges,): items of the edges, in order.
    INOUT is_apart (n_items, n_items): items with a cannot-link, symmetric; those of components are
    added.
    OUT children (n_items - 1, 2): the two nodes of each merge: nodes below `n_items` are items, and
    merge m makes node ``n_items + m``; times (n_items - 1,): position of each merge's edge,
    ascending.
    Returns number of merges: ``n_items - 1`` if the edges connect all items, without cannot-links.

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


@kernel
def spanning_tree(
    X: NDArray[np.float64], D: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the minimum spanning tree by Prim's algorithm, in order of growth from row 0.

    IN X (n, d): rows; D (n, n): distances, read in place of X if there are any.
    Returns the two ends of each edge (n - 1, 2), and its length (n - 1,).
    """
    n, by_distances = len(X), len(D) > 0
    ends, length = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    nearest, near = np.zeros(n, np.int64), np.full(n, np.inf)
    is_in = np.zeros(n, np.bool_)
    last = 0
    for at in range(n - 1):
        is_in[last] = True
        best = -1
        for i in range(n):
            if is_in[i]:
                continue
            distance = 0.0
            if by_distances:
                distance = D[last, i]
            else:
                for c in range(X.shape[1]):
                    difference = X[last, c] - X[i, c]
                    distance += difference * difference
            if distance < near[i]:
                near[i], nearest[i] = distance, last
            if best < 0 or near[i] < near[best]:
                best = i
        ends[at, 0], ends[at, 1], length[at] = nearest[best], best, near[best]
        last = best
    if not by_distances:
        length = np.sqrt(length)
    return ends, length
