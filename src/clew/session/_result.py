"""The result of a session: groups, doubts, quality, and the questions that remain."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.cluster import purest_examples
from clew.cluster.guided import Alternative
from clew.questions import Guided, Strategy
from clew.questions._strategy import in_order_of_rows
from clew.session._chooser import Chooser
from clew.session._doubts import Doubt, doubtful_answers
from clew.session._evidence import Evidence, probabilities_of
from clew.session._items import Items
from clew.session._loop import Loop
from clew.session._quality import Quality, expected_pairs, quality_of
from clew.session._remaining import (
    LEAST_CHECKS,
    Advice,
    Progress,
    Remaining,
    advice_of,
    remaining_of,
)

__all__ = ["SessionResult", "groups_of", "result_of"]

Floats = NDArray[np.float64]

N_EXEMPLARS = 3
#: Smaller probabilities are left out of the affinity, unless the pair was asked about.
LEAST_AFFINITY = 0.05
#: Assumed share of wrong answers for strategies that do not estimate it.
ERROR_RATE = 0.05
#: With more than 3,000 items, the number of items of its group that each item is compared with.
N_COMPARED = 10


@dataclass(frozen=True, eq=False)
class SessionResult:
    """What a session knows at one time; it never changes.

    Attributes
    ----------
    ids : tuple of hashable
        Id of each item, in the order of the arrays.
    labels_ : ndarray of shape (n_items,), int64
        Group of each item, numbered from 0 in the order of their first items.
    confidence_ : ndarray of shape (n_items,)
        How sure the group of each item is, in [0, 1]: the mean probability that it is the same as
        another item of its group; for an item that is alone, 1 minus the largest probability that
        it is the same as any other item. With more than 3,000 items, means are over ten random
        items of the group, and an item that is alone is compared only with items that were in a
        question with it; if there are none, its confidence is 1. With strategies other than
        `Guided`, the share of its ten nearest items that are in its group.
    exemplars_ : mapping of int to tuple of hashable
        Ids of up to three typical items of each group, the most typical first.
    affinity_ : csr_array of shape (n_items, n_items)
        Probability that two items are in the same group, stored for answered pairs and wherever it
        is 0.05 or more; symmetric, 1 on the diagonal. With more than 3,000 items, stored for
        answered pairs and up to ten random pairs of each item within its group.
    doubtful_ : tuple of Doubt
        Answers that are more likely wrong than right, the most doubtful first: those that other
        answers outvote, and those that features clearly contradict.
    quality_ : Quality or None
        Agreement of the groups with people, of all groups and of each, estimated from the random
        checks; None before four of them were answered.
    remaining_ : Remaining or None
        Number of questions until a Jaccard index of 0.95; None before 20 informative answers (not
        don't-knows), and with strategies other than `Guided`.
    stop_ : Advice
        Whether to stop asking, and why; ``bool(stop_)`` is the decision.
    n_violated_ : int or None
        Number of answers that the groups violate; None with strategies other than `Guided`.
    alternatives_ : tuple of Alternative
        Up to two other groupings, of other numbers of groups, that explain items and answers nearly
        as well, the best first. Empty if the number was given, and with other strategies.
    n_clusters_probabilities_ : mapping of int to float
        Probability of each number of groups. Empty if the number was given, and with other
        strategies.
    """

    ids: tuple[Hashable, ...]
    labels_: NDArray[np.int64]
    confidence_: Floats
    exemplars_: Mapping[int, tuple[Hashable, ...]]
    affinity_: csr_array
    doubtful_: tuple[Doubt, ...]
    quality_: Quality | None
    remaining_: Remaining | None
    stop_: Advice
    n_violated_: int | None
    alternatives_: tuple[Alternative, ...]
    n_clusters_probabilities_: Mapping[int, float]


def result_of(loop: Loop, model: Chooser) -> SessionResult:
    """Compute the result of a session.

    Parameters
    ----------
    loop : Loop
        State of the session.
    model : Chooser
        Model of the session, which has learned all answers.

    Returns
    -------
    SessionResult
    """
    items, strategy = loop.items, model.strategy
    settled = model.settled()
    labels, evidence = groups_of(model)
    is_sampled = len(evidence.rows) < len(labels)
    few = _some_pairs(strategy, labels, evidence.near) if is_sampled else None
    confidence = _confidence(evidence, labels, few)
    expected = expected_pairs(evidence.labels, labels[evidence.rows])
    error = strategy.error_rate() if isinstance(strategy, Guided) else ERROR_RATE
    checks, is_estimated = loop.answered_checks(), evidence.is_estimated
    estimated = quality_of(checks, expected, error, is_estimated=is_estimated)
    quality = estimated if estimated.n_checks >= LEAST_CHECKS else None
    n_answers = sum(not answer.is_dont_know and answer.weight > 0 for answer in strategy.answers)
    jaccard = estimated.jaccard.value
    progress = Progress(len(labels), int(labels.max()) + 1, n_answers, jaccard)
    remaining = remaining_of(progress) if is_estimated else None
    affinity = _affinity(evidence, strategy) if few is None else few.affinity
    for array in (labels, confidence, affinity.data, affinity.indices, affinity.indptr):
        array.flags.writeable = False
    return SessionResult(
        items.ids.names,
        labels,
        confidence,
        _exemplars(items, labels, confidence, by_confidence=is_sampled or not items.is_known),
        affinity,
        doubtful_answers(strategy, labels, items.ids, settled),
        quality,
        remaining,
        advice_of(quality, remaining, has_questions=bool(strategy.ask(1))),
        None if settled is None else settled.n_violated,
        () if settled is None else settled.alternatives,
        MappingProxyType({} if settled is None else settled.n_clusters_probabilities),
    )


def groups_of(model: Chooser) -> tuple[NDArray[np.int64], Evidence]:
    """Return the groups, and the probabilities of pairs."""
    settled = model.settled()
    if settled is None:
        labels = model.strategy.labels()
        return labels, model.evidence(labels)
    labels = in_order_of_rows(settled.labels)
    evidence = model.evidence(labels)
    if len(evidence.rows) < len(labels):
        return labels, evidence
    return labels, _averaged(evidence, settled.probabilities)


def _averaged(evidence: Evidence, probabilities: Any) -> Evidence:
    """Average the strategy's probabilities of pairs with those of the groups."""
    dense = probabilities if isinstance(probabilities, np.ndarray) else probabilities.toarray()
    single = dense.astype(np.float32)
    same = np.asarray((evidence.labels + single @ single.T) / 2, np.float32)
    np.fill_diagonal(same, 1.0)
    return evidence._replace(labels=same)


def _confidence(evidence: Evidence, labels: NDArray[np.int64], few: _Pairs | None) -> Floats:
    if evidence.near is not None:
        nearest = evidence.near.indices.reshape(len(labels), -1)
        return np.asarray((labels[nearest] == labels[:, None]).mean(axis=1))
    if few is not None:
        return few.confidence
    within = labels[:, None] == labels[None, :]
    same = np.asarray(evidence.labels, np.float64).copy()
    np.fill_diagonal(same, 0)
    n_others = within.sum(axis=1) - 1
    mean = np.where(within, same, 0).sum(axis=1) / np.maximum(n_others, 1)
    alone = 1 - same.max(axis=1)
    return np.asarray(np.clip(np.where(n_others > 0, mean, alone), 0, 1))


def _exemplars(
    items: Items, labels: NDArray[np.int64], confidence: Floats, *, by_confidence: bool
) -> Mapping[int, tuple[Hashable, ...]]:
    if not by_confidence:
        metric = "precomputed" if items.is_distances else "euclidean"
        rows = purest_examples(items.X, labels, N_EXEMPLARS, confidence=confidence, metric=metric)
    else:
        rows = np.full((int(labels.max()) + 1, N_EXEMPLARS), -1, np.int64)
        order = np.lexsort((-confidence, labels))
        rank = np.arange(len(order)) - np.searchsorted(labels[order], labels[order])
        order, rank = order[rank < N_EXEMPLARS], rank[rank < N_EXEMPLARS]
        rows[labels[order], rank] = order
    names = items.ids.names
    return MappingProxyType(
        {at: tuple(names[row] for row in of if row >= 0) for at, of in enumerate(rows.tolist())}
    )


def _affinity(evidence: Evidence, strategy: Strategy) -> csr_array:
    same = evidence.labels
    stored = same >= LEAST_AFFINITY
    for answer in strategy.answers:
        rows = np.array(answer.question.rows)
        stored[np.ix_(rows, rows)] = True
    np.fill_diagonal(stored, val=True)
    i, j = np.nonzero(stored)
    value = np.where(i == j, 1.0, same[i, j].astype(np.float64))
    return csr_array((value, (i, j)), shape=same.shape)


class _Pairs(NamedTuple):
    """Confidences and affinities of many rows, estimated from some of the pairs."""

    confidence: Floats
    affinity: csr_array


def _some_pairs(strategy: Strategy, labels: NDArray[np.int64], near: csr_array | None) -> _Pairs:
    """Estimate from pairs of each row with random rows of its group, and from answered pairs."""
    n = len(labels)
    order = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[order], labels)
    size = np.bincount(labels)[labels]
    step = np.random.RandomState(0).random_sample((n, N_COMPARED))
    others = order[start[:, None] + (step * size[:, None]).astype(np.int64)]
    i = np.repeat(np.arange(n), N_COMPARED)
    rows = [answer.question.rows for answer in strategy.answers]
    asked = np.array([pair for of in rows for pair in combinations(of, 2)], np.int64).reshape(-1, 2)
    pairs = np.concatenate([np.column_stack([i, others.ravel()]), asked])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    same = probabilities_of(strategy, labels, near, pairs).astype(np.float64)
    first, second = np.concatenate([pairs, pairs[:, ::-1]]).T
    both = np.concatenate([same, same])
    within = labels[first] == labels[second]
    total = np.bincount(first[within], both[within], minlength=n)
    count = np.bincount(first[within], minlength=n)
    alone = np.ones(n)
    np.minimum.at(alone, first, 1 - both)
    confidence = np.divide(total, count, out=alone, where=count > 0)
    every = np.arange(n)
    entries = np.concatenate([both, np.ones(n)]), (
        np.concatenate([first, every]), np.concatenate([second, every])
    )  # fmt: skip
    return _Pairs(np.clip(confidence, 0, 1), csr_array(entries, shape=(n, n)))
