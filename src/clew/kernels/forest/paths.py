"""Routes of rows through trees, their lengths, and votes of trees that did not draw a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Trees


@bare_kernel
def measure_paths(
    trees: Trees,
    first: int,
    last: int,
    is_adaptive: bool,
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    mass: NDArray[np.float32],
) -> None:
    """Compute parent, depth and mass of each node.

    IN trees: the forest; first, last: trees from `first` to ``last - 1`` are processed;
    is_adaptive: whether the weight of a node is one over its number of rows; otherwise it is 1.
    OUT parent (n_nodes,): parent, counted from the tree's root; -1 for the root; depth (n_nodes,):
    number of edges from the root; mass (n_nodes,): sum of the weights on the path from the root.
    """
    for tree in range(first, last):
        base = trees.offset[tree]
        parent[base] = -1
        depth[base] = 0
        mass[base] = 0.0
        for node in range(base, trees.offset[tree + 1]):
            if node > base:
                above = base + parent[node]
                size = max(trees.stop[node] - trees.start[node], 1)
                depth[node] = depth[above] + 1
                mass[node] = mass[above] + np.float32(1.0 / size if is_adaptive else 1.0)
            if trees.feature[node] >= 0:
                parent[node + 1] = node - base
                parent[base + trees.right[node]] = node - base


@bare_kernel
def fraction(shared: float, depth_a: int, mass_a: float, depth_b: int, mass_b: float) -> np.float32:
    """Return the affinity of two different leaves whose common path has the mass `shared`."""
    heavier = max(mass_a, mass_b)
    deeper = mass_a if depth_a > depth_b else mass_b
    whole = heavier if depth_a == depth_b else deeper  # compiles to a select without branches
    return np.float32(shared / whole)


@bare_kernel
def measure_leaves(
    trees: Trees,
    first: int,
    last: int,
    depth: NDArray[np.int32],
    mass: NDArray[np.float32],
    leaf_depth: NDArray[np.int32],
    leaf_mass: NDArray[np.float32],
) -> None:
    """Write the depth and mass of the leaf of each entry of `order`, (n_trees, n_rows)."""
    for tree in range(first, last):
        for node in range(trees.offset[tree], trees.offset[tree + 1]):
            if trees.feature[node] < 0:
                for k in range(trees.start[node], trees.stop[node]):
                    leaf_depth[tree, k] = depth[node]
                    leaf_mass[tree, k] = mass[node]


@bare_kernel
def route(
    trees: Trees, first: int, last: int, bins: NDArray[np.uint8], leaf: NDArray[np.int32]
) -> None:
    """Find the leaf of each row in each tree.

    IN trees: the forest; first, last: trees from `first` to ``last - 1`` are processed; bins
    (n_features, n_rows): bin of each row in each feature.
    OUT leaf (n_trees, n_rows): leaf of each row, counted from the root of its tree.

    Time O(depth) for each row and tree.
    """
    for tree in range(first, last):
        base = trees.offset[tree]
        for row in range(bins.shape[1]):
            node = 0
            while trees.feature[base + node] >= 0:
                here = base + node
                goes_left = bins[trees.feature[here], row] <= trees.cut[here]
                node = node + 1 if goes_left else trees.right[here]
            leaf[tree, row] = node


@bare_kernel
def add_votes(
    trees: Trees,
    leaf: NDArray[np.int32],
    draws: NDArray[np.uint8],
    is_one: NDArray[np.uint8],
    weight: NDArray[np.float64],
    weight_of_ones: NDArray[np.float64],
    share_of_ones: NDArray[np.float64],
    n_votes: NDArray[np.int64],
) -> None:
    """Add, for each tree, the share of class 1 in the leaf of each row that was not drawn.

    IN trees: the forest; leaf, draws (n_trees, n_rows): leaf of each row in each tree, and how
    often the tree drew the row; is_one (n_rows,): class of each row, 0 or 1; weight,
    weight_of_ones: buffers, with an entry for each node of the largest tree.
    INOUT share_of_ones, n_votes (n_rows,): for each row, the sum of these shares, and the number of
    trees summed.

    Time O(n_trees·n_rows).
    """
    n_trees, n_rows = leaf.shape
    for tree in range(n_trees):
        for node in range(trees.offset[tree + 1] - trees.offset[tree]):
            weight[node] = 0.0
            weight_of_ones[node] = 0.0
        for row in range(n_rows):
            weight[leaf[tree, row]] += draws[tree, row]
            weight_of_ones[leaf[tree, row]] += draws[tree, row] * is_one[row]
        for row in range(n_rows):
            here = leaf[tree, row]
            if draws[tree, row] == 0 and weight[here] > 0.0:
                share_of_ones[row] += weight_of_ones[here] / weight[here]
                n_votes[row] += 1
