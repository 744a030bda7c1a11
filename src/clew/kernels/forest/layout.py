"""The data structures of tree growth: data, links, parameters, nodes and buffers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
