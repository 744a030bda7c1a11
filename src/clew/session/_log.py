"""The one log of a session, what the model learns of it, and who was asked what."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from clew.answers import (
    BAD_ITEM,
    DONT_KNOW,
    Answer,
    Edit,
    Entry,
    Kind,
    Question,
    as_table_answers,
    last_answers,
    new_id,
    now,
    standing,
)
from clew.constraints._validation import RowIds
from clew.exceptions import InvalidArgumentError, InvalidParameterError
from clew.questions._answers import Key, key_of
from clew.session._groups import RowEdit


class SessionLog:
    """Entries in order of arrival, each with an id; nothing is ever removed."""

    def __init__(self, ids: RowIds) -> None:
        self.entries: list[Entry] = []
        self._by_id: dict[str, Entry] = {}
        self.ids = ids

    def rows_of(self, ids: Iterable[Hashable]) -> tuple[int, ...]:
        """Return the rows of items."""
        rows: list[int] = self.ids.rows_of(list(ids), lambda _: "items").tolist()
        return tuple(rows)

    def __contains__(self, name: str) -> bool:
        return name in self._by_id

    def get(self, name: str) -> Entry | None:
        """Return the entry with an id."""
        return self._by_id.get(name)

    def append(self, entry: Entry) -> Entry:
        """Append an entry, with an id and a time, and return it."""
        entry = replace(entry, id=entry.id or new_id(), at=entry.at or now())
        self.entries.append(entry)
        self._by_id[entry.id] = entry
        return entry

    @property
    def standing(self) -> list[Answer | Edit]:
        """The answers and edits that were not taken back, in order of arrival."""
        return standing(self.entries)

    @property
    def answers(self) -> list[Answer]:
        """The answers that were not taken back, in order of arrival."""
        return [entry for entry in self.standing if isinstance(entry, Answer)]

    def evidence(self, n_entries: int | None = None, kinds: Sequence[Kind] = ()) -> list[Answer]:
        """Return what the model learns of the first entries: people's last answers, as pairs."""
        found: list[Answer] = []
        for entry in last_answers(self.entries[:n_entries]):
            if isinstance(entry, Edit):
                found += map(self._located, entry.answers())
            else:
                found.append(entry)
        return [one for answer in found for one in as_learned(answer, kinds)]

    def _located(self, answer: Answer) -> Answer:
        question = answer.question
        return replace(answer, question=replace(question, rows=self.rows_of(question.ids or ())))

    def edits(self, entries: Iterable[Entry] | None = None) -> list[RowEdit]:
        """Return the edits that stand, but those that set items aside, with rows."""
        return [
            RowEdit(entry.kind, self.rows_of(entry.items), self.rows_of(entry.target))
            for entry in (self.standing if entries is None else entries)
            if isinstance(entry, Edit) and entry.kind != "set_aside"
        ]

    def barred(self) -> Barred:
        """Return what nobody is asked about."""
        aside: set[int] = set()
        bad: set[int] = set()
        locks: list[frozenset[int]] = []
        for entry in self.standing:
            if isinstance(entry, Answer):
                if entry.value == BAD_ITEM:
                    bad.update(self.rows_of(entry.bad))
            elif entry.kind == "set_aside":
                aside.update(self.rows_of(entry.items))
            elif entry.kind == "lock":
                locks.append(frozenset(self.rows_of(entry.items)))
        return Barred(frozenset(aside), frozenset(bad), tuple(locks))


class Barred(NamedTuple):
    """What nobody is asked about."""

    aside: frozenset[int]
    """Rows that are set aside."""
    bad: frozenset[int]
    """Rows that somebody could not judge."""
    locks: tuple[frozenset[int], ...]
    """Rows of which people have said that they are one group."""

    def allows(self, question: Question) -> bool:
        """Return whether a question may be asked."""
        rows, parts = question.rows, question.parts
        if not self.rows.isdisjoint(rows):
            return False
        if parts:  # examples are not compared with each other
            first, others = rows[: parts[0]], rows[parts[0] :]
            return all(lock.isdisjoint(first) or lock.isdisjoint(others) for lock in self.locks)
        return all(len(lock.intersection(rows)) < 2 for lock in self.locks)

    @property
    def rows(self) -> frozenset[int]:
        """Rows that are not shown."""
        return self.aside | self.bad

    def without(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return labels with -1 for rows that may not be asked about."""
        rows = [*self.rows]
        if not rows:
            return labels
        left = labels.copy()
        left[rows] = -1
        return left


def as_learned(answer: Answer, kinds: Sequence[Kind]) -> Iterable[Answer]:
    """Return an answer as a strategy that learns some kinds of questions learns it."""
    if answer.value < DONT_KNOW:  # about the question: no evidence, not even that none stands out
        answer = replace(answer, value=DONT_KNOW, bad=(), weight=0.0)
    return [answer] if answer.question.kind in kinds else as_table_answers([answer])


#: A question is repeated after this many other answers of the same person.
REPEATED_AFTER = 10

#: A key of a question, and how often the person was asked it before.
Asking = tuple[str, tuple[int, ...], int]


def asking_of(question: Question) -> Asking:
    """Return a key that is equal for equivalent questions, repeated equally often."""
    return (*key_of(question), question.repeat)


class Queue:
    """The questions that were asked, who is asked each now, and who has answered it."""

    def __init__(self, annotators: object, repeat_every: int | None = None, seed: int = 0) -> None:
        self.names, self.n_wanted = _wanted(annotators)
        self.repeat_every, self._seed = repeat_every, seed
        #: Questions that were asked or answered, without repeats, in their order.
        self.asked: dict[Key, Question] = {}
        self.given: dict[Asking, dict[str, Answer]] = {}
        self._out: dict[str, dict[Asking, Question]] = {}
        #: For each person, the questions that were answered, in their order.
        self._of: dict[str, dict[Asking, None]] = {}

    def check(self, annotator: object) -> str:
        """Refuse a name that is no string, or not one of the session's annotators."""
        if not isinstance(annotator, str):
            raise InvalidArgumentError(f"annotator must be a string, got {annotator!r}")
        if self.names and annotator not in self.names:
            raise InvalidArgumentError(
                f"there is no annotator {annotator!r}; the annotators of the session are "
                f"{', '.join(self.names)}"
            )
        return annotator

    def with_annotator(
        self, annotator: str, kinds: Sequence[Kind] | None = None, held: Collection[Asking] = ()
    ) -> list[Question]:
        """Return somebody's open questions of some kinds, oldest first, without those `held`."""
        return [
            question
            for key, question in self._out.get(annotator, {}).items()
            if key not in held and (kinds is None or question.kind in kinds)
        ]

    def pending(self) -> list[Question]:
        """Return all questions that somebody was asked and nobody has answered yet."""
        out = {key[:2] for keys in self._out.values() for key in keys if not key[2]}
        return [self.asked[key] for key in self.asked if key in out and not self._is_given(key)]

    def is_out(self, key: Key) -> bool:
        """Return whether somebody was asked a question or has answered it."""
        return self._is_given(key) or any((*key, 0) in out for out in self._out.values())

    def _is_given(self, key: Key) -> bool:
        return bool(self.given.get((*key, 0)))

    def shared(self, annotator: str) -> list[Question]:
        """Return questions of others that this annotator is to answer too, oldest first."""
        if self.n_wanted == 1:
            return []
        people = {key[:2]: set(given) for key, given in self.given.items() if not key[2]}
        for name, keys in self._out.items():
            for key in keys:
                if not key[2]:
                    people.setdefault(key[:2], set()).add(name)
        return [
            question
            for key, question in self.asked.items()
            if 0 < len(people.get(key, ())) < self.n_wanted and annotator not in people[key]
        ]

    def repeated(self, annotator: str) -> Question | None:
        """Return a question to ask this person again, if one is due."""
        every, answered = self.repeat_every, self._of.get(annotator, {})
        n = len(answered) + len(self._out.get(annotator, ()))
        if every is None or n < every or n % every != every // 2:
            return None
        done = {key[:2] for key in (*answered, *self._out.get(annotator, ())) if key[2]}
        old = list(answered)[:-REPEATED_AFTER]
        found = [
            question
            for key in old
            if not key[2] and key[:2] not in done
            for question in [self.given[key][annotator].question]
            if self.given[key][annotator].is_evidence
        ]
        if not found:
            return None
        random = RandomState((self._seed + n + crc32(annotator.encode())) % 2**32)
        return found[int(random.randint(len(found)))]

    def n_before_repeat(self, annotator: str) -> int:
        """Return how many questions this person is asked before one may be repeated."""
        every = self.repeat_every
        if every is None:
            return 2**31
        n = len(self._of.get(annotator, ())) + len(self._out.get(annotator, ()))
        return (every // 2 - n - 1) % every + 1

    def hand_out(self, question: Question, annotator: str) -> None:
        """Record that an annotator is asked a question."""
        if not question.repeat:
            self.asked[key_of(question)] = question
        self._out.setdefault(annotator, {})[asking_of(question)] = question

    def take(self, answer: Answer) -> None:
        """Record an answer; close its question for its annotator, or for all if it has enough."""
        key = asking_of(answer.question)
        if not key[2]:
            self.asked.setdefault(key[:2], answer.question)
        given = self.given.setdefault(key, {})
        given[answer.annotator] = answer
        self._of.setdefault(answer.annotator, {})[key] = None
        self._out.get(answer.annotator, {}).pop(key, None)
        if not key[2] and len(given) >= self.n_wanted:
            for keys in self._out.values():
                keys.pop(key, None)

    def drop(self, answer: Answer) -> None:
        """Forget an answer that was taken back."""
        key = asking_of(answer.question)
        if self.given.get(key, {}).pop(answer.annotator, None) is not None:
            self._of[answer.annotator].pop(key, None)

    def hand_out_first(self, question: Question, annotator: str) -> None:
        """Let an annotator be asked this question before all others."""
        key = asking_of(question)
        self._out[annotator] = {key: question} | self._out.get(annotator, {})

    def answer_of(self, question: Question, annotator: str) -> Answer | None:
        """Return the answer of an annotator to a question."""
        return self.given.get(asking_of(question), {}).get(annotator)

    def repeats(self) -> list[tuple[Answer, Answer]]:
        """Return the pairs of answers of one person to the same question, both informative."""
        return [
            (first, again)
            for key, given in self.given.items()
            if key[2]
            for name, again in given.items()
            for first in [self.given.get((*key[:2], 0), {}).get(name)]
            if first is not None and first.is_evidence and again.is_evidence
        ]

    def people(self, names: Sequence[str]) -> tuple[str | None, ...]:
        """Return the annotators as whom an oracle answers; with (None,) the oracle chooses."""
        if self.names or self.n_wanted == 1:
            return self.names or (None,)
        if len(names) < self.n_wanted:
            raise InvalidArgumentError(
                f"{self.n_wanted} people answer each question, but the oracle has only "
                f"{len(names)} annotators"
            )
        return tuple(names[: self.n_wanted])

    def release(self, annotator: str) -> None:
        """Let questions that an annotator has not answered go to others."""
        for key in self._out.pop(annotator, {}):
            is_out = any(key in out for out in self._out.values())
            if not key[2] and not self.given.get(key) and not is_out:
                del self.asked[key[:2]]

    def state(self) -> tuple[list[Question], list[tuple[str, Question]]]:
        """Return the asked questions in their order, and who is asked which now."""
        out = [(name, question) for name, keys in self._out.items() for question in keys.values()]
        return list(self.asked.values()), out

    def set_state(self, asked: Sequence[Question], out: Sequence[tuple[str, Question]]) -> None:
        """Continue from a state: questions that were answered meanwhile stay answered."""
        self.asked = {key_of(question): question for question in asked} | self.asked
        for name, question in out:
            key = asking_of(question)
            n = len(self.given.get(key, ()))
            if name not in self.given.get(key, {}) and (question.repeat or n < self.n_wanted):
                self._out.setdefault(name, {})[key] = question


def _wanted(annotators: object) -> tuple[tuple[str, ...], int]:
    if annotators is None:
        return (), 1
    if isinstance(annotators, int) and not isinstance(annotators, bool) and annotators > 0:
        return (), annotators
    if isinstance(annotators, list | tuple) and annotators:
        names = tuple(annotators)
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return names, len(names)
    raise InvalidParameterError(
        f"Session(annotators={annotators!r}): annotators must be the number of people who answer "
        "each question, their distinct names, or None"
    )
