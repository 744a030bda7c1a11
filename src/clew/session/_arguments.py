"""What the methods of a session accept, and what they say about the rest."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from clew._validation import Allowed
from clew.answers import AUTO_KINDS, QUESTION_KINDS, Answer, Edit, Kind, Question, as_kind, items_of
from clew.constraints._ids import RowIds
from clew.exceptions import InvalidArgumentError, InvalidDataError, InvalidParameterError


def positive(method: str, value: object, name: str = "n") -> int:
    """Refuse what is no positive integer."""
    if not Allowed(kind=int, low=1).holds(value):
        raise InvalidParameterError(
            f"{method}({name}={value!r}): {name} must be a positive integer"
        )
    return int(value)  # type: ignore[call-overload,no-any-return]


def with_rows(X: Any, new: Any) -> Any:
    """Return features with further rows, of the same kind."""
    try:
        if hasattr(X, "columns"):
            import pandas as pd

            return pd.concat([X, new[list(X.columns)]], ignore_index=True)
        if issparse(X):
            both: list[Any] = [X, new]
            return vstack([csr_array(each) for each in both])
        return np.vstack([np.asarray(X), np.asarray(new)])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidDataError(
            f"the features of the new items do not fit those of the session: {error}"
        ) from error


def ids_of(ids: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Refuse one text in place of several ids."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InvalidArgumentError(f"expected several ids, got {ids!r}; one id is [{ids!r}]")
    return tuple(ids)


def check_number(name: str, value: object, *, low: int) -> None:
    """Refuse a parameter that is neither None nor an integer of `low` or more."""
    allowed = Allowed(kind=int, low=low, none=True)
    if not allowed.holds(value):
        raise InvalidParameterError(f"Session({name}={value!r}): {name} must be {allowed}")


def as_standardize(value: object) -> bool | Literal["auto"]:
    """Refuse anything but True, False and "auto"."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if value != "auto":
        raise InvalidParameterError(
            f"Session(standardize={value!r}): standardize must be True, False or 'auto'"
        )
    return "auto"


def kinds_of(kinds: object) -> tuple[Kind, ...]:
    """Return kinds of questions, each once, in the order given."""
    if isinstance(kinds, str) and kinds == "auto":
        return AUTO_KINDS
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InvalidParameterError(
            f"Session(kinds={kinds!r}): kinds must be 'auto' or a list, such as "
            "['pair', 'which_of']"
        )
    found = tuple(dict.fromkeys(as_kind(kind, QUESTION_KINDS) for kind in kinds))
    if not found:
        raise InvalidParameterError("Session(kinds=()): name at least one kind")
    return found


def answers_of(
    question: object, answer: str | int | None, annotator: str, weight: float
) -> list[Answer]:
    """Convert the arguments of `Session.tell` to a list of answers."""
    if isinstance(question, Question):
        if answer is None:
            raise InvalidArgumentError("tell(question, answer): the answer is missing")
        return [Answer(question, answer, annotator, weight, question.origin)]
    is_many = isinstance(question, Iterable) and not isinstance(question, str)
    if answer is not None or not (is_many or isinstance(question, Answer)):
        raise InvalidArgumentError(
            f"tell takes a Question and an answer, or Answers; got {question!r}; "
            "session.question('a', 'b') makes a question about the items 'a' and 'b'"
        )
    return [question] if isinstance(question, Answer) else list(question)  # type: ignore[call-overload]


def check_edit(edit: object, ids: RowIds) -> None:
    """Refuse what is no edit, or names other items."""
    if not isinstance(edit, Edit):
        raise InvalidArgumentError(f"expected a clew.answers.Edit, got {edit!r}")
    ids.rows_of(items_of(edit), lambda _: f"edit {edit.kind!r}")
