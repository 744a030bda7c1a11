"""COPKMeans: k-means under hard must-links and cannot-links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer, OfDistances
from clew._parallel import Progress
from clew._units import Units
from clew._validation import Allowed, RandomState, check_features, check_n_clusters, derived_seeds
from clew.cluster._kmeans import (
    Centers,
    Means,
    Medoids,
    best_start,
    check_n_components,
    costliest_row,
    fill_empty,
    nearest_centers,
    plus_plus,
    warn_of_fewer_groups,
)
from clew.constraints import Closure, Constraints, Support
from clew.constraints._closure import neighbor_lists
from clew.constraints._support import binding_answers
from clew.exceptions import InfeasibleConstraintsError
from clew.graphs import check_distances_to_fitted
from clew.kernels.coloring import color_connected, peeling_rounds, place_in_order, swap_chains
from clew.kernels.graphs import component_labels
from clew.kernels.means import PairLists, cheapest, iterated_conditional_modes
from clew.metrics import n_violated

__all__ = ["COPKMeans"]
#: Maximum number of colors tried in a connected part of the core, beyond one for each node.
MAX_STEPS = 100_000
#: The longest chain of components whose groups are swapped, and the maximum number of sweeps.
MAX_CHAIN, MAX_SWEEPS = 30, 20
#: Penalty of a violated cannot-link during repair, in units of the largest cost, and the maximum
#: number of sweeps.
VIOLATION, MAX_REPAIRS = 10.0, 200
#: A swap must save this share of the largest cost; a smaller saving may be a rounding error.
LEAST_SAVING = 1e-12
#: Number of nodes from which a clique is grown.
N_STARTS = 50
#: Maximum number of rows that a message names.
N_NAMED = 10


class COPKMeans(OfDistances, ConstrainedClusterer):
    """K-means that keeps every must-link and every cannot-link, or raises if that is impossible.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What `X` is: features, with means as centers, or a matrix of distances between rows, with
        medoids as centers.
    algorithm : {"auto", "paper"}, default="auto"
        How rows are assigned in each iteration. "paper" assigns them in order, each to the nearest
        group that no cannot-link forbids, and a start fails at the first row without such a group.
        "auto" searches with backtracking for a valid assignment, and then improves it.
    n_init : int, default=10
        Number of starts; the one with the lowest inertia is kept.
    max_iter : int, default=100
        Maximum number of iterations of each start.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row.
    n_violated_ : int
        Number of violated answers of positive weight: always 0.
    inertia_ : float
        Sum of squared distances from each row to the mean of its group; with precomputed
        distances, sum of distances (not squared) from each row to the medoid of its group.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        Means, in the units of the features. `n_groups` is `n_clusters`, or fewer after a
        `FewerGroupsWarning`. Only with ``metric="euclidean"``.
    medoid_indices_ : ndarray of shape (n_groups,), int64
        Row number of each group's medoid. Only with ``metric="precomputed"``.
    n_iter_ : int
        Number of iterations of the best start.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InvalidDataError
        If precomputed distances are not square and symmetric, or some are negative.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidConstraintsError
        If must-links leave fewer groups than `n_clusters`, or the constraints are about another
        number of rows than `X` has.
    InconsistentConstraintsError
        If answers contradict each other; the message contains a shortest contradictory chain.
    InfeasibleConstraintsError
        If no assignment to `n_clusters` groups keeps all answers, or the search found none. The
        message distinguishes the two cases, names rows, and gives a sufficient number of groups.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`, because there are fewer different rows or,
        with ``algorithm="paper"``, because a group lost all its rows.

    See Also
    --------
    PCKMeans : Soft answers: each violated answer adds a penalty.
    ConstrainedLinkage : Hard answers in agglomerative clustering.

    Notes
    -----
    Answers are hard constraints: every must-link and cannot-link of positive weight is kept.
    Answers of weight 0 and don't-knows are ignored. Rows joined by must-links form a component,
    which is assigned as a whole.

    A valid assignment is a coloring of the graph of cannot-links between components, with
    `n_clusters` colors. A component with fewer than `n_clusters` neighbors can always be colored
    last, so such components are peeled off repeatedly and assigned at the end. The rest, the core,
    is colored by DSATUR with backtracking: the component with the fewest allowed groups first, and
    its nearest allowed group first. Then pairs of groups are swapped along chains of cannot-links
    as long as that lowers the inertia. With means as centers, the inertia never rises.

    Time O(N·d·K) for each iteration, O(L·K + A·log L) for A cannot-links between L components, and
    at most 100,000 search steps in each connected part of the core. Memory O(N·(d + K)); must-links
    with precomputed distances need as much memory again as the distances.

    References
    ----------
    K. Wagstaff, C. Cardie, S. Rogers and S. Schrödl, "Constrained k-means clustering with
    background knowledge", ICML 2001. D. Brélaz, "New methods to color the vertices of a graph",
    Communications of the ACM 22, 1979.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import COPKMeans
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=100, random_state=0)
    >>> model = COPKMeans(3, random_state=0).fit(X, constraints=c)
    >>> model.n_violated_
    0
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "algorithm": Allowed(names=("auto", "paper")),
        "n_init": Allowed(kind=int, low=1),
        "max_iter": Allowed(kind=int, low=1),
    }

    cluster_centers_: NDArray[np.float64]
    medoid_indices_: NDArray[np.int64]
    inertia_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        algorithm: Literal["auto", "paper"] = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.algorithm = algorithm
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        check_n_clusters(self, len(X))
        is_given = self.metric == "precomputed"
        hard = binding_answers(known)
        closure = hard.closure()
        check_n_components(self, closure.n_components)
        graph = CannotLinkGraph(closure, self.n_clusters)
        if is_given:
            best = self._best_run(Medoids(X, closure.component), graph, callback)
            self.inertia_ = best.inertia
        else:
            units = Units.around_mean(X)
            best = self._best_run(Means(units.scale(X), closure.component), graph, callback)
            self.inertia_ = units.unscale_squares(best.inertia)
        groups, labels = np.unique(best.labels, return_inverse=True)
        self.labels_, self.n_iter_ = labels[closure.component], best.n_iter
        self.n_violated_ = n_violated(self.labels_, hard)
        if is_given:
            self.medoid_indices_ = best.centers[groups]
        else:
            self.cluster_centers_ = units.unscale(best.centers[groups])
        warn_of_fewer_groups(self, self.labels_, X)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign rows to the group of the nearest center; answers are not used.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or (n_rows, n_samples)
            Features, or distances from these rows to the fitted rows.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            For a fitted row this differs from `labels_` where answers keep the row out of the
            nearest group.
        """
        check_is_fitted(self, "labels_")
        if self.metric == "precomputed":
            checked = check_distances_to_fitted(self, X)
            return np.asarray(checked[:, self.medoid_indices_].argmin(axis=1))
        return nearest_centers(check_features(self, X, reset=False), self.cluster_centers_)

    def _best_run(self, centers: Centers, graph: CannotLinkGraph, callback: Progress | None) -> Run:
        """Return the best of all starts; raise if every start failed."""
        run = run_with_search if self.algorithm == "auto" else run_in_row_order
        best = best_start(
            lambda seed: run(centers, graph, self.max_iter, np.random.RandomState(seed)),
            derived_seeds(self.random_state, self.n_init),
            lambda one: one.inertia,
            callback,
        )
        if best is None:
            how = f"within {MAX_STEPS} steps" if self.algorithm == "auto" else "in row order"
            raise graph.not_found(f"{how} from {self.n_init} starts")
        return best


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
    """Run ``algorithm="auto"`` once; None if the search for a first valid assignment gave up."""
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
    """Run the paper's greedy assignment once; None if every group is forbidden to a component."""
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


class CannotLinkGraph:
    """Cannot-links of components; `core_parts` of degree `n_groups` are colored first."""

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
        """Assign components at a cost no higher than `before`; None if the search gave up."""
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
        """Assign to the cheapest allowed group, by first rows; cost (n_components, n_groups)."""
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
        """Return the error for a search that found no assignment but did not rule one out."""
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
        """Repair the cheapest assignment; may fail, but succeeds on graphs too dense to search."""
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
        """Order nodes outside the core, last peeled first, then by cost of the second group."""
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


def largest_clique(
    nodes: NDArray[np.int64], indptr: NDArray[np.int64], indices: NDArray[np.int64], enough: int
) -> NDArray[np.int64]:
    """Search greedily for a large clique: nodes of which every two are neighbors."""
    inside = set(nodes.tolist())
    joined = {
        node: inside.intersection(indices[indptr[node] : indptr[node + 1]].tolist())
        for node in inside
    }
    best: list[int] = []
    for start in sorted(inside, key=lambda node: (-len(joined[node]), node))[:N_STARTS]:
        clique, left = [start], joined[start]
        while left and len(clique) < enough:
            # Sorted, because the order of a set is not reproducible.
            node = max(sorted(left), key=lambda node: len(joined[node] & left))
            clique.append(node)
            left = left & joined[node]
        best = max(best, clique, key=len)
        if len(best) == enough:
            break
    return np.array(best, dtype=np.int64)


def sufficient_n_groups(
    parts: Sequence[NDArray[np.int64]], indptr: NDArray[np.int64], indices: NDArray[np.int64]
) -> int:
    """Return a sufficient number of groups: DSATUR's colors; other neighbors fit later."""
    number = np.full(len(indptr) - 1, -1, dtype=np.int64)
    for part in parts:
        number[part] = np.arange(len(part))
    return max((_n_colors(*_within(part, number, indptr, indices)) for part in parts), default=1)


def _within(
    part: NDArray[np.int64],
    number: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the subgraph of one part; nodes with a negative number are in no part."""
    near = [number[indices[indptr[node] : indptr[node + 1]]] for node in part.tolist()]
    kept = [ends[ends >= 0] for ends in near]
    start = np.concatenate([[0], np.cumsum([len(ends) for ends in kept])])
    return start.astype(np.int64), np.concatenate(kept)


def _n_colors(indptr: NDArray[np.int64], indices: NDArray[np.int64]) -> int:
    """Color a connected graph and return the number of colors used."""
    n = len(indptr) - 1
    low, most = 1, int(np.diff(indptr).max()) + 1
    while low < most:  # bisect for the fewest colors with which all nodes are peeled off
        middle = (low + most) // 2
        is_enough = (peeling_rounds(indptr, indices, middle) >= 0).all()
        low, most = (low, middle) if is_enough else (middle + 1, most)
    labels = np.full(n, -1, dtype=np.int64)
    cost = np.tile(np.arange(most, dtype=np.float64), (n, 1))
    found, _ = color_connected(np.arange(n), cost, indptr, indices, n, labels)
    if found < 1:
        labels[:] = -1
        order = np.argsort(-peeling_rounds(indptr, indices, most), kind="stable")
        place_in_order(order, cost, indptr, indices, labels)
    return int(labels.max()) + 1


def no_assignment(
    n_groups: int, rows: tuple[int, ...], enough: int, *, is_clique: bool
) -> InfeasibleConstraintsError:
    """Return the error for answers that no assignment keeps."""
    if is_clique:
        why = (
            f"rows {_named(rows)} must be in different groups, by cannot-links and what follows "
            "from must-links"
        )
    else:
        why = f"the cannot-links between these {len(rows)} rows cannot all hold: {_named(rows)}"
    return InfeasibleConstraintsError(
        f"no assignment to n_clusters={n_groups} groups keeps all answers: {why}. "
        f"{_advice(enough)}",
        rows,
    )


def assignment_not_found(
    n_groups: int, rows: tuple[int, ...], enough: int, how: str
) -> InfeasibleConstraintsError:
    """Return the error for a search that gave up."""
    what = f"no assignment to n_clusters={n_groups} groups that keeps all answers was found {how}"
    if enough <= n_groups:
        return InfeasibleConstraintsError(f'{what}; there is one, and algorithm="auto" finds it')
    among = f"the difficult part is {len(rows)} rows: {_named(rows)}"
    return InfeasibleConstraintsError(f"{what}; there may be one; {among}. {_advice(enough)}", rows)


def _named(rows: tuple[int, ...]) -> str:
    """List the first rows for a message."""
    shown = ", ".join(map(str, rows[:N_NAMED]))
    return f"{shown} and {len(rows) - N_NAMED} more" if len(rows) > N_NAMED else shown


def _advice(enough: int) -> str:
    """Return the advice that ends both messages."""
    return (
        f"n_clusters={enough} would be enough; or remove some cannot-links, or use a soft method "
        "such as PCKMeans, which may violate answers at a penalty"
    )
