"""The state of a session: the log of answers, who was asked what, and the model behind them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone

from clew._warnings import silenced
from clew.answers import Answer, Question
from clew.cluster import GuidedClustering
from clew.cluster.guided import GuidedResult
from clew.constraints import Constraints
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError, InvalidParameterError
from clew.questions import Strategy
from clew.questions._answers import AnswerLog, Key, Retraction, key_of
from clew.session._items import Items
from clew.session._quality import (
    Check,
    PairProbabilities,
    check_of,
    derived_for,
    derived_probabilities,
    draw_check,
    near_pairs,
    sampled_rows,
)

#: Number of questions that are chosen before they are asked, if the model learns in the background.
N_AHEAD = 20


class Loop:
    """What `Session` does, without its checks of arguments; for several threads.

    Two locks: `recording` is held for a moment by each call that reads or writes the log or the
    queue; the lock of the model is held while it learns or chooses. Whoever needs both takes the
    lock of the model first, so answers are recorded while the model learns.
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
        """Wait until the model has learned all answers so far, and keep it from learning others."""
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
        """Return the questions that wait for an answer, or whose answers are not yet learned."""
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


class Chosen(NamedTuple):
    """A new question, and its check if it is a random one."""

    question: Question
    check: Check | None

    @property
    def key(self) -> Key:
        """Key of the question."""
        return key_of(self.question)


class Chooser:
    """The model of a session: learns answers and chooses questions, for one thread at a time."""

    def __init__(
        self,
        items: Items,
        strategy: Strategy,
        check_every: int | None,
        seed: int,
        model: GuidedClustering,
    ) -> None:
        self.strategy = strategy
        self._items, self._model = items, model
        self._settled: tuple[tuple[Answer, ...], GuidedResult | None] | None = None
        self.n_learned = 0
        self._every, self._seed = check_every, seed

    def learn(self, log: AnswerLog, checks: dict[Key, Check]) -> None:
        """Learn new answers and retractions; those that arrive meanwhile are left for later.

        Checks that were drawn elsewhere, such as in an earlier session, are added to `checks`.
        """
        new = log.entries[self.n_learned :]
        held = log.answers_after(self.n_learned)
        for position, entry in enumerate(new, self.n_learned):
            if isinstance(entry, Retraction):
                del held[entry.position]
                continue
            is_check = entry.question.kind == "pair" and entry.question.origin == "random"
            if is_check and key_of(entry.question) not in checks:
                self.strategy.learn(held.values())
                if (check := self._check_of(entry.question)) is not None:
                    checks[key_of(entry.question)] = check
            held[position] = entry
        self.strategy.learn(held.values())
        self.n_learned += len(new)

    def choose(self, n: int, asked: Iterable[Key], pending: Sequence[Question]) -> list[Chosen]:
        """Choose new questions, the best first, with random checks in between.

        `asked` are keys of all questions that were asked, `pending` the questions whose answers are
        not learned yet. There are fewer than n if none is left.
        """
        found: list[Chosen] = []
        keys, out = set(asked), list(pending)
        while len(found) < n and (new := self._next(n - len(found), keys, out)):
            found += new
            keys.update(chosen.key for chosen in new)
            out += [chosen.question for chosen in new]
        return found

    def is_check_due(self, n_asked: int) -> bool:
        """Return whether the next question is a random check."""
        return self._every is not None and n_asked % self._every == self._every - 1

    def settled(self) -> GuidedResult | None:
        """Fit `GuidedClustering` to the items and all answers, once for the same answers."""
        answers = self.strategy.answers
        if self._settled is None or self._settled[0] != answers:
            self._settled = answers, self._fitted(answers)
        return self._settled[1]

    def _fitted(self, answers: Sequence[Answer]) -> GuidedResult | None:
        items = self._items
        known = Constraints.from_answers(answers, n_samples=len(items.ids))
        is_informative = any(
            ((table.answers >= -1) & (table.weights > 0)).any() for table in known.tables
        )
        if self.strategy.has_own_groups or not (is_informative or items.is_known):
            return None
        model: GuidedClustering = clone(self._model)
        with silenced():  # warnings are about the parameters of the model
            model.fit(items.X if items.is_known else None, constraints=known)
        return model.result_

    def pairs(self, labels: NDArray[np.int64]) -> PairProbabilities:
        """Probabilities of pairs, by the strategy or, if it has none, by its groups."""
        rows = sampled_rows(labels)
        every = len(rows) == len(labels)
        wanted = (
            None
            if every
            else np.column_stack([np.repeat(rows, len(rows)), np.tile(rows, len(rows))])
        )
        same = self.strategy.probabilities(wanted)
        if same is not None:
            square = same.reshape(len(rows), len(rows))
            return PairProbabilities(square, is_estimated=True, rows=rows)
        closure = self.strategy.known.closure
        derived = derived_probabilities(closure, labels, self._near, rows)
        return PairProbabilities(derived, is_estimated=False, rows=rows, near=self._near)

    def probabilities(
        self, labels: NDArray[np.int64], pairs: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Entries of `pairs` for some pairs of rows, (n_pairs, 2)."""
        same = self.strategy.probabilities(pairs)
        if same is not None:
            return same
        return derived_for(self.strategy.known.closure, labels, self._near, pairs)

    @cached_property
    def _near(self) -> csr_array | None:
        return near_pairs(self._items)

    def _next(self, n: int, asked: set[Key], pending: list[Question]) -> list[Chosen]:
        """Choose a random check if one is due, otherwise questions until the next check."""
        if self.is_check_due(len(asked)) and (check := self._drawn(asked)) is not None:
            return [Chosen(Question("pair", check.pair, origin="random"), check)]
        n_before = n if self._every is None else self._every - 1 - len(asked) % self._every
        questions = self.strategy.ask(min(n, max(n_before, 1)), pending=pending)
        return [Chosen(question, None) for question in questions]

    def _drawn(self, asked: set[Key]) -> Check | None:
        assert self._every is not None
        labels = self.strategy.labels()
        found = self.pairs(labels)
        return draw_check(
            found.same,
            labels[found.rows],
            found.rows,
            asked,
            number=(len(asked) + 1) // self._every,
            n_answers=len(self.strategy.answers),
            seed=self._seed,
        )

    def _check_of(self, question: Question) -> Check | None:
        labels, n = self.strategy.labels(), len(self.strategy.answers)
        found = self.pairs(labels)
        return check_of(question, found.same, labels[found.rows], found.rows, n)


class Queue:
    """The questions that were asked, who is asked each now, and who has answered it."""

    def __init__(self, annotators: object) -> None:
        self.names, self.n_wanted = _wanted(annotators)
        self.asked: dict[Key, Question] = {}
        self.given: dict[Key, dict[str, Answer]] = {}
        self._out: dict[str, dict[Key, None]] = {}

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

    def with_annotator(self, annotator: str) -> list[Question]:
        """Return the questions that an annotator was asked and has not answered, oldest first."""
        return [self.asked[key] for key in self._out.get(annotator, ())]

    def pending(self) -> list[Question]:
        """Return all questions that somebody was asked and nobody has answered yet."""
        out = {key for keys in self._out.values() for key in keys}
        return [self.asked[key] for key in self.asked if key in out and not self.given.get(key)]

    def is_out(self, key: Key) -> bool:
        """Return whether somebody was asked a question or has answered it."""
        return bool(self.given.get(key)) or any(key in out for out in self._out.values())

    def shared(self, annotator: str) -> list[Question]:
        """Return questions of others that this annotator is to answer too, oldest first."""
        if self.n_wanted == 1:
            return []
        people: dict[Key, set[str]] = {key: set(given) for key, given in self.given.items()}
        for name, keys in self._out.items():
            for key in keys:
                people.setdefault(key, set()).add(name)
        return [
            question
            for key, question in self.asked.items()
            if 0 < len(people.get(key, ())) < self.n_wanted and annotator not in people[key]
        ]

    def hand_out(self, question: Question, annotator: str) -> None:
        """Record that an annotator is asked a question."""
        key = key_of(question)
        self.asked[key] = question
        self._out.setdefault(annotator, {})[key] = None

    def take(self, answer: Answer) -> None:
        """Record an answer; close its question for its annotator, or for all if it has enough."""
        key = key_of(answer.question)
        self.asked.setdefault(key, answer.question)
        given = self.given.setdefault(key, {})
        given[answer.annotator] = answer
        self._out.get(answer.annotator, {}).pop(key, None)
        if len(given) >= self.n_wanted:
            for keys in self._out.values():
                keys.pop(key, None)

    def drop(self, answer: Answer) -> None:
        """Forget an answer that was taken back."""
        del self.given[key_of(answer.question)][answer.annotator]

    def hand_out_first(self, question: Question, annotator: str) -> None:
        """Let an annotator be asked this question before all others."""
        key = key_of(question)
        self._out[annotator] = {key: None} | self._out.get(annotator, {})

    def answer_of(self, question: Question, annotator: str) -> Answer | None:
        """Return the answer of an annotator to a question."""
        return self.given.get(key_of(question), {}).get(annotator)

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
            if not self.given.get(key) and not any(key in out for out in self._out.values()):
                del self.asked[key]


def meaning_of(answer: Answer) -> int:
    """Return the same number for answers that mean the same, in whatever order the rows are."""
    rows, kind, code = answer.question.rows, answer.question.kind, answer.value
    if code < 0 or kind == "pair":
        return code
    return rows[1 + code] if kind == "triplet" else rows[code]


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
