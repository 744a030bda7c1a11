"""DCRC's answers: their rows, the messages that they send, and their log-likelihood."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clew.answers import Kind
from clew.constraints import AnswerTable, Constraints
from clew.kernels.mean_field import EXCLUDED, Messages, mean_field
from clew.trust._outcomes import (
    OTHERS,
    OUTCOMES,
    co_membership,
    informative_tables,
    outcome_probabilities,
)
from clew.trust.annotators import Matrices, expected_counts

__all__ = ["AnsweredRows"]

#: Groups whose sums of agreeing answers differ by less count as equal.
TIE = 1e-9


class AnsweredRows:
    """The rows with answers, numbered from 0, and the answers about them.

    Parameters
    ----------
    known : Constraints
        The answers; those of weight 0 are left out.
    with_dont_know_pairs : bool
        Whether don't-knows about pairs are kept. They are informative only if each annotator has a
        confusion matrix.
    is_hard : bool
        Whether a row may be only in the groups that agree with most of its answers.

    Attributes
    ----------
    rows : ndarray of shape (n_answered,), int64
        The rows' numbers in the data, ascending.
    tables : list of AnswerTable
        The answers of each kind; their rows are positions in `rows`.
    n_answers : int
        Number of answers.
    """

    def __init__(self, known: Constraints, *, with_dont_know_pairs: bool, is_hard: bool) -> None:
        given = informative_tables(known, with_dont_know_pairs=with_dont_know_pairs)
        self.rows = np.unique(np.concatenate([table.rows.ravel() for table in given]))
        self.tables = [
            replace(table, rows=np.searchsorted(self.rows, table.rows).astype(np.int64))
            for table in given
        ]
        self.n_answers = sum(len(table) for table in given)
        self.is_hard = is_hard
        self._incidence = _AnswersByRow(self.tables, len(self.rows))

    def update_memberships(
        self,
        log_prior: NDArray[np.float64],
        confusion: Matrices,
        q: NDArray[np.float64],
        *,
        max_sweeps: int,
        tol: float,
    ) -> None:
        """Update the memberships `q` in place; see `mean_field`."""
        gains = [_gains(table, confusion) for table in self.tables]
        messages = self._incidence.messages(gains)
        mean_field(log_prior, messages, self.is_hard, TIE, EXCLUDED, max_sweeps, tol, q)

    def log_likelihood(self, confusion: Matrices, q: NDArray[np.float64]) -> float:
        """Return the weighted expected log-likelihood of the answers."""
        return sum(
            float((_gains(table, confusion) * co_membership(_of_rows(table, q))).sum())
            for table in self.tables
        )

    def counts(self, q: NDArray[np.float64], n_annotators: int) -> dict[Kind, NDArray[np.float64]]:
        """Return the expected number of answers by annotator, case and label, for each kind."""
        return {
            table.kind: expected_counts(
                table, outcome_probabilities(table.kind, _of_rows(table, q)), n_annotators
            )
            for table in self.tables
        }


def _of_rows(table: AnswerTable, q: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [q[rows] for rows in table.rows.T]


def _gains(table: AnswerTable, confusion: Matrices) -> NDArray[np.float64]:
    """Return each answer's log-likelihood as factors of `co_membership`, (m, 5)."""
    logarithm = np.log(confusion[table.kind][table.annotators, :, table.answer_index])
    return np.asarray(table.weights[:, None] * (logarithm @ OUTCOMES[table.kind]))


class _AnswersByRow:
    """Lists the answers of each row once; the messages change with the confusion matrices."""

    def __init__(self, tables: list[AnswerTable], n_rows: int) -> None:
        parts = []
        first_answer = 0
        for table in tables:
            size = table.rows.shape[1]
            for position in range(size):
                parts.append(_incidences(table.rows, position, first_answer))
            first_answer += len(table.rows)
        row, first, second, answer, by_first, by_second = np.concatenate(parts, axis=1)
        order = np.argsort(row, kind="stable")
        self._start = np.searchsorted(row[order], np.arange(n_rows + 1)).astype(np.int64)
        self._first, self._second = first[order], second[order]
        self._answer = answer[order]
        self._by_first, self._by_second = by_first[order], by_second[order]

    def messages(self, gains: list[NDArray[np.float64]]) -> Messages:
        """Return the messages of the answers, given the gains of each kind."""
        gain = np.concatenate(gains)
        return Messages(
            self._start,
            self._first,
            self._second,
            gain[self._answer, self._by_first],
            gain[self._answer, self._by_second],
            gain[self._answer, 4],
        )


def _incidences(rows: NDArray[np.int64], position: int, first_answer: int) -> NDArray[np.int64]:
    """List the rows at one position of the answers.

    Each column of the result is an answer: the row, the two other rows (-1 if there is none), the
    number of the answer, and the columns of the gains for the other rows.
    """
    m = len(rows)
    one, other, by_one, by_other = OTHERS[position]
    is_pair = rows.shape[1] == 2
    return np.stack([
        rows[:, position],
        rows[:, one],
        np.full(m, -1) if is_pair else rows[:, other],
        first_answer + np.arange(m),
        np.full(m, by_one),
        np.full(m, by_other),
    ])  # fmt: skip
