"""Posterior probabilities of groups given answers: coordinate-ascent mean field."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

#: Logarithm that stands for the probability 0 of an excluded group.
EXCLUDED = -1e300


class Messages(NamedTuple):
    """The messages of answers to each row: expected log-likelihoods of the row's groups.

    Given the probabilities q of the groups of the other rows a and b, the message of an answer
    about rows i, a and b to group k of row i is, up to a constant,
    ``by_first·q[a, k] + by_second·q[b, k] + by_both·q[a, k]·q[b, k]``.

    IN start (n_rows + 1,): the messages to row i are the slice ``start[i]:start[i + 1]`` of the
    other arrays; first, second (n_messages,): the other rows a and b of each answer; `second` is -1
    for a pair; by_first, by_second, by_both (n_messages,): changes of the log-likelihood if the row
    is in the group of a (`by_first`) or of b (`by_second`). If it is in the group of both,
    `by_both` is added to these two.
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
    """Add the messages of a row's answers to `field`, of shape (n_groups,)."""
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
    """Return the highest value."""
    highest = field[0]
    for k in range(1, field.shape[0]):
        highest = max(highest, field[k])
    return highest


@bare_kernel
def keep_highest(field: NDArray[np.float64], tie: float, excluded: float) -> None:
    """Set the groups of the highest value to 0, and all others to `excluded`."""
    highest = highest_of(field)
    for k in range(field.shape[0]):
        field[k] = 0.0 if field[k] >= highest - tie else excluded


@bare_kernel
def normalize_into(field: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Turn log-probabilities into probabilities in `q`, and return the largest change of `q`."""
    highest = highest_of(field)
    total = 0.0
    for k in range(field.shape[0]):
        field[k] = np.exp(field[k] - highest)
        total += field[k]
    change = 0.0
    for k in range(field.shape[0]):
        probability = field[k] / total
        change = max(change, abs(probability - q[k]))
        q[k] = probability
    return change


@kernel
def mean_field(
    log_prior: NDArray[np.float64],
    messages: Messages,
    is_hard: bool,
    tie: float,
    excluded: float,
    max_sweeps: int,
    tol: float,
    q: NDArray[np.float64],
) -> int:
    """Update the probabilities of each row in turn, given those of all others.

    IN log_prior (n_rows, n_groups): log-probability of each group of each row without answers;
    messages: the answers; is_hard: whether a row is restricted to the groups with the highest sum
    of messages; tie: sums that differ by at most this count as equal, for `is_hard`; excluded:
    log-probability of the other groups, for `is_hard`; max_sweeps: maximum number of sweeps over
    all rows; tol: the sweep in which no probability changes by this much is the last.
    INOUT q (n_rows, n_groups): probability of each group of each row; each row sums to 1.
    Returns number of sweeps.

    Time O((n_rows + n_messages)·n_groups) for each sweep.
    """
    field = np.empty(q.shape[1])
    for sweep in range(max_sweeps):
        change = 0.0
        for row in range(q.shape[0]):
            field[:] = 0.0
            add_messages(row, messages, q, field)
            if is_hard:
                keep_highest(field, tie, excluded)
            for k in range(field.shape[0]):
                field[k] += log_prior[row, k]
            change = max(change, normalize_into(field, q[row]))
        if change < tol:
            return sweep + 1
    return max_sweeps
