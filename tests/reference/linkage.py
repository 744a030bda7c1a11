"""Slow twin of constrained agglomerative clustering: merge the nearest two allowed groups."""

from itertools import combinations, product

import numpy as np
from tests.reference.closure import component_labels


def merges(D, linkage, must_link=(), cannot_link=()):
    """List the merges after must-links: the two groups and their distance.

    `D` is a matrix of distances between rows, Euclidean for Ward. Distances between groups are
    computed from the definition in each step.
    """
    groups = components(len(D), must_link)
    forbidden = {frozenset(pair) for pair in cannot_link}
    found = []
    while True:
        allowed = [
            (group_distance(D, linkage, sorted(a), sorted(b)), a, b)
            for a, b in combinations(groups, 2)
            if not any(frozenset(pair) in forbidden for pair in product(a, b))
        ]
        if not allowed:
            return found
        height, a, b = min(allowed, key=lambda pair: pair[0])
        found.append((a, b, height))
        groups = [group for group in groups if group not in (a, b)] + [a | b]


def groups_after(D, linkage, n_clusters, must_link=(), cannot_link=()):
    """Return the groups when `n_clusters` are left, or when every merge is forbidden."""
    groups = components(len(D), must_link)
    for a, b, _ in merges(D, linkage, must_link, cannot_link)[: max(len(groups) - n_clusters, 0)]:
        groups = [group for group in groups if group not in (a, b)] + [a | b]
    return set(groups)


def components(n, must_link):
    """Return the must-link components."""
    label = component_labels(n, must_link)
    return [frozenset(i for i in range(n) if label[i] == k) for k in sorted(set(label))]


def group_distance(D, linkage, a, b):
    """Compute the distance between two groups by its definition."""
    between = D[np.ix_(a, b)]
    if linkage == "single":
        return between.min()
    if linkage == "complete":
        return between.max()
    if linkage == "average":
        return between.mean()
    squared = (between**2).mean() - variance(D, a) - variance(D, b)
    return np.sqrt(2 * len(a) * len(b) / (len(a) + len(b)) * max(squared, 0.0))


def variance(D, rows):
    """Compute the mean squared distance of rows from their mean, from distances between rows."""
    return (D[np.ix_(rows, rows)] ** 2).mean() / 2
