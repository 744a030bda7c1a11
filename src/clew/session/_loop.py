"""The state of a session: the log of answers, who was asked what, and the model behind them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from clew.answers import Answer, Question
from clew.cluster import GuidedClustering
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError
from clew.questions import Strategy
from clew.questions._log import AnswerLog, Key, key_of
from clew.session._checks import Check
from clew.session._chooser import Chooser, Chosen
from clew.session._items import Items
from clew.session._queue import Queue, meaning_of

__all__ = ["Loop"]

#: Number of questions that are chosen before they are asked, if the model learns in the background.
N_AHEAD = 20


class Loop:
    """What `Session` does, without its checks of arguments; for several threads.

    Two locks: `recording` is held for a moment by each call that reads or writes the log or the
    queue; the lock of the model is held while it learns or chooses. Whoever needs both takes the
    lock of the model first, so answers are recorded while the model learns.

    Parameters
    ----------
    items : Items
        What is grouped.
    strategy : Strategy
        A strategy that was started.
    queue : Queue
        Who is asked what.
    check_every : int or None
        Every `check_every`-th question is a random check; None: no checks.
    seed : int
        Seed of the checks.
    model : GuidedClustering
        Groups the items by all answers.
    background : bool
        Whether a thread learns each answer at once; otherwise, whoever needs the model next does.
    """

    def __init__(
        self,
        items: Items,
        strategy: Strategy,
        queue: Queue,
        check_every: int | None,
        seed: int,
        model: GuidedClustering,
        *,
        background: bool = False,
    ) -> None:
        self.items, self.queue = items, queue
        self.log = AnswerLog(len(items.ids))
        self.checks: dict[Key, Check] = {}
        self._chooser = Chooser(items, strategy, check_every, seed, model)
        self._ahead: list[Chosen] = []
        self._background = background
        self._failure: Exception | None = None
        self._make_locks()

    def _make_locks(self) -> None:
        self.recording, self._modeling = threading.RLock(), threading.RLock()
        self._worker: threading.Thread | None = None

    @contextmanager
    def model(self) -> Iterator[Chooser]:
        """Wait until the model has learned all answers so far, and keep it from learning others.

        An error of the thread in the background is raised once; the next call learns again.
        """
        with self._modeling:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            self._chooser.learn(self.log, self.checks)
            yield self._chooser

    @property
    def strategy_name(self) -> str:
        """Name of the strategy."""
        return type(self._chooser.strategy).__name__

    def ask(self, n: int, annotator: str) -> list[Question]:
        """Return at most `n` questions for an annotator."""
        name = self.queue.check(annotator)
        with self.recording:
            if self._n_missing(n, name) > 0 and self._background:
                self._hand_out_ahead(n, name)
            is_enough = self._n_missing(n, name) <= 0
        if not is_enough:
            with self.model() as chooser:
                self._choose(chooser, n, name)
        self._wake()
        with self.recording:
            return self.queue.with_annotator(name)[:n]

    def tell(self, answers: Sequence[Answer]) -> None:
        """Record answers; on an error, none of them is recorded."""
        answers = [self._checked(answer) for answer in answers]
        with self.recording:
            for answer in map(self._with_origin, answers):
                known = self.queue.answer_of(answer.question, answer.annotator)
                if known and (meaning_of(known), known.weight) == (
                    meaning_of(answer),
                    answer.weight,
                ):
                    continue
                if known:
                    self.take_back(known)
                self.log.append([answer])
                self.queue.take(answer)
        self._wake()

    def take_back(self, answer: Answer) -> None:
        """Take an answer back."""
        with self.recording:
            self.log.retract(answer)
            self.queue.drop(answer)

    def named(self, question: Question) -> Question:
        """Add the ids of its rows to a question."""
        names = self.items.ids.names
        return replace(question, ids=tuple(names[row] for row in question.rows))

    def located(self, question: Question) -> Question:
        """Return a question with the rows of its ids: a session of other rows may have made it."""
        if question.ids is None:
            return question
        try:
            rows = self.items.ids.rows_of(question.ids, lambda _: "question")
            return replace(question, rows=tuple(rows.tolist()))
        except InvalidConstraintsError as error:
            raise InvalidConstraintsError(
                f"{question} does not fit the items of this session: {error}"
            ) from error

    def answered_checks(self) -> list[tuple[Check, Answer]]:
        """Return each answer to a random check, with the check; don't-knows are left out."""
        with self.recording:
            return [
                (check, answer)
                for key, check in self.checks.items()
                for answer in self.queue.given.get(key, {}).values()
                if not answer.is_dont_know
            ]

    def _choose(self, chooser: Chooser, n: int, name: str) -> None:
        """Ask an annotator new questions until there are `n` or no more."""
        before: set[Key] = set()
        while True:
            with self.recording:
                n_missing, asked = self._n_missing(n, name), list(self.queue.asked)
                open_questions = self._open_to(chooser)
            chosen = chooser.choose(n_missing, asked, open_questions) if n_missing > 0 else []
            keys = {new.key for new in chosen}
            if keys <= before:  # a strategy that repeats itself must not keep this from ending
                return
            before |= keys
            with self.recording:
                self._hand_out(chosen, n, name)

    def _open_to(self, chooser: Chooser) -> list[Question]:
        """Return the questions that wait for an answer, or whose answers are not yet learned.

        Otherwise a question that was answered after the model learned would be chosen again.
        """
        new = [
            entry for entry in self.log.entries[chooser.n_learned :] if isinstance(entry, Answer)
        ]
        waiting = [*self.queue.pending(), *(answer.question for answer in new)]
        return list({key_of(question): question for question in waiting}.values())

    def _n_missing(self, n: int, name: str) -> int:
        """Return how many new questions an annotator needs, besides those that others share."""
        n_missing = n - len(self.queue.with_annotator(name))
        for question in self.queue.shared(name)[: max(0, n_missing)]:
            self.queue.hand_out(question, name)
            n_missing -= 1
        return n_missing

    def _hand_out(self, chosen: list[Chosen], n: int, name: str) -> None:
        """Ask an annotator questions until there are `n`; skip those that others were asked."""
        while chosen and len(self.queue.with_annotator(name)) < n:
            new = chosen.pop(0)
            if not self.queue.is_out(new.key):
                self.checks.pop(new.key, None)  # of an answer that was taken back
                if new.check is not None:
                    self.checks[new.key] = new.check
                self.queue.hand_out(self.named(new.question), name)

    def _hand_out_ahead(self, n: int, name: str) -> None:
        """Ask an annotator questions that were chosen before; a check only where one is due."""
        while len(self.queue.with_annotator(name)) < n:
            is_due = self._chooser.is_check_due(len(self.queue.asked))
            at = [at for at, new in enumerate(self._ahead) if (new.check is not None) == is_due]
            if not at:
                return
            self._hand_out([self._ahead.pop(at[0])], n, name)

    def _wake(self) -> None:
        """Let a thread learn and choose ahead, if that is wanted and none does."""
        if not self._background:
            return
        with self.recording:
            is_done = self._chooser.n_learned == len(self.log.entries) and self._ahead
            if self._worker is None and not is_done:
                worker = threading.Thread(target=self._work, daemon=True)
                with suppress(RuntimeError):  # no thread is left: the next call learns
                    worker.start()
                    self._worker = worker

    def _work(self) -> None:
        """Learn and choose ahead until the log has nothing new."""
        is_done = False
        while not is_done:
            chosen = self._chosen_ahead()
            with self.recording:
                self._ahead = chosen
                is_done = self._chooser.n_learned == len(self.log.entries) or not chosen
                if is_done:
                    self._worker = None

    def _chosen_ahead(self) -> list[Chosen]:
        """Learn, and choose questions; an error is raised by the next call that needs the model."""
        with self._modeling:
            try:
                with self.model() as chooser:
                    with self.recording:
                        asked, open_questions = list(self.queue.asked), self._open_to(chooser)
                    return chooser.choose(N_AHEAD, asked, open_questions)
            except Exception as error:
                self._failure = error
                return []

    def _with_origin(self, answer: Answer) -> Answer:
        """Copy the origin from the question that the session asked, if it asked this one."""
        asked = self.queue.asked.get(key_of(answer.question))
        origin = answer.origin if asked is None else asked.origin
        question = self.named(replace(answer.question, origin=origin))
        return replace(answer, question=question, origin=origin)

    def _checked(self, answer: object) -> Answer:
        """Check an answer, and return it with the rows of its ids."""
        if not isinstance(answer, Answer):
            raise InvalidArgumentError(f"tell takes clew.Answer objects, got {answer!r}")
        self.queue.check(answer.annotator)
        n = len(self.items.ids)
        if answer.question.ids is None and max(answer.question.rows) >= n:
            raise InvalidConstraintsError(f"{answer.question}: rows run from 0 to {n - 1}")
        return replace(answer, question=self.located(answer.question))

    def __getstate__(self) -> dict[str, Any]:
        # The state is copied while the locks are held: other threads change it in place.
        with self._modeling, self.recording:
            left_out = {"recording", "_modeling", "_worker"}
            state = {name: value for name, value in vars(self).items() if name not in left_out}
            return {"pickled": pickle.dumps(state, pickle.HIGHEST_PROTOCOL)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = pickle.loads(state["pickled"])
        self._make_locks()
