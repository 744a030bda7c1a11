"""What strategies compute from the data: probabilities of pairs, their order, and groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from clew._validation import check_matrix
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

__all__ = ["PairOrder", "all_distances", "in_blocks", "pair_probabilities"]

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
    """Check given probabilities, or compute them from many clusterings.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
        Features or distances.
    metric : {"euclidean", "precomputed"}
        What `X` is.
    n_clusters : int or None
        Number of groups of the clusterings; None for numbers between n/40 and n/6.
    probabilities : array-like of shape (n_samples, n_samples) or None
        Given probabilities.
    seed : int
        Seed of the clusterings.

    Returns
    -------
    ndarray of shape (n_samples, n_samples), float32

    Raises
    ------
    InvalidDataError
        If given probabilities are of another shape, not symmetric, or outside [0, 1].
    """
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
    """Probabilities of all pairs, and the pairs from the most to the least probable.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_samples), float32
        Probability that the rows of each pair are in the same group.
    edges : Edges
        Pairs, sorted by ``1 - probabilities`` plus a thousandth of the relative distance.
    n_probable : int
        Number of pairs with a probability above one half; they come first.
    """

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
        """Cluster by HACC, under hard answers.

        Parameters
        ----------
        closure : Closure
            The answers.
        n_clusters : int or None
            Number of groups. None: groups are merged while the probability that they
            are one is above one half.

        Returns
        -------
        ndarray of shape (n_samples,), int64
        """
        if n_clusters is not None:
            return cut(self.edges, closure, n_clusters)[0]
        first, second, n = self.edges
        probable = Edges(first[: self.n_probable], second[: self.n_probable], n)
        return cut(probable, closure, 1)[0]


def in_blocks(
    edges: Edges, order: NDArray[np.integer] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Return the pairs of rows of edges, in blocks of shape (m, 2).

    Parameters
    ----------
    edges : Edges
        Pairs of rows.
    order : ndarray of shape (n_edges,), default=None
        Positions of the edges in the order to return; None for their own.
    """
    for start in range(0, len(edges.first), PAIRS_PER_BLOCK):
        block = slice(start, start + PAIRS_PER_BLOCK)
        at = block if order is None else order[block]
        yield np.column_stack([edges.first[at], edges.second[at]]).astype(np.int64)


def all_distances(X: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return the distances between all rows, given or Euclidean; memory 8·n² bytes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
        Features or distances.
    metric : {"euclidean", "precomputed"}
        What `X` is.

    Returns
    -------
    ndarray of shape (n_samples, n_samples), float64
        Relative to the largest feature or distance.
    """
    check_dense_size(len(X))
    unit = X / (np.abs(X).max(initial=0.0) or 1.0)
    return np.asarray(unit if metric == "precomputed" else cdist(unit, unit))
