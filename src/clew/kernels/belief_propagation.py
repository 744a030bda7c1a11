"""Posterior probabilities of groups given answers: mean field, and loopy belief propagation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

#: Logarithm that stands for the probability 0 of an excluded group.
EXCLUDED = -1e300


class Messages(NamedTuple):
    """The messages of answers to each row: expected log-likelihoods of the row's groups.

    With the probabilities q of the groups of the other rows a and b, an answer's message to group k
    is ``by_first·q[a, k] + by_second·q[b, k] + by_both·q[a, k]·q[b, k]``, up to a constant.

    IN start (n_rows + 1,): the messages to row i are the slice ``start[i]:start[i + 1]`` of the
    others; first, second (n_messages,): rows a and b; `second` is -1 for a pair; by_first,
    by_second, by_both (n_messages,): the coefficients.
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

    IN log_prior (n_rows, n_groups): log-probability of each group without answers; is_hard: whether
    a row is restricted to the groups with the highest sum of messages, up to `tie`, and the others
    have the log-probability `excluded`; tol: the sweep in which no probability changes by this is
    the last.
    INOUT q (n_rows, n_groups): probability of each group; each row sums to 1.
    Returns number of sweeps. Time O((n_rows + n_messages)·n_groups) for each.
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


#: Lower bound of likelihoods, so that their logarithms are finite.
LEAST = 1e-12


class AnswerFactors(NamedTuple):
    """The likelihoods of answers, listed by row: one *end* for each row of each answer.

    If the end's row is in group k, and p and r are the probabilities of the other rows, it is
    ``constant + by_first·p[k] + by_second·r[k] + by_rest·Σ p·r + by_both·p[k]·r[k]``.

    IN start (n_rows + 1,): the ends at row i are the slice ``start[i]:start[i + 1]``; first, second
    (n_ends,): the answer's other ends; `second` is -1 for a pair; constant, by_first, by_second,
    by_rest, by_both (n_ends,): the coefficients; weight (n_ends,): multiplies the log-likelihood.
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
def update_message(
    end: int,
    factors: AnswerFactors,
    damping: float,
    cavity: NDArray[np.floating],
    message: NDArray[np.floating],
) -> float:
    """Update the message of an answer to the row of one of its ends; return the largest change."""
    first, second = factors.first[end], factors.second[end]
    weight = factors.weight[end]
    rest = 0.0
    if second >= 0:
        for k in range(message.shape[1]):
            rest += cavity[first, k] * cavity[second, k]
    rest = factors.constant[end] + factors.by_rest[end] * rest
    change = 0.0
    for k in range(message.shape[1]):
        likelihood = rest + factors.by_first[end] * cavity[first, k]
        if second >= 0:
            likelihood += cavity[second, k] * (
                factors.by_second[end] + factors.by_both[end] * cavity[first, k]
            )
        logarithm = weight * np.log(max(likelihood, LEAST))
        change = max(change, abs(logarithm - message[end, k]))
        message[end, k] += (1.0 - damping) * (logarithm - message[end, k])
    return change


@bare_kernel
def sum_messages(
    row: int,
    log_prior: NDArray[np.float64],
    factors: AnswerFactors,
    message: NDArray[np.floating],
    field: NDArray[np.float64],
) -> None:
    """Set `field`, of shape (n_groups,), to a row's log-prior plus all messages to the row."""
    for k in range(field.shape[0]):
        field[k] = log_prior[row, k]
    for end in range(factors.start[row], factors.start[row + 1]):
        for k in range(field.shape[0]):
            field[k] += message[end, k]


@kernel
def propagate_beliefs(
    log_prior: NDArray[np.float64],
    factors: AnswerFactors,
    damping: float,
    max_sweeps: int,
    tol: float,
    cavity: NDArray[np.floating],
    message: NDArray[np.floating],
    q: NDArray[np.float64],
) -> int:
    """Pass messages between rows and answers, until they hardly change.

    A message to a row depends on the other rows' probabilities without that answer, so evidence
    does not return to the row that it came from, as it does in mean field. Exact if the answers
    form no loop.

    IN log_prior (n_rows, n_groups): log-probability of each group without answers, up to a
    constant; damping: share of the previous message in a new one, in [0, 1); tol: the sweep in
    which no message changes by this is the last.
    INOUT cavity (n_ends, n_groups): probabilities of each end's row without this answer; message
    (n_ends, n_groups): log-likelihoods of its row's groups.
    OUT q (n_rows, n_groups): probability of each group; each row sums to 1.
    Returns number of sweeps. Time O((n_rows + n_ends)·n_groups) for each.
    """
    n_rows, n_groups = q.shape
    field = np.empty(n_groups)
    rest = np.empty(n_groups)
    sweep, change = 0, np.inf
    while sweep < max_sweeps and change >= tol:
        sweep += 1
        change = 0.0
        for row in range(n_rows):
            sum_messages(row, log_prior, factors, message, field)
            for end in range(factors.start[row], factors.start[row + 1]):
                for k in range(n_groups):
                    rest[k] = field[k] - message[end, k]
                normalize_into(rest, cavity[end])
                first, second = factors.first[end], factors.second[end]
                change = max(change, update_message(first, factors, damping, cavity, message))
                if second >= 0:
                    change = max(change, update_message(second, factors, damping, cavity, message))
    for row in range(n_rows):
        sum_messages(row, log_prior, factors, message, field)
        normalize_into(field, q[row])
    return sweep


@kernel
def update_all_messages(
    factors: AnswerFactors, cavity: NDArray[np.floating], message: NDArray[np.floating]
) -> None:
    """Compute the message of each answer to each of its rows, without damping.

    IN cavity, OUT message (n_ends, n_groups): as in `propagate_beliefs`.
    """
    for end in range(message.shape[0]):
        update_message(end, factors, 0.0, cavity, message)
