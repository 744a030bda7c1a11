"""ConsensusKNN: the edges of a neighbor graph that occur in many neighborhoods."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, vstack

from clew._composition import FittedSimilarity
from clew._parallel import Progress, blocks
from clew._validation import Allowed, AllowedValues, RandomState
from clew.constraints import Constraints
from clew.similarity.graphs._base import (
    N_NEIGHBORS_ALLOWED,
    BuiltOnSimilarity,
    nearest_rows,
    selected,
)

__all__ = ["ConsensusKNN"]

ROWS_PER_BLOCK = 1024


class ConsensusKNN(BuiltOnSimilarity):
    """Keep the edges of a neighbor graph that occur in many neighborhoods.

    A neighborhood is a row with its nearest rows, and votes for each pair of rows in it. Two rows
    of the same group are neighbors of the same rows and get many votes. An edge between two groups
    gets few votes and is removed.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        The base similarity whose edges are selected; it is fitted with the answers if it honors
        them. "precomputed" if `fit` is given affinities; None is `AdaptiveKNN()`.
    n_neighbors : int, "auto" or "paper", default="auto"
        Number of nearest rows in a neighborhood. "paper" is a tenth of the rows; "auto" is the
        same, limited to between 5 and 20.
    threshold : float, default=0.15
        Least number of votes of an edge that is kept, as a share of ``n_neighbors + 1``, the mean
        number of neighborhoods that a row is in. 0 keeps all edges.
    random_state : int, RandomState or None, default=None
        Seed of the base similarity, if that has none of its own.

    Attributes
    ----------
    affinity_matrix_ : csr_array of shape (n_samples, n_samples), float64
        Affinities of the edges that are kept; symmetric, with an empty diagonal.
    similarity_ : estimator
        The fitted base similarity.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are answers of a kind that the base similarity does not honor.

    See Also
    --------
    DominantNeighbors : Keeps the neighbors that are also similar to each other.

    Notes
    -----
    Answers only affect the base similarity. A row whose edges would all be removed keeps its
    strongest one, so that each row has a neighbor. Time O(n·k²), memory O(n·k).

    References
    ----------
    V. Premachandran and R. Kakarala, "Consensus of k-NNs for robust neighborhood selection on
    graph-based manifolds", CVPR 2013. The threshold as a share and the edge kept by each row are
    clew's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.similarity import AdaptiveKNN, ConsensusKNN
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = ConsensusKNN(n_neighbors=20, threshold=0.5).fit(X).affinity_matrix_
    >>> AdaptiveKNN().fit(X).kneighbors_graph(20).nnz > graph.nnz
    True
    """

    _allowed: ClassVar[dict[str, AllowedValues]] = N_NEIGHBORS_ALLOWED | {
        "threshold": Allowed(kind=float, low=0, high=1)
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
        self, base: FittedSimilarity, answers: Constraints, callback: Progress | None
    ) -> None:
        graph, lists, k = nearest_rows(base, answers.n_samples, self.n_neighbors)
        is_kept = _votes(graph, lists) >= self.threshold * (k + 1)
        row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        n_kept = np.bincount(row, is_kept, minlength=graph.shape[0])
        by_strength = np.lexsort((graph.indices, -graph.data, row))
        is_strongest = np.diff(row, prepend=-1) > 0  # the first entry of each row
        strongest = by_strength[is_strongest]
        is_kept[strongest[n_kept[row[strongest]] == 0]] = True
        self.affinity_matrix_ = selected(graph, is_kept)


def _votes(graph: csr_array, lists: csr_array) -> NDArray[np.int64]:
    """Count the neighborhoods that hold both rows of each edge of the graph."""
    n = graph.shape[0]
    neighborhood = csr_array(lists.astype(bool).astype(np.int64) + eye_array(n, dtype=np.int64))
    holding = csr_array(neighborhood.T)
    is_edge = graph.astype(bool).astype(np.int64)
    # Each edge gets one vote more, so that edges without votes stay stored.
    parts = [
        edges + edges.multiply(holding[start:stop] @ neighborhood)
        for start, stop in blocks(n, ROWS_PER_BLOCK)
        for edges in [is_edge[start:stop]]
    ]
    votes = csr_array(vstack(parts))
    votes.sort_indices()
    return np.asarray(votes.data - 1)
