"""LinkedAffinity: any affinity, with the answers written into it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clew._composition import FittedSimilarity, Precomputed, believed_by
from clew._parallel import Progress, blocks
from clew._random import RandomState
from clew.constraints import Constraints, Support
from clew.graphs import check_affinity
from clew.similarity.graphs._base import BuiltOnSimilarity
from clew.similarity.graphs._links import with_links

__all__ = ["LinkedAffinity"]

ROWS_PER_BLOCK = 1024


def _can_transform(estimator: LinkedAffinity) -> bool:
    return hasattr(getattr(estimator, "similarity_", estimator.similarity), "transform")


class LinkedAffinity(BuiltOnSimilarity):
    """Make must-linked rows as alike as any, and cannot-linked rows as unlike as any.

    Only the pairs that people spoke of change: nothing spreads. It is the yardstick that every
    method which spreads answers has to beat ("Eucl+Links" and "RF+Links" in the COP-RF paper).

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        Where affinities come from: a similarity; "precomputed" if `fit` gets them, of either sign;
        None is `AdaptiveKNN()`.
    random_state : int, RandomState or None, default=None
        Seeds the similarity where it has no seed of its own.

    Attributes
    ----------
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        Affinity of every two rows; computed when first asked for. Sparse where it was given so.
    constraint_weight_ : ndarray of shape (n_pairs,)
        How far each answer was believed: its weight, or what the similarity beneath made of it.
    similarity_ : estimator
        The fitted similarity beneath.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If `similarity` is no similarity.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.

    See Also
    --------
    SpectralLearning : The same on a neighbour graph, for spectral clustering.
    E2CP : Spreads answers to the neighbours of their rows.

    Notes
    -----
    Honours pairs, softly: a clusterer may still part must-linked rows. An answer of weight w draws
    the affinity by the share w of the way to the largest or the smallest affinity off the diagonal
    (of a sparse affinity, to nil); answers about one pair add up, so that contradictions cancel.
    O(n²) for a dense affinity, O(stored entries + answers) for a sparse one.

    References
    ----------
    X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles", IEEE TNNLS 2015,
    section IV-C.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.similarity import LinkedAffinity
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_pairs(must_link=[(0, 99)], cannot_link=[(0, 1)], n_samples=150)
    >>> A = LinkedAffinity().fit(X, constraints=c).affinity_matrix_
    >>> bool(A[0, 99] > 0.99), bool(A[0, 1] == A.min())
    (True, True)
    """

    _allowed: ClassVar[dict[str, Any]] = {}
    _takes_negative: ClassVar[bool] = True
    supports = Support(pairs=True, dont_know=True)

    constraint_weight_: NDArray[np.float64]
    _believed: Constraints

    @property
    def is_graph(self) -> bool:
        """Whether the affinity beneath is a finished graph."""
        return bool(getattr(self.similarity, "is_graph", False))

    def __init__(self, similarity: Any = None, *, random_state: RandomState = None) -> None:
        self.similarity = similarity
        self.random_state = random_state

    def _solve(
        self, beneath: FittedSimilarity, known: Constraints, callback: Progress | None
    ) -> None:
        self._believed = believed_by(beneath, known)
        self.constraint_weight_ = self._believed.pair_weights

    @cached_property
    def affinity_matrix_(self) -> NDArray[np.floating] | csr_array:
        """Affinity of every two fitted rows, (n_samples, n_samples); computed when asked for."""
        check_is_fitted(self, "similarity_")
        affinity = self.similarity_.affinity_matrix_
        if not isinstance(affinity, np.ndarray):
            return self._linked_graph(affinity)
        linked: NDArray[np.floating]
        linked = with_links(affinity, self._believed, *_range_off_diagonal(affinity))
        return linked

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Link every fitted row to its most similar rows and to those it is must-linked to.

        Parameters
        ----------
        n_neighbors : int, default=20
            How many, besides the must-linked ones.

        Returns
        -------
        csr_array of shape (n_samples, n_samples)
            Symmetric; of a cannot-linked pair there is no entry.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.
        InvalidDataError
            If some affinities are negative: a graph cannot tell them from those it leaves out.
        """
        check_is_fitted(self, "similarity_")
        if isinstance(self.similarity_, Precomputed):
            check_affinity(self.similarity_.affinity_matrix_)
        return self._linked_graph(self.similarity_.kneighbors_graph(n_neighbors))

    def _linked_graph(self, graph: csr_array) -> csr_array:
        """Write the links into a graph, which may be lopsided."""
        both = csr_array(graph.maximum(graph.T))
        highest = max(0.0, float(both.max())) if both.nnz else 1.0
        return csr_array(with_links(both, self._believed, 0.0, highest))

    @available_if(_can_transform)  # type: ignore[untyped-decorator]
    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Measure the affinity of rows to every fitted row; answers have no part in it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
        """
        check_is_fitted(self, "similarity_")
        affinity: NDArray[np.float32] = self.similarity_.transform(X)
        return affinity


def _range_off_diagonal(affinity: NDArray[np.floating]) -> tuple[float, float]:
    """Give the smallest and the largest affinity of two different rows."""
    low, high = np.inf, -np.inf
    for start, stop in blocks(len(affinity), ROWS_PER_BLOCK):
        block = affinity[start:stop].copy()
        rows = np.arange(stop - start)
        block[rows, start + rows] = affinity[0, 1]
        low, high = min(low, float(block.min())), max(high, float(block.max()))
    return low, high
