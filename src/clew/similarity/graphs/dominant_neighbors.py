"""DominantNeighbors: of the nearest rows, those that are alike among themselves too."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from clew._composition import FittedSimilarity
from clew._parallel import Progress
from clew._random import RandomState
from clew._validation import Allowed
from clew._warnings import warn
from clew.constraints import Constraints
from clew.kernels.dominant_sets import dominant_members
from clew.similarity.graphs._base import BuiltOnSimilarity
from clew.similarity.graphs._edge_selection import (
    N_NEIGHBORS_ALLOWED,
    entries_where,
    nearest_rows,
    symmetric,
)

__all__ = ["DominantNeighbors"]

#: How far the penalty lies above the eigenvalue that it must exceed.
MARGIN = 1e-3


class DominantNeighbors(BuiltOnSimilarity):
    """Keep of each row's nearest rows the dominant set that holds the row.

    A dominant set is to affinities what a maximal clique is to plain edges. Of the nearest rows of
    a row those stay that are alike to it and to its other neighbours: one that is near the row but
    far from the rest goes first.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        Where affinities come from: a similarity; "precomputed" if `fit` gets them; None is
        `AdaptiveKNN()`. A similarity that honours answers gets them.
    n_neighbors : int, "auto" or "paper", default="auto"
        How many nearest rows a set is chosen from; "paper" is a tenth of the rows, "auto" the same
        but 5 at least and 20 at most; of n rows n - 1 at most.
    tol : float, default=1e-6
        Where the search for a set ends: by how much payoffs may differ, as a share of the penalty.
    max_iter : int, default=10000
        Steps at most for each row.
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

    Warns
    -----
    ConvergenceWarning
        If the search ran out of steps for some rows.

    See Also
    --------
    ConsensusKNN : Keeps the edges that many neighbourhoods agree on.

    Notes
    -----
    For row i and its k nearest rows, with A the affinities among them in the neighbour graph, the
    set is the support of a maximiser of ``x'(A - αI_N)x`` on the simplex, where ``I_N`` is 1 on the
    diagonal for neighbours and 0 for i, and α lies a thousandth above the largest eigenvalue of A
    among the neighbours. Every maximiser then holds i. The search starts from equal shares and
    goes straight to or away from one row at a time, which ends at the same points as replicator
    dynamics in fewer and cheaper steps. Time O(n·k·(k + steps)), with some k to 3k steps; memory
    O(n·k). A row that another row keeps is linked to it, whether it keeps that row or not.

    References
    ----------
    M. Pavan and M. Pelillo, "Dominant sets and pairwise clustering", IEEE TPAMI 2007. The set that
    holds a given row: E. Zemene and M. Pelillo, "Interactive image segmentation using constrained
    dominant sets", ECCV 2016. The steps: S. Rota Bulò, M. Pelillo and I. Bomze, "Graph-based
    quadratic optimization: a fast evolutionary approach", CVIU 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.similarity import AdaptiveKNN, DominantNeighbors
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = DominantNeighbors(n_neighbors=20).fit(X).affinity_matrix_
    >>> AdaptiveKNN().fit(X).kneighbors_graph(20).nnz > graph.nnz
    True
    """

    _allowed: ClassVar[dict[str, Any]] = N_NEIGHBORS_ALLOWED | {
        "tol": Allowed(kind=float, low=0, low_open=True, high=0.1),
        "max_iter": Allowed(kind=int, low=1),
    }

    affinity_matrix_: csr_array

    def __init__(
        self,
        similarity: Any = None,
        *,
        n_neighbors: int | Literal["auto", "paper"] = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
        random_state: RandomState = None,
    ) -> None:
        self.similarity = similarity
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve(
        self, beneath: FittedSimilarity, known: Constraints, callback: Progress | None
    ) -> None:
        graph, lists, _ = nearest_rows(beneath, known.n_samples, self.n_neighbors)
        self.affinity_matrix_ = symmetric(self._dominant(graph, lists))

    def _dominant(self, graph: csr_array, lists: csr_array) -> csr_array:
        """Keep of the nearest rows of each row those in its dominant set."""
        if not lists.nnz:
            return lists
        is_member = np.zeros(lists.nnz, dtype=np.bool_)
        n_unfinished = dominant_members(
            _int64(graph.indptr),
            _int64(graph.indices),
            # Sets do not depend on the unit of affinities; in this one no sum overflows.
            graph.data / graph.data.max(),
            _int64(lists.indptr),
            _int64(lists.indices),
            MARGIN,
            float(self.tol),
            int(self.max_iter),
            is_member,
        )
        if n_unfinished:
            warn(
                f"{type(self).__name__}: the search ended after max_iter={self.max_iter} steps for "
                f"{n_unfinished} of {graph.shape[0]} rows; their sets may be too large",
                ConvergenceWarning,
            )
        return entries_where(lists, is_member)


def _int64(values: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.ascontiguousarray(values, dtype=np.int64)
