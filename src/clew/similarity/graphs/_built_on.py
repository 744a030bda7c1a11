"""What every similarity that is made of another similarity has in common."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from clew._parallel import Progress
from clew._random import derived_seeds
from clew._validation import all_or_nothing, check_parameters
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.graphs import check_affinity
from clew.similarity._inner import (
    FittedSimilarity,
    Precomputed,
    check_part,
    check_rows,
    fit_part,
    input_tags_of,
    seeded_part,
    support_of,
)
from clew.similarity.adaptive_knn import AdaptiveKNN

__all__ = ["BuiltOnSimilarity"]

PRECOMPUTED = "precomputed"


class BuiltOnSimilarity(BaseEstimator):
    """Take affinities from another similarity, or as they are given, and change them.

    Subclasses store `similarity` and `random_state`, declare `_allowed`, and write `_solve`.
    """

    _allowed: ClassVar[dict[str, Any]]
    #: Whether negative affinities mean anything to the method.
    _takes_negative: ClassVar[bool] = False

    @property
    def supports(self) -> Support:
        """Kinds of answers that the similarity beneath honours."""
        return support_of(self.similarity)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        if isinstance(self.similarity, str):
            tags.input_tags.pairwise = True
            tags.input_tags.positive_only = not self._takes_negative
            tags.input_tags.sparse = True
        else:
            tags.input_tags = input_tags_of(self.similarity)
        return tags

    @all_or_nothing
    def fit(
        self,
        X: ArrayLike | csr_array,
        y: object = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Learn the affinities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
            What the similarity beneath takes; affinities of every two rows, dense or sparse, where
            it is "precomputed".
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said; None is nothing.
        callback : callable, default=None
            Called now and then with the number of finished steps and of all: by the similarity
            beneath, and then by what is built on it if that takes long.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        check_part(self, "similarity", self.similarity, names=(PRECOMPUTED,))
        is_given = isinstance(self.similarity, str)
        # This estimator's own tags say what the similarity beneath takes.
        checked = check_rows(self, X, self)
        if is_given:
            check_affinity(checked, allow_negative=self._takes_negative)
        n = checked.shape[0]
        self._check_size(n, is_sparse=is_given and issparse(checked))
        known = answers_for(self, constraints, n)
        (seed,) = derived_seeds(self.random_state, 1)
        if is_given:
            beneath: Any = Precomputed(checked)
        else:
            given = AdaptiveKNN() if self.similarity is None else self.similarity
            part = seeded_part(given, seed, is_seeded=self.random_state is not None)
            beneath = fit_part(part, checked, known, callback)
        found = self._solve(beneath, known, callback)
        # All at once: who interrupts the work above still has the model from before.
        self.__dict__.pop("affinity_matrix_", None)
        self.__dict__.update(found, similarity_=beneath)
        return self

    def _check_size(self, n_samples: int, *, is_sparse: bool) -> None:
        """Refuse what would not fit, before the work begins; `is_sparse` if so given."""

    def _solve(
        self, beneath: FittedSimilarity, known: Constraints, callback: Progress | None
    ) -> dict[str, Any]:
        """Find the fitted attributes, by name."""
        raise NotImplementedError
