"""Positions of all rows, and the probabilities of answers that follow from them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.answers import Kind
from clew.constraints import Constraints
from clew.similarity.ordinal._answers import OrdinalAnswers
from clew.similarity.ordinal._response import Response, squared_distances
from clew.similarity.ordinal._solver import FEATURE_VARIANCE, Settings, fit_positions

__all__ = ["OrdinalModel"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Positions of the pair of rows that each answer puts together, by its code.
PAIR_OF_ANSWER = {
    "triplet": np.array([(0, 1), (0, 2)], np.int64),
    "odd_one_out": np.array([(1, 2), (0, 2), (0, 1)], np.int64),
}


class OrdinalModel(NamedTuple):
    """A fitted space."""

    embedding: Floats
    """Positions of all rows, (n_samples, n_components)."""
    feature_weights: Floats
    """Map from features to positions, (n_features, n_components); no rows without features."""
    slopes: Floats
    """Slope of each annotator, (n_annotators,)."""
    pair_log_odds: float
    """Log-odds of "same" that the weights of pairs added in the fit."""
    response: Response
    n_iter: int
    """Number of iterations of the last solution."""

    @classmethod
    def fit(
        cls,
        known: Constraints,
        features: Floats | None,
        settings: Settings,
        *,
        by_annotator: bool,
    ) -> Self:
        """Find the positions.

        Parameters
        ----------
        known : Constraints
            Definite answers.
        features : ndarray of shape (n_samples, n_features) or None
            Features of all rows.
        settings : Settings
            Parameters of the fit.
        by_annotator : bool
            Whether annotators have slopes.

        Returns
        -------
        OrdinalModel
            Without answers, positions are the leading features, or all 0.
        """
        d = settings.n_components
        answers = OrdinalAnswers.of(known, by_annotator=by_annotator)
        names = answers.named_rows()
        n_features = 0 if features is None else features.shape[1]
        slopes, n_iter = np.ones(len(known.annotators)), 1
        if not len(names):
            weights = np.eye(n_features, d)
        else:
            inside = None if features is None else features[names]
            found = fit_positions(
                answers.renumbered(names), len(names), len(slopes), inside, settings
            )
            weights = np.sqrt(FEATURE_VARIANCE) * found.feature_weights
            slopes, n_iter = found.slopes, found.n_iter
        embedding = np.zeros((known.n_samples, d)) if features is None else features @ weights
        if len(names):
            embedding[names] = found.space
        return cls(embedding, weights, slopes, answers.pair_log_odds, settings.response, n_iter)

    def probabilities(self, kind: Kind, rows: Integers, slope: Floats | float) -> Floats:
        """Compute the probability of each answer, with its code as the column.

        Parameters
        ----------
        kind : {"pair", "triplet", "odd_one_out"}
            Kind of the questions.
        rows : ndarray of shape (m, 2) or (m, 3)
            Rows of each question.
        slope : ndarray of shape (m,) or float
            Slope of the annotator.

        Returns
        -------
        ndarray of shape (m, 2) or (m, 3)
        """
        if kind == "pair":
            squared = squared_distances(self.embedding, rows, np.array([(0, 1)]))[:, 0]
            same = self.response.of_same(squared, slope, self.pair_log_odds)
            return np.column_stack([1 - same, same])
        squared = squared_distances(self.embedding, rows, PAIR_OF_ANSWER[kind])
        return self.response.of_options(self.response.dissimilarity(squared), slope)

    def log_likelihood(self, known: Constraints, slopes: Floats) -> tuple[float, float]:
        """Return the weighted sum of log-likelihoods, and the sum of weights.

        Parameters
        ----------
        known : Constraints
            Answers about the fitted rows; don't-know and "all alike" are left out.
        slopes : ndarray of shape (n_annotators,)
            Slope of each annotator of `known`.

        Returns
        -------
        tuple of float
        """
        total = weight = 0.0
        for table in known.tables:
            part = table.take((table.answers >= 0) & (table.weights > 0))
            if not len(part):
                continue
            p = self.probabilities(part.kind, part.rows, slopes[part.annotators])
            total += float(part.weights @ np.log(p[np.arange(len(part)), part.answers]))
            weight += float(part.weights.sum())
        return total, weight
