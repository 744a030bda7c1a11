"""What the similarities that keep some edges of a neighbour graph have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._parallel import Progress
from clew._validation import Allowed
from clew.constraints import Constraints
from clew.graphs import largest_stored, resolved_n_neighbors
from clew.similarity._inner import FittedSimilarity, graph_of
from clew.similarity.graphs._base import FinishedGraph

__all__ = ["NeighborSelection", "entries_where"]


class NeighborSelection(FinishedGraph):
    """Look at the nearest rows of each row, and keep those that hold together.

    Subclasses store `n_neighbors` and write `_kept`. An edge stays if either of its rows keeps it,
    with the affinity that it had.
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_neighbors": Allowed(names=("auto", "paper"), kind=int, low=1),
    }

    n_neighbors: int | Literal["auto", "paper"]

    def _solve(
        self, beneath: FittedSimilarity, known: Constraints, callback: Progress | None
    ) -> dict[str, Any]:
        n = known.n_samples
        k = resolved_n_neighbors(self.n_neighbors, n)
        graph = graph_of(beneath, n, k)
        kept = self._kept(graph, largest_stored(graph, k), k)
        return {"affinity_matrix_": csr_array(kept.maximum(kept.T))}

    def _kept(self, graph: csr_array, lists: csr_array, k: int) -> csr_array:
        """Give the edges that stay; an edge needs only one of its directions.

        Parameters
        ----------
        graph : csr_array of shape (n_samples, n_samples), float64
            The symmetric neighbour graph.
        lists : csr_array of shape (n_samples, n_samples), float64
            Its part that holds the `k` nearest rows of each row; fewer where there are fewer.
        k : int
            Number of neighbours.
        """
        raise NotImplementedError


def entries_where(matrix: csr_array, is_kept: NDArray[np.bool_]) -> csr_array:
    """Give a matrix with some of its stored entries."""
    kept = matrix.copy()
    kept.data[~is_kept] = 0.0
    kept.eliminate_zeros()
    return kept
