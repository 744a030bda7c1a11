"""Slow twins of affinities with local scales, of neighbor graphs and of dominant sets."""

from itertools import combinations

import numpy as np


def scales(D, n_neighbors):
    """Return the mean distance of each row to its nearest rows at a positive distance."""
    found = []
    for row in D:
        nearest = sorted(d for d in row if d > 0)[:n_neighbors]
        found.append(sum(nearest) / len(nearest) if nearest else 1.0)
    return np.array(found)


def local_gaussian(D, n_neighbors):
    """Return ``exp(-d² / s²)`` for each pair, with s the mean of the scales of both rows."""
    s = scales(D, n_neighbors)
    A = np.empty(D.shape)
    for i in range(len(D)):
        for j in range(len(D)):
            A[i, j] = np.exp(-(D[i, j] ** 2) / ((s[i] + s[j]) / 2) ** 2)
    return A


def neighbor_lists(A, k):
    """List for each row the k rows of largest positive affinity; on ties, the first ones."""
    n = len(A)
    return [
        sorted((j for j in range(n) if j != i and A[i, j] > 0), key=lambda j, i=i: (-A[i, j], j))[
            :k
        ]
        for i in range(n)
    ]


def linked(A, lists):
    """Return the symmetric graph of neighbor lists as a dense matrix."""
    graph = np.zeros(A.shape)
    for i, listed in enumerate(lists):
        for j in listed:
            graph[i, j] = graph[j, i] = A[i, j]
    return graph


def consensus(A, k, threshold):
    """Keep the edges within enough neighborhoods; an isolated row gets its best edge back."""
    lists = neighbor_lists(A, k)
    graph = linked(A, lists)
    votes = np.zeros(A.shape)
    for i, listed in enumerate(lists):
        for a, b in combinations([i, *listed], 2):
            votes[a, b] += 1
            votes[b, a] += 1
    kept = np.where(votes >= threshold * (k + 1), graph, 0.0)
    for i in np.flatnonzero(~kept.any(axis=1) & graph.any(axis=1)):
        kept[i, graph[i].argmax()] = graph[i].max()
    return np.maximum(kept, kept.T)


def eigenvalue_bound(A, tol, steps=100):
    """Return an upper bound of the largest eigenvalue, by power iterations."""
    x, bound = np.ones(len(A)), 0.0
    for _ in range(steps):
        image = A @ x
        bound = (image / x).max()
        if bound - (image / x).min() <= tol * bound:
            break
        x = image + bound * x / 4
        x = x / x.max()
    return bound


def with_penalty(A, margin):
    """Add the penalty with which every maximum of the quadratic form contains row 0."""
    penalty = eigenvalue_bound(A[1:, 1:], margin)
    penalty = (1 + margin) * max(penalty, margin * A[0].max())
    return A - np.diag([0.0] + [penalty] * (len(A) - 1)), penalty


def replicator_dynamics(B, steps):
    """Find a local maximum of ``x'Bx`` from equal shares, by replicator dynamics."""
    payoffs = B - B.min()  # the same maxima, without negative payoffs
    x = np.full(len(B), 1 / len(B))
    for _ in range(steps):
        x = x * (payoffs @ x)
        x /= x.sum()
    return x


def maximal_cliques(adjacency):
    """List the maximal cliques of a small graph, by enumeration of all sets of nodes."""
    n = len(adjacency)
    cliques = [
        set(nodes)
        for size in range(1, n + 1)
        for nodes in combinations(range(n), size)
        if all(adjacency[a, b] for a, b in combinations(nodes, 2))
    ]
    return [c for c in cliques if not any(c < other for other in cliques)]
