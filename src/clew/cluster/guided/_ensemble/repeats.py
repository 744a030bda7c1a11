"""Answers that one annotator gave to one question many times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.constraints import AnswerTable, Constraints
from clew.constraints._tables import PARAMETER

__all__ = ["without_many_repeats"]

#: Maximum number of answers of an annotator to one question that a fit uses.
MAX_REPEATS = 100


def without_many_repeats(known: Constraints) -> Constraints:
    """Leave out most answers of an annotator to a question that was answered many times.

    Parameters
    ----------
    known : Constraints
        The answers.

    Returns
    -------
    Constraints
        At most 100 answers of each annotator to each question, in nearly the same proportions. More
        of them would take time, and are hardly more evidence about the rows.
    """
    if max(map(len, known.tables)) <= MAX_REPEATS:
        return known
    return known.select(**{PARAMETER[table.kind]: _is_kept(table) for table in known.tables})


def _is_kept(table: AnswerTable) -> NDArray[np.bool_]:
    rows = np.sort(table.rows, axis=1) if table.kind == "pair" else table.rows
    order = np.lexsort((table.answers, table.annotators, *rows.T))
    of_question = np.column_stack([rows, table.annotators])[order]
    is_first = np.ones(len(table), np.bool_)
    is_first[1:] = (of_question[1:] != of_question[:-1]).any(axis=1)
    start = np.flatnonzero(is_first)
    size = np.diff(np.append(start, len(table)))
    n_before = np.arange(len(table)) - np.repeat(start, size)
    # Of n > 100 answers, keep those at which k·100/n passes a whole number.
    n = np.maximum(np.repeat(size, size), MAX_REPEATS)
    is_kept = np.empty(len(table), np.bool_)
    is_kept[order] = n_before * MAX_REPEATS // n != (n_before - 1) * MAX_REPEATS // n
    return is_kept
