"""What a person may reply to a question: by a key, or by a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from clew.answers import ALL_ALIKE, DIFFERENT, DONT_KNOW, SAME, Kind, Question


class Command(NamedTuple):
    """A reply that is not an answer."""

    name: str


UNDO, QUIT, OPEN, STATUS = map(Command, ("undo", "quit", "open", "status"))

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
        rows = self.question.rows
        if self.question.kind == "triplet":
            return rows.index(self.shown[int(meaning)]) - 1
        return rows.index(self.shown[int(meaning) - 1])

    def word(self, code: int) -> str:
        """Return the words for an answer to this question as it was shown."""
        if self.question.kind == "pair" or code < 0:
            keys = ANSWERS[self.question.kind]
            return next(key.label for key in keys if WORDS.get(key.meaning) == code)
        rows = self.question.rows
        row = rows[code + 1] if self.question.kind == "triplet" else rows[code]
        return f"number {self.shown.index(row) + (self.question.kind == 'odd_one_out')}"


WORDS: Final[Mapping[str, int]] = {
    "same": SAME,
    "different": DIFFERENT,
    "all_alike": ALL_ALIKE,
    "dont_know": DONT_KNOW,
}


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
    for answer in ANSWERS[kind]:
        if plain in (answer.key, answer.meaning.replace("_", " "), *answer.others):
            return answer.meaning
    return None
