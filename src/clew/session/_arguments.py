"""Checks of the arguments of a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from clew._validation import Allowed
from clew.answers import Answer, Question, as_kind
from clew.exceptions import InvalidArgumentError, InvalidParameterError

__all__ = ["answers_of", "as_standardize", "check_number", "kinds_of"]


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


def kinds_of(kinds: object) -> tuple[str, ...]:
    """Return kinds of questions, each once, in the order given."""
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InvalidParameterError(
            f"Session(kinds={kinds!r}): kinds must be a list, such as ['pair', 'odd_one_out']"
        )
    found = tuple(dict.fromkeys(as_kind(kind) for kind in kinds))
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
