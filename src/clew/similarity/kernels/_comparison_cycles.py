"""Answers that say of a distance that it is smaller than itself."""

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
        Pairs of rows, each said to be nearer than the next, or as near; the last is the first.
        A must-link is nearer than any cannot-link.
    """

    chain: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        said = " < ".join(f"d({i}, {j})" for i, j in self.chain)
        return f"{said} follows from the answers"


class Graph(NamedTuple):
    """Pairs of rows, and which of them is said to be nearer than which."""

    pairs: NDArray[np.int64]
    """(n_nodes, 2)."""
    nearer: NDArray[np.int64]
    """Node of the smaller distance of each comparison, (n_edges,)."""
    farther: NDArray[np.int64]
    """Node of the larger one."""
    strict: NDArray[np.bool_]
    """Whether it is larger; otherwise both are equal, and there is an edge each way."""


def conflicts_of(found: AnswerLimits) -> list[ComparisonConflict]:
    """Find comparisons that go round in a circle.

    Parameters
    ----------
    found : AnswerLimits
        Constraints on distances.

    Returns
    -------
    list of ComparisonConflict
        For each set of pairs that such circles join, the shortest one through the first comparison
        that is part of any.

    Notes
    -----
    Linear in the comparisons, and again for each conflict.
    """
    graph = _graph(found)
    n_nodes = len(graph.pairs)
    edges = csr_array(
        (np.ones(len(graph.nearer)), (graph.nearer, graph.farther)), (n_nodes, n_nodes)
    )
    part = connected_components(edges, connection="strong")[1]
    circular = np.flatnonzero(graph.strict & (part[graph.nearer] == part[graph.farther]))
    _, first = np.unique(part[graph.nearer[circular]], return_index=True)
    return [
        ComparisonConflict(_circle(graph, edges, int(edge))) for edge in circular[np.sort(first)]
    ]


def refuse_conflicts(conflicts: list[ComparisonConflict]) -> None:
    """Refuse answers that cannot all hold.

    Raises
    ------
    InconsistentConstraintsError
        Naming the chain of the first conflict.
    """
    if conflicts:
        more = f", and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
        raise InconsistentConstraintsError(
            f"answers contradict each other: {conflicts[0]}{more}. Without slack they cannot all "
            "hold: correct the answers, or use slack='l1', which weighs them",
            tuple(row for pair in conflicts[0].chain for row in pair),
        )


def _graph(found: AnswerLimits) -> Graph:
    """Put what the answers say into a graph; the last node is between must- and cannot-links."""
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


def _circle(graph: Graph, edges: csr_array, edge: int) -> tuple[tuple[int, int], ...]:
    """Walk from the farther end of an edge to its nearer one, the shortest way."""
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
