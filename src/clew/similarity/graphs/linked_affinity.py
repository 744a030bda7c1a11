"""LinkedAffinity: affinities in which the answered pairs have the largest or smallest value."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clew._composition import FittedSimilarity, Precomputed, reweighted
from clew._parallel import Progress, blocks
from clew._validation import AllowedValues, RandomState
from clew.constraints import Constraints, Support
from clew.graphs import check_affinity
from clew.similarity.graphs._base import BuiltOnSimilarity, with_links

__all__ = ["LinkedAffinity"]

ROWS_PER_BLOCK = 1024


def _can_transform(estimator: LinkedAffinity) -> bool:
    return hasattr(getattr(estimator, "similarity_", estimator.similarity), "transform")


class LinkedAffinity(BuiltOnSimilarity):
    """Give must-linked pairs the largest affinity, and cannot-linked pairs the smallest.

    Only the affinities of answered pairs change; answers are not propagated. It is the baseline of
    the methods that do propagate them ("Eucl+Links" and "RF+Links" in the COP-RF paper).

    Parameters
    ----------
    similarity : estimator, "precomputed" or None, default=None
        The base similarity whose affinities are changed; it is fitted with the answers if it honors
        them. "precomputed" if `fit` is given affinities, of either sign; None is `AdaptiveKNN()`.
    random_state : int, RandomState or None, default=None
        Seed of the base similarity, if that has none of its own.

    Attributes
    ----------
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        Affinities of all pairs of rows; computed at the first access. Sparse if those of the base
        similarity are.
    constraint_weight_ : ndarray of shape (n_pairs,)
        Weight of each answer: as given, or as estimated by the base similarity.
    similarity_ : estimator
        The fitted base similarity.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If `similarity` is not a similarity.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.

    See Also
    --------
    SpectralLearning : The same on a neighbor graph, for spectral clustering.
    E2CP : Propagates answers to the pairs around them.

    Notes
    -----
    Honors pairs as soft constraints: a clusterer may still separate must-linked rows. Don't-knows
    are ignored. An answer of weight w moves the affinity by the share w of the way to the largest
    or smallest affinity of two different rows; for a sparse affinity the smallest is 0. Answers to
    the same pair are added up, so contradictory answers cancel. Time and memory O(n²) for a dense
    affinity, O(stored entries + answers) for a sparse one.

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

    _allowed: ClassVar[dict[str, AllowedValues]] = {}
    _takes_negative: ClassVar[bool] = True
    supports = Support(pairs=True, dont_know=True)

    constraint_weight_: NDArray[np.float64]
    _answers: Constraints

    @property
    def is_graph(self) -> bool:
        """Whether the affinity of the base similarity is a neighbor graph."""
        return bool(getattr(self.similarity, "is_graph", False))

    def __init__(self, similarity: Any = None, *, random_state: RandomState = None) -> None:
        self.similarity = similarity
        self.random_state = random_state

    def _solve(
        self, base: FittedSimilarity, answers: Constraints, callback: Progress | None
    ) -> None:
        self._answers = reweighted(answers, base)
        self.constraint_weight_ = self._answers.pair_weights

    @cached_property
    def affinity_matrix_(self) -> NDArray[np.floating] | csr_array:
        """Affinities of all pairs of fitted rows, (n_samples, n_samples); computed when read."""
        check_is_fitted(self, "similarity_")
        affinity = self.similarity_.affinity_matrix_
        if not isinstance(affinity, np.ndarray):
            return self._linked_graph(affinity)
        low, high = np.inf, -np.inf  # of two different rows
        for start, stop in blocks(len(affinity), ROWS_PER_BLOCK):
            block = affinity[start:stop].copy()
            rows = np.arange(stop - start)
            block[rows, start + rows] = affinity[0, 1]
            low, high = min(low, float(block.min())), max(high, float(block.max()))
        return with_links(affinity, self._answers, low, high)

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Find the most similar rows of each fitted row, and add its must-linked rows.

        Parameters
        ----------
        n_neighbors : int, default=20
            Number of rows to find for each row, without the must-linked ones.

        Returns
        -------
        csr_array of shape (n_samples, n_samples)
            Symmetric; pairs with a cannot-link of weight 1 have no entry.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.
        InvalidDataError
            If some affinities are negative: an entry that is not stored is 0.
        """
        check_is_fitted(self, "similarity_")
        if isinstance(self.similarity_, Precomputed):
            check_affinity(self.similarity_.affinity_matrix_)
        return self._linked_graph(self.similarity_.kneighbors_graph(n_neighbors))

    def _linked_graph(self, graph: csr_array) -> csr_array:
        """Make a graph symmetric, and change its affinities of answered pairs."""
        both = csr_array(graph.maximum(graph.T))
        highest = max(0.0, float(both.max())) if both.nnz else 1.0
        return with_links(both, self._answers, 0.0, highest)

    @available_if(_can_transform)  # type: ignore[untyped-decorator]
    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Compute the affinities of rows to all fitted rows, as the base similarity does.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Affinities without the changes by answers, as these are about fitted rows.
        """
        check_is_fitted(self, "similarity_")
        affinity: NDArray[np.float32] = self.similarity_.transform(X)
        return affinity
