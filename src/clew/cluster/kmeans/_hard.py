"""One start of COP-KMeans: assign components and move centers in turn; no link is violated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster._centers import Centers, plus_plus
from clew.cluster._empty_groups import costliest_row, fill_empty
from clew.cluster.kmeans._cannot_link_graph import CannotLinkGraph

__all__ = ["Run", "run_in_row_order", "run_with_search"]


class Run(NamedTuple):
    """The best iteration of one start."""

    inertia: float
    labels: NDArray[np.int64]
    """Group of each must-link component, (n_components,)."""
    centers: NDArray[Any]
    n_iter: int


def run_with_search(
    centers: Centers, graph: CannotLinkGraph, max_iter: int, random: np.random.RandomState
) -> Run | None:
    """Run ``algorithm="auto"`` once: each iteration searches for a valid assignment.

    Parameters
    ----------
    centers : Centers
        Means or medoids of the components.
    graph : CannotLinkGraph
        Cannot-links between the components.
    max_iter : int
        Maximum number of iterations.
    random : RandomState
        Draws the initial centers (k-means++).

    Returns
    -------
    Run or None
        None if the search gave up before it found an assignment.

    Raises
    ------
    InfeasibleConstraintsError
        If no assignment exists.
    """
    at = plus_plus(centers, graph.n_groups, random)
    cost = centers.costs(at)
    each = np.arange(len(cost))
    best: Run | None = None
    labels: NDArray[np.int64] | None = None
    for n_iter in range(1, max_iter + 1):
        now = graph.assign(cost, labels)
        if now is None:
            return None
        # A component alone in its group violates no cannot-link.
        fill_empty(now, graph.n_groups, costliest_row(now, cost[each, now], 0.0))
        if labels is not None and np.array_equal(now, labels):
            break
        labels, at = now, centers.of_groups(now, at)
        cost = centers.costs(at)
        inertia = float(cost[each, labels].sum())
        if best is None or inertia < best.inertia:
            best = Run(inertia, labels, at, n_iter)
    return best


def run_in_row_order(
    centers: Centers, graph: CannotLinkGraph, max_iter: int, random: np.random.RandomState
) -> Run | None:
    """Run ``algorithm="paper"`` once: components are assigned greedily, in the order of rows.

    Parameters
    ----------
    centers, graph, max_iter
        As for `run_with_search`.
    random : RandomState
        Draws the rows that are the initial centers.

    Returns
    -------
    Run or None
        None if an iteration reached a component to which every group was forbidden.
    """
    n_samples = int(centers.weight.sum())
    at = centers.at_rows(random.choice(n_samples, graph.n_groups, replace=False))
    each = np.arange(len(graph.first_row))
    best: Run | None = None
    labels: NDArray[np.int64] | None = None
    for n_iter in range(1, max_iter + 1):
        now = graph.assign_in_row_order(centers.row_costs(graph.first_row, at))
        if now is None:
            return None
        if labels is not None and np.array_equal(now, labels):
            break
        labels, at = now, centers.of_groups(now, at)
        inertia = float(centers.costs(at)[each, labels].sum())
        if best is None or inertia < best.inertia:
            best = Run(inertia, labels, at, n_iter)
    return best
