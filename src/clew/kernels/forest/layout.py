"""What growing a tree works on: the problem, the rules, the nodes, and every buffer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Links",
    "Node",
    "Problem",
    "Rules",
    "Sample",
    "Scratch",
    "Trees",
    "make_sample",
    "make_scratch",
]

#: Places for bins, the one beyond the last, and a full vector more.
N_PLACES = 264


class Problem(NamedTuple):
    """What the trees are grown on."""

    bins: NDArray[np.uint8]
    """Bin of each feature (rows) and row (columns), (n_features, n_total)."""
    n_bins: NDArray[np.int64]
    """How many bins each feature has, (n_features,)."""
    is_one: NDArray[np.uint8]
    """Class of each row, 0 or 1, (n_total,)."""
    n_rows: int
    """How many rows, from the first, are led to the leaves."""
    cumulative: NDArray[np.float64]
    """Cumulative probabilities with which rows are drawn, (n_total,); (0,) if all are equal."""


class Links(NamedTuple):
    """Pairs of real rows that a cut should separate or keep together."""

    rows: NDArray[np.int32]
    """(n_links, 2)."""
    weight: NDArray[np.int64]
    """Fixed-point weight: above 0 to separate, below 0 to keep, (n_links,)."""


class Rules(NamedTuple):
    """How trees are grown."""

    seed: int
    n_draws: int
    """Size of the bootstrap."""
    n_candidates: int
    """Features tried at a node."""
    min_samples_leaf: int
    """Draws that each child must hold at least."""
    share: float
    """Probability that a tree draws a link."""
    reward: float
    """Reward of separating one unit of link weight."""
    unit: float
    """Fixed-point weight of one whole link."""
    is_relative: bool
    """Whether the reward is divided by 1 + the links' weight in the node."""
    small: int
    """Nodes of at most so many drawn rows are sorted, if bins are many beside them."""
    crowd: int
    """Bins for each drawn row from which they are many."""


class Trees(NamedTuple):
    """Nodes of several trees, one after the other, each tree in preorder."""

    offset: NDArray[np.int64]
    """Where each tree begins, (n_trees + 1,)."""
    feature: NDArray[np.int32]
    """Feature that the node cuts; -1 at a leaf, (n_nodes,)."""
    cut: NDArray[np.uint8]
    """Last bin that goes left, (n_nodes,)."""
    right: NDArray[np.int32]
    """Right child, counted from the tree's root, (n_nodes,)."""
    start: NDArray[np.int32]
    """The node's real rows are ``order[tree, start:stop]``, (n_nodes,)."""
    stop: NDArray[np.int32]
    """End of that slice, (n_nodes,)."""


class Sample(NamedTuple):
    """One tree's drawn rows, its real rows and its links, each regrouped as nodes split."""

    drawn: NDArray[np.uint64]
    """Drawn rows, ``row << 8 | class << 7 | bootstrap weight``, (2, n_total): a split
    moves a node's rows from one side to the other."""
    real: NDArray[np.uint32]
    """Real rows, (2, n_rows)."""
    link: NDArray[np.int32]
    spare: NDArray[np.int32]
    draws: NDArray[np.uint8]
    features: NDArray[np.int32]
    stack: NDArray[np.int32]


class Node(NamedTuple):
    """A node that waits to be split: its slices of the sample, and its weights."""

    side: int
    drawn_start: int
    drawn_stop: int
    start: int
    """Slice of the tree's `order`: the real rows."""
    stop: int
    link_start: int
    link_stop: int
    total: int
    """Weight of the drawn rows, and of those of class one; known once the node is taken up."""
    ones: int


class Scratch(NamedTuple):
    """Buffers of one scan."""

    packed: NDArray[np.int64]
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    links: NDArray[np.int64]
    prefix: NDArray[np.int64]
    filled: NDArray[np.int64]
    score: NDArray[np.float64]


def make_sample(n_total: int, n_rows: int, n_links: int, n_features: int) -> Sample:
    """Allocate one tree's working arrays."""
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
    """Allocate the buffers of a scan."""
    return Scratch(
        np.empty(n_total, np.int64),
        np.empty(n_total, np.int64),
        np.zeros(256, np.int64),
        np.zeros(256, np.int64),
        np.zeros(N_PLACES, np.int64),
        np.empty(N_PLACES, np.int64),
        np.empty(N_PLACES, np.float64),
    )
