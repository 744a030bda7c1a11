"""The loop: a question, the reply, the answer on disk, the next question."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Protocol

from numpy.random import RandomState

from clew._warnings import silenced
from clew.answers import Answer, Entry, Kind, Question, as_origin
from clew.cli._models import session_data
from clew.cli._project_rows import StoreLog
from clew.cli._reading import RowsJob
from clew.cli._rows import Rows
from clew.cli.asking._replies import Asked, Command
from clew.exceptions import ClewError
from clew.session import Session
from clew.store import AnswerFile

#: Number of answers before the first estimate, and between two estimates.
EARLY, BETWEEN = 20, 10
#: Pairs that are drawn at random until one is found that was not asked.
N_DRAWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AskJob(RowsJob):
    """Options of ``clew ask``; features are standardized where their units differ."""

    answers: Path
    kinds: tuple[Kind, ...]
    n_questions: int | None
    annotator: str
    n_groups: int | None
    n_examples: int
    images: str
    as_json: bool


class AskProgress(NamedTuple):
    """What the person sees of the progress."""

    n_answers: int
    """Number of answers in the file, without those that were taken back."""
    n_now: int
    """Number of answers since the start of the program."""
    n_wanted: int | None
    seconds: float
    """Time since the first question was shown."""
    pace: float | None
    """Median time of an answer since the start of the program; None before two answers."""
    left: str
    """Estimate of the number of questions that are left; empty before 20 answers."""


class Screen(Protocol):
    """Shows questions and reads replies: a terminal, or lines for programs."""

    def show(self, asked: Asked, progress: AskProgress) -> None:
        """Show a question."""

    def reply(self) -> str | Command:
        """Wait for an answer to the question that is shown, or for a command."""

    def saved(self, asked: Asked, answer: Answer, progress: AskProgress) -> None:
        """Acknowledge an answer, which is on disk."""

    def undone(self, answer: Answer | None, progress: AskProgress) -> None:
        """Say that an answer was taken back, or that there was none."""

    def refused(self, problem: str) -> None:
        """Say that an answer could not be saved."""

    def status(self, session: Session, progress: AskProgress) -> Answer | Command | None:
        """Show what is known; return a doubtful answer to take back, "quit", or None to go on."""

    def open(self) -> None:
        """Open what is shown in another program."""

    def say(self, sentence: str) -> None:
        """Say something between two questions."""

    def wait(self) -> None:
        """Show that the next question is being prepared."""


class AskLoop:
    """Asks one person until there is nothing left to ask, or the person quits."""

    def __init__(
        self,
        prepared: Future[Session],
        file: AnswerFile | StoreLog,
        screen: Screen,
        *,
        annotator: str,
        n_wanted: int | None,
        seed: int,
        following: NextQuestion | None = None,
        is_early: bool = False,
    ) -> None:
        self._prepared, self.file, self.screen = prepared, file, screen
        self.annotator, self.n_wanted, self.seed = annotator, n_wanted, seed
        self.n_now = 0
        self._times: list[int] = []
        #: Whether the last reply could not be written.
        self.is_unsaved = False
        self._start = time.monotonic()
        self._following = following
        self._first = following.read() if following is not None else None
        #: Whether pairs drawn at random are asked until the session is prepared, and what has to be
        #: applied then.
        self._is_early, self._late = is_early, list[Entry]()
        self._left, self._estimated_at, self._n_revoked = "", 0, 0
        self._estimator: threading.Thread | None = None

    @property
    def has_question(self) -> bool:
        """Whether the first question is known before the session is prepared."""
        if self._first is None:
            self._first = self._drawn()
        return self._first is not None

    @property
    def is_prepared(self) -> bool:
        """Whether the preparation of the session has ended or failed."""
        return self._prepared.done()

    def prepare(self) -> None:
        """Wait until the session is prepared."""
        self._prepared.result()

    @property
    def session(self) -> Session:
        """The session, as soon as it is prepared."""
        if not self.is_prepared:
            self.screen.wait()
        session = self._prepared.result()
        if self._late:
            session.apply(self._late)
            self._late = []
        return session

    @property
    def progress(self) -> AskProgress:
        """The progress so far."""
        seconds = time.monotonic() - self._start
        n = len(self.file.standing)
        # The median, so that a break between two answers does not count.
        pace = median(self._times) / 1000 if len(self._times) > 1 else None
        left = self._left if n >= EARLY else ""
        return AskProgress(n, self.n_now, self.n_wanted, seconds, pace, left)

    def run(self) -> bool:
        """Ask; return whether there is nothing left to ask."""
        while self.n_wanted is None or self.n_now < self.n_wanted:
            question = self._next()
            if question is None:
                return True
            if not self._asked(self._shown(question)):
                return False
        return False

    def _next(self) -> Question | None:
        """Return the question of an earlier call that has no answer yet, or a new one."""
        if self._first is not None:
            question, self._first = self._first, None
            return question
        if (drawn := self._drawn()) is not None:
            return drawn
        session = self.session
        if new := self.file.read_new():  # of other programs
            session.apply(new)
            if any(entry.revokes for entry in new):
                self._forget_estimate()
        questions = session.ask(1, annotator=self.annotator)
        if questions and self._following is not None:
            self._following.write(questions[0])
        return questions[0] if questions else None

    def _drawn(self) -> Question | None:
        """Draw a random pair, no check, until the session is prepared; None then or in scripts."""
        if not self._is_early or self.is_prepared:
            return None
        ids, bad = self.file.ids, set[Hashable]()
        asked: set[frozenset[Hashable]] = set()
        for entry in self.file.standing:
            if isinstance(entry, Answer):
                asked.add(frozenset(entry.question.ids or ()))
                bad.update(entry.bad)
            elif entry.kind == "set_aside":
                bad.update(entry.items)
        random = RandomState((self.seed + 104729 * len(self.file.entries)) % 2**32)
        for _ in range(N_DRAWS):
            i, j = random.choice(len(ids), 2, replace=False).tolist()
            pair = {ids[i], ids[j]}
            if pair not in asked and bad.isdisjoint(pair):
                return Question("pair", (i, j), origin="imported")
        return None

    def _asked(self, asked: Asked) -> bool:
        """Ask one question until it is answered; return whether to go on."""
        while True:
            self.screen.show(asked, self.progress)
            self._estimate()
            shown_at = time.monotonic()
            reply = self.screen.reply()
            if not isinstance(reply, Command):
                if self._answered(asked, reply, round(1000 * (time.monotonic() - shown_at))):
                    return True
            elif reply.name == "quit":
                return False
            elif reply.name == "undo":
                if self._undo():
                    return True
            elif reply.name == "open":
                self.screen.open()
            else:
                # Show what is known until the person continues; take doubtful answers back.
                session = self.session
                while (answer := self.screen.status(session, self.progress)) is not None:
                    if isinstance(answer, Command):
                        return False
                    for entry in self.file.standing:
                        if entry.id == (answer.edit or answer.id) and (
                            written := self._revoke(entry)
                        ):
                            session.apply([written])
                            self.screen.say("taken back")
                self._forget_estimate()  # what was shown is newer

    def _answered(self, asked: Asked, reply: str, ms: int) -> bool:
        question = asked.question
        ids = self.file.ids
        answer = Answer(
            replace(question, ids=tuple(ids[row] for row in question.rows)),
            asked.code(reply),
            self.annotator,
            origin=question.origin,
            ms=ms,
            shown=[ids[row] for row in asked.shown],
            bad=[ids[row] for row in asked.bad(reply)],
        )
        try:
            written = self.file.append(answer)
        except OSError as error:
            self._refuse(error)
            return False
        self.is_unsaved = False
        self.n_now += 1
        self._times.append(ms)
        assert isinstance(written, Answer)
        self.screen.saved(asked, written, self.progress)
        if self._is_early and not self.is_prepared:
            self._late.append(written)
        else:
            self.session.apply([written])
        return True

    def _undo(self) -> bool:
        """Take this person's last answer back; its question is asked next."""
        mine = [
            entry
            for entry in self.file.standing
            if isinstance(entry, Answer) and entry.annotator == self.annotator
        ]
        if not mine:
            self.screen.undone(None, self.progress)
            return False
        if (written := self._revoke(mine[-1])) is None:
            return False
        if self._is_early and not self.is_prepared:
            self._late.append(written)
            question, row_of = mine[-1].question, self.file.ids.index
            rows = tuple(row_of(str(name)) for name in question.ids or ())
            self._first = replace(question, rows=rows)
        else:
            self.session.undo(self.annotator)  # asks the question again, too
        self.n_now = max(0, self.n_now - 1)
        del self._times[-1:]
        self.screen.undone(mine[-1], self.progress)
        return True

    def _revoke(self, entry: Entry) -> Entry | None:
        """Take an entry back; return the retraction, or None if it could not be written."""
        try:
            written = self.file.revoke(entry, annotator=self.annotator)
        except OSError as error:
            self._refuse(error)
            return None
        self.is_unsaved = False
        self._forget_estimate()
        return written

    def _refuse(self, error: OSError) -> None:
        self.is_unsaved = True
        self.screen.refused(f"{self.file.path}: {error.strerror or error}")

    def _shown(self, question: Question) -> Asked:
        """Draw the order in which the items are shown."""
        n = len(self.file.entries)
        random = RandomState((self.seed + 7919 * n) % 2**32)
        first = question.rows[:1] if question.kind == "triplet" else ()
        if question.parts:  # groups are in the order of their probabilities
            first = question.rows
        others = random.permutation(question.rows[len(first) :]).tolist()
        ids = self.file.ids
        examples = tuple(ids.index(str(each)) for each in question.examples if str(each) in ids)
        return Asked(question, (*first, *others), len(self.file.standing) + 1, examples)

    def _estimate(self) -> None:
        """Estimate in the background how many questions are left."""
        n = len(self.file.standing)
        is_new = bool(self._left) and abs(n - self._estimated_at) < BETWEEN
        is_busy = self._estimator is not None and self._estimator.is_alive()
        if n < EARLY or is_new or is_busy or not self.is_prepared:
            return
        self._estimated_at = n
        of = (self._n_revoked,)
        self._estimator = threading.Thread(target=self._estimate_now, args=of, daemon=True)
        self._estimator.start()

    def _estimate_now(self, n_revoked: int) -> None:
        remaining = self.session.result().remaining_
        if n_revoked == self._n_revoked:
            self._left = "" if remaining is None else str(remaining)

    def _forget_estimate(self) -> None:
        """Estimate anew before the usual number of further answers."""
        self._n_revoked += 1
        self._left = ""


class NextQuestion:
    """The question that follows the answers of a file."""

    def __init__(self, job: AskJob, file: AnswerFile | StoreLog, folder: Path) -> None:
        self._file = file
        name = sha256(os.fsencode(os.path.realpath(file.path))).hexdigest()[:16]
        self._path = folder / f"next-{name}.json"
        items = os.path.realpath(job.items)
        self._options = [items, job.annotator, *job.kinds, job.n_groups, job.seed]

    def read(self) -> Question | None:
        """Return the question, if it was kept after the last answer of the file."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            if kept["state"] != self._state():
                return None
            rows = tuple(self._file.ids.index(name) for name in kept["items"])
            return Question(
                kept["kind"], rows, as_origin(kept["origin"]), parts=tuple(kept["parts"]),
                repeat=kept["repeat"], check=kept["check"], examples=tuple(kept["examples"]),
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError, ClewError):
            return None

    def write(self, question: Question) -> None:
        """Keep a question, unless that is impossible."""
        names = ("kind", "origin", "parts", "repeat", "check", "examples")
        kept = {name: getattr(question, name) for name in names}
        kept["items"] = [self._file.ids[row] for row in question.rows]
        kept["state"] = self._state()
        partial = self._path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            partial.write_text(json.dumps(kept), encoding="utf-8")
            partial.replace(self._path)

    def _state(self) -> list[Any]:
        entries = self._file.entries
        return [*self._options, len(entries), entries[-1].id if entries else ""]


def session_of(job: AskJob, items: Rows, entries: Sequence[Entry]) -> Session:
    """Prepare a session with the answers of a file."""
    with silenced():  # the user was asked about distances
        session = Session(
            **session_data(items, job.standardizes)[0],
            ids=items.ids,
            n_clusters=job.n_groups,
            kinds=job.kinds,
            n_examples=job.n_examples,
            random_state=job.seed,
            n_jobs=job.jobs,
        )
        session.apply(entries)
        session.strategy.ask(1)  # partitions are sampled, and kernels compiled, for the first one
    return session


def in_background(function: Callable[[], Session]) -> Future[Session]:
    """Call a function in a thread that does not keep the program from ending."""
    future: Future[Session] = Future()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future
