"""Constrained agglomerative clustering by chains of nearest neighbors, on condensed distances.

A condensed matrix contains the distance of each pair of n rows once, in the order of SciPy's
``pdist``. The distances of a cluster are stored at one of its rows, its *slot*. An infinite
distance forbids the merge of two clusters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.disjoint_sets import find_root

__all__ = ["LINKAGES", "merge_along_chains", "merge_components", "number_nodes"]

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

    Parameters
    ----------
    linkage : int
        One of the values of `LINKAGES`.
    a, b : float
        Distances from A and from B to the other cluster; if one is infinite, so is the result.
    ab : float
        Distance from A to B.
    n_a, n_b, n_other : float
        Sizes of A, B and the other cluster.

    Returns
    -------
    float
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
    """Merge the cluster of one slot into that of another.

    Parameters
    ----------
    distance : ndarray of shape (n * (n - 1) / 2,) (INOUT)
        Condensed distances; those of the slot `kept` become those of the union.
    linkage : int
        One of the values of `LINKAGES`.
    gone, kept : int
        The slots.
    size : ndarray of shape (n,) (INOUT)
        Number of rows of the cluster in each slot.
    active : ndarray of shape (n,) (INOUT)
        The slots in use, ascending, in the first `n_active` entries.
    n_active : int
        Number of clusters.

    Returns
    -------
    int
        Number of clusters left.

    Notes
    -----
    Time O(n_active).
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
    """Merge the rows that must-links join.

    Parameters
    ----------
    distance : ndarray of shape (n * (n - 1) / 2,) (INOUT)
        Condensed distances, all finite.
    linkage : int
        One of the values of `LINKAGES`.
    links : ndarray of shape (m, 2), int64 (IN)
        Pairs of slots: the second is merged into the first, and is in no other pair.
    size : ndarray of shape (n,) (INOUT)
        Number of rows of the cluster in each slot.
    active : ndarray of shape (n,) (INOUT)
        All slots, ascending; afterwards the slots in use, in the first entries.

    Returns
    -------
    int
        Number of clusters left.

    Notes
    -----
    Time O(n·m).
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
    """Find the slot nearest to a slot; in a tie `before`, otherwise the first.

    Parameters
    ----------
    distance : ndarray of shape (n * (n - 1) / 2,) (IN)
        Condensed distances.
    n, slot : int
        Number of rows, and the slot.
    before : int
        The previous slot of the chain, -1 for none.
    active : ndarray of shape (n,) (IN)
        The slots in use, ascending, in the first `n_active` entries.
    n_active : int
        Number of clusters.

    Returns
    -------
    slot : int
        -1 if every merge with this slot is forbidden.
    distance : float
        Infinite then.
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
    """Merge mutual nearest neighbors until only forbidden merges are left.

    Parameters
    ----------
    distance : ndarray of shape (n * (n - 1) / 2,) (INOUT)
        Condensed distances; infinite between clusters that must not be merged.
    linkage : int
        One of the values of `LINKAGES`.
    size : ndarray of shape (n,) (INOUT)
        Number of rows of the cluster in each slot.
    active : ndarray of shape (n,) (INOUT)
        The slots in use, ascending, in the first `n_active` entries.
    n_active : int
        Number of clusters.
    merges : ndarray of shape (n_active - 1, 2), int64 (OUT)
        The slots of the two clusters of each merge. A merge comes after all merges within its two
        clusters.
    heights : ndarray of shape (n_active - 1,) (OUT)
        Distance of the two clusters, not below the height of any merge within them.

    Returns
    -------
    int
        Number of merges; fewer than ``n_active - 1`` if the remaining ones are forbidden.

    Notes
    -----
    Time O(n²).

    References
    ----------
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
    """Convert merges to the nodes of a tree, as in scikit-learn's `children_`.

    Parameters
    ----------
    n : int
        Number of rows.
    merges : ndarray of shape (m, 2), int64 (IN)
        A row of each of the two clusters, in the order of the merges.

    Returns
    -------
    ndarray of shape (m, 2), int64
        The two nodes of each merge, the smaller first. Node i is a row if i < n, otherwise the
        result of merge i - n.
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
