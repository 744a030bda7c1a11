"""Entries of a session's log: what people said, changed or took back, and what each would do."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import (
    SAME,
    Answer,
    Edit,
    Entry,
    Question,
    Retraction,
    brought_back,
    expand,
    new_id,
)
from clew.cluster.guided._explain import chain_of_answers
from clew.constraints._rules import judgments_of
from clew.exceptions import InvalidArgumentError
from clew.questions._answers import KnownPairs
from clew.questions._strategy import in_order_of_rows
from clew.session._chooser import Chooser, rule_answers
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
from clew.session._items import answers_of, check_edit, ids_of
from clew.session._log import as_learned
from clew.session._loop import Applied, Loop
from clew.session._result import SessionResult, answers_of_chain, doubts_of, result_of


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


class LoggedEntries:
    """What is told to a session and taken back; its own methods ask, learn and return results."""

    _loop: Loop

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers that were not taken back, in order of arrival."""
        with self._loop.recording:
            return tuple(self._loop.log.answers)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that were not taken back, in order of arrival."""
        with self._loop.recording:
            return tuple(entry for entry in self._loop.log.standing if isinstance(entry, Edit))

    @property
    def log(self) -> tuple[Entry, ...]:
        """All answers, edits and retractions, in order of arrival."""
        with self._loop.recording:
            return tuple(self._loop.log.entries)

    def tell(
        self,
        question: Question | Answer | Iterable[Answer],
        answer: str | int | None = None,
        *,
        annotator: str = "",
        weight: float = 1.0,
    ) -> Self:
        """Take an answer, to a question that was asked or to any other.

        The same answer given again has no effect. A different answer of the same person to the
        same question replaces the first one, and the log gets a retraction of that. Answers that
        contradict each other raise no error; the strategy weighs them.

        Parameters
        ----------
        question : Question, Answer or iterable of Answer
            A question from `ask` or `question`; or answers, with their annotators and weights.
            If a question has ids, they decide which items it is about, and its row numbers are
            ignored; so a question of one session can be answered in another one.
        answer : str or int, default=None
            The answer to a `Question`, as a word or a code: "same", "different" or "dont_know" to
            a pair ("yes" and "no" are taken, too); see `clew.answers` for other kinds.
        annotator : str, default=""
            Who answered.
        weight : float, default=1.0
            Weight of the answer, in [0, 1].

        Returns
        -------
        self

        Raises
        ------
        InvalidConstraintsError
            If the word or an id is unknown or, without ids, a row is out of range. No answer is
            taken then.
        InvalidArgumentError
            If arguments are missing, or `annotator` is not one of the session's annotators.
        """
        self._loop.tell(answers_of(question, answer, annotator, weight))
        return self

    def apply(self, entries: Iterable[Entry]) -> Applied:
        """Take entries of another log, such as a file or a store: answers, edits, retractions.

        Parameters
        ----------
        entries : iterable of Entry
            In order of arrival. An entry whose id the log has already is skipped. An answer that
            revokes another one replaces it; without that, a later answer of the same person to
            the same question replaces the earlier one.

        Returns
        -------
        Applied
            The ids of the entries that are new, that were there, and that name items or entries
            that the session does not have; the last are skipped.

        Notes
        -----
        A pair that is said to be drawn at random counts as a check of the groups only if this
        session drew it, or if it carries the probability with which a session did
        (`Question.check`); other answers are "imported".
        """
        return self._loop.apply(entries)

    def edit(self, edit: Edit) -> Edit:
        """Take an edit: what it implies is learned like answers, as one judgment.

        Parameters
        ----------
        edit : Edit
            Merges, splits, moves, locks, "not in" or sets aside items, by id.

        Returns
        -------
        Edit
            The entry of the log, with its id: ``Retraction(edit.id)`` takes it back.

        Raises
        ------
        InvalidConstraintsError
            If an id is unknown.
        """
        check_edit(edit, self._loop.items.ids)
        (name,) = self.apply([replace(edit, id=edit.id or new_id())]).applied
        with self._loop.recording:
            found = self._loop.log.get(name)
        assert isinstance(found, Edit)
        return found

    def preview(self, entry: Entry, *, previous: Any = None) -> Preview:
        """Return what an edit, an answer or a retraction would do, without applying it.

        Parameters
        ----------
        entry : Edit, Answer or Retraction
            The entry. What it revokes, and an earlier answer of the same person to the same
            question, are left out.
        previous : SessionResult or dict, default=None
            The result that people see: group ids are those of it.

        Returns
        -------
        Preview
            The items that would move, the answers that contradict the entry, and the open questions
            that it makes superfluous.

        Raises
        ------
        InvalidConstraintsError
            If an id is unknown.

        Notes
        -----
        With the strategy "guided", it takes as long as `result`.
        """
        if isinstance(entry, Edit):
            check_edit(entry, self._loop.items.ids)
        elif not isinstance(entry, Answer | Retraction):
            raise InvalidArgumentError(f"expected an entry of clew.answers, got {entry!r}")
        with self._loop.model() as model:
            now = result_of(self._loop, model, previous)
            return preview_of(self._loop, model, entry, now)

    def set_aside(self, ids: Iterable[Hashable], *, annotator: str = "", note: str = "") -> Edit:
        """Set items aside: they are in no group, and nobody is asked about them.

        Parameters
        ----------
        ids : iterable of hashable
            Ids of items.
        annotator : str, default=""
            Who sets them aside.
        note : str, default=""
            Why.

        Returns
        -------
        Edit
            The entry of the log.

        Raises
        ------
        InvalidConstraintsError
            If an id is unknown, or there is none.
        """
        return self.edit(Edit("set_aside", ids_of(ids), annotator=annotator, note=note))

    def restore_items(self, ids: Iterable[Hashable], *, annotator: str = "") -> Self:
        """Take items back that were set aside.

        Parameters
        ----------
        ids : iterable of hashable
            Ids of items; those that are not set aside are ignored.
        annotator : str, default=""
            Who takes them back.

        Returns
        -------
        self

        Raises
        ------
        InvalidConstraintsError
            If an id is unknown.
        """
        names = ids_of(ids)
        self._loop.log.rows_of(names)
        self.apply(brought_back(self.edits, names, annotator))
        return self

    def add_rule(
        self,
        name: str,
        pairs: ArrayLike | Iterable[Sequence[Hashable]] | Callable[[Any], Hashable | None],
        answer: str | int | Sequence[str | int] = "same",
        *,
        meta: Sequence[Any] | None = None,
    ) -> Self:
        """Add what a rule or a model says, as an annotator who is trusted as far as checked.

        Parameters
        ----------
        name : str
            Name of the annotator: no person's. A rule of this name is replaced.
        pairs : sequence of pairs of ids, or callable
            The pairs that the rule judges. Or a function that takes the `meta` of an item, or
            without it the id, and returns what the item has in common with others, such as the
            photo that it is cut from; None or a missing value: nothing.
        answer : {"same", "different"} or sequence of str, default="same"
            What the rule says, of all pairs or of each.
        meta : sequence of length n_items, default=None
            What the function gets for each item. Of a data frame, a row as a dictionary.

        Returns
        -------
        self

        Raises
        ------
        InvalidConstraintsError
            If an id or an answer is unknown, or the rule judges no pair.
        InvalidArgumentError
            If `name` is that of a person who has answered.

        Notes
        -----
        A rule's errors go along with features, so agreement with them is no evidence that it is
        right. Its error rate, one in three at first, is estimated from people's answers to pairs
        that are drawn in its scope, one question in 20 until there are 16, and from nothing else.
        The scope of a rule that says "same" only is all pairs that its pairs connect.

        Examples
        --------
        >>> import clew
        >>> X = [[0.0], [0.1], [5.0], [5.2]]
        >>> session = clew.Session(X, ids=["a1", "a2", "b1", "b2"])
        >>> session.add_rule("first letter", lambda name: name[0]).log[0].origin
        'rule'
        """
        items = self._loop.items
        X = items.X if items.is_known and not items.is_distances else None
        found = judgments_of(
            name, pairs, answer, ids=items.ids, meta=meta, n_samples=len(items.ids), X=X
        )
        with self._loop.recording:
            own = [entry for entry in self.answers if entry.annotator == name]
            if any(entry.origin != "rule" for entry in own):
                raise InvalidArgumentError(f"{name!r} has answered questions; name the rule anew")
            self.apply([
                *(Retraction(entry.id, name) for entry in own),
                *rule_answers(name, found, items.ids.names),
            ])  # fmt: skip
        return self

    def undo(self, annotator: str | None = None) -> Answer | None:
        """Take the last answer back, and ask its question again.

        Parameters
        ----------
        annotator : str or None, default=None
            Whose answer; None for anybody's, but no rule's.

        Returns
        -------
        Answer or None
            The answer that was taken back; None if there is none.
        """
        with self._loop.recording:
            for answer in reversed(self.answers):
                if annotator in (None, answer.annotator) and answer.origin != "rule":
                    self._loop.take_back(answer)
                    self._loop.queue.hand_out_first(answer.question, answer.annotator)
                    return answer
        return None

    def retract(self, question: Question, *, annotator: str = "") -> Answer:
        """Take one answer back.

        Parameters
        ----------
        question : Question
            The question.
        annotator : str, default=""
            Who answered it.

        Returns
        -------
        Answer
            The answer.

        Raises
        ------
        InvalidArgumentError
            If this person did not answer the question.
        InvalidConstraintsError
            If the question has an unknown id.
        """
        with self._loop.recording:
            found = self._loop.queue.answer_of(self._loop.located(question), annotator)
            if found is None:
                raise InvalidArgumentError(f"{question} has no answer of {annotator!r}")
            self._loop.take_back(found)
            return found


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
    fitted = model.fitted([*answers, *said])
    if fitted is not None:
        return np.array(fitted.labels_, np.int64)
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
