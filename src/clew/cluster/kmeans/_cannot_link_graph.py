"""Groups for must-link components such that no cannot-link is violated: colors of a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cluster.kmeans._infeasible import largest_clique, n_groups_enough, none_exists, none_found
from clew.constraints import Closure
from clew.constraints._conflicts import neighbor_lists
from clew.exceptions import InfeasibleConstraintsError
from clew.kernels.color_chains import swap_chains
from clew.kernels.coloring import color_connected, peeling_rounds, place_in_order
from clew.kernels.disjoint_sets import component_labels
from clew.kernels.means import cheapest
from clew.kernels.soft_groups import PairLists, settle

__all__ = ["CannotLinkGraph"]

#: Colors tried in each part of the core before a search gives up, beyond one for each node.
MAX_STEPS = 100_000
#: Chains of components whose groups are swapped may be so long; sweeps over all of them.
MAX_CHAIN, MAX_SWEEPS = 30, 20
#: Price of a violated cannot-link while a grouping is repaired, in units of the largest cost, and
#: rounds of repairs at most.
VIOLATION, MAX_REPAIRS = 10.0, 200
#: A swap has to save this share of the largest cost: less is rounding.
LEAST_SAVING = 1e-12


class CannotLinkGraph:
    """Must-link components as nodes, the cannot-links between them as edges.

    Parameters
    ----------
    closure : Closure
        What the answers entail, without contradiction.
    n_groups : int
        Number of groups.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,), int64
        The components with cannot-links, ascending; only these are in the graph.
    indptr, indices : ndarray, int64
        Neighbors of each node.
    first_row : ndarray of shape (n_components,), int64
        The smallest row of each component.
    core_parts : list of ndarray
        Connected parts of the core: nodes that have `n_groups` neighbors or more in it.
    """

    def __init__(self, closure: Closure, n_groups: int) -> None:
        self.n_groups = n_groups
        self.first_row = np.unique(closure.component, return_index=True)[1]
        edges = closure.cannot_link_components
        self.nodes, ends = np.unique(edges, return_inverse=True)
        self.indptr, self.indices = neighbor_lists(len(self.nodes), ends.reshape(-1, 2))
        self._round = peeling_rounds(self.indptr, self.indices, n_groups)
        self.core_parts = self._connected(np.flatnonzero(self._round < 0))

    def group(
        self, cost: NDArray[np.float64], before: NDArray[np.int64] | None
    ) -> NDArray[np.int64] | None:
        """Give each component the cheapest group it can have, without violating anything.

        Parameters
        ----------
        cost : ndarray of shape (n_components, n_groups)
            Cost of each component in each group.
        before : ndarray of shape (n_components,), int64, or None
            Groups that violate nothing, if some are known.

        Returns
        -------
        ndarray of shape (n_components,), int64, or None
            Groups that cost no more than those before. None where the search gave up, which it
            only does where nothing is known from before.

        Raises
        ------
        InfeasibleConstraintsError
            If there is no way.
        """
        labels = np.empty(len(cost), dtype=np.int64)
        cheapest(cost, labels)
        if len(self.nodes) == 0:
            return labels
        cost = cost[self.nodes]
        found = self._searched(cost, MAX_STEPS if before is None else 0)
        ways = [] if found is None else [found]
        if before is not None:
            ways.append(before[self.nodes])
        if not ways:
            return None
        each = np.arange(len(cost))
        for way in ways:
            self._swap(cost, way)
        labels[self.nodes] = min(ways, key=lambda way: float(cost[each, way].sum()))
        return labels

    def group_in_row_order(self, cost: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Give components, in the order of their first rows, the cheapest group left to them.

        Parameters
        ----------
        cost : ndarray of shape (n_components, n_groups)
            Cost of each component in each group.

        Returns
        -------
        ndarray of shape (n_components,), int64, or None
            None where a component found every group taken.
        """
        labels = np.empty(len(cost), dtype=np.int64)
        cheapest(cost, labels)
        placed = np.full(len(self.nodes), -1, dtype=np.int64)
        order = np.arange(len(self.nodes))
        cost = cost[self.nodes]
        if place_in_order(order, cost, self.indptr, self.indices, placed) < len(order):
            return None
        labels[self.nodes] = placed
        return labels

    def gave_up(self, how: str) -> InfeasibleConstraintsError:
        """Make the error for a search that found nothing and proved nothing."""
        rows = self._rows_of(np.concatenate([*self.core_parts, np.empty(0, dtype=np.int64)]))
        enough = n_groups_enough(self.core_parts, self.indptr, self.indices)
        return none_found(self.n_groups, rows, enough, how)

    def _searched(self, cost: NDArray[np.float64], max_steps: int) -> NDArray[np.int64] | None:
        """Color the core, then what was peeled off, last round first."""
        labels = np.full(len(cost), -1, dtype=np.int64)
        for part in self.core_parts:
            steps = len(part) + max_steps
            found, _ = color_connected(part, cost, self.indptr, self.indices, steps, labels)
            if found == 0 or (found < 0 and max_steps):
                self._raise_if_none_exists(part, is_certain=found == 0)
                repaired = self._repaired(cost)
                if repaired is not None:
                    return repaired
                # Cheap groups first led nowhere; few groups first may be a safer way.
                labels[part] = -1
                few = np.tile(np.arange(self.n_groups, dtype=np.float64), (len(cost), 1))
                found, _ = color_connected(part, few, self.indptr, self.indices, steps, labels)
            if found < 1:
                return None
        place_in_order(self._peeled(cost), cost, self.indptr, self.indices, labels)
        return labels

    def _repaired(self, cost: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Begin with the cheapest groups, and move nodes until no cannot-link is violated.

        That may go wrong, but where the data and the answers agree it gets through graphs that
        are too dense to search.
        """
        labels = np.empty(len(cost), dtype=np.int64)
        cheapest(cost, labels)
        lists = PairLists(
            self.indptr, self.indices, np.zeros(len(self.indices), np.int64), np.array([False])
        )
        price = np.full((1, self.n_groups), VIOLATION * float(cost.max()))
        settle(np.arange(len(cost)), cost, lists, price, MAX_REPAIRS, labels)
        ends = np.repeat(labels, np.diff(self.indptr))
        return None if (ends == labels[self.indices]).any() else labels

    def _raise_if_none_exists(self, part: NDArray[np.int64], *, is_certain: bool) -> None:
        clique = largest_clique(part, self.indptr, self.indices, self.n_groups + 1)
        is_proof = len(clique) > self.n_groups
        if is_proof or is_certain:
            enough = n_groups_enough(self.core_parts, self.indptr, self.indices)
            rows = self._rows_of(clique if is_proof else part)
            raise none_exists(self.n_groups, rows, enough, is_clique=is_proof)

    def _rows_of(self, nodes: NDArray[np.int64]) -> tuple[int, ...]:
        return tuple(np.sort(self.first_row[self.nodes[nodes]]).tolist())

    def _peeled(self, cost: NDArray[np.float64]) -> NDArray[np.int64]:
        """Order what was peeled off: later rounds first, and in a round who has most to lose."""
        peeled = np.flatnonzero(self._round >= 0)
        if cost.shape[1] == 1:
            return peeled
        best = np.partition(cost[peeled], 1, axis=1)
        return np.asarray(peeled[np.lexsort((best[:, 0] - best[:, 1], -self._round[peeled]))])

    def _swap(self, cost: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
        least = LEAST_SAVING * float(np.abs(cost).max())
        swap_chains(cost, self.indptr, self.indices, MAX_CHAIN, MAX_SWEEPS, least, labels)

    def _connected(self, nodes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Split nodes into parts that edges among them connect."""
        if len(nodes) == 0:
            return []
        number = np.full(len(self.nodes), -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        ends = np.repeat(np.arange(len(self.nodes)), np.diff(self.indptr))
        edges = number[np.column_stack([ends, self.indices])]
        part = component_labels(len(nodes), np.ascontiguousarray(edges[(edges >= 0).all(axis=1)]))
        order = np.argsort(part, kind="stable")
        return [nodes[piece] for piece in np.split(order, np.cumsum(np.bincount(part))[:-1])]
