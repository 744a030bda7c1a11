"""Split the rows and links of a node between its children."""

from __future__ import annotations

import numpy as np

from clew.kernels._jit import bare_kernel
from clew.kernels.forest.layout import Links, Node, Problem, Sample

__all__ = ["split_drawn", "split_links", "split_real"]


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
