"""The state of a session: the log, who was asked what, and the model behind them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

from clew.answers import (
    Answer,
    Entry,
    Kind,
    Origin,
    Question,
    Retraction,
    SecondsModel,
    items_of,
    meaning_of,
)
from clew.cluster import GuidedClustering
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError
from clew.questions import Strategy
from clew.questions._answers import Key, key_of
from clew.session._chooser import Chooser, Chosen
from clew.session._items import Items
from clew.session._log import Asking, Queue, SessionLog, asking_of
from clew.session._quality import Check

#: Number of questions that are chosen before they are asked, if the model learns in the background.
N_AHEAD = 20

#: Origins of answers that a person gave to a question, and how many of the last ones say how long
#: the next ones take.
PACED, N_PACED = ("asked", "random", "imported"), 50


class Applied(NamedTuple):
    """What `Session.apply` did with entries; each by its id."""

    applied: tuple[str, ...]
    """Entries that are new in the log."""
    duplicate: tuple[str, ...]
    """Entries that the log has already."""
    unknown: tuple[str, ...]
    """Entries that name an item, or take an entry back, that the session does not know."""

    def __repr__(self) -> str:
        return "Applied({} applied, {} duplicate, {} unknown)".format(*map(len, self))


class Suggestion(NamedTuple):
    """A question that the model would ask, which nobody was asked yet."""

    question: Question
    """The question, with the ids of its items."""
    is_check: bool
    """Whether it was drawn at random, to check the groups."""
    probability: float | None
    """Probability with which a check was drawn."""
    score: float
    """How useful the answer is, against the others of this call: 1 for the first, then falling."""
    revision: int
    """Number of entries of the log that the model knew."""


#: Beginning of the source of lines in which "random" has always meant a check.
CHECKER = "clew "


class Wanted(NamedTuple):
    """How many questions somebody wants."""

    n: int
    """Including those that are held."""
    name: str
    kinds: Sequence[Kind] | None
    held: Collection[Asking]


class Loop:
    """What `Session` does, without its checks of arguments; for several threads.

    `recording` is held for a moment; the model's lock while it learns, and taken first.
    """

    def __init__(
        self,
        items: Items,
        strategy: Strategy,
        queue: Queue,
        check_every: int | None,
        seed: int,
        model: GuidedClustering,
        n_examples: int = 0,
        *,
        background: bool = False,
    ) -> None:
        self.items, self.queue = items, queue
        self.log = SessionLog(items.ids)
        self.checks: dict[Key, Check] = {}
        self._chooser = Chooser(items, strategy, check_every, seed, model, n_examples)
        self._ahead: list[Chosen] = []
        self._background = background
        self._failure: Exception | None = None
        self._make_locks()

    def _make_locks(self) -> None:
        self.recording, self._modeling = threading.RLock(), threading.RLock()
        self._worker: threading.Thread | None = None

    @property
    def check_every(self) -> int | None:
        """Number of questions of which one is a random check; None if none is."""
        return self._chooser.check_every

    @contextmanager
    def model(self) -> Iterator[Chooser]:
        """Wait until the model has learned all answers so far, and keep it from learning others."""
        with self._modeling:
            self._learn()
            yield self._chooser

    def _learn(self, budget_s: float | None = None) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._chooser.learn(self.log, self.checks, budget_s)

    @property
    def strategy_name(self) -> str:
        """Name of the strategy."""
        return type(self._chooser.strategy).__name__

    def ask(
        self,
        n: int,
        annotator: str,
        kinds: Sequence[Kind] | None = None,
        held: Iterable[Question] = (),
    ) -> list[Question]:
        """Return at most `n` questions for an annotator, less those that the annotator holds."""
        name = self.queue.check(annotator)
        questions = [self.named(self.located(question)) for question in held]
        with self.recording:
            for question in questions:
                if self.queue.answer_of(question, name) is None:
                    self.queue.hand_out(question, name)
        wanted = Wanted(n, name, kinds, frozenset(map(asking_of, questions)))
        with self.recording:
            if self._n_missing(wanted) > 0 and self._background:
                self._hand_out_ahead(wanted)
            is_enough = self._n_missing(wanted) <= 0
        if not is_enough:
            with self.model() as chooser:
                self._choose(chooser, wanted)
        self._wake()
        with self.recording:
            return self._with_annotator(wanted)[: max(0, n - len(wanted.held))]

    def _with_annotator(self, wanted: Wanted) -> list[Question]:
        return self.queue.with_annotator(wanted.name, wanted.kinds, wanted.held)

    def suggest(
        self,
        n: int,
        exclude: Iterable[Question],
        kinds: Sequence[Kind] | None,
        *,
        is_learning: bool,
    ) -> list[Suggestion]:
        """Return the questions that would be asked next, and hand out none."""
        others = [self.located(question) for question in exclude]
        with self._modeling:
            if is_learning:
                self._learn()
            chooser = self._chooser
            with self.recording:
                asked = {*self.queue.asked, *map(key_of, others)}
                open_questions = [*self._open_to(chooser), *others]
            chosen = chooser.choose(n, asked, open_questions, kinds)
            with self.recording:
                self.checks |= {new.key: new.check for new in chosen if new.check is not None}
            return [
                Suggestion(
                    self.named(new.question),
                    new.check is not None,
                    new.question.check,
                    1.0 / (1 + at),
                    chooser.n_learned,
                )
                for at, new in enumerate(chosen)
            ]

    def learn(self, budget_s: float | None) -> int:
        """Learn the log, until a time is used up; return the number of entries that are left."""
        with self._modeling:
            self._learn(budget_s)
            return len(self.log.entries) - self._chooser.n_learned

    def tell(self, answers: Sequence[Answer]) -> None:
        """Record answers; on an error, none of them is recorded."""
        answers = [self._checked(answer) for answer in answers]
        with self.recording:
            for answer in map(self._with_origin, answers):
                before = self.queue.answer_of(answer.question, answer.annotator)
                if before is not None:
                    if (meaning_of(before), before.weight) == (meaning_of(answer), answer.weight):
                        continue
                    self.queue.drop(before)
                    answer = replace(answer, revokes=before.id)
                self._record(answer)
        self._wake()

    def apply(self, entries: Iterable[Entry]) -> Applied:
        """Record entries of another log, in their order."""
        found: dict[str, list[str]] = {"applied": [], "duplicate": [], "unknown": []}
        given = list(entries)
        for entry in given:
            if not isinstance(entry, Entry):
                raise InvalidArgumentError(
                    f"apply takes Answers, Edits and Retractions of clew.answers, got {entry!r}"
                )
        with self.recording:
            for entry in given:
                if entry.id and entry.id in self.log:
                    found["duplicate"].append(entry.id)
                elif not self._knows(entry):
                    found["unknown"].append(entry.id)
                else:
                    found["applied"].append(self._applied(entry).id)
        self._wake()
        return Applied(*map(tuple, found.values()))

    def _knows(self, entry: Entry) -> bool:
        """Whether all items of an entry, and the entry that it takes back, are known."""
        if isinstance(entry, Retraction):
            return self.log.get(entry.revokes) is not None
        try:
            self.log.rows_of(items_of(entry))
            if isinstance(entry, Answer):
                self.log.rows_of(entry.bad)
                n = len(self.items.ids)
                return entry.question.ids is not None or max(entry.question.rows) < n
        except InvalidConstraintsError:
            return False
        return True

    def _applied(self, entry: Entry) -> Entry:
        old = self.log.get(entry.revokes or "")
        if isinstance(old, Answer):
            self.queue.drop(old)
        if not isinstance(entry, Answer):
            return self.log.append(entry)
        answer = self._with_origin(replace(entry, question=self.located(entry.question)))
        before = self.queue.answer_of(answer.question, answer.annotator)
        is_same = before is not None and meaning_of(before) == meaning_of(answer)
        if is_same and before is not None and before.weight == answer.weight:
            return self.log.append(answer)  # the model learns the first
        return self._record(answer)

    def _record(self, answer: Answer) -> Entry:
        entry = self.log.append(answer)
        assert isinstance(entry, Answer)
        if entry.origin != "rule":  # people may be asked the same
            self.queue.take(entry)
        return entry

    def take_back(self, answer: Answer, annotator: str | None = None) -> None:
        """Take an answer back."""
        with self.recording:
            who = answer.annotator if annotator is None else annotator
            self.log.append(Retraction(answer.id, who))
            self.queue.drop(answer)
        self._wake()

    def replace_model(self, items: Items, strategy: Strategy) -> None:
        """Continue with more items: the rows of those before are the same."""
        with self._modeling, self.recording:
            self.items, self.log.ids = items, items.ids
            self._chooser = self._chooser.with_items(items, strategy)
            self._ahead = []

    def set_state(self, state: Mapping[str, Any], n_entries: int) -> None:
        """Let the strategy continue from the state after some entries; nothing was learned yet."""
        with self._modeling:
            self._chooser.strategy.set_state(state)
            self._chooser.n_saved = n_entries

    def named(self, question: Question) -> Question:
        """Add the ids of its rows to a question."""
        names = self.items.ids.names
        return replace(question, ids=tuple(names[row] for row in question.rows))

    def located(self, question: Question) -> Question:
        """Return a question with the rows of its ids: a session of other rows may have made it."""
        if not isinstance(question, Question):
            raise InvalidArgumentError(f"expected a clew.Question, got {question!r}")
        if question.ids is None:
            return question
        try:
            rows = self.items.ids.rows_of(question.ids, lambda _: "question")
            return replace(question, rows=tuple(rows.tolist()))
        except InvalidConstraintsError as error:
            raise InvalidConstraintsError(
                f"{question} does not fit the items of this session: {error}"
            ) from error

    def pace(self, annotator: str | None = None) -> SecondsModel:
        """Seconds that answers of a person, or of all, take."""
        return SecondsModel().fitted(self.log.answers, annotator)

    def seconds_of_answer(self) -> float | None:
        """Mean seconds of people's last answers, at the pace of all; None if there are none."""
        with self.recording:
            given = [answer for answer in self.log.answers if answer.origin in PACED]
        model = SecondsModel().fitted(given)
        seconds = [model.of_answer(answer) for answer in given[-N_PACED:]]
        return sum(seconds) / len(seconds) if seconds else None

    def answered_checks(self) -> list[tuple[Check, Answer]]:
        """Return each answer to a random check, with the check; don't-knows are left out."""
        with self.recording:
            return [
                (check, answer)
                for key, check in self.checks.items()
                for answer in self.queue.given.get((*key, 0), {}).values()
                if answer.is_evidence
            ]

    def _choose(self, chooser: Chooser, wanted: Wanted) -> None:
        """Ask an annotator new questions until there are enough or no more."""
        before: set[Key] = set()
        while True:
            with self.recording:
                n_missing, asked = self._n_missing(wanted), list(self.queue.asked)
                open_questions = self._open_to(chooser)
            if n_missing <= 0:
                return
            n = min(n_missing, self.queue.n_before_repeat(wanted.name))
            chooser.strategy.pace = self.pace(wanted.name)
            chosen = chooser.choose(n, asked, open_questions, wanted.kinds)
            keys = {new.key for new in chosen}
            if keys <= before:  # a strategy that repeats itself must not keep this from ending
                return
            before |= keys
            with self.recording:
                self._hand_out(chosen, wanted)

    def _open_to(self, chooser: Chooser) -> list[Question]:
        """Return the questions that wait for an answer, or whose answers are not yet learned."""
        new = [
            entry for entry in self.log.entries[chooser.n_learned :] if isinstance(entry, Answer)
        ]
        waiting = [*self.queue.pending(), *(answer.question for answer in new)]
        return list({key_of(question): question for question in waiting}.values())

    def _n_missing(self, wanted: Wanted) -> int:
        """Return how many new questions an annotator needs, besides repeats and those of others."""
        name, kinds = wanted.name, wanted.kinds
        n_missing = wanted.n - len(wanted.held) - len(self._with_annotator(wanted))
        while n_missing > 0 and (again := self.queue.repeated(name)) is not None:
            if not self._chooser.barred.allows(again) or not (kinds is None or again.kind in kinds):
                break
            self.queue.hand_out(replace(again, repeat=1, origin="asked", check=None), name)
            n_missing -= 1
        shared = [q for q in self.queue.shared(name) if kinds is None or q.kind in kinds]
        for question in shared[: max(0, n_missing)]:
            self.queue.hand_out(question, name)
            n_missing -= 1
        return n_missing

    def _hand_out(self, chosen: list[Chosen], wanted: Wanted) -> None:
        """Ask an annotator questions until there are enough; skip those that others were asked."""
        while chosen and len(self._with_annotator(wanted)) + len(wanted.held) < wanted.n:
            new = chosen.pop(0)
            if not self.queue.is_out(new.key):
                self.checks.pop(new.key, None)  # of an answer that was taken back
                if new.check is not None:
                    self.checks[new.key] = new.check
                self.queue.hand_out(self.named(new.question), wanted.name)

    def _hand_out_ahead(self, wanted: Wanted) -> None:
        """Ask an annotator questions that were chosen before; a check only where one is due."""
        kinds = wanted.kinds
        while len(self._with_annotator(wanted)) + len(wanted.held) < wanted.n:
            is_due = self._chooser.is_check_due(len(self.queue.asked))
            at = [
                at
                for at, new in enumerate(self._ahead)
                if (new.check is not None) == is_due
                and (kinds is None or new.question.kind in kinds)
            ]
            if not at:
                return
            self._hand_out([self._ahead.pop(at[0])], wanted)

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
        """Copy the origin from a question that was asked; other pairs would bias `quality_`."""
        if answer.origin == "rule":
            return replace(answer, question=self.named(answer.question))
        question, asked = answer.question, self.queue.asked.get(key_of(answer.question))
        origin: Origin = answer.origin
        check = question.check
        drawn = self.checks.get(key_of(question))
        if question.repeat:
            origin, check = "asked", None
        elif drawn is not None:
            origin, check = "random", drawn.probability
        elif asked is not None:
            origin, check = asked.origin, asked.check
        elif origin == "random" and check is None and not answer.source.startswith(CHECKER):
            origin = "imported"
        question = self.named(replace(question, origin=origin, check=check))
        return replace(answer, question=question, origin=origin)

    def _checked(self, answer: object) -> Answer:
        """Check an answer, and return it with the rows of its ids."""
        if not isinstance(answer, Answer):
            raise InvalidArgumentError(f"tell takes clew.Answer objects, got {answer!r}")
        self.queue.check(answer.annotator)
        n = len(self.items.ids)
        if answer.question.ids is None and max(answer.question.rows) >= n:
            raise InvalidConstraintsError(f"{answer.question}: rows run from 0 to {n - 1}")
        self.log.rows_of(answer.bad)
        if answer.id and answer.id in self.log:
            answer = replace(answer, id="")
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
