"""Choose the feature and the cut of a node, by gain and by the links that a cut separates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Links, Node, Problem, Rules, Sample, Scratch
from clew.kernels.forest.random_bits import State, random_below
from clew.kernels.forest.split_score import best_cut_counts, best_cut_links, best_cut_sorted

__all__ = ["best_cut", "pack"]


@bare_kernel
def next_feature(features: NDArray[np.int32], tried: int, state: State) -> int:
    """Draw a feature that was not drawn at this node yet (Fisher–Yates)."""
    swap = tried + random_below(state, features.shape[0] - tried)
    feature = features[swap]
    features[swap] = features[tried]
    features[tried] = feature
    return feature


@bare_kernel
def pack(sample: Sample, side: int, start: int, stop: int, scratch: Scratch) -> tuple[int, int]:
    """Pack weights and classes of a node's drawn rows; return the weight of all and of class 1."""
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
    """Choose feature and cut by gain alone; (-1, -1) if no cut has a gain."""
    n = node.drawn_stop - node.drawn_start
    best = 0.0
    best_feature = -1
    best_bin = -1
    for tried in range(rules.n_candidates):
        feature = next_feature(sample.features, tried, state)
        if n <= rules.small and rules.crowd * n < problem.n_bins[feature]:
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
            if best >= 1.0:  # both children are pure: no other cut can be better
                # Nodes with links draw all candidates. Drawing as many here keeps the random stream
                # equal, so that links of weight 0 do not change the tree.
                for skipped in range(tried + 1, rules.n_candidates):
                    next_feature(sample.features, skipped, state)
                break
    return best_feature, best_bin


@bare_kernel
def reward_in_node(links: Links, rules: Rules, node: Node, sample: Sample) -> float:
    """Return the reward for separating one fixed-point unit of link weight in a node."""
    if not rules.is_relative:
        return rules.reward / rules.unit
    weight = np.int64(0)
    for k in range(node.link_start, node.link_stop):
        weight += abs(links.weight[sample.link[k]])
    return rules.reward / (rules.unit + np.float64(weight))


@bare_kernel
def best_linked_cut(
    problem: Problem,
    links: Links,
    rules: Rules,
    node: Node,
    sample: Sample,
    scratch: Scratch,
    state: State,
) -> tuple[int, int]:
    """Choose feature and cut by gain plus reward for separated links; (-1, -1) if there is none."""
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
def best_cut(
    problem: Problem,
    links: Links,
    rules: Rules,
    node: Node,
    sample: Sample,
    scratch: Scratch,
    state: State,
) -> tuple[int, int]:
    """Choose the feature and the cut of a node; (-1, -1) if the node is a leaf.

    Parameters
    ----------
    problem, links, rules
        The data, the links, and the parameters of growth.
    node : Node
        The node, with the weights of its drawn rows.
    sample, scratch : Sample, Scratch (INOUT)
        The tree's working arrays, and buffers; `pack` was called for the node.
    state : ndarray of shape (1,), uint64 (INOUT)
        The tree's random stream.

    Returns
    -------
    feature, cut : int
        The rows whose bin of `feature` is at most `cut` go left.

    Notes
    -----
    Time O(n + bins) for each candidate feature, for n drawn rows and links of the node.
    """
    is_pure = node.ones == 0 or node.ones == node.total
    if is_pure or node.total < 2 * rules.min_samples_leaf:
        return -1, -1
    if node.link_start == node.link_stop:
        return best_plain_cut(problem, rules, node, sample, scratch, state)
    return best_linked_cut(problem, links, rules, node, sample, scratch, state)
