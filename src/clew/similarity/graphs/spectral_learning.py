"""SpectralLearning: a neighbor graph with answers as edges, normalized to a random walk."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from clew._composition import FittedSimilarity, graph_of, reweighted
from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues, RandomState
from clew.constraints import Constraints, Support
from clew.graphs import resolved_n_neighbors
from clew.similarity.graphs._base import BuiltOnSimilarity, with_links

__all__ = ["SpectralLearning"]


class SpectralLearning(BuiltOnSimilarity):
    """Spectral learning: answers become edges of a neighbor graph.

    Must-linked pairs get the affinity 1 and cannot-linked pairs the affinity 0. Answers affect
    other rows only when the graph is clustered.

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        The base similarity whose affinities are changed; it is fitted with the answers if it honors
        them. "precomputed" if `fit` is given affinities; None is `AdaptiveKNN()`.
    n_neighbors : int, "auto" or "paper", default="auto"
        Number of largest affinities of each row that form the neighbor graph. "paper" is a tenth
        of the rows; "auto" is the same, limited to between 5 and 20.
    normalization : {"additive", None}, default="additive"
        "additive" turns affinities W with row sums d into ``(W + d_max·I - diag(d)) / d_max``,
        whose rows sum to 1: a random walk that seldom leaves rows of small degree. None keeps W,
        so that a clusterer can apply its own normalization.
    random_state : int, RandomState or None, default=None
        Seed of the base similarity, if that has none of its own.

    Attributes
    ----------
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        The symmetric graph; if `normalization` is "additive", with the diagonal.
    constraint_weight_ : ndarray of shape (n_pairs,)
        Weight of each answer: as given, or as estimated by the base similarity.
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
        If there are triplets or odd-one-out answers.

    See Also
    --------
    LinkedAffinity : Sets answered pairs in the full affinity, for clusterers that need it.
    E2CP : Propagates answers to the pairs around them.

    Notes
    -----
    Honors pairs as soft constraints; don't-knows are ignored. An answer of weight w moves the
    affinity by the share w of the way to 1 or 0. Answers to the same pair are added up, so
    contradictory answers cancel. To cluster the graph by the paper's eigenvectors, use
    ``SpectralClustering(n_neighbors=None)``; `SimilarityClustering` sets this by itself. Time and
    memory O(n·k + answers), and those of the base similarity.

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

    _allowed: ClassVar[dict[str, AllowedValues]] = {
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
        self, base: FittedSimilarity, answers: Constraints, callback: Progress | None
    ) -> None:
        weighted, n = reweighted(answers, base), answers.n_samples
        graph = graph_of(base, n, resolved_n_neighbors(self.n_neighbors, n))
        highest = max(1.0, float(graph.max())) if graph.nnz else 1.0
        linked = with_links(graph, weighted, 0.0, highest)
        self.affinity_matrix_ = _as_random_walk(linked) if self.normalization else linked
        self.constraint_weight_ = weighted.pair_weights


def _as_random_walk(graph: csr_array) -> csr_array:
    """Divide by the largest degree, and raise the diagonal until each row sums to 1."""
    degree = graph.sum(axis=1)
    most = float(degree.max())
    if most == 0:
        return csr_array(diags_array(np.ones(len(degree))))
    return csr_array((graph + diags_array(most - degree)) / most)
