"""Steps of the similarities that select edges of a neighbor graph."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._composition import FittedSimilarity, graph_of
from clew._validation import Allowed
from clew.graphs import largest_stored, resolved_n_neighbors

__all__ = ["N_NEIGHBORS_ALLOWED", "NeighborLists", "entries_where", "nearest_rows", "symmetric"]

N_NEIGHBORS_ALLOWED = {"n_neighbors": Allowed(names=("auto", "paper"), kind=int, low=1)}


class NeighborLists(NamedTuple):
    """A neighbor graph, and the nearest rows of each row in it."""

    graph: csr_array
    """Affinities of the symmetric neighbor graph, (n_samples, n_samples), float64."""
    lists: csr_array
    """The `k` largest entries of each row of `graph`; fewer if the row has fewer."""
    k: int
    """Number of neighbors."""


def nearest_rows(
    base: FittedSimilarity, n_samples: int, n_neighbors: int | Literal["auto", "paper"]
) -> NeighborLists:
    """Find the rows of largest affinity to each row."""
    k = resolved_n_neighbors(n_neighbors, n_samples)
    graph = graph_of(base, n_samples, k)
    return NeighborLists(graph, largest_stored(graph, k), k)


def symmetric(kept: csr_array) -> csr_array:
    """Make a selection of edges symmetric: an edge is kept if either of its rows keeps it."""
    return csr_array(kept.maximum(kept.T))


def entries_where(matrix: csr_array, is_kept: NDArray[np.bool_]) -> csr_array:
    """Copy a matrix with only the marked ones of its stored entries."""
    kept = matrix.copy()
    kept.data[~is_kept] = 0.0
    kept.eliminate_zeros()
    return kept
