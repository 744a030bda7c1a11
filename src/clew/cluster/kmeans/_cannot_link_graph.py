"""Assign must-link components to groups so that no cannot-link is violated: graph coloring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cluster.kmeans._infeasible import (
    assignment_not_found,
    largest_clique,
    no_assignment,
    sufficient_n_groups,
)
from clew.constraints import Closure
from clew.constraints._conflicts import neighbor_lists
from clew.exceptions import InfeasibleConstraintsError
from clew.kernels.coloring import color_connected, peeling_rounds, place_in_order, swap_chains
from clew.kernels.disjoint_sets import component_labels
from clew.kernels.means import cheapest
from clew.kernels.soft_groups import PairLists, iterated_conditional_modes

__all__ = ["CannotLinkGraph"]

#: Maximum number of colors tried in a connected part of the core, beyond one for each node.
MAX_STEPS = 100_000
#: The longest chain of components whose groups are swapped, and the maximum number of sweeps.
MAX_CHAIN, MAX_SWEEPS = 30, 20
#: Penalty of a violated cannot-link during repair, in units of the largest cost, and the maximum
#: number of sweeps.
VIOLATION, MAX_REPAIRS = 10.0, 200
#: A swap must save this share of the largest cost; a smaller saving may be a rounding error.
LEAST_SAVING = 1e-12


class CannotLinkGraph:
    """A graph with must-link components as nodes and cannot-links between them as edges.

    A component without cannot-links is not in the graph.

    Parameters
    ----------
    closure : Closure
        Must-link components and the cannot-links between them, without contradiction.
    n_groups : int
        Number of groups, the colors of the graph.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,), int64
        The components that have cannot-links, ascending.
    indptr, indices : ndarray, int64
        Neighbors of each node, as in a CSR matrix.
    first_row : ndarray of shape (n_components,), int64
        The smallest row of each component.
    core_parts : list of ndarray, int64
        Connected parts of the core, which is the largest subgraph in which every node has at
        least `n_groups` neighbors. Nodes outside the core can always be colored afterwards.
    """

    def __init__(self, closure: Closure, n_groups: int) -> None:
        self.n_groups = n_groups
        self.first_row = np.unique(closure.component, return_index=True)[1]
        edges = closure.cannot_link_components
        self.nodes, ends = np.unique(edges, return_inverse=True)
        self.indptr, self.indices = neighbor_lists(len(self.nodes), ends.reshape(-1, 2))
        self._round = peeling_rounds(self.indptr, self.indices, n_groups)
        self.core_parts = self._connected(np.flatnonzero(self._round < 0))

    def assign(
        self, cost: NDArray[np.float64], before: NDArray[np.int64] | None
    ) -> NDArray[np.int64] | None:
        """Assign components to groups at a low total cost, without violating a cannot-link.

        Parameters
        ----------
        cost : ndarray of shape (n_components, n_groups)
            Cost of each component in each group.
        before : ndarray of shape (n_components,), int64, or None
            A valid assignment, if one is known.

        Returns
        -------
        ndarray of shape (n_components,), int64, or None
            A valid assignment that costs no more than `before`. None if the search gave up, which
            happens only if `before` is None.

        Raises
        ------
        InfeasibleConstraintsError
            If no valid assignment exists.
        """
        labels = np.empty(len(cost), dtype=np.int64)
        cheapest(cost, labels)
        if len(self.nodes) == 0:
            return labels
        cost = cost[self.nodes]
        found = self._colored(cost, MAX_STEPS if before is None else 0)
        candidates = [] if found is None else [found]
        if before is not None:
            candidates.append(before[self.nodes])
        if not candidates:
            return None
        each = np.arange(len(cost))
        for colors in candidates:
            self._swap(cost, colors)
        labels[self.nodes] = min(candidates, key=lambda colors: float(cost[each, colors].sum()))
        return labels

    def assign_in_row_order(self, cost: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Assign components, in the order of their first rows, to the cheapest allowed group.

        Parameters
        ----------
        cost : ndarray of shape (n_components, n_groups)
            Cost of each component in each group.

        Returns
        -------
        ndarray of shape (n_components,), int64, or None
            None if every group was forbidden to some component.
        """
        labels = np.empty(len(cost), dtype=np.int64)
        cheapest(cost, labels)
        colors = np.full(len(self.nodes), -1, dtype=np.int64)
        order = np.arange(len(self.nodes))
        cost = cost[self.nodes]
        if place_in_order(order, cost, self.indptr, self.indices, colors) < len(order):
            return None
        labels[self.nodes] = colors
        return labels

    def not_found(self, how: str) -> InfeasibleConstraintsError:
        """Return the error for a search that found no assignment but did not rule one out.

        Parameters
        ----------
        how : str
            What was tried, for the message.

        Returns
        -------
        InfeasibleConstraintsError
        """
        rows = self._rows_of(np.concatenate([*self.core_parts, np.empty(0, dtype=np.int64)]))
        enough = sufficient_n_groups(self.core_parts, self.indptr, self.indices)
        return assignment_not_found(self.n_groups, rows, enough, how)

    def _colored(self, cost: NDArray[np.float64], max_steps: int) -> NDArray[np.int64] | None:
        """Color the core by search, then the other nodes greedily, in the order of `_peeled`."""
        labels = np.full(len(cost), -1, dtype=np.int64)
        for part in self.core_parts:
            steps = len(part) + max_steps
            found, _ = color_connected(part, cost, self.indptr, self.indices, steps, labels)
            if found == 0 or (found < 0 and max_steps):
                self._raise_if_infeasible(part, is_certain=found == 0)
                repaired = self._repaired(cost)
                if repaired is not None:
                    return repaired
                # Trying cheap colors first took too many steps. Trying the colors in the same
                # order at all nodes needs fewer colors.
                labels[part] = -1
                few = np.tile(np.arange(self.n_groups, dtype=np.float64), (len(cost), 1))
                found, _ = color_connected(part, few, self.indptr, self.indices, steps, labels)
            if found < 1:
                return None
        place_in_order(self._peeled(cost), cost, self.indptr, self.indices, labels)
        return labels

    def _repaired(self, cost: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Start from the cheapest groups, and move nodes until no cannot-link is violated.

        This may fail. Where data and answers agree, it succeeds on graphs too dense to search.
        """
        labels = np.empty(len(cost), dtype=np.int64)
        cheapest(cost, labels)
        lists = PairLists(
            self.indptr, self.indices, np.zeros(len(self.indices), np.int64), np.array([False])
        )
        penalty = np.full((1, self.n_groups), VIOLATION * float(cost.max()))
        order = np.arange(len(cost))
        iterated_conditional_modes(order, cost, lists, penalty, MAX_REPAIRS, labels)
        ends = np.repeat(labels, np.diff(self.indptr))
        return None if (ends == labels[self.indices]).any() else labels

    def _raise_if_infeasible(self, part: NDArray[np.int64], *, is_certain: bool) -> None:
        """Raise if the search, or a clique of more nodes than groups, rules out an assignment."""
        clique = largest_clique(part, self.indptr, self.indices, self.n_groups + 1)
        is_proof = len(clique) > self.n_groups
        if is_proof or is_certain:
            enough = sufficient_n_groups(self.core_parts, self.indptr, self.indices)
            rows = self._rows_of(clique if is_proof else part)
            raise no_assignment(self.n_groups, rows, enough, is_clique=is_proof)

    def _rows_of(self, nodes: NDArray[np.int64]) -> tuple[int, ...]:
        """Return the first rows of some nodes, ascending."""
        return tuple(np.sort(self.first_row[self.nodes[nodes]]).tolist())

    def _peeled(self, cost: NDArray[np.float64]) -> NDArray[np.int64]:
        """Order the nodes outside the core: those of later rounds of peeling first.

        Within a round, nodes whose second-best group costs much more than their best come first.
        """
        peeled = np.flatnonzero(self._round >= 0)
        if cost.shape[1] == 1:
            return peeled
        best = np.partition(cost[peeled], 1, axis=1)
        return np.asarray(peeled[np.lexsort((best[:, 0] - best[:, 1], -self._round[peeled]))])

    def _swap(self, cost: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
        """Lower the cost of a coloring by swaps along chains; changes `labels`."""
        least = LEAST_SAVING * float(np.abs(cost).max())
        swap_chains(cost, self.indptr, self.indices, MAX_CHAIN, MAX_SWEEPS, least, labels)

    def _connected(self, nodes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Split nodes into the connected components of the graph among them."""
        if len(nodes) == 0:
            return []
        number = np.full(len(self.nodes), -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        ends = np.repeat(np.arange(len(self.nodes)), np.diff(self.indptr))
        edges = number[np.column_stack([ends, self.indices])]
        part = component_labels(len(nodes), np.ascontiguousarray(edges[(edges >= 0).all(axis=1)]))
        order = np.argsort(part, kind="stable")
        return [nodes[piece] for piece in np.split(order, np.cumsum(np.bincount(part))[:-1])]
