"""The state of a session: the strategy, who was asked what, and the random checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clew.answers import Answer, Question
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError
from clew.questions import Guided, Strategy
from clew.questions._log import Key, key_of
from clew.session._checks import Check, check_of, draw_check
from clew.session._evidence import Evidence, evidence_of, near_pairs
from clew.session._items import Items
from clew.session._queue import Queue, meaning_of

__all__ = ["Loop"]


class Loop:
    """What `Session` does, without its locks and its checks of arguments.

    Parameters
    ----------
    items : Items
        What is grouped.
    strategy : Strategy
        Has been started.
    queue : Queue
        Who is asked what.
    check_every : int or None
        One in so many questions is a random check; None: no question is.
    seed : int
        Seed of the checks.
    """

    def __init__(
        self, items: Items, strategy: Strategy, queue: Queue, check_every: int | None, seed: int
    ) -> None:
        self.items, self.strategy, self.queue, self.seed = items, strategy, queue, seed
        self.checks: dict[Key, Check] = {}
        self._every = check_every
        self._near = None if isinstance(strategy, Guided) else near_pairs(items)

    def ask(self, n: int, annotator: str) -> list[Question]:
        """Return at most `n` questions for an annotator."""
        queue, name = self.queue, self.queue.check(annotator)
        n_missing = n - len(queue.with_annotator(name))
        for question in queue.shared(name)[: max(0, n_missing)]:
            queue.hand_out(question, name)
        while (n_missing := n - len(queue.with_annotator(name))) > 0:
            new = self._next(n_missing)
            if not new:
                break
            for question in new:
                queue.hand_out(self.named(question), name)
        return queue.with_annotator(name)[:n]

    def tell(self, answers: Sequence[Answer]) -> None:
        """Take answers; on an error, none of them is taken."""
        for answer in answers:
            self._check_answer(answer)
        waiting: list[Answer] = []
        for answer in map(self._with_origin, answers):
            known = self.queue.answer_of(answer.question, answer.annotator)
            if known and (meaning_of(known), known.weight) == (meaning_of(answer), answer.weight):
                continue
            if known or self._is_new_check(answer.question):
                self.strategy.tell(waiting)
                waiting = []
                if known:
                    self.take_back(known)
                else:
                    self._note_check(answer.question)
            self.queue.take(answer)
            waiting.append(answer)
        if waiting:
            self.strategy.tell(waiting)

    def take_back(self, answer: Answer) -> None:
        """Take an answer back."""
        self.strategy.retract(answer)
        self.queue.drop(answer)

    def named(self, question: Question) -> Question:
        """Add the ids of its rows to a question."""
        names = self.items.ids.names
        return replace(question, ids=tuple(names[row] for row in question.rows))

    def evidence(self, labels: NDArray[np.int64]) -> Evidence:
        """Return the probabilities of pairs."""
        return evidence_of(self.strategy, labels, self._near)

    def answered_checks(self) -> list[tuple[Check, Answer]]:
        """Return each answer to a random check, with the check; don't-knows are left out."""
        return [
            (check, answer)
            for key, check in self.checks.items()
            for answer in self.queue.given.get(key, {}).values()
            if not answer.is_dont_know
        ]

    def _next(self, n: int) -> list[Question]:
        """Choose new questions: a random check if one is due, otherwise those of the strategy."""
        if self._every is None:
            return self.strategy.ask(n, pending=self.queue.pending())
        done = len(self.queue.asked)
        n_before = self._every - 1 - done % self._every
        if n_before == 0 and (question := self._drawn((done + 1) // self._every)):
            return [question]
        return self.strategy.ask(min(n, max(n_before, 1)), pending=self.queue.pending())

    def _drawn(self, number: int) -> Question | None:
        labels = self.strategy.labels()
        check = draw_check(
            self.evidence(labels),
            labels,
            set(self.queue.asked),
            number=number,
            n_answers=len(self.strategy.answers),
            seed=self.seed,
        )
        if check is None:
            return None
        question = Question("pair", check.pair, origin="random")
        self.checks[key_of(question)] = check
        return question

    def _is_new_check(self, question: Question) -> bool:
        is_check = question.kind == "pair" and question.origin == "random"
        return is_check and key_of(question) not in self.checks

    def _note_check(self, question: Question) -> None:
        labels, n = self.strategy.labels(), len(self.strategy.answers)
        check = check_of(question, self.evidence(labels), labels, n)
        if check is not None:
            self.checks[key_of(question)] = check

    def _with_origin(self, answer: Answer) -> Answer:
        """Copy the origin from the question that the session asked, if it asked this one."""
        asked = self.queue.asked.get(key_of(answer.question))
        origin = answer.origin if asked is None else asked.origin
        question = self.named(replace(answer.question, origin=origin))
        return replace(answer, question=question, origin=origin)

    def _check_answer(self, answer: object) -> None:
        if not isinstance(answer, Answer):
            raise InvalidArgumentError(f"tell takes clew.Answer objects, got {answer!r}")
        self.queue.check(answer.annotator)
        n = len(self.items.ids)
        if max(answer.question.rows) >= n:
            raise InvalidConstraintsError(f"{answer.question}: rows run from 0 to {n - 1}")
