"""A slow, plain twin of agglomeration under constraints: merge the nearest two groups that may."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from tests.reference.closure import component_labels


def merges(D, linkage, must_link=(), cannot_link=()):
    """Give the merges of groups that must-links leave: both groups and their distance.

    `D` holds distances of rows, Euclidean ones for Ward. All is worked out anew from the rows.
    """
    groups = components(len(D), must_link)
    parted = {frozenset(pair) for pair in cannot_link}
    found = []
    while True:
        allowed = [
            (group_distance(D, linkage, sorted(a), sorted(b)), a, b)
            for a, b in combinations(groups, 2)
            if not any(frozenset(pair) in parted for pair in product(a, b))
        ]
        if not allowed:
            return found
        height, a, b = min(allowed, key=lambda pair: pair[0])
        found.append((a, b, height))
        groups = [group for group in groups if group not in (a, b)] + [a | b]


def groups_after(D, linkage, n_clusters, must_link=(), cannot_link=()):
    """Give the groups once there are no more than so many, or none may be merged."""
    groups = components(len(D), must_link)
    for a, b, _ in merges(D, linkage, must_link, cannot_link)[: max(len(groups) - n_clusters, 0)]:
        groups = [group for group in groups if group not in (a, b)] + [a | b]
    return set(groups)


def components(n, must_link):
    """Give the groups that must-links make."""
    label = component_labels(n, must_link)
    return [frozenset(i for i in range(n) if label[i] == k) for k in sorted(set(label))]


def group_distance(D, linkage, a, b):
    """Measure the distance of two groups by the definition."""
    between = D[np.ix_(a, b)]
    if linkage == "single":
        return between.min()
    if linkage == "complete":
        return between.max()
    if linkage == "average":
        return between.mean()
    squared = (between**2).mean() - spread(D, a) - spread(D, b)
    return np.sqrt(2 * len(a) * len(b) / (len(a) + len(b)) * max(squared, 0.0))


def spread(D, rows):
    """Mean squared distance of rows to their mean, from the distances between them (Huygens)."""
    return (D[np.ix_(rows, rows)] ** 2).mean() / 2
