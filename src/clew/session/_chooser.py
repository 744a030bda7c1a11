"""The model of a session: it learns the log and chooses questions."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone

from clew._limits import LEAST_ANSWERS
from clew._warnings import silenced
from clew.answers import DIFFERENT, SAME, Answer, Kind, Question
from clew.cluster import GuidedClustering
from clew.cluster.guided import GuidedResult
from clew.constraints import Constraints
from clew.constraints._rules import Judgments, weight_of_rule
from clew.questions import Strategy
from clew.questions._answers import Key, key_of
from clew.session._groups import RowEdit
from clew.session._items import Items
from clew.session._log import Barred, SessionLog
from clew.session._quality import (
    MOST_ROWS,
    Check,
    PairProbabilities,
    check_of,
    derived_for,
    derived_probabilities,
    draw_check,
    near_pairs,
    sampled_rows,
)

#: Number of entries that are learned at once, if the time to learn is limited.
PORTION = 20
#: A rule is checked by every so many questions, if there are no checks of the groups.
RULE_CHECK_EVERY = 20
#: A rule is checked by so many answers.
N_CHECKS = 16
#: Pairs that were asked are drawn again at most so often.
N_DRAWS = 50


class Rule(NamedTuple):
    """What a rule says, and how often people's checks agree."""

    name: str
    judgments: Judgments
    n_right: int
    n_wrong: int

    @property
    def weight(self) -> float:
        """Weight of each of its judgments."""
        return weight_of_rule(self.n_right, self.n_wrong)[1]


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
        n_examples: int = 0,
    ) -> None:
        self.strategy = strategy
        self._items, self._model, self._n_examples = items, model, n_examples
        self._settled: tuple[tuple[Answer, ...], GuidedClustering | None] | None = None
        self.n_learned = 0
        #: Number of entries that a saved state follows from, which is of no use to fewer.
        self.n_saved = 0
        self.barred = Barred(frozenset(), frozenset(), ())
        self.edits: list[RowEdit] = []
        self.rules: list[Rule] = []
        self.check_every, self._seed = check_every, seed

    def with_items(self, items: Items, strategy: Strategy) -> Chooser:
        """Return a model of other items, which has learned nothing yet."""
        return Chooser(items, strategy, self.check_every, self._seed, self._model, self._n_examples)

    def learn(
        self, log: SessionLog, checks: dict[Key, Check], budget_s: float | None = None
    ) -> None:
        """Learn new entries, a portion if the budget is used up; later ones wait."""
        end = None if budget_s is None else time.monotonic() + budget_s
        n_entries = len(log.entries)
        while self.n_learned < n_entries:
            n_next = max(self.n_learned + PORTION, self.n_saved)
            n = n_entries if end is None else min(n_entries, n_next)
            self._learn(log, n, checks)
            if end is not None and time.monotonic() >= end:
                return

    def _learn(self, log: SessionLog, n: int, checks: dict[Key, Check]) -> None:
        kinds = self.strategy.learns_kinds
        for position in range(self.n_learned, n):
            entry = log.entries[position]
            if isinstance(entry, Answer) and is_check(entry):
                key = key_of(entry.question)
                if key not in checks:
                    self._teach(log.evidence(position, kinds))
                    labels = self.strategy.labels()
                    found, n_answers = self.pairs(labels), len(self.strategy.answers)
                    check = check_of(
                        entry.question, found.same, labels[found.rows], found.rows, n_answers
                    )
                    if check is not None:
                        checks[key] = check
        self._teach(log.evidence(n, kinds))
        self.strategy.error_rate()  # some strategies compute when they are asked
        self.n_learned, self.barred, self.edits = n, log.barred(), log.edits()

    def _teach(self, answers: list[Answer]) -> None:
        """Let the strategy learn answers, and what rules say as far as people's checks agree."""
        self.rules = rules_of(answers)
        self.strategy.learn(weighed(answers, self.rules, len(self._items.ids)))

    def choose(
        self,
        n: int,
        asked: Iterable[Key],
        pending: Sequence[Question],
        kinds: Sequence[Kind] | None = None,
    ) -> list[Chosen]:
        """Choose new questions, the best first, with random checks in between."""
        found: list[Chosen] = []
        keys, out = set(asked), list(pending)
        while len(found) < n and (new := self._next(n - len(found), keys, out, kinds)):
            found += new
            keys.update(chosen.key for chosen in new)
            out += [chosen.question for chosen in new]
        return [one._replace(question=self._with_examples(one.question)) for one in found]

    def _with_examples(self, question: Question) -> Question:
        """Show examples beside one item only, by a coin: beside both they would tell the answer.

        Before people have answered, groups are those of the features alone, which may be no groups
        of theirs: of a table of goods, two in three examples were of another kind.
        """
        if not self._n_examples or question.kind not in ("pair", "triplet"):
            return question
        if sum(not answer.is_dont_know for answer in self.strategy.answers) < LEAST_ANSWERS:
            return question
        ways = [question.rows]
        if question.kind == "pair":
            ways = sorted([question.rows, question.rows[::-1]])
            ways = ways[:: 1 if crc32(repr((self._seed, ways[0])).encode()) % 2 else -1]
        names = self._items.ids.names
        for rows in ways:
            hidden = [*rows[1:], *self.barred.rows]
            found = self.strategy.examples_of_group(rows[0], self._n_examples, hidden=hidden)
            if found:
                examples = tuple(names[row] for row in found)
                return replace(question, rows=rows, examples=examples)
        return question

    def is_check_due(self, n_asked: int) -> bool:
        """Return whether the next question is a random check."""
        return self.check_every is not None and n_asked % self.check_every == self.check_every - 1

    def settled(self) -> GuidedResult | None:
        """Fit `GuidedClustering` to the items and all answers, once for the same answers."""
        answers = self.strategy.answers
        if self._settled is None or self._settled[0] != answers:
            self._settled = answers, self.fitted(answers)
        model = self._settled[1]
        return None if model is None else model.result_

    def fitted(self, answers: Sequence[Answer]) -> GuidedClustering | None:
        """Fit `GuidedClustering` to answers; None where the strategy has groups of its own."""
        items = self._items
        known = Constraints.from_answers(answers, n_samples=len(items.ids))
        is_informative = any(
            ((table.answers >= -1) & (table.weights > 0)).any() for table in known.tables
        )
        if self.strategy.has_own_groups or not (is_informative or items.is_known):
            return None
        return self._fit(items.X if items.is_known else None, known)

    def fitted_to_all(self) -> GuidedClustering:
        """Fit `GuidedClustering` to all rows of a Dask array; of others, to the items."""
        items, answers = self._items, self.strategy.answers
        if items.whole is None and self.settled() is not None:
            assert self._settled is not None
            assert self._settled[1] is not None
            return copy(self._settled[1])
        known = Constraints.from_answers(answers, n_samples=len(items.ids))
        if items.whole is None:
            return self._fit(items.X if items.is_known else None, known)
        X, rows = items.whole
        tables = [table.renumbered(rows) for table in known.tables]
        return self._fit(X, Constraints(len(X)).with_tables(tables, known.annotators))

    def _fit(self, X: Any, known: Constraints) -> GuidedClustering:
        model: GuidedClustering = clone(self._model)
        with silenced():  # warnings are about the parameters of the model
            model.fit(X, constraints=known)
        return model

    def pairs(self, labels: NDArray[np.int64]) -> PairProbabilities:
        """Probabilities of pairs, by the strategy or, if it has none, by its groups."""
        rows = sampled_rows(labels)
        n = len(labels)
        if n <= MOST_ROWS:
            same = self.strategy.probabilities()
            if same is not None and len(rows) < n:
                same = same[np.ix_(rows, rows)]
        else:
            wanted = np.column_stack([np.repeat(rows, len(rows)), np.tile(rows, len(rows))])
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

    def _next(
        self, n: int, asked: set[Key], pending: list[Question], kinds: Sequence[Kind] | None
    ) -> list[Chosen]:
        """Choose a random check if one is due, otherwise questions until the next check."""
        is_pair = kinds is None or "pair" in kinds
        if is_pair and self.is_check_due(len(asked)) and (check := self._drawn(asked)) is not None:
            question = Question("pair", check.pair, origin="random", check=check.probability)
            return [Chosen(question, check)]
        every = self.check_every or RULE_CHECK_EVERY
        if is_pair and self.rules and len(asked) % every == every // 2:
            drawn = draw_rule_check(self.rules, asked, self._seed)
            if drawn is not None and self.barred.allows(drawn):
                return [Chosen(drawn, None)]
        n_before = n if self.check_every is None else every - 1 - len(asked) % every
        questions = self.strategy.ask(
            min(n, max(n_before, 1)),
            pending=pending,
            kinds=kinds,
            allows=self.barred.allows,
            without=self.barred.rows,
        )
        return [Chosen(question, None) for question in questions]

    def _drawn(self, asked: set[Key]) -> Check | None:
        assert self.check_every is not None
        labels = self.barred.without(self.strategy.labels())
        found = self.pairs(labels)
        locked: set[Key] = {
            ("pair", (i, j))
            for lock in self.barred.locks
            for i in lock
            for j in lock
            if i < j
        }  # fmt: skip
        return draw_check(
            found.same,
            labels[found.rows],
            found.rows,
            asked | locked,
            number=(len(asked) + 1) // self.check_every,
            n_answers=len(self.strategy.answers),
            seed=self._seed,
        )


def is_check(answer: Answer) -> bool:
    """Whether an answer is to a pair that a session has drawn to check the groups."""
    question = answer.question
    return question.kind == "pair" and question.origin == "random" and not question.repeat


def rules_of(answers: Sequence[Answer]) -> list[Rule]:
    """Collect the rules of a log, with people's checks inside their scopes."""
    by_name: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer.origin == "rule":
            by_name.setdefault(answer.annotator, []).append(answer)
    if not by_name:
        return []
    checks = [answer for answer in answers if is_rule_check(answer) and answer.is_evidence]
    rows = np.array([answer.question.rows for answer in checks], np.int64).reshape(-1, 2)
    said = np.array([answer.value for answer in checks], np.int64)
    found = []
    for name, given in by_name.items():
        pairs = np.sort([answer.question.rows for answer in given], axis=1).reshape(-1, 2)
        judgments = Judgments(pairs, np.array([answer.value for answer in given], np.int64))
        agrees = judgments.agrees(rows, said)
        found.append(Rule(name, judgments, int(agrees.sum()), int((~agrees).sum())))
    return found


def is_rule_check(answer: Answer) -> bool:
    """Whether an answer is a person's, to a pair that was drawn in the scope of a rule."""
    question = answer.question
    is_drawn = question.check is not None and question.origin == "asked"
    return is_drawn and question.kind == "pair" and answer.origin != "rule"


def weighed(answers: list[Answer], rules: Sequence[Rule], n_rows: int) -> list[Answer]:
    """Set the weights of what rules say."""
    if not rules:
        return answers
    weights = {
        rule.name: iter((rule.weight * rule.judgments.shares(n_rows)).round(3).tolist())
        for rule in rules
    }
    return [
        replace(answer, weight=next(weights[answer.annotator])) if answer.origin == "rule" else
        answer
        for answer in answers
    ]  # fmt: skip


def draw_rule_check(rules: Iterable[Rule], asked: Collection[Key], seed: int) -> Question | None:
    """Draw a pair of the scope of the rule with the fewest checks; None if all have enough."""
    open_rules = [rule for rule in rules if rule.n_right + rule.n_wrong < N_CHECKS]
    if not open_rules:
        return None
    rule = min(open_rules, key=lambda rule: rule.n_right + rule.n_wrong)
    random = RandomState((seed + 15485863 * len(asked)) % 2**32)
    for _ in range(N_DRAWS):
        pair, n_pairs = rule.judgments.drawn(random)
        question = Question("pair", pair, origin="asked", check=1 / n_pairs)
        if key_of(question) not in asked:
            return question
    return None


def rule_answers(name: str, judgments: Judgments, names: Sequence[object]) -> list[Answer]:
    """Return what a rule says as entries of a log."""
    words = {SAME: "same", DIFFERENT: "different"}
    rows: NDArray[np.int64] = judgments.rows
    return [
        Answer(
            Question("pair", (i, j), origin="rule", ids=(names[i], names[j])),
            words[code],
            name,
            origin="rule",
        )
        for (i, j), code in zip(rows.tolist(), judgments.said.tolist(), strict=True)
    ]
