"""What strategies compute from the data: probabilities of pairs, their order, and groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from clew._random import RandomState
from clew._validation import Allowed, AllowedValues, check_matrix
from clew.cluster import consensus_probabilities
from clew.cluster.linkage._ordered_edges import (
    Edges,
    consensus,
    cut,
    edges_in_order,
    euclidean,
    given,
)
from clew.constraints import Closure
from clew.exceptions import InvalidDataError
from clew.graphs import check_dense_size, check_square
from clew.questions._answers import KnownPairs

N_RUNS = 100
#: If the number of groups is unknown, groups of the clusterings have between `FEW_A_GROUP` and
#: `MANY_A_GROUP` rows on average, with `N_NUMBERS` different numbers of groups.
MANY_A_GROUP, FEW_A_GROUP, N_NUMBERS = 40, 6, 8
#: Candidates that are compared with the answers at once.
PAIRS_PER_BLOCK = 4096


def pair_probabilities(
    X: NDArray[np.float64],
    metric: str,
    n_clusters: int | None,
    probabilities: ArrayLike | None,
    seed: int,
) -> NDArray[np.float32]:
    """Check given probabilities, or compute them from many clusterings; (n, n), float32."""
    n = len(X)
    if probabilities is not None:
        given = check_matrix(probabilities)
        if given.shape != (n, n) or given.min() < 0 or given.max() > 1:
            raise InvalidDataError(
                f"probabilities must be numbers in [0, 1] of shape ({n}, {n}), got shape "
                f"{given.shape} with numbers in [{given.min():g}, {given.max():g}]"
            )
        check_square(given, "matrix of probabilities")
        return np.asarray(given, np.float32)
    numbers = [n_clusters] if n_clusters else _numbers_of_groups(n)
    euclidean = metric != "precomputed"
    return consensus_probabilities(
        X, numbers, n_runs=N_RUNS, metric="euclidean" if euclidean else "precomputed",
        random_state=seed,
    )  # fmt: skip


def _numbers_of_groups(n: int) -> list[int]:
    """Return numbers of groups in equal ratios, for data whose number of groups is unknown."""
    low, high = max(3, n // MANY_A_GROUP), max(6, n // FEW_A_GROUP)
    numbers = np.geomspace(low, high, N_NUMBERS).round().astype(int)
    return [int(number) for number in np.minimum(numbers, n)]


class PairOrder(NamedTuple):
    """Probabilities of all pairs, and the pairs from the most to the least probable."""

    probabilities: NDArray[np.float32]
    edges: Edges
    n_probable: int

    @classmethod
    def of(cls, X: NDArray[np.float64], metric: str, probabilities: NDArray[np.float32]) -> Self:
        """Sort all pairs; time O(n²·log n), memory 4·n² bytes besides `probabilities`."""
        distances = given(X) if metric == "precomputed" else euclidean(X)
        edges = edges_in_order(consensus(distances, probabilities), len(X))
        n_probable = (int((probabilities > 0.5).sum()) - len(X)) // 2
        return cls(probabilities, edges, n_probable)

    def groups(self, closure: Closure, n_clusters: int | None) -> NDArray[np.int64]:
        """Cluster by HACC, under hard answers; without `n_clusters`, while merges are probable."""
        if n_clusters is not None:
            return cut(self.edges, closure, n_clusters)[0]
        first, second, n = self.edges
        probable = Edges(first[: self.n_probable], second[: self.n_probable], n)
        return cut(probable, closure, 1)[0]


def in_blocks(
    edges: Edges, order: NDArray[np.integer] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Return the pairs of rows of edges, in blocks of shape (m, 2), in their or another order."""
    for start in range(0, len(edges.first), PAIRS_PER_BLOCK):
        block = slice(start, start + PAIRS_PER_BLOCK)
        at = block if order is None else order[block]
        yield np.column_stack([edges.first[at], edges.second[at]]).astype(np.int64)


def all_distances(X: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return the distances between all rows, relative to the largest feature or distance."""
    check_dense_size(len(X))
    unit = X / (np.abs(X).max(initial=0.0) or 1.0)
    return np.asarray(unit if metric == "precomputed" else cdist(unit, unit))


class GroupedByHACC:
    """Mixin of a `PairStrategy` that ranks pairs by probability and groups rows by HACC."""

    _allowed: ClassVar[Mapping[str, AllowedValues]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    metric: str
    known: KnownPairs
    _order: PairOrder
    _seed: int

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        P = pair_probabilities(X, self.metric, self.n_clusters, probabilities, self._seed)
        self._order = PairOrder.of(X, self.metric, P)

    def _group(self) -> NDArray[np.int64]:
        return self._order.groups(self.known.closure, self.n_clusters)
