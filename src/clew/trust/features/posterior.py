"""The probability that each answer about a pair is wrong, from features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from clew._random import RandomState
from clew._validation import check_matrix
from clew.constraints import Constraints, check_constraints
from clew.constraints._support import refuse_another_order
from clew.exceptions import InvalidDataError
from clew.trust.features._pair_forest import PairAnswers, closeness
from clew.trust.features.out_of_bag_vote import out_of_bag_vote

__all__ = ["AnswerPosterior", "answer_evidence", "posterior"]

#: Beta prior of the error rate, with mean 1/6.
ERROR_PRIOR = (2.0, 10.0)
#: Largest error rate. Near ½ answers are not informative, and beyond it they mean the opposite.
MAX_ERROR_RATE = 0.45
#: Variance of the prior of the intercept; the slopes are expected at 1, with variance 1.
INTERCEPT_VARIANCE = 20.0
STARTS = tuple((intercept, error) for intercept in (0.0, -2.0) for error in (-1.5, 0.0))


class AnswerPosterior(NamedTuple):
    """What `posterior` finds."""

    p_wrong: NDArray[np.float64]
    """Probability that each pair's answer is wrong, (n_pairs,); NaN for a don't-know or
    weight 0."""
    weight: NDArray[np.float64]
    """Weight of each answer, ``1 - p_wrong``, (n_pairs,); 0 for a don't-know or weight 0."""
    error_rate: float
    """Estimated share of wrong answers; NaN if there are no answers."""


def answer_evidence(
    X: ArrayLike,
    constraints: Constraints,
    *,
    n_trees: int = 500,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute evidence for "same" at each pair, without its own answer.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features. Their units do not matter.
    constraints : Constraints
        The answers. Only pairs are used, by their weights; those of weight 0 are ignored.
    n_trees : int, default=500
        Size of the forest that votes.
    random_state : int, RandomState or None, default=None
        Seed of the forest.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        Log-odds of the out-of-bag vote, and the standardized closeness of both rows; NaN for a
        don't-know or weight 0.

    Raises
    ------
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import answer_evidence
    >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(1, 2)], n_samples=3)
    >>> answer_evidence(np.eye(3), c, random_state=0).shape
    (2, 2)
    """
    refuse_another_order(X, constraints)
    features = check_matrix(X)
    vote = out_of_bag_vote(
        features, constraints, n_trees=n_trees, random_state=random_state, n_jobs=n_jobs
    )
    evidence = np.column_stack([logit(vote), np.full(len(vote), np.nan)])
    answers = PairAnswers.of(constraints)
    if len(answers.position):
        close = closeness(features, answers.rows)
        close -= np.average(close, weights=answers.weight)
        deviation = float(np.sqrt(np.average(close**2, weights=answers.weight)))
        evidence[answers.position, 1] = close / (deviation or 1.0)
    return evidence


def posterior(evidence: ArrayLike, constraints: Constraints) -> AnswerPosterior:
    """Compute the probability that each answer is wrong, given evidence from features.

    The model: the rows of a pair share a group with probability ``σ(b + Σ w·evidence)``, and an
    answer is wrong with probability e. Slopes w, intercept b and e are maximum a posteriori
    estimates; the probability of each answer being wrong follows by Bayes' rule.

    Parameters
    ----------
    evidence : array-like of shape (n_pairs,) or (n_pairs, n_columns)
        Evidence for "same" at each pair, without its own answer; see `answer_evidence`. Rows of
        don't-knows and of weight 0 are ignored.
    constraints : Constraints
        The answers. Their weights multiply their log-likelihoods.

    Returns
    -------
    AnswerPosterior

    Raises
    ------
    InvalidDataError
        If there is not one finite row of evidence for each answer.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.

    See Also
    --------
    answer_posterior : The same for answers of all kinds, from groups in place of features.

    Notes
    -----
    Time O(n·c) a step for n answers and c columns, some fifty steps. With few answers, or only
    one kind of answer, the error rate stays near 0.1, the mode of the prior.

    References
    ----------
    A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the
    EM algorithm", Applied Statistics 1979, with one annotator and a prior that depends on the pair.

    Examples
    --------
    >>> import numpy as np
    >>> from clew import Constraints
    >>> from clew.trust import posterior
    >>> c = Constraints.from_pairs(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], n_samples=4)
    >>> posterior([3.0, -3.0, -3.0], c).p_wrong.argmax()
    np.int64(1)
    """
    check_constraints(posterior, constraints, constraints.n_samples)
    try:
        columns = np.asarray(evidence, dtype=np.float64)
    except ValueError as error:
        raise InvalidDataError(f"evidence must be an array of numbers: {error}") from error
    columns = columns[:, None] if columns.ndim == 1 else columns
    answers = PairAnswers.of(constraints)
    answered = answers.position
    is_table = columns.ndim == 2 and len(columns) == len(constraints.pairs)
    if not is_table or not np.isfinite(columns[answered]).all():
        raise InvalidDataError(
            f"evidence must hold one finite row for each of the {len(constraints.pairs)} pairs, "
            f"got shape {columns.shape}"
        )
    p_wrong = np.full(len(columns), np.nan)
    if len(answered) == 0:
        return AnswerPosterior(p_wrong, np.zeros(len(columns)), float("nan"))
    said_same = answers.is_same == 1
    p_same, error_rate = _fit(columns[answered], said_same, answers.weight)
    p_contrary = np.where(said_same, 1 - p_same, p_same)
    wrong, right = p_contrary * error_rate, (1 - p_contrary) * (1 - error_rate)
    p_wrong[answered] = wrong / (wrong + right)
    weight = np.nan_to_num(1.0 - p_wrong, nan=0.0)
    return AnswerPosterior(p_wrong, weight, error_rate)


def _fit(
    columns: NDArray[np.float64], said_same: NDArray[np.bool_], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return the probability of "same" for each pair, and the error rate, both MAP."""
    slopes = np.ones(columns.shape[1])
    fits = [
        minimize(
            _loss, [*slopes, *start], (columns, said_same, weight), jac=True, method="L-BFGS-B"
        )
        for start in STARTS
    ]
    best = min(fits, key=lambda fit: float(fit.fun)).x
    return expit(columns @ best[:-2] + best[-2]), MAX_ERROR_RATE * float(expit(best[-1]))


def _loss(
    parameters: NDArray[np.float64],
    columns: NDArray[np.float64],
    said_same: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative log posterior of slopes, intercept and raw rate, and its gradient."""
    slopes, intercept, raw = parameters[:-2], parameters[-2], parameters[-1]
    e = np.clip(MAX_ERROR_RATE * expit(raw), 1e-9, MAX_ERROR_RATE - 1e-9)
    p = expit(columns @ slopes + intercept)
    p_said_same = np.clip(e + (1 - 2 * e) * p, 1e-12, 1 - 1e-12)
    likelihood = np.where(said_same, p_said_same, 1 - p_said_same)
    a, b = ERROR_PRIOR
    log_posterior = (
        weight @ np.log(likelihood)
        + (a - 1) * np.log(e) + (b - 1) * np.log1p(-e)
        - ((slopes - 1) ** 2).sum() / 2 - intercept**2 / (2 * INTERCEPT_VARIANCE)
    )  # fmt: skip
    by_p = weight * np.where(said_same, 1.0, -1.0) / likelihood
    by_margin = by_p * (1 - 2 * e) * p * (1 - p)
    by_e = (by_p * (1 - 2 * p)).sum() + (a - 1) / e - (b - 1) / (1 - e)
    gradient = np.array([
        *(columns.T @ by_margin - (slopes - 1)),
        by_margin.sum() - intercept / INTERCEPT_VARIANCE,
        by_e * e * (1 - e / MAX_ERROR_RATE),
    ])  # fmt: skip
    return -float(log_posterior), -gradient
