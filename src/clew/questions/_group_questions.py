"""Questions that show groups by examples: where an item belongs, and which members do not.

Both are chosen from the probabilities of pairs alone, by the information in the answer per second.
Other questions may show examples of the group of one item beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.answers import Answer, Question, SecondsModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Probabilities of pairs, (n_rows, n_rows).
Same = NDArray[np.floating]

#: The rows of a fragment are in the group of its first row with a larger probability than this.
CORE = 0.7
#: Number of examples of a group, of groups in a which-of question, of members in a confirm one.
N_EXAMPLES, MOST_GROUPS, MOST_MEMBERS = 3, 6, 8
#: Power of the smaller fragment's size in the value of a question.
SIZE_POWER = 0.1
#: Range to which the probability of a wrong answer is clipped.
RATES = (0.01, 0.4)
#: Members of a screen are chosen among this many.
N_CANDIDATES = 60
#: An item is shown with examples if so many others are the same with a larger probability than
#: this; the most typical of so many of them are chosen.
SURE, MOST_COMPARED = 0.9, 50
#: Every so many confirm questions, a stranger is planted: a row that is surely of another group.
PLANT_EVERY, STRANGER = 4, 0.01


class Fragments(NamedTuple):
    """Disjoint sets of rows, each surely in one group: what is shown as a group."""

    label: Ints
    """Fragment of each row, (n_rows,)."""
    examples: Ints
    """Most typical rows of each, the most typical one first; -1 if there are fewer, (m, 3)."""
    size: Ints

    @classmethod
    def of(cls, same: Same) -> Self:
        """Take the largest set of rows near one row, and repeat with the rows left."""
        near = same > CORE
        np.fill_diagonal(near, val=True)
        left = np.ones(len(same), np.bool_)
        label = np.empty(len(same), np.int64)
        examples: list[Ints] = []
        for i in np.argsort(-near.sum(axis=1), kind="stable"):
            if not left[i]:
                continue
            rows = np.flatnonzero(near[i] & left)
            label[rows], left[rows] = len(examples), False
            typical = np.argsort(-same[np.ix_(rows, rows)].sum(axis=1), kind="stable")
            chosen = rows[typical[:N_EXAMPLES]]
            examples.append(np.pad(chosen, (0, N_EXAMPLES - len(chosen)), constant_values=-1))
        return cls(label, np.array(examples), np.bincount(label))

    @property
    def first(self) -> Ints:
        """The most typical row of each fragment."""
        return np.asarray(self.examples[:, 0])

    def weights(self) -> Floats:
        """Size of what a question about each row is about: its fragment, or the row alone."""
        weight = np.ones(len(self.label))
        weight[self.first] = self.size
        return weight

    def shown(self, fragment: int, first: int, item: int = -1) -> list[int]:
        """Examples of a fragment, a given one first, without the item that is compared with it."""
        rows = self.examples[fragment].tolist()
        return [int(first), *(row for row in rows if row not in (-1, first, item))]


class Ranked(NamedTuple):
    """A question, and what it tells per second."""

    rate: float
    question: Question

    def renumbered(self, rows: Ints) -> Ranked:
        """Return the question about ``rows[row]`` in place of each row."""
        new = tuple(int(rows[row]) for row in self.question.rows)
        return Ranked(self.rate, replace(self.question, rows=new))


def about(question: Question) -> tuple[int, ...]:
    """Return the rows whose fragments a question compares."""
    rows = question.rows
    if question.kind == "which_of":
        return rows[:2]
    return rows if question.kind != "confirm" else (rows[0], rows[question.parts[0]])


def chosen_apart(
    n: int, ranked: Sequence[Ranked], fragments: Fragments, pending: Sequence[Question]
) -> list[Question]:
    """Choose at most `n`, best first, none with rows or fragments of another if possible."""
    by_rate = [each.question for each in sorted(ranked, key=lambda each: -each.rate)]
    rows: set[int] = set()
    cores: set[int] = set()
    chosen: list[Question] = []

    def is_apart(question: Question) -> bool:
        own = set(about(question))
        core = set(fragments.label[list(own)].tolist()) if question.parts else set()
        if not (rows.isdisjoint(own) and cores.isdisjoint(core)):
            return False
        rows.update(own)
        cores.update(core)
        return True

    for question in pending:
        is_apart(question)
    for question in by_rate:
        if len(chosen) < n and is_apart(question):
            chosen.append(question)
    others = {frozenset(about(question)) for question in (*pending, *chosen)}
    for question in by_rate:
        pair = frozenset(about(question))
        if len(chosen) < n and pair not in others:
            others.add(pair)
            chosen.append(question)
    return chosen


def which_of_questions(
    same: Same, fragments: Fragments, taken: Flags, error: float, seconds: SecondsModel, n: int
) -> list[Ranked]:
    """Up to `n` which-of questions, best first, each of the groups that tell most per second."""
    error = float(np.clip(error, *RATES))
    example = _free_examples(fragments, taken)
    p = np.where(example >= 0, np.take_along_axis(same, np.maximum(example, 0), 1), -1.0)
    n_most = min(MOST_GROUPS, p.shape[1])
    order = np.sort(np.argpartition(-p, n_most - 1, axis=1)[:, :n_most], axis=1)
    by_p = np.argsort(-np.take_along_axis(p, order, 1), axis=1, kind="stable")
    order = np.take_along_axis(order, by_p, 1)
    p = np.take_along_axis(p, order, 1)
    first = fragments.first[order]
    hit = hit_probabilities(p, same[first[:, :, None], first[:, None]])
    weight = fragments.weights() ** SIZE_POWER
    best = np.full(len(same), -1.0)
    n_shown = np.zeros(len(same), np.int64)
    for m in range(1, n_most + 1):
        none = np.maximum(1 - hit[:, :m].sum(axis=1), 0.0)
        states = np.column_stack([hit[:, :m], none])
        n_read = hit[:, :m] @ np.arange(1, m + 1) + m * none
        rate = weight * choice_information(states, error) / seconds.of_kind("which_of", n_read)
        better = (rate > best) & (p[:, m - 1] >= 0)
        best[better], n_shown[better] = rate[better], m
    found = []
    for i in np.argsort(-best, kind="stable")[:n].tolist():
        if best[i] <= 0:
            break
        groups = [fragments.shown(g, example[i, g], i) for g in order[i, : n_shown[i]]]
        rows = (i, *(row for group in groups for row in group))
        parts = (1, *map(len, groups))
        question = Question("which_of", rows, parts=parts)
        found.append(Ranked(float(best[i]), question))
    return found


def _free_examples(fragments: Fragments, taken: Flags) -> Ints:
    """Return an example of each fragment to compare with each row, or -1, (n_rows, m)."""
    n, m = len(taken), len(fragments.size)
    found = np.full((n, m), -1)
    for column in fragments.examples.T[::-1]:
        shown = np.flatnonzero(column >= 0)
        is_free = ~taken[:, column[shown]]
        is_free[column[shown], np.arange(len(shown))] = False
        found[:, shown] = np.where(is_free, column[shown], found[:, shown])
    found[fragments.first, np.arange(m)] = -1
    return found


def hit_probabilities(p: Same, between: Same) -> Floats:
    """Probability that each group is the first right one, (n, m); negative `p` (n, m): not shown.

    An item in a group that is one, `between` (n, m, m), with an earlier group is found there.
    """
    hit = np.zeros(p.shape)
    left = np.ones(len(p))
    for k in range(p.shape[1]):
        new = p[:, k] - np.einsum("nj,nj->n", hit[:, :k], between[:, :k, k])
        hit[:, k] = np.clip(new, 0.0, left)
        left = np.maximum(left - hit[:, k], 0.0)
    return hit


def choice_information(states: Floats, error: float) -> Floats:
    """Mutual information of choice and truth, in nats, (n,); states (n, m), any other is wrong."""
    n_others = states.shape[1] - 1
    chosen = np.clip(states * (1 - error) + (1 - states) * error / n_others, 1e-12, 1.0)
    noise = -(1 - error) * np.log(1 - error) - error * np.log(error / n_others)
    return np.asarray(-(chosen * np.log(chosen)).sum(axis=1) - noise)


def confirm_questions(
    same: Same,
    labels: Ints,
    fragments: Fragments,
    taken: Flags,
    error: float,
    seconds: SecondsModel,
    n_asked: int = 0,
) -> list[Ranked]:
    """Best screen for each fragment, best first; each fourth of `n_asked` has a stranger."""
    error = float(np.clip(error, *RATES))
    first, weight = fragments.first, fragments.weights()
    p = np.clip(same[first], 1e-6, 1 - 1e-6)
    ticked = 1 - (p * (1 - error) + (1 - p) * error)
    value = choice_information(np.column_stack([p.ravel(), 1 - p.ravel()]), error).reshape(p.shape)
    value = value * np.minimum(weight, fragments.size[:, None]) ** SIZE_POWER
    value[taken[first]] = 0.0
    value[np.arange(len(first)), first] = 0.0
    cost = seconds.member + seconds.tick * ticked
    found = []
    for fragment, row in enumerate(first.tolist()):
        rate, members = _screen(value[fragment], cost[fragment], same, seconds.confirm)
        if not members:
            continue
        if n_asked % PLANT_EVERY == PLANT_EVERY - 1 and len(members) < MOST_MEMBERS:
            # The least similar row that was not asked about, if it is surely a stranger.
            strangers = (same[row] < STRANGER) & ~taken[row]
            order = np.argsort(same[row], kind="stable").tolist()
            members += [i for i in order if strangers[i] and i not in members][:1]
        examples = [i for i in fragments.shown(fragment, row) if i not in members]
        found.append(Ranked(rate, confirm_question(examples, members, labels)))
    return sorted(found, key=lambda each: -each.rate)


def _screen(value: Floats, cost: Floats, same: Same, start: float) -> tuple[float, list[int]]:
    """Choose members one by one, as long as each raises the value per second."""
    members: list[int] = []
    total, spent, rate = 0.0, start, 0.0
    for row in np.argsort(-value / cost, kind="stable")[:N_CANDIDATES].tolist():
        gain = value[row] * float(np.prod(1 - same[row, members]))
        if gain > 0 and (total + gain) / (spent + cost[row]) > rate:
            members.append(row)
            total, spent = total + gain, spent + cost[row]
            rate = total / spent
        if len(members) == MOST_MEMBERS:
            break
    return rate, members


def confirm_question(examples: list[int], members: list[int], labels: Ints) -> Question:
    """Make a screen: members by parts, and by row within each, so that the order tells nothing."""
    own = labels[examples[0]]
    parts: dict[tuple[int, int], list[int]] = {}
    for row in sorted(members):
        key = (int(labels[row]), row if labels[row] == own else -1)
        parts.setdefault(key, []).append(row)
    by_row = sorted(parts.values(), key=lambda rows: rows[0])
    shown = [row for rows in by_row for row in rows]
    return Question("confirm", (*examples, *shown), parts=(len(examples), *map(len, by_row)))


def group_examples(
    probabilities: Callable[[Ints], Same | None],
    n_rows: int,
    row: int,
    hidden: Sequence[int],
    n: int,
) -> list[int]:
    """Up to `n` typical rows, three or more, of a row's group, whatever is known of rows `hidden`.

    The examples in a question would else tell its answer; probabilities of pairs (n_pairs, 2).
    """
    others = np.setdiff1d(np.arange(n_rows), [row, *hidden])
    same = probabilities(np.column_stack([np.full(len(others), row), others]))
    sure = others[:0] if same is None else others[same > SURE]
    if len(sure) < N_EXAMPLES:
        return []
    sure = sure[np.linspace(0, len(sure) - 1, min(len(sure), MOST_COMPARED)).astype(np.int64)]
    between = probabilities(np.column_stack([np.repeat(sure, len(sure)), np.tile(sure, len(sure))]))
    assert between is not None
    typical = np.argsort(-between.reshape(len(sure), -1).sum(axis=1), kind="stable")
    return [int(one) for one in sure[typical[:n]]]


def asked_pairs(answer: Answer) -> Iterator[tuple[int, int]]:
    """Yield the pairs of rows that need not be asked about again after an answer."""
    question, rows = answer.question, answer.question.rows
    if question.kind == "which_of":
        first = np.cumsum(question.parts[:-1]).tolist()
        n_read = answer.value + 1 if answer.value >= 0 else len(first)
        yield from ((rows[0], rows[at]) for at in first[:n_read])
    elif question.kind == "confirm":
        yield from ((rows[0], row) for row in rows[question.parts[0] :])
    else:
        yield from ((rows[a], rows[b]) for b in range(len(rows)) for a in range(b))
