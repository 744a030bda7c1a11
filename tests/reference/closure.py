"""Slow twins of components, closure and shortest paths of must-links and cannot-links."""

from collections import deque
from itertools import combinations


def component_labels(n_nodes, edges):
    """Number the connected components in the order of their smallest node."""
    labels = list(range(n_nodes))
    for _ in range(n_nodes):
        for a, b in edges:
            labels[a] = labels[b] = min(labels[a], labels[b])
    numbers = {label: number for number, label in enumerate(sorted(set(labels)))}
    return [numbers[label] for label in labels]


def entailed(n_samples, must_link, cannot_link):
    """List the pairs that follow as must-links, and those that follow as cannot-links."""
    same = [[i == j for j in range(n_samples)] for i in range(n_samples)]
    for i, j in must_link:
        same[i][j] = same[j][i] = True
    for via in range(n_samples):
        for i in range(n_samples):
            for j in range(n_samples):
                same[i][j] = same[i][j] or (same[i][via] and same[via][j])
    different = {
        (i, j)
        for i, j in combinations(range(n_samples), 2)
        for a, b in cannot_link
        if not same[a][b] and ((same[i][a] and same[j][b]) or (same[i][b] and same[j][a]))
    }
    return {(i, j) for i, j in combinations(range(n_samples), 2) if same[i][j]}, different


def distance(n_samples, must_link, source, target):
    """Count the must-links on a shortest path from source to target; None without a path."""
    distances = {source: 0}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for a, b in must_link:
            for here, there in ((a, b), (b, a)):
                if here == node and there not in distances:
                    distances[there] = distances[node] + 1
                    queue.append(there)
    return distances.get(target)
