"""Grow two-class trees, each from its own random stream.

A tree's bootstrap is drawn from `n_rows + n_pseudo` binned rows. The first `n_rows` of them, the
real ones, are led down to the leaves whether drawn or not. Nodes are written in preorder, so the
left child of a node is the next node, and the real rows of any node are one slice of the tree's
`order`.

Links between real rows steer the cuts (see `cuts.best_cut_links`): a cannot-link has a positive
weight, a must-link a negative one, and each tree draws its own share of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.cuts import best_cut_counts, best_cut_links, best_cut_sorted
from clew.kernels.random_bits import State, random_below, random_unit, seed_stream

__all__ = ["Links", "Problem", "Rules", "Trees", "grow_trees"]


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


SMALL = 20
CROWD = 2
MAX_DRAWS_OF_A_ROW = 127


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
        np.empty(SMALL, np.int64),
        np.zeros(256, np.int64),
        np.zeros(256, np.int64),
        np.empty(257, np.int64),
        np.empty(257, np.int64),
        np.empty(257, np.float64),
    )


@bare_kernel
def draw_rows(problem: Problem, n_draws: int, state: State, sample: Sample) -> int:
    """Draw the bootstrap with replacement; give the number of distinct rows."""
    n_total = problem.is_one.shape[0]
    draws = sample.draws
    draws[:] = 0
    for _ in range(n_draws):
        row = random_below(state, n_total)
        if draws[row] < MAX_DRAWS_OF_A_ROW:
            draws[row] += 1
    n = 0
    for row in range(n_total):
        sample.drawn[0, n] = (
            (np.uint64(row) << np.uint64(8)) | (problem.is_one[row] << 7) | draws[row]
        )
        n += draws[row] > 0
    return n


@bare_kernel
def draw_links(links: Links, share: float, state: State, sample: Sample) -> int:
    """Draw each link with probability `share`; give how many were drawn."""
    n = 0
    for link in range(links.weight.shape[0]):
        sample.link[n] = link
        n += random_unit(state) < share
    return n


@bare_kernel
def split_drawn(problem: Problem, feature: int, cut: int, node: Node, sample: Sample) -> int:
    """Write a node's drawn rows to the other side: left ones from the start, right from the stop.

    Gives where the right ones begin.
    """
    left = node.drawn_start
    right = node.drawn_stop - 1
    for k in range(node.drawn_start, node.drawn_stop):
        drawn = sample.drawn[node.side, k]
        goes_left = np.int64(problem.bins[feature, drawn >> np.uint64(8)] <= cut)
        sample.drawn[1 - node.side, left if goes_left else right] = drawn
        left += goes_left
        right -= 1 - goes_left
    return left


@bare_kernel
def split_real(problem: Problem, feature: int, cut: int, node: Node, sample: Sample) -> int:
    """Write a node's real rows to the other side, as `split_drawn` does."""
    left = node.start
    right = node.stop - 1
    for k in range(node.start, node.stop):
        row = sample.real[node.side, k]
        goes_left = np.int64(problem.bins[feature, row] <= cut)
        sample.real[1 - node.side, left if goes_left else right] = row
        left += goes_left
        right -= 1 - goes_left
    return left


@bare_kernel
def split_links(
    problem: Problem,
    links: Links,
    feature: int,
    cut: int,
    start: int,
    stop: int,
    sample: Sample,
) -> tuple[int, int, int]:
    """Regroup the links of a node: both rows left, both right; separated ones are dropped.

    Gives the ends of the two groups, and how many must-links were separated.
    """
    left = start
    n_right = 0
    n_separated = 0
    for k in range(start, stop):
        link = sample.link[k]
        first = problem.bins[feature, links.rows[link, 0]] <= cut
        second = problem.bins[feature, links.rows[link, 1]] <= cut
        if first != second:
            n_separated += links.weight[link] < 0
        elif first:
            sample.link[left] = link
            left += 1
        else:
            sample.spare[n_right] = link
            n_right += 1
    for k in range(n_right):
        sample.link[left + k] = sample.spare[k]
    return left, left + n_right, n_separated


@bare_kernel
def next_feature(features: NDArray[np.int32], tried: int, state: State) -> int:
    """Draw a feature that this node has not tried yet (Fisher–Yates)."""
    swap = tried + random_below(state, features.shape[0] - tried)
    feature = features[swap]
    features[swap] = features[tried]
    features[tried] = feature
    return feature


@bare_kernel
def pack(sample: Sample, side: int, start: int, stop: int, scratch: Scratch) -> tuple[int, int]:
    """Pack weight and class of a node's drawn rows for the scans; give the sums of both."""
    total = np.int64(0)
    ones = np.int64(0)
    for k in range(start, stop):
        mark = np.uint8(sample.drawn[side, k])
        weight = np.int64(mark & 127)
        weight_of_one = weight * np.int64(mark >> 7)
        scratch.packed[k - start] = (weight << 24) | weight_of_one
        total += weight
        ones += weight_of_one
    return total, ones


@bare_kernel
def best_plain_cut(
    problem: Problem, rules: Rules, node: Node, sample: Sample, scratch: Scratch, state: State
) -> tuple[int, int]:
    """Choose feature and cut by gain alone; (-1, -1) when no cut gains."""
    n = node.drawn_stop - node.drawn_start
    best = 0.0
    best_feature = -1
    best_bin = -1
    for tried in range(rules.n_candidates):
        feature = next_feature(sample.features, tried, state)
        if n <= SMALL and CROWD * n < problem.n_bins[feature]:
            for k in range(n):
                here = problem.bins[
                    feature, sample.drawn[node.side, node.drawn_start + k] >> np.uint64(8)
                ]
                scratch.keys[k] = (np.int64(here) << 48) | scratch.packed[k]
            score, cut = best_cut_sorted(
                scratch.keys, n, node.total, node.ones, rules.min_samples_leaf
            )
        else:
            for k in range(n):
                here = problem.bins[
                    feature, sample.drawn[node.side, node.drawn_start + k] >> np.uint64(8)
                ]
                scratch.counts[here] += scratch.packed[k]
            score, cut = best_cut_counts(
                scratch.counts, problem.n_bins[feature], node.total, node.ones,
                rules.min_samples_leaf, scratch.prefix, scratch.filled, scratch.score,
            )  # fmt: skip
        if score > best:
            best = score
            best_feature = feature
            best_bin = cut
            if best >= 1.0:  # both children pure: no other cut can be better
                break
    return best_feature, best_bin


@bare_kernel
def reward_in_node(links: Links, rules: Rules, node: Node, sample: Sample) -> float:
    """Give the reward of one fixed-point unit of link weight in this node."""
    if not rules.is_relative:
        return rules.reward / rules.unit
    weight = np.int64(0)
    for k in range(node.link_start, node.link_stop):
        weight += abs(links.weight[sample.link[k]])
    return rules.reward / (rules.unit + np.float64(weight))


@bare_kernel
def best_steered_cut(
    problem: Problem,
    links: Links,
    rules: Rules,
    node: Node,
    sample: Sample,
    scratch: Scratch,
    state: State,
) -> tuple[int, int]:
    """Choose feature and cut by gain and by the links that it separates; (-1, -1) for none."""
    reward = reward_in_node(links, rules, node, sample)
    best = 0.0
    best_feature = -1
    best_bin = -1
    for tried in range(rules.n_candidates):
        feature = next_feature(sample.features, tried, state)
        for k in range(node.drawn_start, node.drawn_stop):
            here = problem.bins[feature, sample.drawn[node.side, k] >> np.uint64(8)]
            scratch.counts[here] += scratch.packed[k - node.drawn_start]
        for k in range(node.link_start, node.link_stop):
            link = np.uint32(sample.link[k])
            first = problem.bins[feature, links.rows[link, 0]]
            second = problem.bins[feature, links.rows[link, 1]]
            scratch.links[min(first, second)] += links.weight[link]
            scratch.links[max(first, second)] -= links.weight[link]
        score, cut = best_cut_links(
            scratch.counts, scratch.links, problem.n_bins[feature], node.total, node.ones,
            rules.min_samples_leaf, reward, scratch.prefix, scratch.score,
        )  # fmt: skip
        if score > best:
            best = score
            best_feature = feature
            best_bin = cut
    return best_feature, best_bin


@bare_kernel
def push(stack: NDArray[np.int32], height: int, node: Node, parent: int) -> int:
    """Put a node that waits to be split on the stack; give the new height."""
    stack[height, 0] = node.drawn_start
    stack[height, 1] = node.drawn_stop
    stack[height, 2] = node.start
    stack[height, 3] = node.stop
    stack[height, 4] = node.link_start
    stack[height, 5] = node.link_stop
    stack[height, 6] = node.side
    stack[height, 7] = parent
    return height + 1


@bare_kernel
def pop(
    stack: NDArray[np.int32], height: int, sample: Sample, scratch: Scratch
) -> tuple[Node, int]:
    """Take the top node off the stack, with its parent if it is a right child, else -1."""
    side, drawn_start, drawn_stop = stack[height, 6], stack[height, 0], stack[height, 1]
    total, ones = pack(sample, side, drawn_start, drawn_stop, scratch)
    node = Node(
        side, drawn_start, drawn_stop, stack[height, 2], stack[height, 3],
        stack[height, 4], stack[height, 5], total, ones,
    )  # fmt: skip
    return node, stack[height, 7]


@bare_kernel
def best_cut(
    problem: Problem,
    links: Links,
    rules: Rules,
    node: Node,
    sample: Sample,
    scratch: Scratch,
    state: State,
) -> tuple[int, int]:
    """Choose how a node is split; (-1, -1) where it stays a leaf."""
    is_pure = node.ones == 0 or node.ones == node.total
    if is_pure or node.total < 2 * rules.min_samples_leaf:
        return -1, -1
    if node.link_start == node.link_stop:
        return best_plain_cut(problem, rules, node, sample, scratch, state)
    return best_steered_cut(problem, links, rules, node, sample, scratch, state)


@bare_kernel
def start_tree(
    problem: Problem,
    links: Links,
    rules: Rules,
    number: int,
    sample: Sample,
    state: State,
) -> Node:
    """Draw links and rows, each from a stream of its own; give the root."""
    seed_stream(state, rules.seed, 2 * number + 1)
    n_links = draw_links(links, rules.share, state, sample)
    seed_stream(state, rules.seed, 2 * number)
    n_drawn = draw_rows(problem, rules.n_draws, state, sample)
    for k in range(problem.n_rows):
        sample.real[0, k] = k
    for feature in range(sample.features.shape[0]):
        sample.features[feature] = feature
    return Node(0, 0, n_drawn, 0, problem.n_rows, 0, n_links, 0, 0)


@bare_kernel
def grow_tree(
    problem: Problem,
    links: Links,
    rules: Rules,
    number: int,
    trees: Trees,
    tree: int,
    leaf: NDArray[np.int32],
    order: NDArray[np.int32],
    sample: Sample,
    scratch: Scratch,
    state: State,
) -> int:
    """Grow tree `number` at place `tree`, after the one before; give its violated links."""
    root = start_tree(problem, links, rules, number, sample, state)
    height = push(sample.stack, 0, root, -1)
    base = trees.offset[tree]
    here = base - 1
    n_violated = 0
    while height > 0:
        height -= 1
        node, parent = pop(sample.stack, height, sample, scratch)
        here += 1
        if parent >= 0:
            trees.right[base + parent] = here - base
        feature, cut = best_cut(problem, links, rules, node, sample, scratch, state)
        trees.feature[here] = feature
        trees.cut[here] = max(cut, 0)
        trees.right[here] = -1
        trees.start[here] = node.start
        trees.stop[here] = node.stop
        if feature < 0:
            for k in range(node.start, node.stop):
                row = sample.real[node.side, k]
                order[tree, k] = row
                leaf[tree, row] = here - base
            for k in range(node.link_start, node.link_stop):
                n_violated += links.weight[sample.link[k]] > 0
            continue
        drawn = split_drawn(problem, feature, cut, node, sample)
        real = split_real(problem, feature, cut, node, sample)
        link, end, n_separated = split_links(
            problem, links, feature, cut, node.link_start, node.link_stop, sample
        )
        n_violated += n_separated
        side = 1 - node.side
        right = Node(side, drawn, node.drawn_stop, real, node.stop, link, end, 0, 0)
        height = push(sample.stack, height, right, here - base)
        left = Node(side, node.drawn_start, drawn, node.start, real, node.link_start, link, 0, 0)
        height = push(sample.stack, height, left, -1)
    trees.offset[tree + 1] = here + 1
    return n_violated


@bare_kernel
def grow_trees(
    problem: Problem,
    links: Links,
    rules: Rules,
    first_tree: int,
    leaf: NDArray[np.int32],
    order: NDArray[np.int32],
    n_violated: NDArray[np.int64],
    draws: NDArray[np.uint8],
    trees: Trees,
    sample: Sample,
    scratch: Scratch,
    state: State,
) -> int:
    """Grow ``leaf.shape[0]`` trees, numbered from `first_tree`.

    Parameters
    ----------
    problem, links, rules
        What to grow on, and how.
    first_tree : int
        Number of the first tree; with the seed it decides the random stream.
    leaf : ndarray of shape (n_trees, n_rows)
        OUT: leaf of every real row, a node counted from the tree's root.
    order : ndarray of shape (n_trees, n_rows)
        OUT: real rows, those of any node side by side.
    n_violated : ndarray of shape (n_trees,)
        OUT: drawn links that the tree does not honour.
    draws : ndarray of shape (n_trees, n_rows) or (0, 0)
        OUT: how often a real row was drawn; empty when nobody asks.
    """
    n_trees, n_rows = leaf.shape
    most = 2 * min(problem.is_one.shape[0], rules.n_draws) + 1
    for tree in range(n_trees):
        if trees.offset[tree] + most > trees.feature.shape[0]:
            return tree
        n_violated[tree] = grow_tree(
            problem,
            links,
            rules,
            first_tree + tree,
            trees,
            tree,
            leaf,
            order,
            sample,
            scratch,
            state,
        )
        if draws.shape[0] > 0:
            for row in range(n_rows):
                draws[tree, row] = sample.draws[row]
    return n_trees
