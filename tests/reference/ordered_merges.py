"""Slow twins of constrained Kruskal and of the share of clusterings that join two rows."""

from itertools import product

import numpy as np


def hacc(order, n, n_clusters, must_link=(), cannot_link=()):
    """Merge groups along pairs in order until `n_clusters` are left; return the set of groups."""
    group = {i: frozenset([i]) for i in range(n)}

    def join(i, j):
        union = group[i] | group[j]
        group.update(dict.fromkeys(union, union))

    forbidden = {frozenset(pair) for pair in cannot_link}
    for i, j in must_link:
        join(i, j)
    for i, j in order:
        if len(set(group.values())) <= n_clusters:
            break
        if group[i] != group[j] and not any(
            frozenset(pair) in forbidden for pair in product(group[i], group[j])
        ):
            join(i, j)
    return set(group.values())


def labels(groups, n):
    """Return the labels of a set of groups, numbered in the order of their first rows."""
    found = np.empty(n, np.int64)
    for number, group in enumerate(sorted(groups, key=min)):
        found[list(group)] = number
    return found


def shares(clusterings):
    """Return the share of clusterings in which two rows share a group."""
    return np.mean([np.equal.outer(c, c) for c in clusterings], axis=0)
