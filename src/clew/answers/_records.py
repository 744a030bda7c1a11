"""Questions, answers, edits and retractions: frozen records, checked when they are made."""

from __future__ import annotations

import re
import uuid
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from clew.answers._words import (
    BAD_ITEM,
    DIFFERENT,
    DONT_KNOW,
    N_ROWS,
    NONE_OF_THESE,
    NOT_COMPARABLE,
    QUESTION_KINDS,
    SAME,
    Kind,
    Origin,
    a_question,
    as_answer_code,
    as_flag,
    as_kind,
    as_origin,
    as_weight,
    is_integer,
    plain_word,
)
from clew.exceptions import InvalidConstraintsError

EditKind = Literal["merge", "split", "move", "lock", "not_in", "set_aside"]
#: The kinds of edits.
EDIT_KINDS: Final[tuple[EditKind, ...]] = ("merge", "split", "move", "lock", "not_in", "set_aside")
#: An edit is expanded into answers about at most this many pairs of each of its items.
MOST_EXAMPLES: Final = 3
#: Largest total weight of the pairs of one item in an edit: they are one judgment, not several.
MOST_WEIGHT: Final = 2.0


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Question:
    """A question about two or more rows.

    Parameters
    ----------
    kind : {"pair", "triplet", "odd_one_out", "which_of", "confirm"}
        "pair": are the two the same? "triplet": is the first row more like the second or more
        like the third? "odd_one_out": which of the three differs from the other two? If none does,
        the three are all alike; if all three differ, the answer is don't-know. "which_of": to which
        of some groups, each given by examples, does the first row belong? "confirm": which rows do
        not belong to the group of the examples?
    rows : tuple of int, default=()
        Row numbers, two for a pair and three for a triplet or an odd-one-out, all different and
        none negative. Their order is the order in which they are asked about. May be left out if
        there are ids.
    origin : {"imported", "random", "asked", "edit", "rule"}, default="asked"
        How the question was chosen: unknown, drawn at random to check the groups, by a strategy, or
        not at all, because the answer follows from an edit or a rule. Not part of comparisons.
    ids : tuple of hashable or None, default=None
        Ids of the rows, for people. Part of comparisons only if there are no rows.
    parts : tuple of int, default=()
        How the rows are divided. "which_of": 1, and the number of examples of each group;
        "confirm": the number of examples and of members, or of several sets of members; those of
        one set may be overlooked together. Empty for other kinds.
    repeat : int, default=0
        How often the same person was asked this question before.
    check : float or None, default=None
        Probability with which the question was drawn, if it checks the groups. Not part of
        comparisons.
    examples : tuple of hashable, default=()
        "pair" and "triplet": ids of further items of the group of the first item, shown beside it.
        The answer is about the first item. Not part of comparisons.

    Raises
    ------
    InvalidConstraintsError
        If the kind or the origin is unknown, the number of rows or ids is wrong, a row is
        negative, repeated or not an integer, or `parts`, `repeat`, `check` or `examples` is
        invalid.

    Examples
    --------
    >>> from clew import Question
    >>> Question("pair", (3, 9))
    Question(kind='pair', rows=(3, 9))
    """

    kind: Kind
    rows: tuple[int, ...] = ()
    origin: Origin = "asked"
    ids: tuple[Hashable, ...] | None = None
    parts: tuple[int, ...] = ()
    repeat: int = 0
    check: float | None = None
    examples: tuple[Hashable, ...] = ()

    def __repr__(self) -> str:
        shown = [f"kind={self.kind!r}", f"rows={self.rows!r}"]
        defaults = {
            "origin": "asked", "ids": None, "parts": (), "repeat": 0, "check": None, "examples": ()
        }  # fmt: skip
        shown += [
            f"{name}={getattr(self, name)!r}"
            for name, default in defaults.items()
            if getattr(self, name) != default
        ]
        return f"Question({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[object, ...]:
        return self.kind, self.rows or self.ids, self.parts, self.repeat

    def __post_init__(self) -> None:
        kind, rows = as_kind(self.kind, QUESTION_KINDS), tuple(self.rows)
        if not all(is_integer(row) for row in rows):
            raise InvalidConstraintsError(f"rows must be integers, got {rows}")
        ids = None if self.ids is None else tuple(self.ids)
        if ids is not None and rows and len(ids) != len(rows):
            raise InvalidConstraintsError(f"ids must be {len(rows)}, one a row, got {ids}")
        about: tuple[Hashable, ...] = rows or ids or ()
        parts = _as_parts(kind, tuple(self.parts), len(about))
        if kind in N_ROWS and len(about) != N_ROWS[kind]:
            raise InvalidConstraintsError(
                f"{a_question(kind)} asks about {N_ROWS[kind]} rows, got {about}"
            )
        if rows and min(rows) < 0:
            raise InvalidConstraintsError(f"rows are counted from 0, got {rows}")
        if len(set(about)) < len(about):
            raise InvalidConstraintsError(f"a question asks about different rows, got {about}")
        if not is_integer(self.repeat) or self.repeat < 0:
            raise InvalidConstraintsError(
                f"repeat is how often the question was asked before, from 0, got {self.repeat!r}"
            )
        if self.check is not None and not 0 < self.check <= 1:
            raise InvalidConstraintsError(
                f"check is the probability of a drawn question, in (0, 1], got {self.check!r}"
            )
        examples = tuple(self.examples)
        if examples and (
            kind not in ("pair", "triplet") or not set(examples).isdisjoint(ids or ())
        ):
            raise InvalidConstraintsError(
                f"examples are other items than those of a pair or a triplet, got {examples} "
                f"beside {a_question(kind)} about {about}"
            )
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "examples", examples)
        object.__setattr__(self, "rows", tuple(int(row) for row in rows))
        object.__setattr__(self, "origin", as_origin(self.origin))
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "repeat", int(self.repeat))


def _as_parts(kind: Kind, parts: tuple[int, ...], n: int) -> tuple[int, ...]:
    """Check how the rows of a question are divided."""
    if kind in N_ROWS:
        if parts:
            raise InvalidConstraintsError(f"{a_question(kind)} has no parts, got {parts}")
        return ()
    is_divided = all(is_integer(part) and part > 0 for part in parts) and sum(parts) == n
    if kind == "which_of" and not (is_divided and len(parts) > 1 and parts[0] == 1):
        raise InvalidConstraintsError(
            "parts of a which_of question are 1, and the number of examples of each group, "
            f"together {n}; got {parts}"
        )
    if kind == "confirm" and not (is_divided and len(parts) > 1):
        raise InvalidConstraintsError(
            f"parts of a confirm question are the numbers of examples and of members, or of sets "
            f"of members, together {n}; got {parts}"
        )
    return tuple(int(part) for part in parts)


def as_value(question: Question, value: object) -> int:
    """Return the code of an answer to a question, given as a code or as a word."""
    flag = as_flag(value)
    if flag is not None:
        return flag
    if question.kind in N_ROWS:
        return as_answer_code(question.kind, value)
    words = {"dont_know": DONT_KNOW}
    if question.kind == "which_of":
        words["none_of_these"], n = NONE_OF_THESE, len(question.parts) - 1
    else:
        words["all_belong"], n = 0, 2 ** sum(question.parts[1:])
    if isinstance(value, str):
        if plain_word(value) in words:
            return words[plain_word(value)]
    elif is_integer(value) and (value in words.values() or 0 <= value < n):  # type: ignore[operator]
        return int(value)  # type: ignore[call-overload,no-any-return]
    allowed = ", ".join((f"0 to {n - 1}", *words))
    raise InvalidConstraintsError(
        f"{value!r} is not an answer to {a_question(question.kind)}; use one of {allowed}"
    )


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
    origin : {"imported", "random", "asked", "edit", "rule"}, default="imported"
        How the question was chosen: see `Question`.
    id : str, default=""
        Unique id in a log: the hexadecimal digits of a UUID, made where the answer is given. Empty:
        not in a log yet. This and all further parameters but `bad` are not part of comparisons.
    at : str, default=""
        When it was given: UTC, ISO 8601 with milliseconds and "Z".
    ms : int or None, default=None
        Milliseconds from showing the question to the answer.
    shown : tuple of hashable, default=()
        Ids of the items in the order in which the person saw them.
    revokes : str or None, default=None
        Id of an entry of the log that this one replaces.
    source : str, default=""
        Program that wrote it.
    note : str, default=""
        What the person noted.
    edit : str, default=""
        Id of the edit that implies it.
    bad : tuple of hashable, default=()
        Of the answer `BAD_ITEM`: ids of the items that cannot be judged.

    Raises
    ------
    InvalidConstraintsError
        If the code does not belong to the kind of question, the weight is outside [0, 1], the
        origin is unknown, or another parameter is invalid.

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
    id: str = field(default="", compare=False)
    at: str = field(default="", compare=False)
    ms: int | None = field(default=None, compare=False)
    shown: tuple[Hashable, ...] = field(default=(), compare=False)
    revokes: str | None = field(default=None, compare=False)
    source: str = field(default="", compare=False)
    note: str = field(default="", compare=False)
    edit: str = field(default="", compare=False)
    bad: tuple[Hashable, ...] = ()

    if TYPE_CHECKING:
        # The field holds a code; the constructor takes a word too.
        def __init__(
            self,
            question: Question,
            value: int | str,
            annotator: str = "",
            weight: float = 1.0,
            origin: str = "imported",
            id: str = "",
            at: str = "",
            ms: int | None = None,
            shown: Sequence[Hashable] = (),
            revokes: str | None = None,
            source: str = "",
            note: str = "",
            edit: str = "",
            bad: Sequence[Hashable] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.question, Question):
            raise InvalidConstraintsError(f"question must be a Question, got {self.question!r}")
        if not isinstance(self.annotator, str):
            raise InvalidConstraintsError(f"annotator must be a string, got {self.annotator!r}")
        _check_texts(self)
        if self.ms is not None and not (is_integer(self.ms) and self.ms >= 0):
            raise InvalidConstraintsError(f"ms must be a number of milliseconds, got {self.ms!r}")
        object.__setattr__(self, "value", as_value(self.question, self.value))
        object.__setattr__(self, "weight", as_weight(self.weight))
        object.__setattr__(self, "origin", as_origin(self.origin))
        object.__setattr__(self, "shown", tuple(self.shown))
        object.__setattr__(self, "bad", tuple(self.bad))
        if self.bad and self.value != BAD_ITEM:
            raise InvalidConstraintsError(
                f"bad names the items of the answer bad_item; the answer is {self.value}"
            )

    @property
    def is_dont_know(self) -> bool:
        """Whether the answer is don't-know."""
        return self.value == DONT_KNOW

    @property
    def is_evidence(self) -> bool:
        """Whether the answer says anything about groups: not don't-know, nor about the question."""
        return self.value not in (DONT_KNOW, NOT_COMPARABLE, BAD_ITEM)


@dataclass(frozen=True, slots=True)
class Edit:
    """What a person does to groups of a result, as one entry of a log.

    Parameters
    ----------
    kind : {"merge", "split", "move", "lock", "not_in", "set_aside"}
        "merge": the items and the target are one group. "split": the items are one group, and the
        target is another one. "move": the items belong to the group of the target. "lock": all
        items are one group, and nobody is asked about it. "not_in": none of the items belongs to
        the group of the target. "set_aside": the items are in no group, and nobody is asked about
        them.
    items : tuple of hashable
        Ids of items, the most typical ones first.
    target : tuple of hashable, default=()
        Ids of items of the other group, the most typical ones first; none for "lock" and
        "set_aside".
    annotator : str, default=""
        Who did it.
    id : str, default=""
        Unique id in a log. Empty: not in a log yet.
    at : str, default=""
        When it was done: UTC, ISO 8601 with milliseconds and "Z".
    source : str, default=""
        Program that wrote it.
    note : str, default=""
        What the person noted.
    revokes : str or None, default=None
        Id of an entry of the log that this one replaces.

    Raises
    ------
    InvalidConstraintsError
        If the kind is unknown, or items or the target are missing or repeated.

    Examples
    --------
    >>> from clew.answers import Edit
    >>> edit = Edit("move", ["wren"], ["robin", "heron"], annotator="ann")
    >>> [(answer.question.ids, answer.value) for answer in edit.answers()]
    [(('wren', 'robin'), 1), (('wren', 'heron'), 1)]
    """

    kind: EditKind
    items: tuple[Hashable, ...]
    target: tuple[Hashable, ...] = ()
    annotator: str = ""
    id: str = ""
    at: str = ""
    source: str = ""
    note: str = ""
    revokes: str | None = None

    if TYPE_CHECKING:
        # Sequences become tuples.
        def __init__(
            self,
            kind: str,
            items: Sequence[Hashable],
            target: Sequence[Hashable] = (),
            annotator: str = "",
            id: str = "",
            at: str = "",
            source: str = "",
            note: str = "",
            revokes: str | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        _check_texts(self)
        kind = plain_word(self.kind)
        if kind not in EDIT_KINDS:
            raise InvalidConstraintsError(
                f"unknown kind of edit {self.kind!r}; use one of {', '.join(EDIT_KINDS)}"
            )
        for name in ("items", "target"):
            ids = getattr(self, name)
            if isinstance(ids, str | bytes) or not isinstance(ids, Sequence):
                raise InvalidConstraintsError(f"{name} must be a sequence of ids, got {ids!r}")
            object.__setattr__(self, name, tuple(ids))
        about = self.items + self.target
        if len(set(about)) < len(about):
            raise InvalidConstraintsError(f"an edit names each item once, got {about}")
        has_target = kind not in ("lock", "set_aside")
        n_least = 2 if kind == "lock" else 1
        if len(self.items) < n_least or has_target != bool(self.target):
            target = "and a target" if has_target else "and no target"
            raise InvalidConstraintsError(
                f"an edit {kind!r} has {n_least} or more items {target}, got items {self.items} "
                f"and target {self.target}"
            )
        object.__setattr__(self, "kind", kind)

    def answers(self) -> tuple[Answer, ...]:
        """Return the answers that the edit implies, about pairs of ids.

        Returns
        -------
        tuple of Answer
            With the origin "edit" and the id of the edit. At most three of the target are compared
            with each item. The pairs of one item with the target are one judgment: together they
            weigh as much as two answers at most.
        """
        found = []
        for first, second, value, n in self._pairs():
            question = Question("pair", (), "edit", (first, second))
            weight = min(1.0, MOST_WEIGHT / n)
            found.append(
                Answer(
                    question, value, self.annotator, weight, "edit", at=self.at, source=self.source,
                    edit=self.id,
                )
            )  # fmt: skip
        return tuple(found)

    def _pairs(self) -> Iterator[tuple[Hashable, Hashable, int, int]]:
        """Yield two items, whether they are the same, and the number of pairs of this judgment."""
        if self.kind == "set_aside":
            return
        if self.kind in ("lock", "split"):
            for item in self.items[1:]:
                yield self.items[0], item, SAME, 1
        examples = self.target[:MOST_EXAMPLES]
        if self.kind == "merge":
            n = min(MOST_EXAMPLES, max(len(self.items), len(self.target)))
            for at in range(n):
                pair = self.items[at % len(self.items)], self.target[at % len(self.target)]
                yield *pair, SAME, n
            return
        value = SAME if self.kind == "move" else DIFFERENT
        for item in self.items:
            for example in examples:
                yield item, example, value, len(examples)


@dataclass(frozen=True, slots=True)
class Retraction:
    """Takes an answer or an edit of a log back.

    Parameters
    ----------
    revokes : str
        Id of the entry.
    annotator : str, default=""
        Who takes it back.
    id : str, default=""
        Unique id in a log. Empty: not in a log yet.
    at : str, default=""
        When: UTC, ISO 8601 with milliseconds and "Z".
    source : str, default=""
        Program that wrote it.

    Raises
    ------
    InvalidConstraintsError
        If `revokes` is empty, or a parameter is no text.

    Examples
    --------
    >>> from clew.answers import Answer, Question, Retraction, standing
    >>> answer = Answer(Question("pair", ids=("wren", "robin")), "same", id="a1")
    >>> standing([answer, Retraction("a1", "ann", id="a2")])
    []
    """

    revokes: str
    annotator: str = ""
    id: str = ""
    at: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        _check_texts(self)
        if not self.revokes:
            raise InvalidConstraintsError("revokes must be the id of an entry, got an empty text")


#: What a log holds.
Entry = Answer | Edit | Retraction


def _check_texts(entry: Entry) -> None:
    for name in ("annotator", "id", "at", "source", "note", "edit", "revokes"):
        value = getattr(entry, name, "")
        if not isinstance(value, str) and not (name == "revokes" and value is None):
            raise InvalidConstraintsError(f"{name} must be a string, got {value!r}")


#: Source of an entry that `clew import` has read from a line that has no time.
IMPORTED: Final = re.compile(r"clew import (.+), line ([0-9]+)")


def line_of(entry: Entry) -> tuple[str, int]:
    """File and line of an entry that was imported without a time; its time is none of its own."""
    found = IMPORTED.fullmatch(entry.source)
    return ("", 0) if found is None else (found[1], int(found[2]))


def new_id() -> str:
    """Return a new id for an entry."""
    return uuid.uuid4().hex


def now() -> str:
    """Return the time, as entries hold it: UTC, ISO 8601 with milliseconds and "Z"."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
