"""Kinds of questions, codes and words of answers, and the checks of single values."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, TypeVar, cast

from clew.exceptions import InvalidConstraintsError

Kind = Literal["pair", "triplet", "odd_one_out", "which_of", "confirm"]
Origin = Literal["imported", "random", "asked", "edit", "rule"]
#: A row number, or the id of an item as text.
Item = TypeVar("Item", int, str)

#: The kinds of questions that `Constraints` holds, in the order of `Constraints.tables`.
KINDS: Final[tuple[Kind, ...]] = ("pair", "triplet", "odd_one_out")
#: All kinds of questions; answers to the others go into tables as the pairs that they imply.
QUESTION_KINDS: Final[tuple[Kind, ...]] = (*KINDS, "which_of", "confirm")
#: The kinds among which "auto" chooses: those that tell most per second, as the study `minutes`
#: finds. Questions about three rows and screens of members do not.
AUTO_KINDS: Final[tuple[Kind, ...]] = ("pair", "which_of")

SAME: Final = 1
DIFFERENT: Final = 0
FIRST: Final = 0
SECOND: Final = 1
THIRD: Final = 2
ALL_ALIKE: Final = -1
NONE_OF_THESE: Final = -1
DONT_KNOW: Final = -2
NOT_COMPARABLE: Final = -3
BAD_ITEM: Final = -4

#: For each kind of question, the words of the answers with their codes.
ANSWER_WORDS: Final[Mapping[Kind, Mapping[str, int]]] = MappingProxyType(
    {
        "pair": MappingProxyType({"same": SAME, "different": DIFFERENT, "dont_know": DONT_KNOW}),
        "triplet": MappingProxyType({"first": FIRST, "second": SECOND, "dont_know": DONT_KNOW}),
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

#: Further words of the answers to "are these the same?".
YES, NO = ("yes", "y", "true"), ("no", "n", "false")

#: Answers to questions of every kind that are about the question, and no evidence of groups.
FLAG_WORDS: Final[Mapping[str, int]] = MappingProxyType(
    {"not_comparable": NOT_COMPARABLE, "bad_item": BAD_ITEM}
)

#: For each kind of question, the codes of its answers, don't-know last. Rows and columns of
#: confusion matrices have this order.
CODES: Final[Mapping[Kind, tuple[int, ...]]] = MappingProxyType(
    {kind: tuple(words.values()) for kind, words in ANSWER_WORDS.items()}
)

#: For each kind of question that `Constraints` holds, the number of rows.
N_ROWS: Final[Mapping[Kind, int]] = MappingProxyType({"pair": 2, "triplet": 3, "odd_one_out": 3})


#: How the question of an answer was chosen: unknown, drawn at random, chosen by a strategy that
#: asks where it expects to learn most, or not at all: the answer follows from an edit or a rule.
#: Their positions are the codes in `AnswerTable.origins`.
ORIGINS: Final[tuple[Origin, ...]] = ("imported", "random", "asked", "edit", "rule")


def as_kind(value: object, kinds: Sequence[Kind] = KINDS) -> Kind:
    """Check the name of one of some kinds; case, hyphens and spaces do not matter."""
    word = plain_word(value)
    if word not in kinds:
        raise InvalidConstraintsError(f"unknown kind {value!r}; use one of {', '.join(kinds)}")
    return cast(Kind, word)


def a_question(kind: Kind) -> str:
    """Name a kind of question in a sentence: "a pair question", "an odd_one_out question"."""
    return f"{'an' if kind == 'odd_one_out' else 'a'} {kind} question"


def code_of_word(kind: Kind, value: object) -> int:
    """Return the code of an answer given as a word."""
    words = ANSWER_WORDS[kind]
    word = plain_word(value)
    if kind == "pair" and word in (*YES, *NO):
        return SAME if word in YES else DIFFERENT
    if word not in words:
        use = f"use one of {', '.join(words)}"
        if kind == "pair":
            use += ", or yes (same) and no (different)"
        if word == "none" and kind == "odd_one_out":
            use = "use all_alike if the three belong together, dont_know if all three differ"
        if not word:
            use += "; if nobody answered, leave the line out"
        raise InvalidConstraintsError(f"unknown answer {value!r} to {a_question(kind)}; {use}")
    return words[word]


def as_answer_code(kind: Kind, value: object) -> int:
    """Return the code of an answer given as a code or as a word."""
    words = ANSWER_WORDS[kind]
    if isinstance(value, str):
        return code_of_word(kind, value)
    if not is_integer(value) or value not in words.values():
        allowed = ", ".join(f"{code} ({word})" for word, code in words.items())
        raise InvalidConstraintsError(
            f"{value!r} is not an answer to {a_question(kind)}; use one of {allowed}"
        )
    return int(value)  # type: ignore[call-overload,no-any-return]


def as_flag(value: object) -> int | None:
    """Return the code of an answer of `FLAG_WORDS`, given as a code or a word; None of others."""
    if isinstance(value, str):
        return FLAG_WORDS.get(plain_word(value))
    return int(value) if is_integer(value) and value in FLAG_WORDS.values() else None  # type: ignore[call-overload]


def as_origin(value: object) -> Origin:
    """Check how a question was chosen; case and outer spaces do not matter."""
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word not in ORIGINS:
        raise InvalidConstraintsError(f"unknown origin {value!r}; use one of {', '.join(ORIGINS)}")
    return word


def as_weight(value: object) -> float:
    """Check the weight of an answer."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    # Compared before the conversion, because a huge integer has no float. NaN fails too.
    if not is_number or not 0 <= value <= 1:  # type: ignore[operator]
        raise InvalidConstraintsError(f"weight must be a number in [0, 1], got {value!r}")
    return float(value)  # type: ignore[arg-type]


def question_key(kind: Kind, items: Sequence[Item]) -> tuple[Kind, tuple[Item, ...]]:
    """Return the kind and the items in one order for all questions that ask the same."""
    if kind in ("which_of", "confirm"):
        return kind, tuple(items)
    first, *others = items
    return kind, (first, *sorted(others)) if kind == "triplet" else tuple(sorted(items))


def plain_word(value: object) -> str:
    """Write "Don't know", "dont-know" and "dont_know" alike."""
    if not isinstance(value, str):
        return ""
    text = value.strip().casefold().replace("'", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", "")
    return text.replace("-", "_").replace(" ", "_")


def is_integer(value: object) -> bool:
    # Asked of each row of each question; abstract classes are slow to ask.
    return type(value) is int or (
        isinstance(value, numbers.Integral) and not isinstance(value, bool)
    )
