"""Answers that look wrong: how likely, why, and the chain of answers that contradicts them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import KINDS, SAME, Answer
from clew.cluster.guided import GuidedResult
from clew.cluster.guided._explain import chain_of_answers
from clew.constraints import Constraints
from clew.constraints._ids import RowIds
from clew.questions import Guided, Strategy
from clew.questions.guided._readings import implied
from clew.trust import AnswerDoubts, answer_posterior
from clew.trust.groups.posterior import DOUBT

__all__ = ["Doubt", "are_outvoted", "doubtful_answers"]

Floats = NDArray[np.float64]


class Doubt(NamedTuple):
    """An answer that is probably wrong; print it to read it."""

    answer: Answer
    """The answer."""
    p_wrong: float
    """Probability that it is wrong, given all answers and the data."""
    reason: str
    """What contradicts it."""
    chain: tuple[Hashable, ...]
    """Ids of a path of items that begins and ends at two items of the answer. Other answers, none
    of them doubtful, imply that consecutive items are the same; if they contradict a "same", one
    consecutive pair is different. Empty if no chain of answers contradicts the answer."""

    def __str__(self) -> str:
        who = self.answer.annotator or "somebody"
        rows = self.answer.question.ids or self.answer.question.rows
        about = ", ".join(map(str, rows))
        return (
            f"{about}: {who}'s answer is wrong with probability {self.p_wrong:.2f}; {self.reason}"
        )


def doubtful_answers(
    strategy: Strategy,
    labels: NDArray[np.int64],
    ids: RowIds,
    settled: GuidedResult | None = None,
) -> tuple[Doubt, ...]:
    """Find the answers that are probably wrong, the most doubtful first.

    An answer is doubtful if it is more likely wrong than right, given features and all other
    answers. Where the groups are a strategy's own, other answers have to outvote it, too.

    Parameters
    ----------
    strategy : Strategy
        Its answers are examined.
    labels : ndarray of shape (n,), int64
        Groups.
    ids : RowIds
        Ids of the items.
    settled : GuidedResult or None
        The fit whose groups these are. None: the groups are taken as right, and each annotator's
        error rate is estimated from them.

    Returns
    -------
    tuple of Doubt
    """
    answers = strategy.answers
    known = Constraints.from_answers(answers, ids=ids.names)
    if settled is None:
        doubts = answer_posterior(known, labels)
        p_wrong = _in_order(answers, doubts)
        is_doubtful = (p_wrong >= DOUBT) & are_outvoted(answers, labels)
    else:
        pairs, triplets, odd = settled.answer_posterior
        alternatives = settled.answer_posterior.alternatives
        doubts = AnswerDoubts(pairs, triplets, odd, known, alternatives)
        p_wrong = _in_order(answers, doubts)
        is_doubtful = p_wrong >= DOUBT
    order = np.argsort(-p_wrong, kind="stable")
    return tuple(
        _doubt(answers[at], float(p_wrong[at]), labels, strategy, doubts)
        for at in order[is_doubtful[order]].tolist()
    )


def are_outvoted(answers: Sequence[Answer], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Find the answers that other answers contradict more than they support them.

    Parameters
    ----------
    answers : sequence of Answer
        Answers of any kind; those about three rows count as the pairs that they imply.
    labels : ndarray of shape (n,), int64
        Groups.

    Returns
    -------
    ndarray of shape (n_answers,), bool
        Whether the groups contradict an implied pair (i, j), and so does the majority of the
        other answers, by weight, about i and a row of the group of j, or j and a row of the group
        of i.
    """
    pairs = [
        (at, rows[i], rows[j], (1.0 if said == SAME else -1.0) * answer.weight)
        for at, answer in enumerate(answers)
        for rows in [answer.question.rows]
        if not answer.is_dont_know
        for i, j, said in implied(answer)
    ]
    found = np.zeros(len(answers), np.bool_)
    if not pairs:
        return found
    table = np.array(pairs)
    at, i, j = table[:, :3].astype(np.int64).T
    vote, n_groups = table[:, 3], int(labels.max()) + 1
    cell = np.concatenate([i * n_groups + labels[j], j * n_groups + labels[i]])
    own = np.concatenate([at, at]) * (len(labels) * n_groups) + cell
    others = (_sums(cell, vote) - _sums(own, vote)).reshape(2, -1).sum(axis=0)
    is_against_groups = (vote > 0) != (labels[i] == labels[j])
    found[at[is_against_groups & (others * vote < 0)]] = True
    return found


def _sums(keys: NDArray[np.int64], votes: Floats) -> Floats:
    """Return for each key the sum of all votes with the same key; `votes` is half as long."""
    _, at = np.unique(keys, return_inverse=True)
    return np.asarray(np.bincount(at, np.concatenate([votes, votes]))[at])


def _positions(answers: Sequence[Answer], kind: str) -> NDArray[np.int64]:
    return np.flatnonzero([answer.question.kind == kind for answer in answers])


def _in_order(answers: Sequence[Answer], doubts: AnswerDoubts) -> Floats:
    """Return the probabilities in the order of the answers; 0 for don't-knows."""
    p_wrong = np.zeros(len(answers))
    for kind, of_kind in zip(KINDS, doubts, strict=True):
        p_wrong[_positions(answers, kind)] = np.nan_to_num(of_kind)
    return p_wrong


def _doubt(
    answer: Answer,
    p_wrong: float,
    labels: NDArray[np.int64],
    strategy: Strategy,
    doubts: AnswerDoubts,
) -> Doubt:
    rows, known = answer.question.rows, doubts.constraints
    for i, j, said in implied(answer):
        together = bool(labels[rows[i]] == labels[rows[j]])
        if together == (said == SAME):
            continue
        chain, parted_at = chain_of_answers(rows[i], rows[j], known, doubts, together=together)
        if chain:
            names = tuple(map(known.name_of, chain))
            text = str(names[0]) + "".join(
                f" {'≠' if at == parted_at else '='} {name}" for at, name in enumerate(names[1:])
            )
            return Doubt(answer, p_wrong, f"other answers imply {text}", names)
    return Doubt(answer, p_wrong, _without_chain(answer, labels, strategy), ())


def _without_chain(answer: Answer, labels: NDArray[np.int64], strategy: Strategy) -> str:
    rows = answer.question.rows
    if len(rows) > 2:
        return "the groups imply another answer"
    together = labels[rows[0]] == labels[rows[1]]
    where = "in one group" if together else "in different groups"
    if not isinstance(strategy, Guided):
        return f"the items are {where}"
    p = float(strategy.probabilities([rows])[0])
    return f"the items are {where}: they are the same with probability {p:.2f}"
