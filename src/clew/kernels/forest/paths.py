"""Affinities from paths: the share of the path to a leaf that two rows have in common.

Each node except the root has a weight: 1 (ClustRF-Strct-Unfm), or one over its number of real rows
(ClustRF-Strct-Adpt). The *depth* of a node is the number of weights on the path from the root to
it, and its *mass* is their sum. If the paths of two rows separate at node ``a``, their affinity is
``mass[a]`` divided by the mass of the deeper of their leaves, or of the one with more mass if both
are equally deep.

References
----------
X. Zhu, C. C. Loy and S. Gong, "Constructing robust affinity graphs for spectral clustering",
CVPR 2014, equations 7 and 11-14.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Trees

__all__ = ["fraction", "measure_leaves", "measure_paths", "route"]


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

    Parameters
    ----------
    trees : Trees (IN)
        The forest.
    first, last : int
        Trees from `first` to ``last - 1`` are processed.
    is_adaptive : bool
        Whether the weight of a node is one over its number of rows; otherwise it is 1.
    parent : ndarray of shape (n_nodes,), int32 (OUT)
        Parent, counted from the tree's root; -1 for the root.
    depth : ndarray of shape (n_nodes,), int32 (OUT)
        Number of edges from the root.
    mass : ndarray of shape (n_nodes,), float32 (OUT)
        Sum of the weights on the path from the root.
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

    Parameters
    ----------
    trees : Trees (IN)
        The forest.
    first, last : int
        Trees from `first` to ``last - 1`` are processed.
    bins : ndarray of shape (n_features, n_rows), uint8 (IN)
        Bin of each row in each feature.
    leaf : ndarray of shape (n_trees, n_rows), int32 (OUT)
        Leaf of each row, counted from the root of its tree.

    Notes
    -----
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
