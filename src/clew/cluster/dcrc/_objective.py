"""DCRC's objective in the weights of the multinomial logistic model, its gradient, its ascent."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from clew._parallel import stop_if_abandoned

__all__ = ["Penalties", "Seen", "ascend", "log_chances", "negative_objective"]

TINY = 1e-300


class Seen(NamedTuple):
    """The rows that the model is fitted on: those with answers first, then a sample of others.

    Parameters
    ----------
    features : ndarray of shape (n_features + 1, n_seen), float64
        The rows as columns, a 1 below each.
    n_answered : int
        How many of them bear answers.
    share : ndarray of shape (n_seen,)
        What part of all rows each stands for; adds up to 1.
    mass : float
        What the log-likelihood of the answers is divided by.
    """

    features: NDArray[np.float64]
    n_answered: int
    share: NDArray[np.float64]
    mass: float


class Penalties(NamedTuple):
    """What the objective weighs beside the answers."""

    tau: float
    """Price of the mean entropy of rows without answers."""
    balance: float
    """Worth of the entropy of the sizes of groups."""
    lam: float
    """Price of squared weights."""

    @classmethod
    def of(cls, tau: float, lam: float, *, balance: bool) -> Self:
        """Hold groups in balance by as much as they are held apart, or not at all."""
        return cls(tau, tau if balance else 0.0, lam)


def log_chances(weights: NDArray[np.float64], features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the logarithm of each row's chance of each group.

    Parameters
    ----------
    weights : ndarray of shape (n_groups, n_features + 1)
        The last column is the bias.
    features : ndarray of shape (n_features + 1, n_rows)
        Rows as columns, a 1 below each.

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
    seen: Seen,
    q: NDArray[np.float64],
    penalties: Penalties,
) -> tuple[float, NDArray[np.float64]]:
    """Give the negative of what the M-step raises, and its gradient.

    Parameters
    ----------
    flat : ndarray of shape (n_groups * (n_features + 1),)
        The weights.
    seen : Seen
        The rows.
    q : ndarray of shape (n_groups, n_answered)
        Memberships of the rows that bear answers.
    penalties : Penalties
        What else counts.

    Returns
    -------
    float, ndarray of the shape of `flat`
    """
    stop_if_abandoned()
    weights = flat.reshape(len(q), -1)
    log_p = log_chances(weights, seen.features)
    p = np.exp(log_p)
    a, m = seen.n_answered, seen.mass
    value = float(np.vdot(q, log_p[:, :a])) / m
    by_logit = np.zeros_like(p)
    if penalties.balance:
        size = p @ seen.share
        log_size = np.log(np.maximum(size, TINY))
        value -= penalties.balance * float(size @ log_size)
        by_logit -= log_size[:, None]
        by_logit += log_size @ p
        by_logit *= penalties.balance * seen.share
    if penalties.tau and a < p.shape[1]:
        lone, n_lone = log_p[:, a:], p.shape[1] - a
        negentropy = np.einsum("kn,kn->n", p[:, a:], lone)
        price = penalties.tau / n_lone
        value += price * float(negentropy.sum())
        lone -= negentropy
        lone *= price
        by_logit[:, a:] += lone
    by_logit *= p
    by_logit[:, :a] += (q - p[:, :a]) / m
    gradient = by_logit @ seen.features.T
    slopes = weights[:, :-1]
    value -= penalties.lam * float(np.vdot(slopes, slopes))
    gradient[:, :-1] -= 2 * penalties.lam * slopes
    return -value, -gradient.ravel()


def ascend(
    weights: NDArray[np.float64],
    seen: Seen,
    q: NDArray[np.float64],
    penalties: Penalties,
    max_iter: int,
) -> tuple[NDArray[np.float64], float]:
    """Raise the objective by some steps of L-BFGS; it never falls.

    Returns
    -------
    weights : ndarray of shape (n_groups, n_features + 1)
    value : float
        The objective there.
    """
    found = minimize(
        negative_objective,
        weights.ravel(),
        (seen, q, penalties),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter},
    )
    return np.asarray(found.x.reshape(weights.shape)), -float(found.fun)
