"""The model's side of a session: it learns from the log, and chooses questions and checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from clew._warnings import silenced
from clew.answers import Answer, Question
from clew.cluster import GuidedClustering
from clew.cluster.guided import GuidedResult
from clew.constraints import Constraints
from clew.questions import Guided, Strategy
from clew.questions._log import AnswerLog, Key, Retraction, key_of
from clew.session._checks import Check, check_of, draw_check
from clew.session._evidence import Evidence, evidence_of, near_pairs
from clew.session._items import Items

__all__ = ["Chooser", "Chosen"]


class Chosen(NamedTuple):
    """A new question, and its check if it is a random one."""

    question: Question
    check: Check | None

    @property
    def key(self) -> Key:
        """Key of the question."""
        return key_of(self.question)


class Chooser:
    """Learns answers and chooses questions, for one thread at a time.

    Parameters
    ----------
    items : Items
        What is grouped.
    strategy : Strategy
        A strategy that was started.
    check_every : int or None
        Every `check_every`-th question is a random check; None: no checks.
    seed : int
        Seed of the checks.
    model : GuidedClustering
        Groups the items by all answers; it is copied.
    """

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
        self._is_torn = False
        self._every, self._seed = check_every, seed
        self._near = None if isinstance(strategy, Guided) else near_pairs(items)

    def learn(self, log: AnswerLog, checks: dict[Key, Check]) -> None:
        """Learn new answers and retractions.

        If an earlier call was interrupted or has failed, the strategy learns all answers anew.

        Parameters
        ----------
        log : AnswerLog
            Answers and retractions. What other threads append while this runs is left for the next
            call.
        checks : dict
            The random checks by question; those that were drawn elsewhere, such as in an earlier
            session, are added.
        """
        if self._is_torn:
            self.strategy._restart()
            self.n_learned = 0
        new = log.entries[self.n_learned :]
        self._is_torn = bool(new)
        waiting: list[Answer] = []
        for entry in new:
            if isinstance(entry, Retraction):
                waiting = self._tell(waiting)
                retracted = log.entries[entry.position]
                assert isinstance(retracted, Answer)
                self.strategy.retract(retracted)
            else:
                if _is_check(entry.question) and key_of(entry.question) not in checks:
                    waiting = self._tell(waiting)
                    if (check := self._check_of(entry.question)) is not None:
                        checks[key_of(entry.question)] = check
                waiting.append(entry)
        self._tell(waiting)
        self.n_learned += len(new)
        self._is_torn = False

    def choose(self, n: int, asked: Iterable[Key], pending: Sequence[Question]) -> list[Chosen]:
        """Choose new questions, the best first, with random checks in between.

        Parameters
        ----------
        n : int
            Number of questions.
        asked : iterable of keys
            All questions that were asked.
        pending : sequence of Question
            Those of them whose answers are not learned yet.

        Returns
        -------
        list of Chosen
            Fewer than `n` if there are no more.
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
        """Fit `GuidedClustering` to the items and all answers, once for the same answers.

        None with strategies other than `Guided`, whose groups are their own, and with neither
        features nor informative answers.
        """
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
        if not isinstance(self.strategy, Guided) or not (is_informative or items.is_known):
            return None
        model: GuidedClustering = clone(self._model)
        with silenced():  # warnings are about the parameters of the model
            model.fit(items.X if items.is_known else None, constraints=known)
        return model.result_

    def evidence(self, labels: NDArray[np.int64]) -> Evidence:
        """Return the probabilities of pairs."""
        return evidence_of(self.strategy, labels, self._near)

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
        evidence = self.evidence(labels)
        return draw_check(
            evidence.labels,
            labels[evidence.rows],
            evidence.rows,
            asked,
            number=(len(asked) + 1) // self._every,
            n_answers=len(self.strategy.answers),
            seed=self._seed,
        )

    def _check_of(self, question: Question) -> Check | None:
        labels, n = self.strategy.labels(), len(self.strategy.answers)
        evidence = self.evidence(labels)
        return check_of(question, evidence.labels, labels[evidence.rows], evidence.rows, n)

    def _tell(self, answers: list[Answer]) -> list[Answer]:
        """Learn answers if there are any, and return an empty list."""
        if answers:
            self.strategy.tell(answers)
        return []


def _is_check(question: Question) -> bool:
    return question.kind == "pair" and question.origin == "random"
