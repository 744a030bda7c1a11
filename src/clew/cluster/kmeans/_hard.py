"""One start of COP-KMeans: assign components and move centers in turn, and violate nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster._centers import Centers, plus_plus
from clew.cluster.kmeans._cannot_link_graph import CannotLinkGraph

__all__ = ["Run", "run_ahead", "run_in_row_order"]


class Run(NamedTuple):
    """Where one start led."""

    inertia: float
    labels: NDArray[np.int64]
    centers: NDArray[Any]
    n_iter: int


def run_ahead(
    centers: Centers, graph: CannotLinkGraph, max_iter: int, random: np.random.RandomState
) -> Run | None:
    """Assign and move in turn; None where no assignment was found."""
    at = plus_plus(centers, graph.n_groups, random)
    cost = centers.costs(at)
    each = np.arange(len(cost))
    best: Run | None = None
    labels: NDArray[np.int64] | None = None
    for n_iter in range(1, max_iter + 1):
        now = graph.group(cost, labels)
        if now is None:
            return None
        _fill_empty(now, cost)
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
    """Assign greedily in the order of rows; None where one round of it runs into a dead end."""
    n_samples = int(centers.weight.sum())
    at = centers.at_rows(random.choice(n_samples, graph.n_groups, replace=False))
    each = np.arange(len(graph.first_row))
    best: Run | None = None
    labels: NDArray[np.int64] | None = None
    for n_iter in range(1, max_iter + 1):
        now = graph.group_in_row_order(centers.row_costs(graph.first_row, at))
        if now is None:
            return None
        if labels is not None and np.array_equal(now, labels):
            break
        labels, at = now, centers.of_groups(now, at)
        inertia = float(centers.costs(at)[each, labels].sum())
        if best is None or inertia < best.inertia:
            best = Run(inertia, labels, at, n_iter)
    return best


def _fill_empty(labels: NDArray[np.int64], cost: NDArray[np.float64]) -> None:
    """Give each empty group the component that costs most where it is, and violates nothing."""
    size = np.bincount(labels, minlength=cost.shape[1])
    if size.all():
        return
    own = cost[np.arange(len(cost)), labels]
    for group in np.flatnonzero(size == 0):
        gain = np.where(size[labels] > 1, own, 0.0)
        farthest = int(gain.argmax())
        if gain[farthest] <= 0:
            return
        size[labels[farthest]] -= 1
        size[group], labels[farthest], own[farthest] = 1, group, 0.0
