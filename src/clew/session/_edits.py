"""What an entry would do, before it is applied."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import SAME, Answer, Edit, Entry, Question, Retraction, expand
from clew.cluster.guided._explain import chain_of_answers
from clew.questions._answers import KnownPairs
from clew.questions._strategy import in_order_of_rows
from clew.session._chooser import Chooser
from clew.session._groups import (
    Change,
    Evidence,
    changes_of,
    contradicting,
    edited,
    groups_before,
    held,
    matched,
)
from clew.session._log import as_learned
from clew.session._loop import Loop
from clew.session._result import SessionResult, answers_of_chain, doubts_of


class Contradiction(NamedTuple):
    """A chain of answers that contradicts an entry; print it to read it."""

    pair: tuple[Hashable, Hashable]
    """Ids of two items that the entry calls the same, or different."""
    chain: tuple[Hashable, ...]
    """Ids of a path of items from the one to the other: the answers imply that consecutive items
    are the same, except for one pair if the entry calls the two the same."""
    answers: tuple[Answer, ...]
    """The answers of the path."""

    def __str__(self) -> str:
        said = " = ".join(map(str, self.chain))
        return f"{self.pair[0]} and {self.pair[1]}: answers imply {said}"


class Preview(NamedTuple):
    """What an entry would do."""

    moves: tuple[Change, ...]
    """The items that would be in another group."""
    contradicts: tuple[Contradiction, ...]
    """For each pair that the entry implies and other answers deny, the chain of these answers."""
    superfluous: tuple[Question, ...]
    """Open questions whose answers would follow from the entry."""
    revision: int
    """Number of entries of the log that the preview takes into account."""


def preview_of(loop: Loop, model: Chooser, entry: Entry, result: SessionResult) -> Preview:
    """Compare the groups with and without an entry; `result` is that of now."""
    strategy, n = model.strategy, len(loop.items.ids)
    said = _implied(loop, model, entry)
    answers = [answer for answer in strategy.answers if not _is_replaced(answer, entry)]
    before = groups_before(result, loop.items.ids)
    labels = _labels(model, answers, said)
    with loop.recording:
        edits = [each for each in loop.log.standing if each.id != entry.revokes]
    for edit in (*edits, entry):
        if isinstance(edit, Edit) and edit.kind == "set_aside":
            labels[list(loop.log.rows_of(edit.items))] = -1
    labels = edited(labels, loop.log.edits([*edits, entry]), [*answers, *said])
    evidence = Evidence.of([*answers, *said])
    after, _ = matched(in_order_of_rows(labels), before)
    after = held(before, after, evidence)
    doubts = doubts_of(strategy, result.labels_, loop.items.ids, model.settled())
    names = loop.items.ids.names
    found = []
    for i, j, value in _pairs(said):
        chain, parted = chain_of_answers(i, j, doubts.constraints, doubts, together=value != SAME)
        if chain:
            ids = tuple(names[row] for row in chain)
            links = answers_of_chain(chain, parted, answers)
            found.append(Contradiction((names[i], names[j]), ids, links))
    if isinstance(entry, Edit) and not found:
        found = _of_groups(result, entry, answers, loop)
    with loop.recording:
        pending = loop.queue.pending()
    return Preview(
        changes_of(names, before, after, evidence),
        tuple(found),
        tuple(
            question for question in pending if _follows(question, answers, said, entry, n, loop)
        ),
        model.n_learned,
    )


def _of_groups(
    result: SessionResult, edit: Edit, answers: list[Answer], loop: Loop
) -> list[Contradiction]:
    """Return the answers about other items of the groups for which an edit is not done."""
    names = loop.items.ids.names
    return [
        Contradiction((names[i], names[j]), (names[i], names[j]), (answer,))
        for row_edit in loop.log.edits([edit])
        for i, j, answer in contradicting(result.labels_, row_edit, answers)
    ]


def _implied(loop: Loop, model: Chooser, entry: Entry) -> list[Answer]:
    """Return the answers that the strategy would learn of an entry."""
    if isinstance(entry, Retraction):
        return []
    answers = entry.answers() if isinstance(entry, Edit) else (entry,)
    located = (replace(each, question=loop.located(each.question)) for each in answers)
    kinds = model.strategy.learns_kinds
    return [one for answer in located for one in as_learned(answer, kinds)]


def _is_replaced(answer: Answer, entry: Entry) -> bool:
    """Whether an answer that was learned is not, if an entry comes."""
    if entry.revokes:
        return entry.revokes in (answer.id, answer.edit)
    return (
        isinstance(entry, Answer)
        and entry.annotator == answer.annotator
        and entry.question == answer.question
    )


def _pairs(answers: Iterable[Answer]) -> Iterator[tuple[int, int, int]]:
    for answer in answers:
        rows = answer.question.rows
        for i, j, value, _ in expand(answer):
            yield rows[i], rows[j], value


def _labels(model: Chooser, answers: list[Answer], said: list[Answer]) -> NDArray[np.int64]:
    """Return the groups with further answers; the model is as before."""
    settled = model.fitted([*answers, *said])
    if settled is not None:
        return np.array(settled.labels, np.int64)
    strategy = model.strategy
    try:
        return strategy.learn([*answers, *said]).labels().copy()
    finally:
        strategy.learn(answers)


def _follows(
    question: Question, answers: list[Answer], said: list[Answer], entry: Entry, n: int, loop: Loop
) -> bool:
    """Whether an answer follows from an entry and the answers, and not from these."""
    rows = question.rows
    if isinstance(entry, Edit) and entry.kind in ("set_aside", "lock"):
        shared = len(set(loop.log.rows_of(entry.items)) & set(rows))
        return shared > (entry.kind == "lock")
    pairs = np.array([(rows[0], row) for row in rows[1:]])
    with_edit = KnownPairs(n)
    with_edit.add([*said, *answers])
    if with_edit.is_unknown(pairs).any():
        return False
    without = KnownPairs(n)
    without.add(answers)
    return bool(without.is_unknown(pairs).any())
