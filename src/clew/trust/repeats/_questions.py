"""The distinct questions behind the answers of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import Kind
from clew.constraints import AnswerTable

__all__ = ["AnsweredQuestions", "answered_questions"]


class AnsweredQuestions(NamedTuple):
    """Answers of one kind, sorted by question; the rows of each question in ascending order."""

    kind: Kind
    rows: NDArray[np.int64]
    """Rows of each question, (n_questions, n_rows)."""
    table: AnswerTable
    """The answers; those to one question are adjacent."""
    question: NDArray[np.int64]
    """Question of each answer of `table`, (n_answers,)."""
    position: NDArray[np.int64]
    """Position of each answer of `table` in the table that was given, (n_answers,)."""

    def sums(self, columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Sum columns with a value for each answer, by question; (n_questions, n_columns)."""
        n = len(self.rows)
        return np.stack([np.bincount(self.question, of, n) for of in columns], axis=1)


def answered_questions(table: AnswerTable) -> AnsweredQuestions:
    """Group the answers of positive weight by question.

    Parameters
    ----------
    table : AnswerTable
        Answers of one kind.

    Returns
    -------
    AnsweredQuestions
        (i, j) and (j, i) are one question, and so are (a, b, c) and (a, c, b), and an odd-one-out
        question in any order.
    """
    is_used = np.flatnonzero(table.weights > 0)
    ordered = table.take(is_used).in_row_order()
    order = np.lexsort(ordered.rows.T[::-1])
    ordered = ordered.take(order)
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = (ordered.rows[1:] != ordered.rows[:-1]).any(axis=1)
    return AnsweredQuestions(
        table.kind,
        ordered.rows[is_new],
        ordered,
        np.cumsum(is_new) - 1,
        is_used[order],
    )
