"""Answers to "which of the three is the most central one?", and their conversion to triplets."""

from __future__ import annotations

from typing import Final

import numpy as np

from clew.answers import ANSWER_WORDS, DONT_KNOW, N_ROWS, as_kind, code_of_word
from clew.constraints._tables import AnswerTable
from clew.exceptions import InvalidConstraintsError

__all__ = ["MOST_CENTRAL", "as_most_central", "as_record_kind", "triplets_of_most_central"]

#: The kind of these answers in files and data frames. `Constraints` holds them as triplets.
MOST_CENTRAL: Final = "most_central"
#: The words of the answers, with their codes.
WORDS: Final = {w: c for w, c in ANSWER_WORDS["odd_one_out"].items() if w != "all_alike"}

#: The first rows of the triplets about three rows, and the other two rows of each.
HEADS: Final = np.array([0, 1, 2])
TAILS: Final = np.array([(1, 2), (0, 2), (0, 1)])


def triplets_of_most_central(table: AnswerTable) -> AnswerTable:
    """Convert answers to triplets: each of the other two rows is more like the central one.

    Parameters
    ----------
    table : AnswerTable
        Questions of three rows. The answers are positions of the most central row, or don't-know.

    Returns
    -------
    AnswerTable
        Two triplets for each answer, three don't-knows for each don't-know.
    """
    central = table.answers[:, None]
    question, head = np.nonzero(central != HEADS)
    rows = table.rows[question]
    tails = np.take_along_axis(rows, TAILS[head], axis=1)
    is_second = (central == TAILS[:, 1])[question, head]
    unknown = table.answers[question] == DONT_KNOW
    return AnswerTable(
        "triplet",
        np.column_stack([rows[np.arange(len(rows)), head], tails]),
        np.where(unknown, DONT_KNOW, is_second).astype(np.int64),
        table.weights[question],
        table.annotators[question],
        table.origins[question],
    )


def as_most_central(value: object) -> int:
    """Return the position of the most central row, or the code of don't-know.

    Parameters
    ----------
    value : object
        "first", "second", "third" or "dont_know", or its code.

    Returns
    -------
    int

    Raises
    ------
    InvalidConstraintsError
        If it is anything else.
    """
    code = value
    if isinstance(value, str):
        try:
            code = code_of_word("odd_one_out", value)
        except InvalidConstraintsError:
            code = None
    elif isinstance(value, float) and value.is_integer():
        code = int(value)
    if isinstance(code, bool) or not isinstance(code, int) or code not in WORDS.values():
        allowed = ", ".join(f"{code} ({word})" for word, code in WORDS.items())
        raise InvalidConstraintsError(
            f"{value!r} is not an answer to a {MOST_CENTRAL} question; use one of {allowed}"
        )
    return code


def as_record_kind(value: object) -> str:
    """Check the kind of an answer in a file or data frame.

    Parameters
    ----------
    value : object
        The name; case, hyphens and spaces do not matter.

    Returns
    -------
    {"pair", "triplet", "odd_one_out", "most_central"}

    Raises
    ------
    InvalidConstraintsError
        If the name is unknown.
    """
    try:
        return as_kind(value)
    except InvalidConstraintsError:
        word = str(value).strip().casefold().replace("-", "_").replace(" ", "_")
        if word == MOST_CENTRAL:
            return MOST_CENTRAL
    raise InvalidConstraintsError(
        f"unknown kind {value!r}; use one of {', '.join((*N_ROWS, MOST_CENTRAL))}"
    )
