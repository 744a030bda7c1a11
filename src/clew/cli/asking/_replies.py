"""What a person may reply to a question: by a key, or by a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from clew.answers import (
    ALL_ALIKE,
    BAD_ITEM,
    DIFFERENT,
    DONT_KNOW,
    N_ROWS,
    NOT_COMPARABLE,
    SAME,
    Kind,
    Question,
)


class Command(NamedTuple):
    """A reply that is not an answer."""

    name: str


UNDO, QUIT, OPEN, STATUS = map(Command, ("undo", "quit", "open", "status"))
#: Not a whole answer: which item cannot be judged?
BAD_COMMAND = Command("bad item")

#: What a reply means: the position of an item as shown, an answer's code, or a command.
Meaning = int | str | Command


class Asked(NamedTuple):
    """A question as it is shown."""

    question: Question
    shown: tuple[int, ...]
    """Its rows in the order in which they are shown; the first of a triplet comes first."""
    number: int
    """Number of answers so far, plus one."""

    def code(self, meaning: str) -> int:
        """Return the code of an answer that was given by its position on the screen."""
        if meaning in WORDS:
            return WORDS[meaning]
        if meaning.startswith(BAD):
            return BAD_ITEM
        rows = self.question.rows
        if self.question.kind == "triplet":
            return rows.index(self.shown[int(meaning)]) - 1
        return rows.index(self.shown[int(meaning) - 1])

    def bad(self, meaning: str) -> tuple[int, ...]:
        """Return the rows of the items that an answer says cannot be judged."""
        if not meaning.startswith(BAD):
            return ()
        return (self.shown[labels_of(self.question.kind).index(meaning.removeprefix(BAD))],)

    def word(self, code: int) -> str:
        """Return the words for an answer to this question as it was shown."""
        if code == BAD_ITEM:
            return "an item cannot be judged"
        if self.question.kind == "pair" or code < 0:
            keys = (*ANSWERS[self.question.kind], *FLAGS)
            return next(key.label for key in keys if WORDS.get(key.meaning) == code)
        rows = self.question.rows
        row = rows[code + 1] if self.question.kind == "triplet" else rows[code]
        return f"number {self.shown.index(row) + (self.question.kind == 'odd_one_out')}"


WORDS: Final[Mapping[str, int]] = {
    "same": SAME,
    "different": DIFFERENT,
    "all_alike": ALL_ALIKE,
    "dont_know": DONT_KNOW,
    "not_comparable": NOT_COMPARABLE,
}
#: An answer that an item cannot be judged is this, and the number of the item on the screen.
BAD: Final = "bad_item "


class Key(NamedTuple):
    """A key of the answer bar."""

    key: str
    label: str
    meaning: str
    others: tuple[str, ...]
    """Other keys and words that mean the same."""


DONT_KNOW_KEY: Final = Key("k", "don't know", "dont_know", ("0", "?", "dk"))
ANSWERS: Final[Mapping[Kind, tuple[Key, ...]]] = {
    "pair": (
        Key("s", "same", "same", ("1", "y", "yes")),
        Key("d", "different", "different", ("2", "n", "no")),
        DONT_KNOW_KEY,
    ),
    "odd_one_out": (
        Key("1", "first", "1", ("first",)),
        Key("2", "second", "2", ("second",)),
        Key("3", "third", "3", ("third",)),
        Key("a", "all alike", "all_alike", ("4",)),
        DONT_KNOW_KEY,
    ),
    "triplet": (
        Key("1", "first", "1", ("first",)),
        Key("2", "second", "2", ("second",)),
        DONT_KNOW_KEY,
    ),
}
NOT_COMPARABLE_KEY: Final = Key("c", "not comparable", "not_comparable", ("cannot be compared",))
#: Answers about the question, of every kind.
FLAGS: Final = (NOT_COMPARABLE_KEY,)
#: Asks which item cannot be judged.
BAD_KEY: Final = Key("b", "bad item", "bad_item", ("bad",))
#: Said below a question: two answers that are easily confused.
HINTS: Final[Mapping[Kind, str]] = {"odd_one_out": "if all three differ: don't know"}
COMMANDS: Final[Mapping[str, tuple[Command, tuple[str, ...]]]] = {
    "u": (UNDO, ("undo",)),
    "o": (OPEN, ("open",)),
    "q": (QUIT, ("quit", "exit", "\x04")),
    "": (STATUS, ("status", "\r", "\n")),
}


def keys_of(kind: Kind) -> tuple[Key, ...]:
    """Return the keys for the answers to a kind of question."""
    return ANSWERS[kind]


def labels_of(kind: Kind) -> tuple[str, ...]:
    """Return the numbers of the items on the screen; the first of a triplet is 0."""
    return tuple(map(str, range(3))) if kind == "triplet" else tuple("123"[: N_ROWS[kind]])


def flags_of(kind: Kind) -> list[str]:
    """Return what may be replied about a question, as words."""
    return [*(key.meaning for key in FLAGS), *(f"{BAD}{label}" for label in labels_of(kind))]


def commands_of(*, has_images: bool, n_answers: int) -> list[tuple[str, str]]:
    """Return the keys of commands that have an effect now, with labels."""
    found = [("u", "undo")] if n_answers else []
    return [*found, *([("o", "open")] if has_images else []), ("q", "quit")]


def meaning(kind: Kind, text: str) -> str | Command | None:
    """Return what a key or a word means; None if nothing."""
    plain = text.strip(" ").casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    plain = plain.replace("_", " ").replace("don't", "dont")
    for key, (command, others) in COMMANDS.items():
        if plain == key or plain in others:
            return command
    word, _, label = plain.removeprefix("bad item").removeprefix("bad").rpartition(" ")
    if plain.startswith("bad") and not word and label in labels_of(kind):
        return f"{BAD}{label}"
    if plain in (BAD_KEY.key, BAD_KEY.meaning, BAD_KEY.label, *BAD_KEY.others):
        return BAD_COMMAND
    for answer in (*ANSWERS[kind], *FLAGS):
        if plain in (answer.key, answer.meaning.replace("_", " "), *answer.others):
            return answer.meaning
    return None
