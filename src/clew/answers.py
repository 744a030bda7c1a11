"""What was asked of people, and what they said: frozen, validated records.

The codes of answers are the same everywhere in clew:

============  ===========================  ===========================================
kind          rows                         codes
============  ===========================  ===========================================
pair          (i, j)                       `SAME` 1, `DIFFERENT` 0, `DONT_KNOW` -2
triplet       (a, b, c)                    `FIRST` 0 (a is more like b than like c),
                                           `SECOND` 1 (more like c), `DONT_KNOW` -2
odd_one_out   (i, j, k)                    0, 1, 2 (position of the odd one),
                                           `NONE_DIFFERS` -1, `DONT_KNOW` -2
============  ===========================  ===========================================
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from clew.exceptions import InvalidConstraintsError

__all__ = [
    "ANSWER_WORDS",
    "DIFFERENT",
    "DONT_KNOW",
    "FIRST",
    "NONE_DIFFERS",
    "SAME",
    "SECOND",
    "THIRD",
    "Answer",
    "Kind",
    "Question",
]

Kind = Literal["pair", "triplet", "odd_one_out"]

SAME: Final = 1
DIFFERENT: Final = 0
FIRST: Final = 0
SECOND: Final = 1
THIRD: Final = 2
NONE_DIFFERS: Final = -1
DONT_KNOW: Final = -2

#: For each kind of question, the word of every answer and its code.
ANSWER_WORDS: Final[Mapping[Kind, Mapping[str, int]]] = MappingProxyType(
    {
        "pair": MappingProxyType(
            {"same": SAME, "different": DIFFERENT, "dont_know": DONT_KNOW},
        ),
        "triplet": MappingProxyType(
            {"first": FIRST, "second": SECOND, "dont_know": DONT_KNOW},
        ),
        "odd_one_out": MappingProxyType(
            {
                "first": FIRST,
                "second": SECOND,
                "third": THIRD,
                "none": NONE_DIFFERS,
                "dont_know": DONT_KNOW,
            }
        ),
    }
)

_N_ROWS: Final[Mapping[str, int]] = MappingProxyType({"pair": 2, "triplet": 3, "odd_one_out": 3})


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _as_weight(value: object) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    weight = float(value) if is_number else -1.0  # type: ignore[arg-type]
    # NaN fails the comparison as well.
    if not 0 <= weight <= 1:
        raise InvalidConstraintsError(f"weight must lie in [0, 1], got {value!r}")
    return weight


@dataclass(frozen=True, slots=True)
class Question:
    """A question about two or three rows.

    Parameters
    ----------
    kind : {"pair", "triplet", "odd_one_out"}
        "pair": are the two the same? "triplet": is the first row more like the second or more
        like the third? "odd_one_out": which of the three differs from the other two?
    rows : tuple of int
        Row numbers, two for a pair and three otherwise, all different and none negative. Their
        order is the order in which they are asked about.

    Raises
    ------
    InvalidConstraintsError
        If the kind is unknown, or the rows are too few, too many, negative, repeated or no
        integers.

    Examples
    --------
    >>> from clew import Question
    >>> Question("pair", (3, 9))
    Question(kind='pair', rows=(3, 9))
    """

    kind: Kind
    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.kind not in _N_ROWS:
            raise InvalidConstraintsError(
                f"unknown kind of question {self.kind!r}; use one of {', '.join(_N_ROWS)}"
            )
        rows = tuple(self.rows)
        if not all(_is_integer(row) for row in rows):
            raise InvalidConstraintsError(f"rows must be integers, got {rows}")
        if len(rows) != _N_ROWS[self.kind]:
            raise InvalidConstraintsError(
                f"a {self.kind} question asks about {_N_ROWS[self.kind]} rows, got {rows}"
            )
        if min(rows) < 0:
            raise InvalidConstraintsError(f"rows are counted from 0, got {rows}")
        if len(set(rows)) < len(rows):
            raise InvalidConstraintsError(f"a question asks about different rows, got {rows}")
        object.__setattr__(self, "rows", tuple(int(row) for row in rows))


@dataclass(frozen=True, slots=True)
class Answer:
    """What one annotator said to one question.

    Parameters
    ----------
    question : Question
        What was asked.
    value : int
        The code of the answer, as the table of `clew.answers` has it.
    annotator : str, default=""
        Who said it.
    weight : float, default=1.0
        How far to believe it, between 0 and 1.

    Raises
    ------
    InvalidConstraintsError
        If the code does not belong to the kind of question, or the weight is outside [0, 1].

    Examples
    --------
    >>> from clew import Answer, Question
    >>> from clew.answers import SAME
    >>> answer = Answer(Question("pair", (3, 9)), SAME, annotator="ann")
    >>> answer.is_dont_know
    False
    """

    question: Question
    value: int
    annotator: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.question, Question):
            raise InvalidConstraintsError(f"question must be a Question, got {self.question!r}")
        codes = ANSWER_WORDS[self.question.kind]
        if not _is_integer(self.value) or self.value not in codes.values():
            allowed = ", ".join(f"{code} ({word})" for word, code in codes.items())
            raise InvalidConstraintsError(
                f"{self.value!r} answers no {self.question.kind} question; use one of {allowed}"
            )
        if not isinstance(self.annotator, str):
            raise InvalidConstraintsError(f"annotator must be a string, got {self.annotator!r}")
        object.__setattr__(self, "value", int(self.value))
        object.__setattr__(self, "weight", _as_weight(self.weight))

    @property
    def is_dont_know(self) -> bool:
        """Whether the annotator could not say."""
        return self.value == DONT_KNOW
