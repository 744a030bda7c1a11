"""The log-likelihood of answers given a partition, which allows for wrong answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._validation import check_rectangular
from clew.answers import ANSWER_WORDS, DONT_KNOW, Kind
from clew.constraints import Constraints
from clew.constraints._meanings import TRUTH, as_classes
from clew.exceptions import InvalidDataError

__all__ = [
    "N_POSITIONS",
    "answer_counts",
    "answer_log_likelihood",
    "log_likelihood_of_counts",
    "log_likelihood_of_each",
    "symmetrized_counts",
]

LEAST_PROBABILITY = 1e-3
#: Pseudo-count of the overall answer frequencies in each row of a table.
PSEUDO_ANSWERS = 2.0

#: How many answers of each kind name a position in the question, which is arbitrary.
N_POSITIONS: Final[Mapping[Kind, int]] = MappingProxyType(
    {"pair": 0, "triplet": 2, "odd_one_out": 3}
)

Floats = NDArray[np.float64]
#: For each kind, sums of weights by true and given answer, see `answer_counts`.
Counts = Mapping[Kind, Floats]


def answer_log_likelihood(labels: ArrayLike, constraints: Constraints) -> float:
    """Log-likelihood of the answers, given a partition.

    For each true answer (the one that the partition implies), the probability of every possible
    answer is estimated from the answers themselves. The score therefore copes with wrong answers
    and with unbalanced ones.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Group of each row.
    constraints : Constraints
        Answers of all kinds, each counted by its weight. Don't-know answers about pairs are
        ignored; about three rows they count, because a partition may leave the question open.

    Returns
    -------
    float
        At most 0; higher is better. Comparable between partitions of the same answers only.

    Raises
    ------
    InvalidDataError
        If `labels` does not hold one label for each row of the constraints.

    Notes
    -----
    The order in which a question names its rows does not matter: counts are averaged over all
    orders. If nobody answers "don't know" (forced choice), all answers to a question that the
    partition leaves open therefore have the same probability.

    If an answer is less frequent among the questions for which it is true than among the others,
    the overall frequencies of all answers are used for these questions.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.metrics import answer_log_likelihood
    >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2), (1, 3)], n_samples=4)
    >>> answer_log_likelihood([0, 0, 1, 1], c) > answer_log_likelihood([0, 1, 0, 1], c)
    True
    """
    return log_likelihood_of_counts(answer_counts(labels, constraints))


def answer_counts(labels: ArrayLike, constraints: Constraints) -> dict[Kind, Floats]:
    """Sum weights by true answer (row, by the partition) and given answer (column) of each kind.

    They are averaged over the orders in which the rows could be named. Don't-know is the last row
    and column; tables of pairs leave it out.
    """
    group = check_rectangular(labels, "labels")
    if group.shape != (constraints.n_samples,):
        raise InvalidDataError(
            f"labels must have shape ({constraints.n_samples},), one for each row of the "
            f"constraints; got {group.shape}"
        )
    classes, tables = as_classes(group), {}
    for table in constraints.tables:
        truth, words = TRUTH[table.kind](classes, table.rows), ANSWER_WORDS[table.kind]
        codes = [code for code in words.values() if table.kind != "pair" or code != DONT_KNOW]
        counts = np.zeros((len(codes), len(codes)))
        for row, true in enumerate(codes):
            for column, given in enumerate(codes):
                is_both = (truth == true) & (table.answers == given)
                counts[row, column] = table.weights[is_both].sum()
        tables[table.kind] = symmetrized_counts(table.kind, counts)
    return tables


def symmetrized_counts(kind: Kind, counts: Floats) -> Floats:
    """Average counts, (..., n_outcomes, n_answers), over all orders of the rows of a question.

    The first outcomes and answers are the positions of a row: two for triplets (the more similar
    one), three for odd-one-out.
    """
    n = N_POSITIONS[kind]
    if n == 0:
        return counts
    result = counts.copy()
    positions = np.arange(n)
    square = counts[..., :n, :n]
    equal = np.trace(square, axis1=-2, axis2=-1)
    other = square.sum(axis=(-2, -1)) - equal
    result[..., :n, :n] = other[..., None, None] / (n * (n - 1))
    result[..., positions, positions] = equal[..., None] / n
    result[..., :n, n:] = counts[..., :n, n:].mean(axis=-2, keepdims=True)
    result[..., n:, :n] = counts[..., n:, :n].mean(axis=-1, keepdims=True)
    return result


def log_likelihood_of_counts(counts: Counts) -> float:
    """Return the log-likelihood of counted answers; counts of several partitions may be summed."""
    return sum(
        float((table * _log_probabilities(kind, table)).sum()) for kind, table in counts.items()
    )


def log_likelihood_of_each(labels: ArrayLike, constraints: Constraints, counts: Counts) -> Floats:
    """Return the log-likelihood of each answer, times its weight, given a partition.

    Pairs, triplets, odd-one-out answers; 0 for don't-knows about pairs. The probability of every
    possible answer is estimated from `counts`.
    """
    classes = as_classes(labels)
    parts = []
    for table in constraints.tables:
        log_probability = _log_probabilities(table.kind, counts[table.kind])
        if table.kind == "pair":
            log_probability = np.pad(log_probability, ((0, 0), (0, 1)))  # don't-knows
        truth = replace(table, answers=TRUTH[table.kind](classes, table.rows)).answer_index
        parts.append(table.weights * log_probability[truth, table.answer_index])
    return np.concatenate(parts)


def _log_probabilities(kind: Kind, table: Floats) -> Floats:
    """Estimate the log-probability of each answer (column) by true answer (row)."""
    n = len(table)
    overall = (table.sum(axis=0) + 1 / n) / (table.sum() + 1)
    probability = _smoothed(table, overall)
    elsewhere = _smoothed(table.sum(axis=0) - table, overall)
    determined = np.arange(n if kind == "pair" else n - 1)
    is_less_frequent = probability[determined, determined] < elsewhere[determined, determined]
    probability[determined[is_less_frequent]] = overall
    return np.asarray(np.log(np.clip(probability, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))


def _smoothed(table: Floats, overall: Floats) -> Floats:
    """Turn counts into probabilities of the columns, shrunk to the overall frequencies."""
    pseudo = table + PSEUDO_ANSWERS * overall
    return np.asarray(pseudo / pseudo.sum(axis=1, keepdims=True))
