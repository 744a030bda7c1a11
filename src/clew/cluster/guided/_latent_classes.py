"""Latent classes: how many groups rows of few values have, such as answers to a questionnaire.

The silhouette of equal rows is 1 in a group of their own, so it finds as many groups as there are
combinations of values. Here a group is a distribution of the values of each column, and columns are
independent given the group (Lazarsfeld and Henry, "Latent structure analysis", 1968).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Values of a column, and numbers of columns, with which rows are read as combinations of values.
MAX_VALUES, N_COLUMNS = 10, (3, 100)
N_ROUNDS, TOL = 50, 0.01
#: Each group has this weight of further rows with the values of all rows.
PRIOR_ROWS = 0.5
#: Larger numbers of groups are not tried once two of them are worse by so many nats.
CLEARLY_WORSE = 50.0


class Categories(NamedTuple):
    """Columns of few values."""

    indicators: Floats
    """1 where a row has a value, (n_samples, n_values) with the values of all columns."""
    first: NDArray[np.intp]
    """Place of the first value of each column."""

    @classmethod
    def of(cls, X: Floats) -> Self | None:
        """Read columns as categories; None if one has many values, or there are too few or many."""
        values = [
            np.unique(column, return_inverse=True) for column in X.T[: MAX_VALUES * N_COLUMNS[1]]
        ]
        if X.shape[1] > len(values) or max(len(value) for value, _ in values) > MAX_VALUES:
            return None
        columns = _joined([code for value, code in values if len(value) > 1])
        if not N_COLUMNS[0] <= len(columns) <= N_COLUMNS[1]:
            return None
        indicators = [np.eye(int(code.max()) + 1)[code] for code in columns]
        sizes = np.array([one.shape[1] for one in indicators])
        return cls(np.concatenate(indicators, axis=1), np.cumsum(sizes) - sizes)

    def classes(self, labels: NDArray[np.signedinteger]) -> tuple[Floats, float]:
        """Find as many classes by EM from `labels`: (n_samples, n_classes), and log-likelihood."""
        indicators, first = self
        n, sizes = len(labels), np.diff(np.append(first, indicators.shape[1]))
        number = int(labels.max()) + 1
        prior = PRIOR_ROWS * indicators.mean(axis=0)
        member = np.eye(number)[labels] * 0.9 + 0.1 / number
        log_likelihood = -np.inf
        for _ in range(N_ROUNDS):
            share = member.sum(axis=0) / n
            counts = member.T @ indicators + prior
            totals = np.repeat(np.add.reduceat(counts, first, axis=1), sizes, axis=1)
            joint = indicators @ np.log(counts / totals).T + np.log(np.maximum(share, 1e-12))
            of_row = logsumexp(joint, axis=1, keepdims=True)
            member = np.exp(joint - of_row)
            last, log_likelihood = log_likelihood, float(of_row.sum())
            if log_likelihood - last < TOL:
                break
        return member, log_likelihood


def _joined(columns: list[Labels]) -> list[Labels]:
    """Join consecutive columns of 0 and 1 of which each row has exactly one 1."""
    found, at = [], 0
    while at < len(columns):
        code, end = columns[at], at + 1
        joined, total = code.copy(), code.copy()
        while end < len(columns) and total.max() == 1 and not total.all():
            total = total + columns[end]
            joined = np.where(columns[end] == 1, end - at + 1, joined)
            end += 1
        if end > at + 1 and (total == 1).all():
            found.append(joined - 1)
            at = end
        else:
            found.append(code)
            at += 1
    return found


def evidence_of_numbers(
    categories: Categories,
    numbers: Iterable[int],
    cuts: Callable[[int], Iterable[NDArray[np.signedinteger]]],
) -> dict[int, float]:
    """Log-evidence of increasing numbers of groups, by BIC; from `cuts` into as many groups.

    Time O(n·v·K) a round for v values and K groups.
    """
    n, n_values = categories.indicators.shape
    n_free = n_values - len(categories.first)
    found: dict[int, float] = {}
    for number in numbers:
        most = max(categories.classes(of)[1] for of in cuts(number))
        found[number] = most - (number - 1 + number * n_free) * np.log(n) / 2
        worst_two = [*found.values()][-2:]
        if max(worst_two) < max(found.values()) - CLEARLY_WORSE:
            break
    return found
