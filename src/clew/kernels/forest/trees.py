"""Trees grown from links between rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Links, Node, Problem, Rules, Sample, Scratch, Trees
from clew.kernels.forest.splits import best_cut, pack
from clew.kernels.random_bits import State, random_below, random_unit, seed_stream

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
    problem: Problem,
    links: Links,
    rules: Rules,
    number: int,
    sample: Sample,
    state: State,
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

    A drawn must-link is violated if its rows are in different leaves, a drawn cannot-link if they
    are in one leaf.
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

    IN problem, links, rules: the data, the links, and the parameters of growth; first_tree: number
    of the first tree, which determines its random stream together with the seed; sample, scratch,
    state.
    OUT leaf (n_trees, n_rows): leaf of each real row, counted from the tree's root; order (n_trees,
    n_rows): real rows in such an order that those of each node are consecutive; n_violated
    (n_trees,): number of drawn links that each tree violates; draws (n_trees, n_rows): how often
    each real row was drawn; (0, 0) if that is not needed; trees: the nodes; ``trees.offset[0]``
    must be 0.
    Returns number of trees grown: fewer than `n_trees` if the next tree might not fit into `trees`.

    Time O(n·candidates) for each level of a tree of n drawn rows. Memory is that of the arguments.
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
    """Copy a node's drawn rows to the other side of `Sample.drawn`: rows of the left child first.

    Rows of the right child are written backwards from the end. Returns where they begin.
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
    problem: Problem,
    links: Links,
    feature: int,
    cut: int,
    start: int,
    stop: int,
    sample: Sample,
) -> tuple[int, int, int]:
    """Move the links within the left child to the front, followed by those within the right child.

    Links that the cut separates are dropped. Returns the ends of the two groups, and the number of
    separated must-links.
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
