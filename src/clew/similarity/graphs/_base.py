"""Base class of the similarities that modify the affinities of another similarity."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._composition import (
    FittedSimilarity,
    Precomputed,
    check_part,
    check_rows,
    fit_part,
    input_tags_of,
    seeded_part,
    support_of,
)
from clew._estimators import ConstrainedEstimator, guarded_fit
from clew._parallel import Progress
from clew._random import RandomState, derived_seeds
from clew._validation import check_parameters
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.graphs import check_affinity, check_n_neighbors, nearest_graph
from clew.similarity.adaptive_knn import AdaptiveKNN

__all__ = ["BuiltOnSimilarity"]

PRECOMPUTED = "precomputed"


class BuiltOnSimilarity(ConstrainedEstimator):
    """Modify the affinities of another similarity, or precomputed affinities.

    Subclasses store `similarity` and `random_state`, declare `_allowed`, and implement `_solve`.
    """

    _allowed: ClassVar[dict[str, Any]]
    #: Whether precomputed affinities may be negative.
    _takes_negative: ClassVar[bool] = False

    similarity: Any
    random_state: RandomState
    similarity_: Any
    affinity_matrix_: Any

    @property
    def supports(self) -> Support:
        """Kinds of answers that the base similarity honors."""
        return support_of(self.similarity)

    @property
    def is_graph(self) -> bool:
        """Whether `affinity_matrix_` is a neighbor graph; clusterers then build none from it."""
        return True

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        if isinstance(self.similarity, str):
            tags.input_tags.pairwise = True
            tags.input_tags.positive_only = not self._takes_negative
            tags.input_tags.sparse = True
        else:
            given = AdaptiveKNN() if self.similarity is None else self.similarity
            tags.input_tags = input_tags_of(given)
        return tags

    @guarded_fit
    def fit(
        self,
        X: ArrayLike | csr_array,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Fit the base similarity, and modify its affinities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
            Input of the base similarity; if `similarity` is "precomputed", the affinities of all
            pairs of rows, dense or sparse.
        y : ignored
            Present for compatibility with scikit-learn.
        constraints : Constraints, default=None
            Answers; None for no answers.
        callback : callable, default=None
            Called as ``callback(n_done, n_steps)`` by the base similarity, and then by this
            estimator if it takes long itself.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        check_part(self, "similarity", self.similarity, names=(PRECOMPUTED,))
        is_given = isinstance(self.similarity, str)
        # The tags of this estimator are those of the base similarity.
        checked = check_rows(self, X, self)
        if is_given:
            check_affinity(checked, allow_negative=self._takes_negative)
        n = checked.shape[0]
        may_be_sparse = issparse(checked) if is_given else getattr(self.similarity, "is_graph", 0)
        self._check_size(n, is_sparse=bool(may_be_sparse))
        known = answers_for(self, constraints, n)
        (seed,) = derived_seeds(self.random_state, 1)
        if is_given:
            base: Any = Precomputed(checked)
        else:
            given = AdaptiveKNN() if self.similarity is None else self.similarity
            part = seeded_part(given, seed, is_seeded=self.random_state is not None)
            base = fit_part(part, checked, known, callback)
        self.similarity_ = base
        self._solve(base, known, callback)
        return self

    def _check_size(self, n_samples: int, *, is_sparse: bool) -> None:
        """Refuse results that would not fit in memory.

        Called before the base similarity is fitted; `is_sparse` is whether its affinity may be
        sparse.
        """

    def _solve(self, base: FittedSimilarity, known: Constraints, callback: Progress | None) -> None:
        """Set `affinity_matrix_` and the other fitted attributes."""
        raise NotImplementedError

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Keep the largest affinities of each row.

        Parameters
        ----------
        n_neighbors : int, default=20
            Number of affinities to keep in each row.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Symmetric: an entry is kept if either of its rows keeps it. The diagonal is empty.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.
        """
        check_is_fitted(self, "affinity_matrix_")
        affinity = self.affinity_matrix_
        check_n_neighbors(n_neighbors, affinity.shape[0])
        return nearest_graph(affinity, n_neighbors)
