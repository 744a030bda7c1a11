"""Rules as annotators of a session: their weights, and people's checks inside their scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from clew.answers import DIFFERENT, SAME, Answer, Question
from clew.constraints._rules import Judgments, weight_of_rule
from clew.questions._answers import Key, key_of

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
