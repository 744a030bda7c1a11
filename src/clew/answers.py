"""Questions and answers: immutable, validated records.

The codes of answers are the same everywhere in clew:

============  ===========================  ===========================================
kind          rows                         codes
============  ===========================  ===========================================
pair          (i, j)                       `SAME` 1, `DIFFERENT` 0, `DONT_KNOW` -2
triplet       (a, b, c)                    `FIRST` 0 (a is more like b than like c),
                                           `SECOND` 1 (more like c), `DONT_KNOW` -2
odd_one_out   (i, j, k)                    0, 1, 2 (position of the odd one),
                                           `ALL_ALIKE` -1, `DONT_KNOW` -2
============  ===========================  ===========================================

If all three rows of an odd-one-out question differ from each other, the answer is `DONT_KNOW`:
`ALL_ALIKE` says that all three belong together.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from clew.exceptions import InvalidConstraintsError

__all__ = [
    "ALL_ALIKE",
    "ANSWER_WORDS",
    "DIFFERENT",
    "DONT_KNOW",
    "FIRST",
    "ORIGINS",
    "SAME",
    "SECOND",
    "THIRD",
    "Answer",
    "Kind",
    "Origin",
    "Question",
]

Kind = Literal["pair", "triplet", "odd_one_out"]
Origin = Literal["imported", "random", "asked"]
#: A row number, or the id of an item as text.
Item = TypeVar("Item", int, str)

#: The kinds of questions, in the order of `Constraints.tables`.
KINDS: Final[tuple[Kind, ...]] = ("pair", "triplet", "odd_one_out")

SAME: Final = 1
DIFFERENT: Final = 0
FIRST: Final = 0
SECOND: Final = 1
THIRD: Final = 2
ALL_ALIKE: Final = -1
DONT_KNOW: Final = -2

#: For each kind of question, the words of the answers with their codes.
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
                "all_alike": ALL_ALIKE,
                "dont_know": DONT_KNOW,
            }
        ),
    }
)

#: For each kind of question, the codes of its answers, don't-know last. Rows and columns of
#: confusion matrices have this order.
CODES: Final[Mapping[Kind, tuple[int, ...]]] = MappingProxyType(
    {kind: tuple(words.values()) for kind, words in ANSWER_WORDS.items()}
)

#: For each kind of question, the number of rows.
N_ROWS: Final[Mapping[Kind, int]] = MappingProxyType({"pair": 2, "triplet": 3, "odd_one_out": 3})


#: How the question of an answer was chosen: unknown, drawn at random, or chosen by a strategy that
#: asks where it expects to learn most. Their positions are the codes in `AnswerTable.origins`.
ORIGINS: Final[tuple[Origin, ...]] = ("imported", "random", "asked")


def as_kind(value: object) -> Kind:
    """Check the name of a kind; case, hyphens and spaces do not matter."""
    word = _plain(value)
    for kind in N_ROWS:
        if word == kind:
            return kind
    raise InvalidConstraintsError(f"unknown kind {value!r}; use one of {', '.join(N_ROWS)}")


def a_question(kind: Kind) -> str:
    """Name a kind of question in a sentence: "a pair question", "an odd_one_out question"."""
    return f"{'an' if kind == 'odd_one_out' else 'a'} {kind} question"


def code_of_word(kind: Kind, value: object) -> int:
    """Return the code of an answer given as a word."""
    words = ANSWER_WORDS[kind]
    word = _plain(value)
    if word not in words:
        use = f"use one of {', '.join(words)}"
        if word == "none" and kind == "odd_one_out":
            use = "use all_alike if the three belong together, dont_know if all three differ"
        raise InvalidConstraintsError(f"unknown answer {value!r} to {a_question(kind)}; {use}")
    return words[word]


def as_answer_code(kind: Kind, value: object) -> int:
    """Return the code of an answer given as a code or as a word."""
    words = ANSWER_WORDS[kind]
    if isinstance(value, str):
        return code_of_word(kind, value)
    if not _is_integer(value) or value not in words.values():
        allowed = ", ".join(f"{code} ({word})" for word, code in words.items())
        raise InvalidConstraintsError(
            f"{value!r} is not an answer to {a_question(kind)}; use one of {allowed}"
        )
    return int(value)  # type: ignore[call-overload,no-any-return]


def as_origin(value: object) -> Origin:
    """Check how a question was chosen; case and outer spaces do not matter."""
    word = value.strip().casefold() if isinstance(value, str) else ""
    for origin in ORIGINS:
        if word == origin:
            return origin
    raise InvalidConstraintsError(f"unknown origin {value!r}; use one of {', '.join(ORIGINS)}")


def as_weight(value: object) -> float:
    """Check the weight of an answer."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    # Compared before the conversion, because a huge integer has no float. NaN fails too.
    if not is_number or not 0 <= value <= 1:  # type: ignore[operator]
        raise InvalidConstraintsError(f"weight must be a number in [0, 1], got {value!r}")
    return float(value)  # type: ignore[arg-type]


def question_key(kind: Kind, items: Sequence[Item]) -> tuple[Kind, tuple[Item, ...]]:
    """Return the kind and the items in an order that is the same for questions that ask the same.

    The order in which a question names its rows does not matter, except the first of a triplet.
    """
    first, *others = items
    return kind, (first, *sorted(others)) if kind == "triplet" else tuple(sorted(items))


def _plain(value: object) -> str:
    """Write "Don't know", "dont-know" and "dont_know" alike."""
    if not isinstance(value, str):
        return ""
    text = value.strip().casefold().replace("'", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", "")
    return text.replace("-", "_").replace(" ", "_")


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True, repr=False)
class Question:
    """A question about two or three rows.

    Parameters
    ----------
    kind : {"pair", "triplet", "odd_one_out"}
        "pair": are the two the same? "triplet": is the first row more like the second or more
        like the third? "odd_one_out": which of the three differs from the other two? If none does,
        the three are all alike; if all three differ, the answer is don't-know.
    rows : tuple of int
        Row numbers, two for a pair and three otherwise, all different and none negative. Their
        order is the order in which they are asked about.
    origin : {"imported", "random", "asked"}, default="asked"
        How the question was chosen: unknown, drawn at random to check the groups, or by a strategy.
        Not part of comparisons.
    ids : tuple of hashable or None, default=None
        Ids of the rows, for people. Not part of comparisons.

    Raises
    ------
    InvalidConstraintsError
        If the kind or the origin is unknown, the number of rows or ids is wrong, or a row is
        negative, repeated or not an integer.

    Examples
    --------
    >>> from clew import Question
    >>> Question("pair", (3, 9))
    Question(kind='pair', rows=(3, 9))
    """

    kind: Kind
    rows: tuple[int, ...]
    origin: Origin = field(default="asked", compare=False)
    ids: tuple[Hashable, ...] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        names = "" if self.ids is None else f", ids={self.ids!r}"
        origin = "" if self.origin == "asked" else f", origin={self.origin!r}"
        return f"Question(kind={self.kind!r}, rows={self.rows!r}{origin}{names})"

    def __post_init__(self) -> None:
        kind, rows = as_kind(self.kind), tuple(self.rows)
        if not all(_is_integer(row) for row in rows):
            raise InvalidConstraintsError(f"rows must be integers, got {rows}")
        if len(rows) != N_ROWS[kind]:
            raise InvalidConstraintsError(
                f"{a_question(kind)} asks about {N_ROWS[kind]} rows, got {rows}"
            )
        if min(rows) < 0:
            raise InvalidConstraintsError(f"rows are counted from 0, got {rows}")
        if len(set(rows)) < len(rows):
            raise InvalidConstraintsError(f"a question asks about different rows, got {rows}")
        if self.ids is not None and len(self.ids) != len(rows):
            raise InvalidConstraintsError(f"ids must be {len(rows)}, one a row, got {self.ids}")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "rows", tuple(int(row) for row in rows))
        object.__setattr__(self, "origin", as_origin(self.origin))
        if self.ids is not None:
            object.__setattr__(self, "ids", tuple(self.ids))


@dataclass(frozen=True, slots=True)
class Answer:
    """One annotator's answer to one question.

    Parameters
    ----------
    question : Question
        The question.
    value : int or str
        The answer, as a code or a word of the table of `clew.answers`; stored as the code.
    annotator : str, default=""
        Name of the annotator.
    weight : float, default=1.0
        Weight of the answer, between 0 and 1.
    origin : {"imported", "random", "asked"}, default="imported"
        How the question was chosen: unknown, drawn at random, or chosen by a strategy.

    Raises
    ------
    InvalidConstraintsError
        If the code does not belong to the kind of question, the weight is outside [0, 1], or the
        origin is unknown.

    Examples
    --------
    >>> from clew import Answer, Question
    >>> answer = Answer(Question("pair", (3, 9)), "same", annotator="ann")
    >>> answer.value, answer.is_dont_know
    (1, False)
    """

    question: Question
    value: int
    annotator: str = ""
    weight: float = 1.0
    origin: Origin = "imported"

    if TYPE_CHECKING:
        # The field holds a code; the constructor takes a word too.
        def __init__(
            self,
            question: Question,
            value: int | str,
            annotator: str = "",
            weight: float = 1.0,
            origin: str = "imported",
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.question, Question):
            raise InvalidConstraintsError(f"question must be a Question, got {self.question!r}")
        if not isinstance(self.annotator, str):
            raise InvalidConstraintsError(f"annotator must be a string, got {self.annotator!r}")
        object.__setattr__(self, "value", as_answer_code(self.question.kind, self.value))
        object.__setattr__(self, "weight", as_weight(self.weight))
        object.__setattr__(self, "origin", as_origin(self.origin))

    @property
    def is_dont_know(self) -> bool:
        """Whether the answer is don't-know."""
        return self.value == DONT_KNOW
