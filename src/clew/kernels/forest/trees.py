"""Trees grown from links between rows, by the best split of each node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Links, Node, Problem, Rules, Sample, Scratch, Trees
from clew.kernels.random_bits import State, random_below, random_unit, seed_stream


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

    They are compared as integers, which have the same order: compilers vectorize only that maximum.
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

    IN total, total_ones: weight of all rows, and of those of class 1; smallest: minimum weight of a
    child.
    INOUT keys: ``bin << 48 | weight << 24 | weight·class`` of `n` rows; sorted afterwards.
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

    IN total, total_ones, smallest: as in `best_cut_sorted`.
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
    """Find the cut with the highest score plus reward for the links it separates, in O(n_bins).

    Cuts without gain, or with a sum that is not positive, are not considered.

    IN total, total_ones, smallest: as in `best_cut_sorted`; reward: for each unit of link weight.
    INOUT counts (256,): as in `best_cut_counts`; links (256,): those that a cut at bin b separates
    weigh ``links[:b + 1].sum()``, negative for must-links; zeros afterwards.
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


#: Largest bootstrap weight of a row: 7 bits of `Sample.drawn`. Further draws are ignored.
MAX_DRAWS_OF_A_ROW = 127


@bare_kernel
def draw_row(problem: Problem, state: State) -> int:
    """Draw a row, with equal or given probabilities (bisection of their cumulative sum)."""
    last = problem.cumulative.shape[0] - 1
    if last < 0:
        return random_below(state, problem.is_one.shape[0])
    u = random_unit(state)
    first = 0
    while first < last:
        middle = (first + last) // 2
        if problem.cumulative[middle] > u:
            last = middle
        else:
            first = middle + 1
    return first


@bare_kernel
def draw_rows(problem: Problem, n_draws: int, state: State, sample: Sample) -> int:
    """Draw the bootstrap with replacement; return the number of different rows."""
    n_total = problem.is_one.shape[0]
    draws = sample.draws
    draws[:] = 0
    for _ in range(n_draws):
        row = draw_row(problem, state)
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
    """Draw each link with probability `share`; return the number of drawn links."""
    n = 0
    for link in range(links.weight.shape[0]):
        sample.link[n] = link
        n += random_unit(state) < share
    return n


@bare_kernel
def push(stack: NDArray[np.int32], height: int, node: Node, parent: int) -> int:
    """Put a node on the stack; return the new height. `parent` is -1 except for right children."""
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
    """Take the node at a height of the stack, compute its weights, and return it and its parent."""
    side, drawn_start, drawn_stop = stack[height, 6], stack[height, 0], stack[height, 1]
    total, ones = pack(sample, side, drawn_start, drawn_stop, scratch)
    node = Node(
        side, drawn_start, drawn_stop, stack[height, 2], stack[height, 3],
        stack[height, 4], stack[height, 5], total, ones,
    )  # fmt: skip
    return node, stack[height, 7]


@bare_kernel
def start_tree(
    problem: Problem, links: Links, rules: Rules, number: int, sample: Sample, state: State
) -> Node:
    """Draw links and rows, each from a stream of its own; return the root."""
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
    """Grow tree `number` of the forest as tree `tree` of `trees`; return its violated links.

    Drawn must-links with rows in different leaves are violated, and drawn cannot-links in one leaf.
    """
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
    """Grow the trees `first_tree`, ``first_tree + 1`` and so on of a forest.

    IN first_tree: determines the random stream of a tree together with the seed; sample, scratch,
    state.
    OUT leaf (n_trees, n_rows): leaf of each real row, counted from the tree's root; order (n_trees,
    n_rows): real rows, those of each node consecutive; n_violated (n_trees,): drawn links that each
    tree violates; draws (n_trees, n_rows): how often each real row was drawn; (0, 0) if not needed;
    trees: the nodes; ``trees.offset[0]`` must be 0.
    Returns number of trees grown: fewer than `n_trees` if the next might not fit into `trees`.

    Time O(n·candidates) for each level of a tree of n drawn rows.
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


@bare_kernel
def split_drawn(problem: Problem, feature: int, cut: int, node: Node, sample: Sample) -> int:
    """Copy a node's drawn rows to the other side, the left child's first.

    The right child's are written backwards from the end. Returns where they begin.
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
    """Copy a node's real rows to the other side of `Sample.real`, as `split_drawn` does."""
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
    problem: Problem, links: Links, feature: int, cut: int, start: int, stop: int, sample: Sample
) -> tuple[int, int, int]:
    """Move the links within the left child to the front, followed by those within the right child.

    Others are dropped. Returns the ends of the two groups, and the number of dropped must-links.
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
