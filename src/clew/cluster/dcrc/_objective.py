"""DCRC's objective as a function of the logistic model's weights: value, gradient, ascent."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from clew._parallel import stop_if_abandoned

__all__ = ["Penalties", "TrainingRows", "ascend", "log_probabilities", "negative_objective"]

TINY = 1e-300


class TrainingRows(NamedTuple):
    """The rows that the weights are fitted to: those with answers first, then a sample of others.

    Parameters
    ----------
    features : ndarray of shape (n_features + 1, n_rows), float64
        One column for each row; the last entry of each column is 1.
    n_answered : int
        Number of rows with answers.
    share : ndarray of shape (n_rows,)
        The share of all rows that each of these represents; adds up to 1.
    n_effective_answers : float
        Divisor of the log-likelihood of the answers.
    """

    features: NDArray[np.float64]
    n_answered: int
    share: NDArray[np.float64]
    n_effective_answers: float


class Penalties(NamedTuple):
    """Factors of the terms of the objective other than the log-likelihood of the answers."""

    tau: float
    """Penalty on the mean entropy of rows without answers."""
    balance: float
    """Reward for the entropy of the group sizes."""
    lam: float
    """Penalty on squared weights."""

    @classmethod
    def of(cls, tau: float, lam: float, *, balance: bool) -> Self:
        """Use `tau` for the entropy of the group sizes too, as in the paper, or 0."""
        return cls(tau, tau if balance else 0.0, lam)


def log_probabilities(
    weights: NDArray[np.float64], features: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the logarithm of each row's probability of each group.

    Parameters
    ----------
    weights : ndarray of shape (n_groups, n_features + 1)
        The last column is the bias.
    features : ndarray of shape (n_features + 1, n_rows)
        One column for each row; the last entry of each column is 1.

    Returns
    -------
    ndarray of shape (n_groups, n_rows)
    """
    logit = weights @ features
    logit -= logit.max(axis=0)
    logit -= np.log(np.exp(logit).sum(axis=0))
    return np.asarray(logit)


def negative_objective(
    flat: NDArray[np.float64],
    rows: TrainingRows,
    q: NDArray[np.float64],
    penalties: Penalties,
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative of the objective of the M-step, and its gradient.

    Parameters
    ----------
    flat : ndarray of shape (n_groups * (n_features + 1),)
        The weights.
    rows : TrainingRows
        The rows.
    q : ndarray of shape (n_groups, n_answered)
        Probability of each group for each row with answers, from the E-step.
    penalties : Penalties
        Factors of the other terms.

    Returns
    -------
    float, ndarray of the shape of `flat`
    """
    stop_if_abandoned()
    weights = flat.reshape(len(q), -1)
    log_p = log_probabilities(weights, rows.features)
    p = np.exp(log_p)
    a, m = rows.n_answered, rows.n_effective_answers
    value = float(np.vdot(q, log_p[:, :a])) / m
    by_logit = np.zeros_like(p)
    if penalties.balance:
        size = p @ rows.share
        log_size = np.log(np.maximum(size, TINY))
        value -= penalties.balance * float(size @ log_size)
        by_logit -= log_size[:, None]
        by_logit += log_size @ p
        by_logit *= penalties.balance * rows.share
    if penalties.tau and a < p.shape[1]:
        unanswered = log_p[:, a:]
        negative_entropy = np.einsum("kn,kn->n", p[:, a:], unanswered)
        factor = penalties.tau / unanswered.shape[1]
        value += factor * float(negative_entropy.sum())
        unanswered -= negative_entropy
        unanswered *= factor
        by_logit[:, a:] += unanswered
    by_logit *= p
    by_logit[:, :a] += (q - p[:, :a]) / m
    gradient = by_logit @ rows.features.T
    slopes = weights[:, :-1]
    value -= penalties.lam * float(np.vdot(slopes, slopes))
    gradient[:, :-1] -= 2 * penalties.lam * slopes
    return -value, -gradient.ravel()


def ascend(
    weights: NDArray[np.float64],
    rows: TrainingRows,
    q: NDArray[np.float64],
    penalties: Penalties,
    max_iter: int,
) -> tuple[NDArray[np.float64], float]:
    """Increase the objective by at most `max_iter` steps of L-BFGS; it never decreases.

    Returns
    -------
    weights : ndarray of shape (n_groups, n_features + 1)
    value : float
        The objective there.
    """
    found = minimize(
        negative_objective,
        weights.ravel(),
        (rows, q, penalties),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter},
    )
    return np.asarray(found.x.reshape(weights.shape)), -float(found.fun)
