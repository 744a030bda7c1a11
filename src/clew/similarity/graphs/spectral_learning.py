"""SpectralLearning: answers written into a neighbour graph, and the graph made a random walk."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from clew._composition import FittedSimilarity, believed_by, graph_of
from clew._parallel import Progress
from clew._random import RandomState
from clew._validation import Allowed
from clew.constraints import Constraints, Support
from clew.graphs import resolved_n_neighbors
from clew.similarity.graphs._base import BuiltOnSimilarity
from clew.similarity.graphs._links import with_links

__all__ = ["SpectralLearning"]


class SpectralLearning(BuiltOnSimilarity):
    """Spectral learning: answers become edges of a neighbour graph.

    Must-linked rows get affinity 1, cannot-linked rows 0, whatever the features say. Nothing
    spreads but through the cut of the graph.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        Where affinities come from: a similarity; "precomputed" if `fit` gets them; None is
        `AdaptiveKNN()`.
    n_neighbors : int, "auto" or "paper", default="auto"
        How many of the largest affinities of each row make the graph; "paper" is a tenth of the
        rows, "auto" the same but 5 at least and 20 at most; of n rows n - 1 at most.
    normalization : {"additive", None}, default="additive"
        "additive" turns affinities W with row sums d into ``(W + d_max·I - diag(d)) / d_max``,
        whose rows add up to 1: rows in thin parts of the data stay where they are. None leaves W,
        so that a clusterer normalises in its own way.
    random_state : int, RandomState or None, default=None
        Seeds the similarity where it has no seed of its own.

    Attributes
    ----------
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        The graph, symmetric; when additive it holds the diagonal, which belongs to the method.
    constraint_weight_ : ndarray of shape (n_pairs,)
        How far each answer was believed: its weight, or what the similarity beneath made of it.
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
        If there are triplets or odd-one-out answers.

    See Also
    --------
    LinkedAffinity : The same on all affinities, for clusterers that want these.
    E2CP : Spreads answers to the neighbours of their rows.

    Notes
    -----
    Honours pairs, softly. An answer of weight w draws the affinity by the share w of the way;
    answers about one pair add up, so that contradictions cancel. Cut it with
    ``SpectralClustering(n_neighbors=None)``, as `SimilarityClustering` does by itself: that gives
    the paper's eigenvectors. Time and memory O(n·k + answers) beside the similarity.

    References
    ----------
    S. Kamvar, D. Klein and C. Manning, "Spectral learning", IJCAI 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import SpectralLearning
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=60, random_state=0)
    >>> graph = SpectralLearning().fit(X, constraints=c).affinity_matrix_
    >>> bool(abs(graph.sum(axis=1) - 1).max() < 1e-9)
    True
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_neighbors": Allowed(names=("auto", "paper"), kind=int, low=1),
        "normalization": Allowed(names=("additive",), none=True),
    }
    supports = Support(pairs=True, dont_know=True)

    affinity_matrix_: csr_array
    constraint_weight_: NDArray[np.float64]

    def __init__(
        self,
        similarity: Any = None,
        *,
        n_neighbors: int | Literal["auto", "paper"] = "auto",
        normalization: Literal["additive"] | None = "additive",
        random_state: RandomState = None,
    ) -> None:
        self.similarity = similarity
        self.n_neighbors = n_neighbors
        self.normalization = normalization
        self.random_state = random_state

    def _solve(
        self, beneath: FittedSimilarity, known: Constraints, callback: Progress | None
    ) -> None:
        believed = believed_by(beneath, known)
        n = known.n_samples
        graph = graph_of(beneath, n, resolved_n_neighbors(self.n_neighbors, n))
        highest = max(1.0, float(graph.max())) if graph.nnz else 1.0
        linked = csr_array(with_links(graph, believed, 0.0, highest))
        self.affinity_matrix_ = _as_random_walk(linked) if self.normalization else linked
        self.constraint_weight_ = believed.pair_weights


def _as_random_walk(graph: csr_array) -> csr_array:
    """Divide by the largest degree, and let each row keep the rest for itself."""
    degree = graph.sum(axis=1)
    most = float(degree.max())
    if most == 0:
        return csr_array(diags_array(np.ones(len(degree))))
    return csr_array((graph + diags_array(most - degree)) / most)
