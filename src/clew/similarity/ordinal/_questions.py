"""Questions as arrays of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import N_ROWS, Kind, Question, as_kind
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError

__all__ = ["Questions", "rows_by_kind", "validated_rows"]

Integers = NDArray[np.int64]
#: What `predict_proba` takes: questions, or for each kind the rows of its questions.
Questions = Sequence[Question] | Mapping[Kind, ArrayLike]


def rows_by_kind(questions: object) -> dict[Kind, tuple[Integers, Integers]]:
    """Sort questions by kind.

    Parameters
    ----------
    questions : sequence of Question
        The questions.

    Returns
    -------
    dict of kind to (positions, rows)
        Positions of the questions in the sequence, and their rows.

    Raises
    ------
    InvalidArgumentError
        If they are anything else.
    """
    if isinstance(questions, str) or not isinstance(questions, Sequence):
        raise _refusal(questions)
    found: dict[Kind, tuple[list[int], list[tuple[int, ...]]]] = {}
    for at, question in enumerate(questions):
        if not isinstance(question, Question):
            raise _refusal(question)
        places, rows = found.setdefault(question.kind, ([], []))
        places.append(at)
        rows.append(question.rows)
    return {
        kind: (np.array(places, np.int64), np.array(rows, np.int64))
        for kind, (places, rows) in found.items()
    }


def _refusal(given: object) -> InvalidArgumentError:
    return InvalidArgumentError(
        "predict_proba takes a list of clew.Question, or a dict from kinds of questions "
        f'("pair", "triplet", "odd_one_out") to arrays of rows; got {type(given).__name__}'
    )


def validated_rows(kind: str, rows: Any, n_samples: int) -> tuple[Kind, Integers]:
    """Check the rows of questions of one kind.

    Raises
    ------
    InvalidConstraintsError
        If the kind is unknown, or rows are not integers, out of range, or of the wrong shape.
    """
    known, array = as_kind(kind), np.asarray(rows)
    if array.size == 0:
        return known, np.zeros((0, N_ROWS[known]), np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != N_ROWS[known]:
        raise InvalidConstraintsError(
            f"{known} questions must be integers of shape (n, {N_ROWS[known]}); got "
            f"{array.dtype} of shape {array.shape}"
        )
    outside = (array < 0) | (array >= n_samples)
    if outside.any():
        raise InvalidConstraintsError(
            f"row {array[outside][0]} is out of range; the model was fitted to {n_samples} rows"
        )
    return known, array.astype(np.int64)
