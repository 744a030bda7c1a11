"""ConsensusKNN: of the edges of a neighbour graph, those that many neighbourhoods agree on."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, vstack

from clew._composition import FittedSimilarity
from clew._parallel import Progress, blocks
from clew._random import RandomState
from clew._validation import Allowed
from clew.constraints import Constraints
from clew.similarity.graphs._base import BuiltOnSimilarity
from clew.similarity.graphs._edge_selection import (
    N_NEIGHBORS_ALLOWED,
    entries_where,
    nearest_rows,
    symmetric,
)

__all__ = ["ConsensusKNN"]

ROWS_PER_BLOCK = 1024


class ConsensusKNN(BuiltOnSimilarity):
    """Keep the edges of the neighbour graph that many neighbourhoods vote for.

    A row and its nearest rows are a neighbourhood, and each neighbourhood votes for every pair of
    rows in it. Two rows of one group are neighbours of the same rows and get many votes; an edge
    that strays into another group gets few, and goes.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        Where affinities come from: a similarity; "precomputed" if `fit` gets them; None is
        `AdaptiveKNN()`. A similarity that honours answers gets them.
    n_neighbors : int, "auto" or "paper", default="auto"
        How many nearest rows make a neighbourhood; "paper" is a tenth of the rows, "auto" the same
        but 5 at least and 20 at most; of n rows n - 1 at most.
    threshold : float, default=0.15
        Votes that an edge needs, as a share of ``n_neighbors + 1``, the number of neighbourhoods
        that a row is in on the average. 0 keeps all edges.
    random_state : int, RandomState or None, default=None
        Seeds the similarity where it has no seed of its own.

    Attributes
    ----------
    affinity_matrix_ : csr_array of shape (n_samples, n_samples), float64
        The affinities that are kept, symmetric, nothing on the diagonal.
    similarity_ : estimator
        The fitted similarity beneath.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are answers that the similarity beneath does not honour.

    See Also
    --------
    DominantNeighbors : Keeps the neighbours that are alike among themselves.

    Notes
    -----
    A row all of whose edges would go keeps its strongest one, so that no row is without a
    neighbour. Time O(n·k²), memory O(n·k).

    References
    ----------
    V. Premachandran and R. Kakarala, "Consensus of k-NNs for robust neighborhood selection on
    graph-based manifolds", CVPR 2013. The threshold as a share, and what becomes of rows without
    edges, are clew's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.similarity import AdaptiveKNN, ConsensusKNN
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = ConsensusKNN(n_neighbors=20, threshold=0.5).fit(X).affinity_matrix_
    >>> AdaptiveKNN().fit(X).kneighbors_graph(20).nnz > graph.nnz
    True
    """

    _allowed: ClassVar[dict[str, Any]] = N_NEIGHBORS_ALLOWED | {
        "threshold": Allowed(kind=float, low=0, high=1),
    }

    affinity_matrix_: csr_array

    def __init__(
        self,
        similarity: Any = None,
        *,
        n_neighbors: int | Literal["auto", "paper"] = "auto",
        threshold: float = 0.15,
        random_state: RandomState = None,
    ) -> None:
        self.similarity = similarity
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.random_state = random_state

    def _solve(
        self, beneath: FittedSimilarity, known: Constraints, callback: Progress | None
    ) -> None:
        graph, lists, k = nearest_rows(beneath, known.n_samples, self.n_neighbors)
        is_kept = _votes(graph, lists) >= self.threshold * (k + 1)
        row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        n_kept = np.bincount(row, is_kept, minlength=graph.shape[0])
        by_strength = np.lexsort((graph.indices, -graph.data, row))
        is_strongest = np.diff(row, prepend=-1) > 0  # rows are in the same order
        strongest = by_strength[is_strongest]
        is_kept[strongest[n_kept[row[strongest]] == 0]] = True
        self.affinity_matrix_ = symmetric(entries_where(graph, is_kept))


def _votes(graph: csr_array, lists: csr_array) -> NDArray[np.int64]:
    """Count for each edge of the graph the neighbourhoods that hold both of its rows."""
    n = graph.shape[0]
    neighbourhood = csr_array(lists.astype(bool).astype(np.int64) + eye_array(n, dtype=np.int64))
    holding = csr_array(neighbourhood.T)
    is_edge = graph.astype(bool).astype(np.int64)
    # One more for every edge: of those without votes none is lost.
    parts = [
        edges + edges.multiply(holding[start:stop] @ neighbourhood)
        for start, stop in blocks(n, ROWS_PER_BLOCK)
        for edges in [is_edge[start:stop]]
    ]
    votes = csr_array(vstack(parts))
    votes.sort_indices()
    return np.asarray(votes.data - 1)
