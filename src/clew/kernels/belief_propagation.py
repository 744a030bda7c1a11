"""Memberships of rows that answers tie together: loopy belief propagation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.mean_field import normalise_into

__all__ = ["Ties", "believe", "tell_all"]

#: The least chance of which a logarithm is taken.
LEAST = 1e-12


class Ties(NamedTuple):
    """Answers, listed once for each of their rows: the ends of an answer.

    Given that row i of an answer is in group k, and the chances p and r of the groups of its other
    rows, the answer is as likely as ``constant + by_first·p[k] + by_second·r[k] +
    by_rest·Σ p·r + by_both·p[k]·r[k]``.

    Parameters
    ----------
    start : ndarray of shape (n_rows + 1,), int64
        Where the ends at each row begin and end.
    first, second : ndarray of shape (n_ends,), int64
        The ends of the same answer at its other rows; `second` is -1 where there is none.
    constant, by_first, by_second, by_rest, by_both : ndarray of shape (n_ends,), float64
        The factors above.
    weight : ndarray of shape (n_ends,), float64
        What the logarithm of that likelihood is multiplied by.
    """

    start: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    constant: NDArray[np.float64]
    by_first: NDArray[np.float64]
    by_second: NDArray[np.float64]
    by_rest: NDArray[np.float64]
    by_both: NDArray[np.float64]
    weight: NDArray[np.float64]


@bare_kernel
def tell(
    end: int, ties: Ties, damping: float, others: NDArray[np.float64], told: NDArray[np.float64]
) -> float:
    """Update what an answer tells one of its rows of each group, and give the largest change."""
    first, second = ties.first[end], ties.second[end]
    weight = ties.weight[end]
    rest = 0.0
    if second >= 0:
        for k in range(told.shape[1]):
            rest += others[first, k] * others[second, k]
    rest = ties.constant[end] + ties.by_rest[end] * rest
    change = 0.0
    for k in range(told.shape[1]):
        chance = rest + ties.by_first[end] * others[first, k]
        if second >= 0:
            chance += others[second, k] * (
                ties.by_second[end] + ties.by_both[end] * others[first, k]
            )
        logarithm = weight * np.log(max(chance, LEAST))
        change = max(change, abs(logarithm - told[end, k]))
        told[end, k] += (1.0 - damping) * (logarithm - told[end, k])
    return change


@bare_kernel
def gather(
    row: int,
    log_prior: NDArray[np.float64],
    ties: Ties,
    told: NDArray[np.float64],
    field: NDArray[np.float64],
) -> None:
    """Add up what a row is told of each group."""
    for k in range(field.shape[0]):
        field[k] = log_prior[row, k]
    for end in range(ties.start[row], ties.start[row + 1]):
        for k in range(field.shape[0]):
            field[k] += told[end, k]


@kernel
def believe(
    log_prior: NDArray[np.float64],
    ties: Ties,
    damping: float,
    max_sweeps: int,
    tol: float,
    others: NDArray[np.float64],
    told: NDArray[np.float64],
    q: NDArray[np.float64],
) -> int:
    """Let answers tell each row, in turn, what the rest of the world makes of their other rows.

    Unlike in mean field, what an answer tells a row does not come back to it by the same answer.

    Parameters
    ----------
    log_prior : ndarray of shape (n_rows, n_groups), float64 (IN)
        Logarithm of each row's chance of each group, answers left out, but for a constant.
    ties : Ties (IN)
        The answers.
    damping : float
        Share of the message before that is kept.
    max_sweeps : int
        Rounds over all rows at most.
    tol : float
        A round in which no message changes by as much is the last.
    others : ndarray of shape (n_ends, n_groups), float64 (INOUT)
        For each end, the chances of its row's groups, this answer left out.
    told : ndarray of shape (n_ends, n_groups), float64 (INOUT)
        For each end, what the answer tells its row, as a log-likelihood.
    q : ndarray of shape (n_rows, n_groups), float64 (OUT)
        Memberships; rows add up to 1.

    Returns
    -------
    int
        Rounds.
    """
    n_rows, n_groups = q.shape
    field = np.empty(n_groups)
    rest = np.empty(n_groups)
    sweep, change = 0, np.inf
    while sweep < max_sweeps and change >= tol:
        sweep += 1
        change = 0.0
        for row in range(n_rows):
            gather(row, log_prior, ties, told, field)
            for end in range(ties.start[row], ties.start[row + 1]):
                for k in range(n_groups):
                    rest[k] = field[k] - told[end, k]
                normalise_into(rest, others[end])
                change = max(change, tell(ties.first[end], ties, damping, others, told))
                if ties.second[end] >= 0:
                    change = max(change, tell(ties.second[end], ties, damping, others, told))
    for row in range(n_rows):
        gather(row, log_prior, ties, told, field)
        normalise_into(field, q[row])
    return sweep


@kernel
def tell_all(ties: Ties, others: NDArray[np.float64], told: NDArray[np.float64]) -> None:
    """Write down what each answer tells each of its rows, given the chances of the others.

    Parameters
    ----------
    ties : Ties (IN)
        The answers.
    others : ndarray of shape (n_ends, n_groups), float64 (IN)
        For each end, the chances of its row's groups.
    told : ndarray of shape (n_ends, n_groups), float64 (OUT)
        For each end, what the answer tells its row, as a log-likelihood.
    """
    for end in range(told.shape[0]):
        tell(end, ties, 0.0, others, told)
