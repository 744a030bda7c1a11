"""The one log of a session, and what the model learns of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
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
