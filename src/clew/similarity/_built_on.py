"""What every similarity that is made of another similarity has in common."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from clew._graphs import check_affinity
from clew._parallel import Progress
from clew._random import derived_seeds
from clew._validation import check_parameters
from clew.constraints import Constraints, Support, check_constraints
from clew.exceptions import InvalidParameterError
from clew.similarity._adaptive_knn import AdaptiveKNN
from clew.similarity._parts import (
    FittedSimilarity,
    Precomputed,
    check_rows,
    fit_part,
    input_tags_of,
    seeded_part,
    support_of,
)

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
            Handed on to the similarity beneath, which says there how far it is.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        is_given = self._is_precomputed()
        # This estimator's own tags say what the similarity beneath takes.
        checked = check_rows(self, X, self)
        if is_given:
            check_affinity(checked, allow_negative=self._takes_negative)
        n = checked.shape[0]
        known = Constraints(n) if constraints is None else constraints
        check_constraints(self, known, n, self.supports)
        (seed,) = derived_seeds(self.random_state, 1)
        if is_given:
            beneath: Any = Precomputed(checked)
        else:
            given = AdaptiveKNN() if self.similarity is None else self.similarity
            part = seeded_part(given, seed, is_seeded=self.random_state is not None)
            beneath = fit_part(part, checked, known, callback)
        self.__dict__.pop("affinity_matrix_", None)
        self._solve(beneath, known)
        self.similarity_ = beneath
        return self

    def _solve(self, beneath: FittedSimilarity, known: Constraints) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def _is_precomputed(self) -> bool:
        if isinstance(self.similarity, str) and self.similarity != PRECOMPUTED:
            raise InvalidParameterError(
                f"{type(self).__name__}(similarity={self.similarity!r}): similarity must be a "
                f"similarity estimator, {PRECOMPUTED!r} or None"
            )
        return isinstance(self.similarity, str)
