"""What a person may reply to a question: by a key, or by a word."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Final, NamedTuple

from clew.answers import (
    ALL_ALIKE,
    BAD_ITEM,
    DIFFERENT,
    DONT_KNOW,
    N_ROWS,
    NO,
    NONE_OF_THESE,
    NOT_COMPARABLE,
    SAME,
    YES,
    Kind,
    Question,
)

#: Largest number of groups that a which-of question shows, and of members that a confirm one does.
MOST_GROUPS, MOST_MEMBERS = 6, 8


class Command(NamedTuple):
    """A reply that is not an answer."""

    name: str


UNDO, QUIT, OPEN, STATUS, HELP = map(Command, ("undo", "quit", "open", "status", "help"))
#: Not a whole answer: which item cannot be judged?
BAD_COMMAND = Command("bad item")

#: What a reply means: the position of an item as shown, an answer's code, or a command.


class Asked(NamedTuple):
    """A question as it is shown."""

    question: Question
    shown: tuple[int, ...]
    """Its rows in the order in which they are shown; the first of a triplet comes first."""
    number: int
    """Number of answers so far, plus one."""
    examples: tuple[int, ...] = ()
    """Rows that are shown as the group of the first row of the question."""

    def code(self, meaning: str) -> int:
        """Return the code of an answer that was given by its position on the screen."""
        if meaning in WORDS:
            return WORDS[meaning]
        if meaning.startswith(BAD):
            return BAD_ITEM
        rows = self.question.rows
        if self.question.kind == "confirm":
            return sum(1 << int(label) - 1 for label in meaning.split()[1:])
        if self.question.kind == "which_of":
            return int(meaning) - 1
        if self.question.kind == "triplet":
            return rows.index(self.shown[int(meaning)]) - 1
        return rows.index(self.shown[int(meaning) - 1])

    def bad(self, meaning: str) -> tuple[int, ...]:
        """Return the rows of the items that an answer says cannot be judged."""
        if not meaning.startswith(BAD):
            return ()
        labels = labels_of(self.question.kind, self.n_groups)
        return (self.heads[labels.index(meaning.removeprefix(BAD))],)

    @property
    def n_groups(self) -> int:
        """Number of groups, or members of one, that are shown; else the largest number."""
        return len(self.groups) - 1 if self.question.parts else MOST_GROUPS

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """What has a number: an item and the examples of each group, or those and each member."""
        if self.question.kind == "confirm":
            n_examples = self.question.parts[0]
            return [self.shown[:n_examples], *((row,) for row in self.shown[n_examples:])]
        ends = accumulate(self.question.parts)
        parts = zip(self.question.parts, ends, strict=True)
        return [self.shown[end - size : end] for size, end in parts]

    @property
    def heads(self) -> tuple[int, ...]:
        """The items that have a number on the screen: of a group, the first example."""
        return tuple(group[0] for group in self.groups) if self.question.parts else self.shown

    def is_with_examples(self, at: int) -> bool:
        """Whether the item at a position on the screen is shown with examples of its group."""
        return bool(self.examples) and self.shown[at] == self.question.rows[0]

    def word(self, code: int) -> str:
        """Return the words for an answer to this question as it was shown."""
        if code == BAD_ITEM:
            return "an item cannot be judged"
        if self.question.kind == "pair" or code < 0:
            keys = (*ANSWERS[self.question.kind], *FLAGS)
            return next(key.label for key in keys if WORDS.get(key.meaning) == code)
        if self.question.kind == "confirm":
            strangers = [str(at + 1) for at in range(self.n_groups) if code >> at & 1]
            return f"strangers {', '.join(strangers)}" if strangers else "all belong"
        if self.question.kind == "which_of":
            return f"group {code + 1}"
        rows = self.question.rows
        row = rows[code + 1] if self.question.kind == "triplet" else rows[code]
        return f"number {self.shown.index(row) + (self.question.kind == 'odd_one_out')}"


WORDS: Final[Mapping[str, int]] = {
    "same": SAME,
    "different": DIFFERENT,
    "all_alike": ALL_ALIKE,
    "none_of_these": NONE_OF_THESE,
    "dont_know": DONT_KNOW,
    "not_comparable": NOT_COMPARABLE,
}
#: An answer that an item cannot be judged is this, and the number of the item on the screen.
BAD: Final = "bad_item "
#: An answer to a confirm question is this, and the numbers of the strangers.
STRANGERS: Final = "strangers"


class Key(NamedTuple):
    """A key of the answer bar."""

    key: str
    label: str
    meaning: str
    others: tuple[str, ...]
    """Other keys and words that mean the same."""


DONT_KNOW_KEY: Final = Key("k", "don't know", "dont_know", ("0", "dk"))
ANSWERS: Final[Mapping[Kind, tuple[Key, ...]]] = {
    "pair": (
        Key("s", "same", "same", ("1", *YES)),
        Key("d", "different", "different", ("2", *NO)),
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
        Key("1", "number 1", "1", ("number 1", "first")),
        Key("2", "number 2", "2", ("number 2", "second")),
        DONT_KNOW_KEY,
    ),
    "which_of": (
        *(Key(f"{n}", f"group {n}", f"{n}", (f"group {n}",)) for n in range(1, MOST_GROUPS + 1)),
        Key("n", "none of these", "none_of_these", ("none", "7")),
        DONT_KNOW_KEY,
    ),
    "confirm": (Key("a", "all others belong", STRANGERS, ("all", "all belong")), DONT_KNOW_KEY),
}
NOT_COMPARABLE_KEY: Final = Key("c", "not comparable", "not_comparable", ("cannot be compared",))
#: Answers about the question, of every kind.
FLAGS: Final = (NOT_COMPARABLE_KEY,)
#: Asks which item cannot be judged.
BAD_KEY: Final = Key("b", "bad item", "bad_item", ("bad",))
#: Said below a question: two answers that are easily confused.
HINTS: Final[Mapping[Kind, str]] = {
    "odd_one_out": "if all three differ: don't know",
    "confirm": "the numbers of those that do not belong",
}
COMMANDS: Final[Mapping[str, tuple[Command, tuple[str, ...]]]] = {
    "u": (UNDO, ("undo",)),
    "o": (OPEN, ("open",)),
    "q": (QUIT, ("quit", "exit", "\x04")),
    "": (STATUS, ("status", "\r", "\n")),
    "h": (HELP, ("?", "help", "keys")),
}
#: What keys do, where their labels do not say it.
EFFECTS: Final[Mapping[str, str]] = {
    "k": "don't know: this question is not asked again",
    "c": "they cannot be compared: this question is not asked again",
    "b": "then the number of an item that cannot be judged: nobody is asked about it any more",
    "u": "takes your last answer back, and asks again",
    "o": "opens the images in a viewer",
}


def keys_of(kind: Kind, n_groups: int = MOST_GROUPS) -> tuple[Key, ...]:
    """Return the keys for the answers to a kind of question, which may show groups."""
    keys = ANSWERS[kind]
    return keys[:n_groups] + keys[MOST_GROUPS:] if kind == "which_of" else keys


def labels_of(kind: Kind, n_groups: int = MOST_GROUPS) -> tuple[str, ...]:
    """Return the numbers of the items on the screen; 0: the first of a triplet, or the item."""
    if kind in ("which_of", "confirm"):
        return tuple(map(str, range(n_groups + 1)))
    return tuple(map(str, range(3))) if kind == "triplet" else tuple("123"[: N_ROWS[kind]])


def flags_of(kind: Kind, n_groups: int = MOST_GROUPS) -> list[str]:
    """Return what may be replied about a question, as words."""
    labels = labels_of(kind, n_groups)
    return [*(key.meaning for key in FLAGS), *(f"{BAD}{label}" for label in labels)]


def commands_of(*, has_images: bool, n_answers: int) -> list[tuple[str, str]]:
    """Return the keys of commands that have an effect now, with labels."""
    found = [("u", "undo")] if n_answers else []
    return [*found, *([("o", "open")] if has_images else []), ("q", "quit")]


def help_of(kind: Kind, n_groups: int, *, has_images: bool) -> list[tuple[str, str]]:
    """Return all keys and what they do."""
    keys = [*keys_of(kind, n_groups), *FLAGS, BAD_KEY]
    found = [(f"1 to {n_groups}", HINTS[kind])] if kind == "confirm" else []
    for key in keys:
        names = dict.fromkeys((key.key, *(one for one in key.others if len(one) == 1)))
        found.append((" or ".join(names), EFFECTS.get(key.key, key.label)))
    found += [(key, EFFECTS[key]) for key in ("u", "o") if key == "u" or has_images]
    return [*found, ("Enter", "how sure the groups are"), ("h or ?", "this list"), ("q", "quit")]


def meaning(kind: Kind, text: str, n_groups: int = MOST_GROUPS) -> str | Command | None:
    """Return what a key or a word means; None if nothing."""
    plain = text.strip(" ").casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    plain = plain.replace("_", " ").replace("don't", "dont")
    for key, (command, others) in COMMANDS.items():
        if plain == key or plain in others:
            return command
    word, _, label = plain.removeprefix("bad item").removeprefix("bad").rpartition(" ")
    if plain.startswith("bad") and not word and label in labels_of(kind, n_groups):
        return f"{BAD}{label}"
    if plain in (BAD_KEY.key, BAD_KEY.meaning, BAD_KEY.label, *BAD_KEY.others):
        return BAD_COMMAND
    numbers = plain.replace(",", " ").split()
    if kind == "confirm" and numbers and set(numbers) <= set(labels_of(kind, n_groups)[1:]):
        return " ".join((STRANGERS, *dict.fromkeys(numbers)))
    for answer in (*keys_of(kind, n_groups), *FLAGS):
        if plain in (answer.key, answer.meaning.replace("_", " "), *answer.others):
            return answer.meaning
    return None
