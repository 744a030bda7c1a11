"""A session on the store of a project: the same verbs, shared with everybody who has it open."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clew.answers import Answer, Edit, Kind, Question, Retraction, new_id, question_key
from clew.exceptions import InvalidArgumentError, ProjectNotFoundError
from clew.oracles import Oracle
from clew.session._items import answers_of
from clew.store import Store, open_store

#: Seconds that `ask` waits for a question, and `result` for a result, while a worker is at work.
PATIENCE = 60.0


class StoreSession:
    """A session whose answers are in a store; `Session.open` opens one.

    Several programs and people may have it open. The groups are computed by the project's worker:
    by ``clew worker``, by the app, or here with ``worker=True``.

    Parameters
    ----------
    store : Store
        The store of the project.
    worker : Worker or None, default=None
        Learns and suggests questions, in a thread.
    """

    def __init__(self, store: Store, worker: Any = None) -> None:
        self.store = store
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._row_of: dict[str, int] = {}
        if worker is not None:
            self._thread = threading.Thread(
                target=worker.run, args=(self._stop,), name="clew-worker", daemon=True
            )
            self._thread.start()

    @property
    def ids(self) -> tuple[str, ...]:
        """Id of each item."""
        return tuple(self.store.item_ids())

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers that were not taken back, in order of arrival."""
        entries = (each.entry for each in self.store.log(only_standing=True))
        return tuple(entry for entry in entries if isinstance(entry, Answer))

    def question(self, *ids: Hashable, kind: Kind = "pair") -> Question:
        """Make a question about chosen items, to `tell` an answer that was not asked for.

        Parameters
        ----------
        *ids : hashable
            Ids of the items.
        kind : str, default="pair"
            What is asked.

        Returns
        -------
        Question
        """
        return Question(kind, (), "imported", tuple(map(str, ids)))

    def ask(
        self, n: int = 1, *, annotator: str = "", kinds: Sequence[Kind] | None = None
    ) -> list[Question]:
        """Return questions for one person, who holds them for two minutes.

        Parameters
        ----------
        n : int, default=1
            Number of questions.
        annotator : str, default=""
            Who is asked.
        kinds : sequence of str, default=None
            Kinds of questions. None: those of the annotator, or else of the project.

        Returns
        -------
        list of Question
            The first are those that this person holds already. Fewer than `n` if there are no more;
            while a worker is at work, it waits up to a minute for the first one.
        """
        end = time.monotonic() + PATIENCE
        while True:
            leases = self.store.lease(annotator, n, kinds=kinds)[:n]
            if leases or not self._is_learning() or time.monotonic() > end:
                return [self._located(lease.question) for lease in leases]
            time.sleep(0.05)

    def tell(
        self,
        question: Question | Answer | Iterable[Answer],
        answer: str | int | None = None,
        *,
        annotator: str = "",
        weight: float = 1.0,
    ) -> Self:
        """Take an answer; it is on disk when this returns.

        The same answer given again has no effect; another answer of the same person to the same
        question replaces the first one.

        Parameters
        ----------
        question : Question, Answer or iterable of Answer
            A question from `ask` or `question`; or answers.
        answer : str or int, default=None
            The answer to a `Question`.
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
            If the word or an id is unknown. No answer of this call is taken then.
        StoreError
            If the store cannot be written.
        """
        by_person: dict[str, list[Answer]] = {}
        for given in answers_of(question, answer, annotator, weight):
            named = replace(given, question=self._named(given.question), id=given.id or new_id())
            by_person.setdefault(given.annotator, []).append(named)
        for name, answers in by_person.items():
            self.store.answer_and_lease(name, answers, 0)
        return self

    def undo(self, annotator: str = "") -> Answer | None:
        """Take the last answer of a person back, and ask its question again.

        Parameters
        ----------
        annotator : str, default=""
            Whose answer.

        Returns
        -------
        Answer or None
            The answer that was taken back; None if there is none.
        """
        return self.store.undo(annotator)

    def retract(self, question: Question, *, annotator: str = "") -> Answer:
        """Take one answer back, as `Session.retract` does.

        Parameters
        ----------
        question : Question
            The question, by its ids or its rows.
        annotator : str, default=""
            Who answered it.

        Returns
        -------
        Answer
            The newest answer that stood.

        Raises
        ------
        InvalidArgumentError
            If there is none.
        """
        wanted = _key(self._named(question))
        for each in self.store.log(annotator=annotator, only_standing=True, newest_first=True):
            if isinstance(each.entry, Answer) and _key(each.entry.question) == wanted:
                self.store.append([Retraction(each.entry.id, annotator)])
                return each.entry
        raise InvalidArgumentError(f"{question} has no answer of {annotator!r}")

    def edit(self, edit: Edit) -> Edit:
        """Take an edit of the groups; it is on disk when this returns.

        Parameters
        ----------
        edit : Edit
            Merges, splits, moves, locks, "not in" or sets aside items, by id.

        Returns
        -------
        Edit
            The entry of the log, with its id: ``Retraction(edit.id)`` takes it back.
        """
        named = replace(edit, id=edit.id or new_id())
        self.store.append([named])
        return named

    def release(self, annotator: str) -> Self:
        """Let the questions that a person has not answered go to others.

        Parameters
        ----------
        annotator : str
            Who has left.

        Returns
        -------
        self
        """
        self.store.release(annotator)
        return self

    def run(self, oracle: Oracle, budget: int, *, annotator: str = "oracle") -> Self:
        """Let an oracle answer questions.

        Parameters
        ----------
        oracle : Oracle
            Answers, such as `clew.oracles.SimulatedOracle`.
        budget : int
            Number of further answers.
        annotator : str, default="oracle"
            As whom it answers.

        Returns
        -------
        self
        """
        for _ in range(budget):
            questions = self.ask(1, annotator=annotator)
            if not questions:
                break
            self.tell(replace(oracle.answer(questions[0]), annotator=annotator))
        return self

    def result(self, *, is_current: bool | None = None) -> StoreResult:
        """Return the groups that the worker has published last.

        Parameters
        ----------
        is_current : bool, default=None
            Whether to wait, up to a minute, until the worker has learned all answers. None: if the
            worker is this session's own.

        Returns
        -------
        StoreResult

        Raises
        ------
        InvalidArgumentError
            If there is no result yet.
        """
        wait = self._thread is not None if is_current is None else is_current
        end = time.monotonic() + PATIENCE
        while time.monotonic() <= end and (
            (wait and (self.store.result_revision() or -1) < self.store.last_seq())
            or (self._thread is not None and self.store.result_revision() is None)
        ):
            time.sleep(0.05)
        found = self.store.result()
        if found is None:
            raise InvalidArgumentError(
                "there is no result yet: no worker has learned the answers. Run clew worker, or "
                "open the session with worker=True"
            )
        return StoreResult(found.body)

    def close(self) -> None:
        """End the worker of this session, and close the store."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        counts = self.store.counts()
        return f"StoreSession({counts.n_items} items, {counts.n_answers} answers, {self.store.url})"

    def _is_learning(self) -> bool:
        """Whether a worker has entries to learn, after which there may be questions."""
        worker = self.store.worker()
        if self._thread is not None and (worker is None or not worker.is_alive):
            return self._thread.is_alive()
        if worker is None or not worker.is_alive:
            return False
        return worker.state != "ready" or worker.revision < self.store.last_seq()

    def _rows(self) -> dict[str, int]:
        ids = self.store.item_ids() if not self._row_of else None
        if ids is not None:
            self._row_of = {name: row for row, name in enumerate(ids)}
        return self._row_of

    def _located(self, question: Question) -> Question:
        """Give a question the rows of its items."""
        ids = [str(name) for name in question.ids or ()]
        if any(name not in self._rows() for name in ids):  # items came since
            self._row_of = {}
        return replace(question, rows=tuple(self._rows()[name] for name in ids))

    def _named(self, question: Question) -> Question:
        """Give a question the ids of its rows, which decide."""
        if question.ids is not None:
            return replace(question, rows=(), ids=tuple(map(str, question.ids)))
        ids = self.store.item_ids()
        if max(question.rows) >= len(ids):
            raise InvalidArgumentError(f"{question}: rows run from 0 to {len(ids) - 1}")
        return replace(question, rows=(), ids=tuple(ids[row] for row in question.rows))


class StoreResult:
    """A published result: what `SessionResult.to_dict` returned, with the same names.

    Parameters
    ----------
    body : dict
        The result as JSON.

    Attributes
    ----------
    ids : tuple of str
        Id of each item.
    labels_ : ndarray of shape (n_items,), int64
        Group of each item, numbered from 0; -1 for items in no group.
    group_ids_ : ndarray of shape (n_items,), int64
        Lasting id of the group of each item; -1 for none.
    confidence_ : ndarray of shape (n_items,)
        How sure the group of each item is, in [0, 1].
    exemplars_ : mapping of int to tuple of str
        Typical items of each group, by its lasting id.
    n_answers : int
        Number of answers that were learned.
    revision : int
        Number of the last entry of the log that was learned.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self.ids = tuple(map(str, body["ids"]))
        self.labels_: NDArray[np.int64] = np.array(body["labels"], np.int64)
        self.group_ids_: NDArray[np.int64] = np.array(body["group_ids"], np.int64)
        self.confidence_: NDArray[np.float64] = np.array(body["confidence"], np.float64)
        self.exemplars_: Mapping[int, tuple[str, ...]] = MappingProxyType(
            {int(group): tuple(ids) for group, ids in body["exemplars"].items()}
        )
        self.n_answers: int = body["n_answers"]
        self.revision: int = body["revision"]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as numbers, texts, lists and dicts; it holds doubts and quality too.

        Returns
        -------
        dict
        """
        return dict(self._body)

    def __repr__(self) -> str:
        n = len(set(self.group_ids_.tolist()) - {-1})
        return f"StoreResult({len(self.ids)} items in {n} groups, revision {self.revision})"


def _key(question: Question) -> tuple[object, ...]:
    """Return the same for questions that ask the same, as often repeated."""
    ids = [str(name) for name in question.ids or ()]
    return *question_key(question.kind, ids), question.parts, question.repeat


def open_session(path_or_url: str | os.PathLike[str], *, worker: bool = False) -> StoreSession:
    """Open the session of a project, or of a database; `Session.open` says more."""
    from clew.collections import Project

    text = os.fspath(path_or_url)
    project = None
    if "://" not in text:
        try:
            project = Project.open(text)
        except ProjectNotFoundError:
            if not Path(text).is_file():
                raise
    store = open_store(text, create=False) if project is None else project.open_store()
    if not worker:
        return StoreSession(store)
    from clew.worker import Worker, rows_of

    if project is None:
        return StoreSession(store, Worker(store))
    return StoreSession(store, Worker(store, rows_of(project, store), cache=project.cache))
