"""How well a partition explains what people said, wrong answers included."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import ANSWER_WORDS, DONT_KNOW, Kind
from clew.constraints import Constraints
from clew.constraints._tables import AnswerTable
from clew.constraints._truth import TRUTH, as_classes
from clew.exceptions import InvalidDataError

__all__ = ["answer_counts", "answer_log_likelihood", "log_likelihood_of_counts"]

LEAST_PROBABILITY = 1e-3
#: How many answers the overall shares of answers count as, in each case.
PSEUDO_ANSWERS = 2.0

Counts = Mapping[Kind, NDArray[np.float64]]


def answer_log_likelihood(labels: ArrayLike, constraints: Constraints) -> float:
    """Score a partition by the answers: the log-likelihood of what people said, given the groups.

    For each true answer that the groups give, people say this or that with some chance, which is
    estimated from the answers. So the score copes with wrong answers, and with many more of one
    answer than of another.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Group of every row.
    constraints : Constraints
        The answers, of all kinds, each counted by its weight. A don't-know about a pair says
        nothing here; about three rows it does, as no row of them may stand out.

    Returns
    -------
    float
        0 at most; higher is better. Comparable between partitions of the same answers only.

    Raises
    ------
    InvalidDataError
        If `labels` does not hold one label for each row of the constraints.

    Notes
    -----
    Where people give an answer less often than otherwise just where groups make it the true one,
    groups explain nothing, and all answers have the same chances there as everywhere.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.metrics import answer_log_likelihood
    >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2), (1, 3)], n_samples=4)
    >>> answer_log_likelihood([0, 0, 1, 1], c) > answer_log_likelihood([0, 1, 0, 1], c)
    True
    """
    return log_likelihood_of_counts(answer_counts(labels, constraints))


def answer_counts(labels: ArrayLike, constraints: Constraints) -> dict[Kind, NDArray[np.float64]]:
    """Count what people said by what the groups make the true answer.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Group of every row.
    constraints : Constraints
        The answers.

    Returns
    -------
    dict of str to ndarray of shape (n_answers, n_answers)
        For each kind, by true (row) and given answer (column), weights added up. Don't-know about a
        pair is left out; elsewhere it is the last.

    Raises
    ------
    InvalidDataError
        If `labels` does not hold one label for each row of the constraints.
    """
    group = np.asarray(labels)
    if group.shape != (constraints.n_samples,):
        raise InvalidDataError(
            f"labels must have shape ({constraints.n_samples},), one for each row that the "
            f"constraints speak of, got {group.shape}"
        )
    classes = as_classes(group)
    return {said.kind: _counted(said, classes) for said in constraints.tables}


def _counted(said: AnswerTable, classes: NDArray[np.int64]) -> NDArray[np.float64]:
    truth, words = TRUTH[said.kind](classes, said.rows), ANSWER_WORDS[said.kind]
    codes = [code for code in words.values() if said.kind != "pair" or code != DONT_KNOW]
    table = np.zeros((len(codes), len(codes)))
    for row, true in enumerate(codes):
        for column, given in enumerate(codes):
            table[row, column] = said.weights[(truth == true) & (said.answers == given)].sum()
    return table


def log_likelihood_of_counts(counts: Counts) -> float:
    """Give the log-likelihood of answers that were counted, see `answer_log_likelihood`.

    Parameters
    ----------
    counts : dict of str to ndarray of shape (n_answers, n_answers)
        See `answer_counts`; tables of several partitions may have been added up.

    Returns
    -------
    float
    """
    return sum(_log_likelihood(kind, table) for kind, table in counts.items())


def _log_likelihood(kind: Kind, table: NDArray[np.float64]) -> float:
    n = len(table)
    overall = (table.sum(axis=0) + 1 / n) / (table.sum() + 1)
    chance = _smoothed(table, overall)
    elsewhere = _smoothed(table.sum(axis=0) - table, overall)
    settled = np.arange(n if kind == "pair" else n - 1)
    is_against = settled[chance[settled, settled] < elsewhere[settled, settled]]
    chance[is_against] = overall
    chance = np.clip(chance, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return float((table * np.log(chance)).sum())


def _smoothed(table: NDArray[np.float64], overall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn counts into chances of the columns, drawn to what is so overall."""
    pseudo = table + PSEUDO_ANSWERS * overall
    return np.asarray(pseudo / pseudo.sum(axis=1, keepdims=True))
