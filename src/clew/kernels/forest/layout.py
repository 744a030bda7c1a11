"""The data structures of tree growth, and the paths of rows through grown trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel

#: Length of the buffers of a scan: 256 bins, and 8 entries, because the last vector may read more.
N_PLACES = 264


class Problem(NamedTuple):
    """The data: real rows; in a clustering forest, pseudo rows of the other class follow."""

    bins: NDArray[np.uint8]
    """Bin of each row in each feature, (n_features, n_total)."""
    n_bins: NDArray[np.int64]
    """Number of bins of each feature, (n_features,)."""
    is_one: NDArray[np.uint8]
    """Class of each row, 0 or 1, (n_total,)."""
    n_rows: int
    """Number of real rows, which come first; they are passed down to the leaves."""
    cumulative: NDArray[np.float64]
    """Cumulative probabilities with which rows are drawn, (n_total,); (0,) if all are equal."""


class Links(NamedTuple):
    """Must-links and cannot-links between real rows."""

    rows: NDArray[np.int32]
    """The pairs, (n_links, 2)."""
    weight: NDArray[np.int64]
    """Fixed-point weight: positive for a cannot-link, negative for a must-link, (n_links,)."""


class Rules(NamedTuple):
    """The parameters of growth."""

    seed: int
    """Seed of the forest."""
    n_draws: int
    """Number of draws of the bootstrap."""
    n_candidates: int
    """Number of features tried at a node."""
    min_samples_leaf: int
    """Minimum number of draws in each child."""
    share: float
    """Probability that a tree draws a link."""
    reward: float
    """Reward for separating a link of weight 1."""
    unit: float
    """Fixed-point weight of a link of weight 1."""
    is_relative: bool
    """Whether the reward is divided by 1 plus the weight of all links in the node."""
    small: int
    """Maximum number of drawn rows of a node that is scanned by sorting."""
    crowd: int
    """Such a node is sorted if there are more than this many bins for each of its rows."""


class Trees(NamedTuple):
    """Nodes of several trees, one after the other, each tree in preorder."""

    offset: NDArray[np.int64]
    """First node of each tree, and the end of the last tree, (n_trees + 1,)."""
    feature: NDArray[np.int32]
    """Feature by which a node is split; -1 for a leaf, (n_nodes,)."""
    cut: NDArray[np.uint8]
    """Last bin that goes left, (n_nodes,)."""
    right: NDArray[np.int32]
    """Right child, counted from the tree's root, (n_nodes,); the left child is the next node."""
    start: NDArray[np.int32]
    """The real rows of a node are ``order[tree, start:stop]``, (n_nodes,)."""
    stop: NDArray[np.int32]
    """End of that slice, (n_nodes,)."""


class Sample(NamedTuple):
    """Working arrays of one tree: slices of them belong to nodes, and are regrouped by splits.

    `drawn` and `real` have two sides: a split writes a node's rows from one side to the other.
    """

    drawn: NDArray[np.uint64]
    """Drawn rows, as ``row << 8 | class << 7 | bootstrap weight``, (2, n_total)."""
    real: NDArray[np.uint32]
    """Real rows, (2, n_rows)."""
    link: NDArray[np.int32]
    """Numbers of the drawn links, (n_links,)."""
    spare: NDArray[np.int32]
    """Buffer for the links that go right, (n_links,)."""
    draws: NDArray[np.uint8]
    """How often each row was drawn, (n_total,)."""
    features: NDArray[np.int32]
    """A permutation of the features, (n_features,)."""
    stack: NDArray[np.int32]
    """The nodes that are not split yet, (n_total + 2, 8)."""


class Node(NamedTuple):
    """A node to be split: its slices of the working arrays, and its weights."""

    side: int
    """The side of `Sample.drawn` and `Sample.real` that holds its rows."""
    drawn_start: int
    """Slice of the drawn rows."""
    drawn_stop: int
    start: int
    """Slice of the real rows."""
    stop: int
    link_start: int
    """Slice of the links."""
    link_stop: int
    total: int
    """Weight of the drawn rows; 0 until the node is taken from the stack."""
    ones: int
    """Weight of the drawn rows of class 1; 0 until the node is taken from the stack."""


class Scratch(NamedTuple):
    """Buffers for the scan of one feature at one node."""

    packed: NDArray[np.int64]
    """Weight and class of each drawn row, ``weight << 24 | weight·class``, (n_total,)."""
    keys: NDArray[np.int64]
    """The same with the bin, ``bin << 48``, to be sorted, (n_total,)."""
    counts: NDArray[np.int64]
    """Sum of `packed` in each bin, (256,); zeros between scans."""
    links: NDArray[np.int64]
    """Differences of the weight of separated links from bin to bin, (256,); zeros between scans."""
    prefix: NDArray[np.int64]
    """Running sums of `counts` over the bins in use."""
    filled: NDArray[np.int64]
    """The bins in use."""
    score: NDArray[np.float64]
    """Score of the cut after each of them."""


def make_sample(n_total: int, n_rows: int, n_links: int, n_features: int) -> Sample:
    """Allocate the working arrays of one tree."""
    return Sample(
        np.empty((2, n_total), np.uint64),
        np.empty((2, n_rows), np.uint32),
        np.empty(n_links, np.int32),
        np.empty(n_links, np.int32),
        np.empty(n_total, np.uint8),
        np.empty(n_features, np.int32),
        np.empty((n_total + 2, 8), np.int32),
    )


def make_scratch(n_total: int) -> Scratch:
    """Allocate the buffers of scans."""
    return Scratch(
        np.empty(n_total, np.int64),
        np.empty(n_total, np.int64),
        np.zeros(256, np.int64),
        np.zeros(256, np.int64),
        np.zeros(N_PLACES, np.int64),
        np.empty(N_PLACES, np.int64),
        np.empty(N_PLACES, np.float64),
    )


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
    """Compute parent, depth and mass of each node of the trees ``first:last``.

    IN is_adaptive: whether the weight of a node is one over its number of rows; otherwise it is 1.
    OUT parent (n_nodes,): counted from the tree's root; -1 for the root; depth (n_nodes,): edges
    from the root; mass (n_nodes,): sum of the weights on the path from the root.
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
    """Find the leaf of each row in each of the trees ``first:last``.

    IN bins (n_features, n_rows): bin of each row in each feature.
    OUT leaf (n_trees, n_rows): leaf of each row, counted from the root of its tree.
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

    IN leaf, draws (n_trees, n_rows): leaf of each row, and how often the tree drew it; is_one
    (n_rows,): class of each row, 0 or 1; weight, weight_of_ones: buffers, an entry for each node of
    the largest tree.
    INOUT share_of_ones, n_votes (n_rows,): sum of these shares, and number of trees summed.
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
