"""The best split of a node, by links, counts or sorted values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Links, Node, Problem, Rules, Sample, Scratch
from clew.kernels.random_bits import State, random_below


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

    IN problem, links, rules: the data, the links, and the parameters of growth; node: the node,
    with the weights of its drawn rows.
    INOUT sample, scratch: the tree's working arrays, and buffers; `pack` was called for the node;
    state (1,): the tree's random stream.
    Returns feature, cut: the rows whose bin of `feature` is at most `cut` go left.

    Time O(n + bins) for each candidate feature, for n drawn rows and links of the node.
    """
    is_pure = node.ones == 0 or node.ones == node.total
    if is_pure or node.total < 2 * rules.min_samples_leaf:
        return -1, -1
    if node.link_start == node.link_stop:
        return best_plain_cut(problem, rules, node, sample, scratch, state)
    return best_linked_cut(problem, links, rules, node, sample, scratch, state)


@bare_kernel
def highest(score: NDArray[np.float64], n: int) -> int:
    """Return the index of the first maximum of `n` scores, none of them negative.

    Scores are compared as integers: nonnegative floats have the order of their bits, and compilers
    vectorize a maximum of integers but not of floats.
    """
    bits = score.view(np.int64)
    best = np.int64(0)
    for k in range(n):
        best = max(best, bits[k])
    k = 0
    while bits[k] != best:
        k += 1
    return k


@bare_kernel
def score_prefixes(
    prefix: NDArray[np.int64],
    n: int,
    total: int,
    total_ones: int,
    smallest: int,
    score: NDArray[np.float64],
) -> None:
    """Compute the score of the cut after each of `n` prefixes; 0 if a child is below `smallest`."""
    t = np.float64(total)
    t1 = np.float64(total_ones)
    least = np.float64(smallest)
    impurity = t1 * (t - t1)
    for k in range(n):
        left = np.float64(np.int32(prefix[k] >> 24))
        number = np.float64(np.int32(prefix[k] & 0xFFFFFF)) * t - left * t1
        value = number * number / (left * (t - left) * impurity)
        score[k] = value if (left >= least) & (t - left >= least) else 0.0


@bare_kernel
def best_cut_sorted(
    keys: NDArray[np.int64], n: int, total: int, total_ones: int, smallest: int
) -> tuple[float, int]:
    """Find the best cut of a few rows by insertion sort, in O(n²).

    IN n: number of rows; total, total_ones: weight of all rows, and of those of class 1; smallest:
    minimum weight of a child.
    INOUT keys: for each of `n` rows, ``bin << 48 | weight << 24 | weight·class``; sorted
    afterwards.
    Returns score: 0 if no cut has a gain; cut: -1 then.
    """
    for i in range(1, n):
        key = keys[i]
        k = i - 1
        while k >= 0 and keys[k] > key:
            keys[k + 1] = keys[k]
            k -= 1
        keys[k + 1] = key
    t = np.float64(total)
    t1 = np.float64(total_ones)
    impurity = t1 * (t - t1)
    best = 0.0
    cut = np.int64(-1)
    running = np.int64(0)
    for i in range(n - 1):
        here = keys[i] >> 48
        after = keys[i + 1] >> 48
        running += keys[i] & 0xFFFFFFFFFFFF
        weight = running >> 24
        if here != after and weight >= smallest and total - weight >= smallest:
            left = np.float64(weight)
            number = np.float64(running & 0xFFFFFF) * t - left * t1
            value = number * number / (left * (t - left) * impurity)
            if value > best:
                best = value
                cut = (here + after - 1) >> 1
    return best, cut


@bare_kernel
def best_cut_counts(
    counts: NDArray[np.int64],
    n_bins: int,
    total: int,
    total_ones: int,
    smallest: int,
    prefix: NDArray[np.int64],
    filled: NDArray[np.int64],
    score: NDArray[np.float64],
) -> tuple[float, int]:
    """Find the best cut from the counts of each bin, in O(n_bins).

    IN n_bins: number of bins; total, total_ones: weight of all rows, and of those of class 1;
    smallest: minimum weight of a child.
    INOUT counts (256,): sum of ``weight << 24 | weight·class`` in each bin; zeros afterwards.
    OUT prefix, filled, score: buffers, see `layout.Scratch`.
    Returns score: 0 if no cut has a gain; cut: -1 then.
    """
    n = 0
    running = np.int64(0)
    for b in range(n_bins):
        running += counts[b]
        prefix[n] = running
        filled[n] = b
        n += counts[b] != 0
    counts[:n_bins] = 0
    if n < 2:
        return 0.0, -1
    # Rounded up to full vectors; the scores past n - 1 are not used.
    score_prefixes(prefix, (n + 6) & ~7, total, total_ones, smallest, score)
    k = highest(score, n - 1)
    if score[k] <= 0.0:
        return 0.0, -1
    return score[k], (filled[k] + filled[k + 1] - 1) >> 1


@bare_kernel
def best_cut_links(
    counts: NDArray[np.int64],
    links: NDArray[np.int64],
    n_bins: int,
    total: int,
    total_ones: int,
    smallest: int,
    reward: float,
    prefix: NDArray[np.int64],
    score: NDArray[np.float64],
) -> tuple[float, int]:
    """Find the cut with the highest score plus reward for the links that it separates.

    Cuts without gain, or with a sum that is not positive, are not considered. Time O(n_bins).

    IN n_bins: number of bins; total, total_ones: weight of all rows, and of those of class 1;
    smallest: minimum weight of a child; reward: reward for each unit of link weight.
    INOUT counts (256,): sum of ``weight << 24 | weight·class`` in each bin; zeros afterwards; links
    (256,): the links that a cut at bin b separates have the total weight ``links[:b + 1].sum()``,
    negative for must-links; zeros afterwards.
    OUT prefix, score: buffers, see `layout.Scratch`.
    Returns value: the sum; 0 if there is no such cut; cut: -1 then.
    """
    running = np.int64(0)
    for b in range(n_bins):
        running += counts[b]
        counts[b] = 0
        prefix[b] = running
    score_prefixes(prefix, n_bins, total, total_ones, smallest, score)
    best = 0.0
    first = -1
    last = -1
    net = np.int64(0)
    best_net = np.int64(0)
    for b in range(n_bins):
        net += links[b]
        links[b] = 0
        value = score[b] + reward * np.float64(net)
        if score[b] > 0.0 and value > best:
            best = value
            first = b
            last = b
            best_net = net
        elif first >= 0 and last == b - 1 and prefix[b] == prefix[last] and net == best_net:
            last = b
    return best, (first + last) >> 1
