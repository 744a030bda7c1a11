"""Contradictions among comparisons of distances: cycles in which a distance is below itself."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from clew.exceptions import InconsistentConstraintsError
from clew.similarity.log_det._distance_constraints import AnswerLimits

__all__ = ["ComparisonConflict", "conflicts_of", "refuse_conflicts"]


class ComparisonConflict(NamedTuple):
    """Comparisons of distances that cannot all hold.

    Parameters
    ----------
    chain : tuple of pairs of int
        Pairs of rows in a cycle: by the answers, the distance of each is less than that of the
        next, or equal to it. The last pair is the first. The distance of a must-link is less than
        that of any cannot-link.
    """

    chain: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        cycle = " < ".join(f"d({i}, {j})" for i, j in self.chain)
        return f"the answers imply {cycle}"


class Graph(NamedTuple):
    """Pairs of rows as nodes, and comparisons of their distances as directed edges."""

    pairs: NDArray[np.int64]
    """Rows of each node, (n_nodes, 2)."""
    nearer: NDArray[np.int64]
    """Node of the smaller distance of each comparison, (n_edges,)."""
    farther: NDArray[np.int64]
    """Node of the larger distance of each comparison, (n_edges,)."""
    strict: NDArray[np.bool_]
    """Whether the distances differ; equal distances have two edges, one in each direction."""


def conflicts_of(found: AnswerLimits) -> list[ComparisonConflict]:
    """Find cycles of comparisons.

    Parameters
    ----------
    found : AnswerLimits
        Constraints on distances.

    Returns
    -------
    list of ComparisonConflict
        One for each strongly connected component with a strict comparison: the shortest cycle
        through the first such comparison.

    Notes
    -----
    Takes time linear in the comparisons, plus linear time for each conflict.
    """
    graph = _graph(found)
    n_nodes = len(graph.pairs)
    edges = csr_array(
        (np.ones(len(graph.nearer)), (graph.nearer, graph.farther)), (n_nodes, n_nodes)
    )
    part = connected_components(edges, connection="strong")[1]
    cyclic = np.flatnonzero(graph.strict & (part[graph.nearer] == part[graph.farther]))
    _, first = np.unique(part[graph.nearer[cyclic]], return_index=True)
    return [
        ComparisonConflict(_shortest_cycle(graph, edges, int(edge)))
        for edge in cyclic[np.sort(first)]
    ]


def refuse_conflicts(conflicts: list[ComparisonConflict]) -> None:
    """Refuse answers that contradict each other.

    Raises
    ------
    InconsistentConstraintsError
        If there are conflicts; the message has the chain of the first.
    """
    if conflicts:
        more = f", and {len(conflicts) - 1} more conflicts" if len(conflicts) > 1 else ""
        raise InconsistentConstraintsError(
            f"answers contradict each other: {conflicts[0]}{more}. Correct the answers, or use "
            "slack='l1', which allows violations",
            tuple(row for pair in conflicts[0].chain for row in pair),
        )


def _graph(found: AnswerLimits) -> Graph:
    """Make the graph of all comparisons.

    An additional last node represents a distance above all must-links and below all cannot-links.
    """
    limits = found.limits
    ends = np.sort(limits.rows.reshape(-1, 2), axis=1)
    pairs, node = np.unique(ends, axis=0, return_inverse=True)
    first, second = node.reshape(-1, 2).T
    compares, is_equality = limits.inverse_bound == 0, limits.low < 0
    middle = len(pairs)
    is_must, is_cannot = ~compares & (limits.factor > 0), ~compares & (limits.factor < 0)
    nearer = np.where(is_cannot, middle, first)
    farther = np.where(compares, second, np.where(is_must, middle, first))
    return Graph(
        np.vstack([pairs, [[-1, -1]]]),
        np.r_[nearer, farther[is_equality]],
        np.r_[farther, nearer[is_equality]],
        np.r_[~is_equality, np.zeros(int(is_equality.sum()), np.bool_)],
    )


def _shortest_cycle(graph: Graph, edges: csr_array, edge: int) -> tuple[tuple[int, int], ...]:
    """Find the shortest cycle through an edge by breadth-first search."""
    start, goal = int(graph.farther[edge]), int(graph.nearer[edge])
    before = {start: start}
    queue = deque([start])
    while goal not in before:
        node = queue.popleft()
        for after in edges.indices[edges.indptr[node] : edges.indptr[node + 1]].tolist():
            if after not in before:
                before[after] = node
                queue.append(after)
    walk = [goal]
    while walk[-1] != start:
        walk.append(before[walk[-1]])
    middle = len(graph.pairs) - 1
    named = [tuple(graph.pairs[node].tolist()) for node in [goal, *walk[:0:-1]] if node != middle]
    return (*named, named[0])
