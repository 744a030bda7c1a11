"""DCRC's answers: the rows that bear them, what they say to each, and how likely they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clew.answers import Kind
from clew.constraints import AnswerTable, Constraints
from clew.kernels.mean_field import EXCLUDED, Messages, mean_field
from clew.trust.groups._outcomes import (
    OTHERS,
    OUTCOMES,
    co_membership,
    informative_tables,
    outcome_probabilities,
)
from clew.trust.groups._shrinkage import Matrices, expected_counts

__all__ = ["AnsweredRows"]

#: How far below the most compatible group another may be, and be as compatible.
TIE = 1e-9


class AnsweredRows:
    """The rows that answers speak of, numbered from 0, and the answers about them.

    Parameters
    ----------
    known : Constraints
        What people said. Answers of weight 0 are left out.
    with_doubtful_pairs : bool
        Whether don't-knows about pairs are looked at: where all err alike they say nothing.
    is_hard : bool
        Whether a row may only be in the groups that agree with most of its answers.

    Attributes
    ----------
    rows : ndarray of shape (n_answered,), int64
        Their numbers in the data, ascending.
    said : list of AnswerTable
        The answers of each kind; rows are positions in `rows`.
    n_answers : int
        How many answers there are.
    """

    def __init__(self, known: Constraints, *, with_doubtful_pairs: bool, is_hard: bool) -> None:
        given = informative_tables(known, with_dont_know_pairs=with_doubtful_pairs)
        self.rows = np.unique(np.concatenate([said.rows.ravel() for said in given]))
        self.said = [
            replace(said, rows=np.searchsorted(self.rows, said.rows).astype(np.int64))
            for said in given
        ]
        self.n_answers = sum(len(said) for said in given)
        self.is_hard = is_hard
        self._lists = _Lists(self.said, len(self.rows))

    def settle(
        self,
        log_prior: NDArray[np.float64],
        confusion: Matrices,
        q: NDArray[np.float64],
        *,
        max_sweeps: int,
        tol: float,
    ) -> None:
        """Update the memberships `q` in place; see `mean_field`."""
        messages = self._lists.messages([_gains(said, confusion) for said in self.said])
        mean_field(log_prior, messages, self.is_hard, TIE, EXCLUDED, max_sweeps, tol, q)

    def log_likelihood(self, confusion: Matrices, q: NDArray[np.float64]) -> float:
        """Give the expected log-likelihood of the answers, by weight."""
        return sum(
            float((_gains(said, confusion) * co_membership(_of_rows(said, q))).sum())
            for said in self.said
        )

    def counts(self, q: NDArray[np.float64], n_annotators: int) -> dict[Kind, NDArray[np.float64]]:
        """Count by annotator, case and label what is expected to have happened."""
        return {
            said.kind: expected_counts(
                said, outcome_probabilities(said.kind, _of_rows(said, q)), n_annotators
            )
            for said in self.said
        }


def _of_rows(said: AnswerTable, q: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [q[rows] for rows in said.rows.T]


def _gains(said: AnswerTable, confusion: Matrices) -> NDArray[np.float64]:
    """Give each answer's log-likelihood as factors of `co_membership`, (m, 5)."""
    logarithm = np.log(confusion[said.kind][said.annotators, :, said.answer_index])
    return np.asarray(said.weights[:, None] * (logarithm @ OUTCOMES[said.kind]))


class _Lists:
    """The answers of each row, made once; what they say changes with the confusion matrices."""

    def __init__(self, said: list[AnswerTable], n_rows: int) -> None:
        parts = []
        first_answer = 0
        for of_kind in said:
            size = of_kind.rows.shape[1]
            for position in range(size):
                parts.append(_incidences(of_kind.rows, position, first_answer))
            first_answer += len(of_kind.rows)
        row, first, second, answer, by_first, by_second = np.concatenate(parts, axis=1)
        order = np.argsort(row, kind="stable")
        self._start = np.searchsorted(row[order], np.arange(n_rows + 1)).astype(np.int64)
        self._first, self._second = first[order], second[order]
        self._answer = answer[order]
        self._by_first, self._by_second = by_first[order], by_second[order]

    def messages(self, gains: list[NDArray[np.float64]]) -> Messages:
        """List what answers say, given the gains of each kind."""
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
    """List one position of each answer: row, two others, answer, and columns of the gains."""
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
