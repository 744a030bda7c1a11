"""Groups whose mutual dissimilarities explain answers: Gibbs sampling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.forest.random_bits import State, random_unit

__all__ = [
    "DIFFERENT",
    "ODD",
    "SAME",
    "TRIPLET",
    "AnswerEnds",
    "GroupPrior",
    "sample_groups",
]

#: Kinds of answers. Triplet: rows 0 and 1 are nearer to each other than rows 0 and 2. Odd-one-out:
#: rows 0 and 1 are nearer to each other than to row 2. Pairs: rows 0 and 1 are the same or not.
TRIPLET, ODD, SAME, DIFFERENT = 0, 1, 2, 3
N_KINDS = 4


class AnswerEnds(NamedTuple):
    """Answers, listed by row: one *end* for each row of each answer.

    Parameters
    ----------
    rows : ndarray of shape (n_answers, 3), int64
        Rows of each answer in the order that its kind demands; row 2 of a pair is row 0.
    kind : ndarray of shape (n_answers,), int64
        Kind of each answer.
    weight : ndarray of shape (n_answers,), float64
        Weight of each answer, which multiplies its log-likelihood.
    start : ndarray of shape (n_rows + 1,), int64
        The ends at row i are those from ``start[i]`` to ``start[i + 1] - 1``.
    answer, position : ndarray of shape (n_ends,), int64
        Answer of each end, and the position of the row in the answer.
    """

    rows: NDArray[np.int64]
    kind: NDArray[np.int64]
    weight: NDArray[np.float64]
    start: NDArray[np.int64]
    answer: NDArray[np.int64]
    position: NDArray[np.int64]


class GroupPrior(NamedTuple):
    """Prior of groups and dissimilarities.

    Parameters
    ----------
    concentration : float
        Parameter of the symmetric Dirichlet distribution of the groups' shares.
    mean, deviation : float
        Mean and standard deviation of the dissimilarity of two groups; within a group its mean
        is 0.
    lapse : float
        Share of answers that are random.
    threshold : float
        Dissimilarity at which a pair is as likely the same as different.
    """

    concentration: float
    mean: float
    deviation: float
    lapse: float
    threshold: float


@bare_kernel
def log_probability(kind: int, ab: float, ac: float, bc: float, prior: GroupPrior) -> float:
    """Return the log-probability of an answer, given the dissimilarities of its rows' groups."""
    if kind == ODD:
        least = min(ab, min(ac, bc))
        chosen = np.exp(least - ab)
        chosen /= chosen + np.exp(least - ac) + np.exp(least - bc)
        return np.log(prior.lapse / 3 + (1.0 - prior.lapse) * chosen)
    score = ac - ab
    if kind == SAME:
        score = prior.threshold - ab
    elif kind == DIFFERENT:
        score = ab - prior.threshold
    return np.log(prior.lapse / 2 + (1.0 - prior.lapse) / (1.0 + np.exp(-score)))


@bare_kernel
def fill_table(
    dissimilarity: NDArray[np.float64],
    used: NDArray[np.bool_],
    prior: GroupPrior,
    table: NDArray[np.float64],
) -> None:
    """Compute the log-probability of each answer that is used for all groups of its rows."""
    n_groups = dissimilarity.shape[0]
    for kind in range(N_KINDS):
        if not used[kind]:
            continue
        for a in range(n_groups):
            for b in range(n_groups):
                for c in range(n_groups):
                    table[kind, a, b, c] = log_probability(
                        kind, dissimilarity[a, b], dissimilarity[a, c], dissimilarity[b, c], prior
                    )


@bare_kernel
def add_end(
    end: int,
    ends: AnswerEnds,
    labels: NDArray[np.int64],
    table: NDArray[np.float64],
    field: NDArray[np.float64],
) -> None:
    """Add an answer's log-likelihood in each group of the end's row."""
    answer, position = ends.answer[end], ends.position[end]
    kind, weight = ends.kind[answer], ends.weight[answer]
    a = labels[ends.rows[answer, 0]]
    b = labels[ends.rows[answer, 1]]
    c = labels[ends.rows[answer, 2]]
    for k in range(field.shape[0]):
        if position == 0:
            field[k] += weight * table[kind, k, b, c]
        elif position == 1:
            field[k] += weight * table[kind, a, k, c]
        else:
            field[k] += weight * table[kind, a, b, k]


@bare_kernel
def draw_labels(
    ends: AnswerEnds,
    table: NDArray[np.float64],
    temper: float,
    concentration: float,
    state: State,
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    field: NDArray[np.float64],
) -> None:
    """Draw the group of each row in turn, given all others."""
    n_groups = field.shape[0]
    for row in range(labels.shape[0]):
        sizes[labels[row]] -= 1
        for k in range(n_groups):
            field[k] = 0.0
        for end in range(ends.start[row], ends.start[row + 1]):
            add_end(end, ends, labels, table, field)
        largest = -np.inf
        for k in range(n_groups):
            field[k] = temper * field[k] + np.log(sizes[k] + concentration)
            largest = max(largest, field[k])
        total = 0.0
        for k in range(n_groups):
            total += np.exp(field[k] - largest)
            field[k] = total
        wanted = random_unit(state) * total
        group = 0
        while group < n_groups - 1 and field[group] <= wanted:
            group += 1
        labels[row] = group
        sizes[group] += 1


@bare_kernel
def log_likelihood_of_cell(
    a: int,
    b: int,
    c: int,
    dissimilarity: NDArray[np.float64],
    counts: NDArray[np.float64],
    used: NDArray[np.bool_],
    prior: GroupPrior,
) -> float:
    """Return the log-likelihood of the answers about rows of groups a, b and c."""
    total = 0.0
    for kind in range(N_KINDS):
        if used[kind] and counts[kind, a, b, c] > 0.0:
            total += counts[kind, a, b, c] * log_probability(
                kind, dissimilarity[a, b], dissimilarity[a, c], dissimilarity[b, c], prior
            )
    return total


@bare_kernel
def log_posterior_of(
    first: int,
    second: int,
    dissimilarity: NDArray[np.float64],
    counts: NDArray[np.float64],
    used: NDArray[np.bool_],
    temper: float,
    prior: GroupPrior,
) -> float:
    """Return the part of the log-posterior that depends on the dissimilarity of two groups."""
    total = 0.0
    for swap in range(1 if first == second else 2):
        a = second if swap else first
        b = first if swap else second
        for c in range(dissimilarity.shape[0]):
            # Every cell that has both groups, each once.
            total += log_likelihood_of_cell(a, b, c, dissimilarity, counts, used, prior)
            if c != b:
                total += log_likelihood_of_cell(a, c, b, dissimilarity, counts, used, prior)
            if c != a and c != b:
                total += log_likelihood_of_cell(c, a, b, dissimilarity, counts, used, prior)
    mean = 0.0 if first == second else prior.mean
    away = (dissimilarity[first, second] - mean) / prior.deviation
    return temper * total - 0.5 * away * away


@bare_kernel
def draw_dissimilarities(
    counts: NDArray[np.float64],
    used: NDArray[np.bool_],
    temper: float,
    prior: GroupPrior,
    step: float,
    state: State,
    dissimilarity: NDArray[np.float64],
) -> None:
    """Propose a new dissimilarity for each pair of groups (Metropolis)."""
    for first in range(dissimilarity.shape[0]):
        for second in range(first + 1):
            before = dissimilarity[first, second]
            gain = -log_posterior_of(first, second, dissimilarity, counts, used, temper, prior)
            proposed = before + step * (2.0 * random_unit(state) - 1.0)
            dissimilarity[first, second] = dissimilarity[second, first] = proposed
            gain += log_posterior_of(first, second, dissimilarity, counts, used, temper, prior)
            if np.log(random_unit(state)) >= gain:
                dissimilarity[first, second] = dissimilarity[second, first] = before


@kernel
def sample_groups(
    ends: AnswerEnds,
    prior: GroupPrior,
    n_burn_in: int,
    step: float,
    state: State,
    labels: NDArray[np.int64],
    dissimilarity: NDArray[np.float64],
    samples: NDArray[np.int64],
    sampled: NDArray[np.float64],
) -> None:
    """Draw groups of rows and dissimilarities of groups from their posterior distribution.

    Parameters
    ----------
    ends : AnswerEnds (IN)
        The answers.
    prior : GroupPrior (IN)
        The prior.
    n_burn_in : int
        Number of sweeps before the first sample, during which the weight of the answers
        grows from 0 to 1.
    step : float
        Largest step of a proposed dissimilarity.
    state : ndarray of shape (1,), uint64 (INOUT)
        Random stream.
    labels : ndarray of shape (n_rows,), int64 (INOUT)
        Groups to start from; at the end the last sample.
    dissimilarity : ndarray of shape (n_groups, n_groups), float64 (INOUT)
        Symmetric dissimilarities to start from; at the end the last sample.
    samples : ndarray of shape (n_samples, n_rows), int64 (OUT)
        Groups, after every second sweep.
    sampled : ndarray of shape (n_samples, n_groups, n_groups), float64 (OUT)
        Their dissimilarities.

    Notes
    -----
    Dissimilarities are drawn after every second sweep over the rows. A sweep takes
    O(n_ends·n_groups + n_groups³) time.
    """
    n_groups, n_rows = dissimilarity.shape[0], labels.shape[0]
    used = np.zeros(N_KINDS, np.bool_)
    for answer in range(len(ends.kind)):
        used[ends.kind[answer]] = True
    table = np.empty((N_KINDS, n_groups, n_groups, n_groups))
    counts = np.empty_like(table)
    field = np.empty(n_groups)
    sizes = np.zeros(n_groups, np.int64)
    for row in range(n_rows):
        sizes[labels[row]] += 1
    for sweep in range(n_burn_in + 2 * len(samples)):
        temper = min(1.0, (sweep + 1) / (0.8 * n_burn_in))
        if sweep % 2 == 0:
            fill_table(dissimilarity, used, prior, table)
        draw_labels(ends, table, temper, prior.concentration, state, labels, sizes, field)
        if sweep % 2 == 1:
            counts[:] = 0.0
            for at in range(len(ends.kind)):
                a, b, c = ends.rows[at]
                counts[ends.kind[at], labels[a], labels[b], labels[c]] += ends.weight[at]
            draw_dissimilarities(counts, used, temper, prior, step, state, dissimilarity)
            if sweep > n_burn_in:
                samples[(sweep - n_burn_in) // 2] = labels
                sampled[(sweep - n_burn_in) // 2] = dissimilarity
