"""DominantNeighbors: the edges of a neighbor graph to neighbors that are similar to each other."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from clew._composition import FittedSimilarity
from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues, RandomState
from clew._warnings import warn
from clew.constraints import Constraints
from clew.kernels.dominant_sets import dominant_members
from clew.similarity.graphs._base import (
    N_NEIGHBORS_ALLOWED,
    BuiltOnSimilarity,
    nearest_rows,
    selected,
)

__all__ = ["DominantNeighbors"]

#: The penalty α is the largest eigenvalue times one plus this margin.
MARGIN = 1e-3


class DominantNeighbors(BuiltOnSimilarity):
    """Keep the edges of each row to its dominant neighbors, which are also similar to each other.

    A dominant set generalizes the maximal clique to weighted edges. A row keeps those of its
    nearest rows that are in its dominant set: they are similar to the row and to its other
    neighbors. A row that is near it but far from its other neighbors is removed.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        The base similarity whose edges are selected; it is fitted with the answers if it honors
        them. "precomputed" if `fit` is given affinities; None is `AdaptiveKNN()`.
    n_neighbors : int, "auto" or "paper", default="auto"
        Number of nearest rows of which the set is chosen. "paper" is a tenth of the rows; "auto" is
        the same, limited to between 5 and 20.
    tol : float, default=1e-6
        Tolerance of the search: largest difference of payoffs, as a share of the penalty.
    max_iter : int, default=10000
        Largest number of steps for each row.
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

    Warns
    -----
    ConvergenceWarning
        If the search did not converge within `max_iter` steps for some rows.

    See Also
    --------
    ConsensusKNN : Keeps the edges that occur in many neighborhoods.

    Notes
    -----
    Answers only affect the base similarity. Let A be the affinities, in the neighbor graph, of row
    i and its k nearest rows. The set is the support of a maximizer of ``x'(A - αI_N)x`` on the
    simplex, where ``I_N`` is 1 on the diagonal for neighbors and 0 for i, and α is 1.001 times the
    largest eigenvalue of A restricted to the neighbors. Each maximizer then contains i. The search
    starts from equal shares and uses infection and immunization dynamics, which move toward or
    away from one row per step; these have the fixed points of replicator dynamics, and need fewer
    and cheaper steps. Time O(n·k·(k + steps)) with about k to 3k steps, memory O(n·k). An edge is
    kept if either of its rows keeps it.

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

    _allowed: ClassVar[dict[str, AllowedValues]] = N_NEIGHBORS_ALLOWED | {
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
        self, base: FittedSimilarity, answers: Constraints, callback: Progress | None
    ) -> None:
        graph, lists, _ = nearest_rows(base, answers.n_samples, self.n_neighbors)
        is_member = np.zeros(lists.nnz, dtype=np.bool_)
        if lists.nnz:
            places = (graph.indptr, graph.indices, lists.indptr, lists.indices)
            indptr, indices, starts, members = (np.ascontiguousarray(x, np.int64) for x in places)
            # Sets do not depend on the scale of the affinities, and sums must not overflow.
            affinity = graph.data / graph.data.max()
            n_unfinished = dominant_members(
                indptr, indices, affinity, starts, members,
                MARGIN, float(self.tol), int(self.max_iter), is_member,
            )  # fmt: skip
            if n_unfinished:
                warn(
                    f"{type(self).__name__}: the search did not converge in "
                    f"max_iter={self.max_iter} steps for {n_unfinished} of {graph.shape[0]} rows, "
                    "whose sets may be too large; raise max_iter or tol",
                    ConvergenceWarning,
                )
        self.affinity_matrix_ = selected(lists, is_member)
