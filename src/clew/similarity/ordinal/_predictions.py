"""The methods of `OrdinalEmbedding` that predict and score answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew.answers import Kind
from clew.constraints import Constraints, check_constraints
from clew.exceptions import InvalidArgumentError, InvalidDataError, InvalidParameterError
from clew.similarity.ordinal._questions import Questions, rows_by_kind, validated_rows

if TYPE_CHECKING:
    from clew.similarity.ordinal.ordinal_embedding import OrdinalEmbedding

__all__ = ["predict_proba", "score"]

Floats = NDArray[np.float64]


def predict_proba(
    self: OrdinalEmbedding, questions: Questions, *, annotator: str | None = None
) -> Floats | dict[Kind, Floats]:
    """Return the probabilities of the answers to questions about fitted rows.

    Parameters
    ----------
    questions : sequence of Question, or dict of str to array-like
        Questions; or for each kind, "pair", "triplet" or "odd_one_out", the rows of its
        questions, (m, 2) or (m, 3).
    annotator : str, default=None
        Name of the annotator whose slope is used. None is slope 1.

    Returns
    -------
    ndarray of shape (n_questions, 2) or (n_questions, 3), or dict of str to ndarray
        Column c has the probability of the answer with code c, see `clew.answers`: "different"
        and "same" for pairs; the first and the second for triplets; the first, second and third
        row for odd-one-out. If questions of several kinds are mixed, there are three columns,
        with 0 for answers that a kind does not have. A dict if a dict was given.

    Raises
    ------
    InvalidArgumentError
        If the annotator is unknown, or questions are of another type.
    InvalidConstraintsError
        If rows are out of range.
    """
    check_is_fitted(self, "embedding_")
    slope = _slope_of(self, annotator)
    n = len(self.embedding_)
    if isinstance(questions, Mapping):
        given = [validated_rows(kind, rows, n) for kind, rows in questions.items()]
        return {kind: self._model.probabilities(kind, rows, slope) for kind, rows in given}
    by_kind = rows_by_kind(questions)
    result = np.zeros((len(questions), 3 if "odd_one_out" in by_kind else 2))
    for kind, (places, rows) in by_kind.items():
        p = self._model.probabilities(kind, validated_rows(kind, rows, n)[1], slope)
        result[places, : p.shape[1]] = p
    return result


def score(
    self: OrdinalEmbedding,
    constraints: Constraints,
    *,
    temperature: float = 1.0,
    embedding: ArrayLike | None = None,
) -> float:
    """Return the mean log-likelihood of answers, by their weights.

    Parameters
    ----------
    constraints : Constraints
        Answers about the fitted rows, usually held out of the fit. Annotators of the fit, found
        by name, have their slopes, others have slope 1. Don't-know and "all alike" are left
        out.
    temperature : float, default=1.0
        Slopes are divided by it. Above 1 it corrects overconfident probabilities of a space that
        was fitted to few answers.
    embedding : array-like of shape (n_samples, n_components), default=None
        Positions in place of `embedding_`, such as the centers of the rows' groups.

    Returns
    -------
    float
        At most 0, and 0 if there are no answers.

    Raises
    ------
    InvalidConstraintsError
        If the constraints are about another number of rows.
    InvalidParameterError
        If `temperature` is not positive.
    InvalidDataError
        If `embedding` has another shape than `embedding_`.
    """
    check_is_fitted(self, "embedding_")
    check_constraints(self, constraints, len(self.embedding_), self.supports)
    if not 0 < temperature < np.inf:
        raise InvalidParameterError(f"temperature must be positive, got {temperature!r}")
    model = self._model
    if embedding is not None:
        positions = np.asarray(embedding, dtype=np.float64)
        if positions.shape != self.embedding_.shape:
            raise InvalidDataError(
                f"embedding must have shape {self.embedding_.shape}, got {positions.shape}"
            )
        model = model._replace(embedding=positions)
    slope_of = dict(zip(self.annotators_, self.annotator_slopes_, strict=True))
    slopes = np.array([slope_of.get(name, 1.0) for name in constraints.annotators])
    total, weight = model.log_likelihood(constraints, slopes / temperature)
    return total / weight if weight else 0.0


def _slope_of(model: OrdinalEmbedding, annotator: str | None) -> float:
    if annotator is None:
        return 1.0
    if annotator not in model.annotators_:
        raise InvalidArgumentError(
            f"annotator {annotator!r} gave none of the fitted answers; leave annotator=None"
        )
    return float(model.annotator_slopes_[model.annotators_.index(annotator)])
