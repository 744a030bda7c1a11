"""Probabilities of answers given the positions of rows, and the slopes of annotators."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from clew.kernels.ordinal import DISTANCE, T_STE
from clew.similarity.ordinal._answers import OPTIONS, OrdinalAnswers

__all__ = ["Form", "Response", "annotator_slopes"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Form = Literal["tste", "distance"]

#: Added to squared distances before the square root, whose derivative is infinite at 0.
SMOOTHING = 1e-3
#: Squared distance at which a pair is as likely the same as different.
THRESHOLD = 2.0
#: Slopes of which the posterior is computed, and standard deviation of the prior of their logs.
SLOPES = (0.05, 0.15, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
PRIOR_DEVIATION = 0.5
#: Answers whose probabilities are computed at a time.
ANSWERS_PER_BLOCK = 1 << 17


class Response(NamedTuple):
    """How probabilities of answers depend on distances."""

    form: Form
    lapse: float
    """Share of answers that are random."""

    @property
    def code(self) -> int:
        """The form, as kernels take it."""
        return T_STE if self.form == "tste" else DISTANCE

    def dissimilarity(self, squared: Floats) -> Floats:
        """Return the dissimilarity at squared distances."""
        if self.form == "tste":
            return np.asarray(np.log1p(squared))
        return np.asarray(np.sqrt(squared + SMOOTHING))

    def of_options(self, dissimilarities: Floats, slope: Floats | float) -> Floats:
        """Return the probability of each option, (m, n_options)."""
        scores = -dissimilarities * np.reshape(slope, (-1, 1))
        n_options = dissimilarities.shape[1]
        return np.asarray(self.lapse / n_options + (1 - self.lapse) * softmax(scores, axis=1))

    def of_same(self, squared: Floats, slope: Floats | float, log_odds: float = 0.0) -> Floats:
        """Return the probability of "same", (m,)."""
        scores = slope * (THRESHOLD - squared) - log_odds
        return np.asarray(self.lapse / 2 + (1 - self.lapse) * expit(scores))


def squared_distances(space: Floats, rows: Integers, options: Integers) -> Floats:
    """Return the squared distance of each option's pair of rows, (m, n_options)."""
    result = np.empty((len(rows), len(options)))
    for start in range(0, len(rows), ANSWERS_PER_BLOCK):
        part = slice(start, start + ANSWERS_PER_BLOCK)
        for column, (i, j) in enumerate(options):
            difference = space[rows[part, i]] - space[rows[part, j]]
            result[part, column] = np.einsum("ij,ij->i", difference, difference)
    return result


def log_likelihoods(
    space: Floats, answers: OrdinalAnswers, response: Response, slopes: Floats | float
) -> list[Floats]:
    """Return the log-likelihood of each distinct answer, one array for each kind.

    Parameters
    ----------
    space : ndarray of shape (n_rows, n_components)
        Positions of the rows.
    answers : OrdinalAnswers
        The answers.
    response : Response
        The response.
    slopes : ndarray of shape (n_annotators,) or float
        Slope of each annotator, or of all.
    """
    result = []
    for kind, table in zip(("pair", "triplet", "odd_one_out"), answers.tables, strict=True):
        slope = slopes if np.ndim(slopes) == 0 else np.asarray(slopes)[table.annotators]
        if kind == "pair":
            squared = squared_distances(space, table.rows, np.array([(0, 1)]))[:, 0]
            p = response.of_same(squared, slope)
            p = np.where(table.is_same, p, 1 - p)
        else:
            squared = squared_distances(space, table.rows, OPTIONS[kind])
            p = response.of_options(response.dissimilarity(squared), slope)[:, 0]
        result.append(np.log(p))
    return result


def annotator_slopes(
    space: Floats, answers: OrdinalAnswers, response: Response, n_annotators: int
) -> Floats:
    """Estimate how closely each annotator's answers follow the distances.

    Parameters
    ----------
    space : ndarray of shape (n_rows, n_components)
        Positions of the rows.
    answers : OrdinalAnswers
        Answers, with the annotator of each.
    response : Response
        The response.
    n_annotators : int
        Number of annotators.

    Returns
    -------
    ndarray of shape (n_annotators,)
        Geometric posterior mean on a grid, under a log-normal prior with median 1.
    """
    grid = np.log(SLOPES)
    log_posterior = np.tile(-0.5 * (grid / PRIOR_DEVIATION) ** 2, (n_annotators, 1))
    for column, slope in enumerate(SLOPES):
        per_kind = log_likelihoods(space, answers, response, slope)
        for table, log_p in zip(answers.tables, per_kind, strict=True):
            log_posterior[:, column] += np.bincount(
                table.annotators, table.weights * log_p, minlength=n_annotators
            )
    return np.asarray(np.exp(softmax(log_posterior, axis=1) @ grid))
