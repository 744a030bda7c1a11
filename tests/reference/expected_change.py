"""Slow twin of the expected change: HACC from the beginning for each possible answer."""

from itertools import combinations

import numpy as np
from tests.reference.ordered_merges import hacc, labels


def jaccard(a, b, sizes):
    """Jaccard's coefficient of two clusterings of weighted rows."""
    weight = np.outer(sizes, sizes).astype(float)
    np.fill_diagonal(weight, np.multiply(sizes, np.subtract(sizes, 1)))
    same_a, same_b = np.equal.outer(a, a), np.equal.outer(b, b)
    either = (weight * (same_a | same_b)).sum()
    return (weight * (same_a & same_b)).sum() / either if either else 1.0


def expected_changes(order, P, n_clusters, must_link, cannot_link, closure, sizes):
    """Return the expected change of each pair that the answers do not imply."""
    n = len(P)

    def cluster(more_must=(), more_cannot=()):
        groups = hacc(order, n, n_clusters, [*must_link, *more_must], [*cannot_link, *more_cannot])
        return labels(groups, n)

    present = cluster()
    found = {}
    for i, j in combinations(range(n), 2):
        if closure.is_same(i, j) or closure.is_different(i, j):
            continue
        if present[i] == present[j]:
            after, weight = cluster(more_cannot=[(i, j)]), 1 - float(P[i, j])
        else:
            after, weight = cluster(more_must=[(i, j)]), float(P[i, j])
        found[i, j] = weight * (1 - jaccard(present, after, sizes))
    return found
