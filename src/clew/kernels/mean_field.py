"""Memberships of rows that answers tie together: coordinate mean field."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

__all__ = ["Messages", "mean_field"]

#: What a group that is left out weighs, beside the others.
NEVER = -1e300


class Messages(NamedTuple):
    """What answers say to each row, listed for each row.

    An answer about rows i, a and b says to group k of row i, but for a constant,
    ``by_first·q[a, k] + by_second·q[b, k] + by_both·q[a, k]·q[b, k]``.

    Parameters
    ----------
    start : ndarray of shape (n_rows + 1,), int64
        Where the list of each row begins and ends.
    first, second : ndarray of shape (n_messages,), int64
        The lists: the other rows of each answer; `second` is -1 where there is none.
    by_first, by_second, by_both : ndarray of shape (n_messages,), float64
        Log-likelihood gained where the row is with the first, the second, or both.
    """

    start: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    by_first: NDArray[np.float64]
    by_second: NDArray[np.float64]
    by_both: NDArray[np.float64]


@bare_kernel
def add_messages(
    row: int, messages: Messages, q: NDArray[np.float64], field: NDArray[np.float64]
) -> None:
    """Add to each group what a row's answers say of it."""
    n_groups = field.shape[0]
    for at in range(messages.start[row], messages.start[row + 1]):
        a = messages.first[at]
        b = messages.second[at]
        by_a = messages.by_first[at]
        if b < 0:
            for k in range(n_groups):
                field[k] += by_a * q[a, k]
            continue
        by_b = messages.by_second[at]
        by_both = messages.by_both[at]
        for k in range(n_groups):
            field[k] += q[a, k] * (by_a + by_both * q[b, k]) + by_b * q[b, k]


@bare_kernel
def highest_of(field: NDArray[np.float64]) -> float:
    """Find the highest value."""
    highest = field[0]
    for k in range(1, field.shape[0]):
        highest = max(highest, field[k])
    return highest


@bare_kernel
def keep_highest(field: NDArray[np.float64], tie: float, never: float) -> None:
    """Leave the groups of the highest value, all alike, and shut the others out."""
    highest = highest_of(field)
    for k in range(field.shape[0]):
        field[k] = 0.0 if field[k] >= highest - tie else never


@bare_kernel
def normalise_into(field: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Turn logarithms into chances, write them to `q`, and give the largest change."""
    highest = highest_of(field)
    total = 0.0
    for k in range(field.shape[0]):
        field[k] = np.exp(field[k] - highest)
        total += field[k]
    change = 0.0
    for k in range(field.shape[0]):
        chance = field[k] / total
        change = max(change, abs(chance - q[k]))
        q[k] = chance
    return change


@kernel
def mean_field(
    log_prior: NDArray[np.float64],
    messages: Messages,
    is_hard: bool,
    tie: float,
    never: float,
    max_sweeps: int,
    tol: float,
    q: NDArray[np.float64],
) -> int:
    """Update the memberships of each row in turn, given those of all others, until none changes.

    Parameters
    ----------
    log_prior : ndarray of shape (n_rows, n_groups), float64 (IN)
        Logarithm of each row's chance of each group, answers left out.
    messages : Messages (IN)
        What answers say.
    is_hard : bool
        Whether a row may only be in the groups of which its answers say most.
    tie : float
        How far below the highest value a group may be and still count as one of them.
    never : float
        Logarithm of the chance of a group that is shut out.
    max_sweeps : int
        Rounds over all rows at most.
    tol : float
        A round in which no chance changes by as much is the last.
    q : ndarray of shape (n_rows, n_groups), float64 (INOUT)
        Memberships; rows add up to 1.

    Returns
    -------
    int
        Rounds.
    """
    field = np.empty(q.shape[1])
    for sweep in range(max_sweeps):
        change = 0.0
        for row in range(q.shape[0]):
            field[:] = 0.0
            add_messages(row, messages, q, field)
            if is_hard:
                keep_highest(field, tie, never)
            for k in range(field.shape[0]):
                field[k] += log_prior[row, k]
            change = max(change, normalise_into(field, q[row]))
        if change < tol:
            return sweep + 1
    return max_sweeps
