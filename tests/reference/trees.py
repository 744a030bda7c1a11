"""Slow twins of forests: rows of each node, and affinities of Zhu, Loy and Gong by paths."""

import numpy as np


def visited(forest, tree, bins):
    """Yield each node in preorder, with its path from the root and its rows.

    Uses only the features, cuts and right children of the nodes.
    """
    base = int(forest.trees.offset[tree])

    def below(node, path, rows):
        yield node, path, rows
        feature = forest.trees.feature[base + node]
        if feature >= 0:
            goes_left = bins[feature, rows] <= forest.trees.cut[base + node]
            left, right = node + 1, int(forest.trees.right[base + node])
            yield from below(left, (*path, left), rows[goes_left])
            yield from below(right, (*path, right), rows[~goes_left])

    yield from below(0, (), np.arange(bins.shape[1]))


def is_leaf(forest, tree, node):
    """Return whether a node, counted from its tree's root, is a leaf."""
    return forest.trees.feature[forest.trees.offset[tree] + node] < 0


def affinity_of_tree(forest, tree, fitted, other, kind):
    """Return the affinity of each other row with each fitted row in one tree."""
    sizes = {node: len(rows) for node, _, rows in visited(forest, tree, fitted)}
    paths, other_paths = (paths_of(forest, tree, bins) for bins in (fitted, other))
    return np.array([
        [affinity_of_paths(a, b, sizes, kind) for b in paths] for a in other_paths
    ])  # fmt: skip


def paths_of(forest, tree, bins):
    """Return each row's nodes from the root, which is left out, to its leaf."""
    paths = [()] * bins.shape[1]
    for node, path, rows in visited(forest, tree, bins):
        if is_leaf(forest, tree, node):
            for row in rows:
                paths[row] = path
    return paths


def affinity_of_paths(a, b, sizes, kind):
    """Compute equations 7 and 11 to 14: weight of common nodes over that of the longer path."""
    if a == b:
        return 1.0
    if kind == "leaf":
        return 0.0
    weight = {node: 1.0 if kind == "uniform" else 1.0 / max(sizes[node], 1) for node in {*a, *b}}
    common = sum(weight[node] for node in set(a) & set(b))
    longest = max(len(a), len(b))
    return common / max(sum(weight[n] for n in path) for path in (a, b) if len(path) == longest)


def affinity(forest, fitted, other, kind):
    """Return the mean affinity over trees."""
    trees = range(forest.n_trees)
    return np.mean([affinity_of_tree(forest, t, fitted, other, kind) for t in trees], axis=0)


def near_affinity(forest, fitted, kind, cap):
    """Return the mean affinity over trees of rows in one leaf or one subtree of `cap` rows."""
    n = fitted.shape[1]
    total = np.zeros((n, n))
    for tree in range(forest.n_trees):
        sizes = {node: len(rows) for node, _, rows in visited(forest, tree, fitted)}
        paths = [(0, *path) for path in paths_of(forest, tree, fitted)]
        for i, a in enumerate(paths):
            for j, b in enumerate(paths):
                last_common = max(set(a) & set(b))  # on a path, numbers in preorder increase
                if a == b or sizes[last_common] <= cap:
                    total[i, j] += affinity_of_paths(a[1:], b[1:], sizes, kind)
    return total / forest.n_trees
