"""The result of a session: groups, doubts, quality, and the questions that remain."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._limits import LEAST_CHECKS
from clew.answers import DIFFERENT, KINDS, SAME, Answer, as_table_answers, expand, standing
from clew.cluster import purest_examples
from clew.cluster.guided import Alternative, GuidedResult, Regime
from clew.cluster.guided._explain import chain_of_answers
from clew.cluster.guided._result import largest_probabilities
from clew.constraints import Constraints
from clew.constraints._meanings import implied
from clew.constraints._validation import RowIds
from clew.metrics._scores import n_violated
from clew.questions import Strategy
from clew.questions._strategy import in_order_of_rows
from clew.session._chooser import Chooser
from clew.session._export import as_dict
from clew.session._groups import (
    Before,
    Change,
    Evidence,
    changes_of,
    edited,
    groups_before,
    held,
    matched,
)
from clew.session._items import Items
from clew.session._loop import Loop
from clew.session._quality import (
    AnnotatorQuality,
    PairProbabilities,
    Quality,
    annotator_qualities,
    expected_pairs,
    n_informative,
    quality_of,
)
from clew.session._remaining import Advice, Remaining, advice_of, remaining_of
from clew.trust import AnswerPosterior, answer_posterior
from clew.trust.doubts import DOUBT

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
        Group of each item, numbered from 0 in the order of their first items; -1 for items that
        are set aside or that the strategy "active_subclustering" leaves out, which the other
        figures leave out, too.
    group_ids_ : ndarray of shape (n_items,), int64
        Lasting id of the group of each item: a group keeps that of the group of the result before
        that it shares most items with; an id is never used again. -1 for items in no group.
    next_group_id_ : int
        Smallest id that no group has had yet.
    changes_ : tuple of Change
        The items that are in another group than in the result before, each with the answer that
        moved it. Empty if there was none.
    revision : int
        Number of entries of the log that the result takes into account.
    n_answers : int
        Number of answers that were not taken back, repeated ones among them.
    confidence_ : ndarray of shape (n_items,)
        How sure the group of each item is, in [0, 1]: the probability of its group, as in
        ``GuidedClustering.probabilities_``. With strategies other than `Guided`, the share of its
        ten nearest items that are in its group, or, without features, the mean probability that it
        is the same as another item of its group. 0 for an item in no group.
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
        Number of questions until a Jaccard index of 0.95, and until there are enough random checks
        to tell; None before 20 informative answers (not don't-knows), and with strategies other
        than `Guided`.
    n_checks_ : int
        Number of answered random checks.
    stop_ : Advice
        Whether to stop asking, and why; ``bool(stop_)`` is the decision. Once it was to stop, it
        stands for the same items until the estimated Jaccard index falls below 0.9.
    n_violated_ : int or None
        Number of answers that the groups violate; None with strategies other than `Guided`.
    alternatives_ : tuple of Alternative
        Up to two other groupings, of other numbers of groups, that explain items and answers nearly
        as well, the best first. Empty if the number was given, and with other strategies.
    n_clusters_probabilities_ : mapping of int to float
        Probability of each number of groups. Empty if the number was given, and with other
        strategies.
    regime_ : Regime or None
        What the groups follow, as in ``GuidedClustering.regime_``: ``"features"`` without answers
        and if these look random; ``regime_.reason`` says why. None with strategies other than
        `Guided`.
    annotators_ : tuple of AnnotatorQuality
        How often each person errs, and agrees with their own answers to repeated questions.
    """

    ids: tuple[Hashable, ...]
    labels_: NDArray[np.int64]
    group_ids_: NDArray[np.int64]
    next_group_id_: int
    changes_: tuple[Change, ...]
    revision: int
    n_answers: int
    confidence_: Floats
    exemplars_: Mapping[int, tuple[Hashable, ...]]
    affinity_: csr_array
    doubtful_: tuple[Doubt, ...]
    quality_: Quality | None
    remaining_: Remaining | None
    n_checks_: int
    stop_: Advice
    n_violated_: int | None
    alternatives_: tuple[Alternative, ...]
    n_clusters_probabilities_: Mapping[int, float]
    regime_: Regime | None
    annotators_: tuple[AnnotatorQuality, ...]

    def __repr__(self) -> str:
        n_groups = len(np.unique(self.labels_[self.labels_ >= 0]))
        return (
            f"SessionResult({len(self.ids)} items in {n_groups} groups, {self.n_answers} answers, "
            f"{len(self.doubtful_)} doubtful; {self.stop_})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as numbers, texts, lists and dicts, for JSON.

        Returns
        -------
        dict
            ``ids``, ``labels``, ``group_ids`` and ``confidence`` of each item; ``exemplars`` by id
            of the group; ``doubtful`` answers with the ids of their entries and of those that
            contradict them; ``quality``, ``n_checks``, ``remaining``, ``stop``, ``n_violated``,
            ``alternatives``, ``n_clusters_probabilities``, ``regime``, ``annotators``, ``changes``,
            ``n_answers``, ``revision`` and ``next_group_id``.
            `Session.result` takes it as `previous`.
        """
        return as_dict(self)


def result_of(loop: Loop, model: Chooser, previous: Any = None) -> SessionResult:
    """Compute the result of a session; groups keep the ids of an earlier result."""
    items, strategy, settled = loop.items, model.strategy, model.settled()
    before = groups_before(previous, items.ids)
    labels, group_ids, next_id, evidence = _groups(loop, model, before)
    pairs = probabilities_of(model, labels)
    n_in_groups = int((labels >= 0).sum())
    is_sampled = len(pairs.rows) < n_in_groups
    few = _some_pairs(model, labels) if is_sampled else None
    of_pairs = confidence_of(pairs, labels, few)
    confidence = of_pairs if settled is None else _of_memberships(settled, labels)
    affinity = _affinity(pairs, strategy, len(labels)) if few is None else few.affinity
    for array in (labels, group_ids, confidence, affinity.data, affinity.indices, affinity.indptr):
        array.flags.writeable = False
    by_confidence = is_sampled or not items.is_known or n_in_groups < 2
    unresolved = 1 - float(of_pairs[labels >= 0].mean()) if n_in_groups else 0.0
    quality, remaining = _quality_and_remaining(loop, strategy, pairs, labels, unresolved)
    n_checks = len(loop.answered_checks())
    regime = None if settled is None else settled.regime
    question = strategy.ask(1, allows=model.barred.allows, without=model.barred.rows)
    with loop.recording:
        entries = standing(loop.log.entries[: model.n_learned])
        answers = [entry for entry in entries if isinstance(entry, Answer)]
        annotators = annotator_qualities(answers, loop.queue.repeats(), settled)
    return SessionResult(
        ids=items.ids.names,
        labels_=labels,
        group_ids_=group_ids,
        next_group_id_=next_id,
        changes_=changes_of(items.ids.names, before, group_ids, evidence),
        revision=model.n_learned,
        n_answers=sum(answer.origin != "rule" for answer in answers),
        confidence_=confidence,
        exemplars_=_exemplars(items, labels, confidence, by_confidence=by_confidence),
        affinity_=affinity,
        doubtful_=doubtful_answers(strategy, labels, items.ids, settled),
        quality_=quality,
        remaining_=remaining,
        n_checks_=n_checks,
        stop_=advice_of(
            quality,
            remaining,
            n_checks=n_checks,
            has_questions=bool(question),
            was_enough=_was_enough(previous) and bool(before.is_old.all()),
            regime=regime,
        ),
        n_violated_=None if settled is None else _n_violated(settled, labels),
        alternatives_=() if settled is None else settled.alternatives,
        n_clusters_probabilities_=MappingProxyType(
            {} if settled is None else settled.n_clusters_probabilities
        ),
        regime_=regime,
        annotators_=annotators,
    )


def _was_enough(previous: SessionResult | Mapping[str, Any] | None) -> bool:
    """Whether the advice of an earlier result was to stop."""
    if isinstance(previous, Mapping):
        return bool((previous.get("stop") or {}).get("is_enough"))
    return previous is not None and bool(previous.stop_)


def _quality_and_remaining(
    loop: Loop,
    strategy: Strategy,
    pairs: PairProbabilities,
    labels: NDArray[np.int64],
    unresolved: float,
) -> tuple[Quality | None, Remaining | None]:
    """Estimate the quality of the groups, and the questions that are left."""
    n_in_groups = int((labels >= 0).sum())
    if not n_in_groups:
        return None, None
    estimate = strategy.error_rate()
    error = ERROR_RATE if estimate is None else estimate
    expected = expected_pairs(pairs.same, labels[pairs.rows])
    checks, is_estimated = loop.answered_checks(), pairs.is_estimated
    n_answers = n_informative(strategy.answers, labels, expected)
    quality = quality_of(checks, expected, error, is_estimated=is_estimated, n_answers=n_answers)
    remaining = None
    if is_estimated:
        jaccard, every, least = quality.jaccard.value, loop.check_every, (0, 0, 0)
        if every is not None and (missing := LEAST_CHECKS - quality.n_checks) > 0:
            most = missing * every  # the next check is one of the next `every` questions
            least = (most - every, most - every // 2, most)
        remaining = remaining_of(n_in_groups, n_answers[0], unresolved, jaccard, least=least)
    if remaining is not None and (seconds := loop.seconds_of_answer()) is not None:
        remaining = remaining.in_minutes(seconds)
    return quality if quality.n_checks >= LEAST_CHECKS else None, remaining


def _n_violated(settled: GuidedResult, labels: NDArray[np.int64]) -> int:
    """Count the answers that the groups violate: those of the fit, unless items were held."""
    if np.array_equal(in_order_of_rows(settled.labels), labels):
        return settled.n_violated
    return n_violated(as_alone(labels), settled.constraints)


def _groups(
    loop: Loop, model: Chooser, before: Before
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, Evidence]:
    """Return labels, lasting ids, the smallest id that was never used, and the evidence."""
    labels = groups_of(model)
    group_ids, next_id = matched(labels, before)
    evidence = Evidence.of(model.strategy.answers)
    kept = held(before, group_ids, evidence)
    if not np.array_equal(kept, group_ids):
        group_ids, labels = kept, in_order_of_rows(kept)
    return labels, group_ids, next_id, evidence


def groups_of(model: Chooser) -> NDArray[np.int64]:
    """Return the groups, with edits; rows that are set aside are in none."""
    settled = model.settled()
    labels = np.array(model.strategy.labels() if settled is None else settled.labels, np.int64)
    labels[list(model.barred.aside)] = -1
    return in_order_of_rows(edited(labels, model.edits, model.strategy.answers))


def probabilities_of(model: Chooser, labels: NDArray[np.int64]) -> PairProbabilities:
    """Return the probabilities of pairs of rows that are in groups."""
    pairs, settled = model.pairs(labels), model.settled()
    if settled is None or len(pairs.rows) < int((labels >= 0).sum()):
        return pairs
    # The mean of the strategy's probabilities and of those of the groups.
    member = settled.probabilities
    dense = member if isinstance(member, np.ndarray) else member.toarray()
    single = dense[pairs.rows].astype(np.float32)
    same = np.asarray((pairs.same + single @ single.T) / 2, np.float32)
    np.fill_diagonal(same, 1.0)
    return pairs._replace(same=same)


def as_alone(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels in which each row in no group is a group of its own."""
    is_out = labels < 0
    return np.where(is_out, labels.max() + np.cumsum(is_out), labels)


def _of_memberships(settled: GuidedResult, labels: NDArray[np.int64]) -> Floats:
    """Probability of each item's group; of items that were moved, of that of most of its items."""
    is_in = labels >= 0
    counts = np.zeros((int(labels.max(initial=-1)) + 1, settled.probabilities.shape[1]))
    np.add.at(counts, (labels[is_in], settled.labels[is_in]), 1)
    most = counts.argmax(axis=1) if counts.size else np.zeros(0, np.int64)
    confidence = np.zeros(len(labels))
    confidence[is_in] = largest_probabilities(settled.probabilities)[is_in]
    moved = np.flatnonzero(is_in)
    moved = moved[most[labels[moved]] != settled.labels[moved]]
    confidence[moved] = np.asarray(settled.probabilities[moved, most[labels[moved]]]).ravel()
    return confidence


def confidence_of(
    pairs: PairProbabilities, labels: NDArray[np.int64], few: _Pairs | None = None
) -> Floats:
    """Return how sure the group of each item is."""
    if pairs.near is not None:
        nearest = pairs.near.indices.reshape(len(labels), -1)
        is_own = (labels[nearest] == labels[:, None]) & (labels >= 0)[:, None]
        return np.asarray(is_own.mean(axis=1))
    if few is not None:
        return few.confidence
    own = labels[pairs.rows]
    within = own[:, None] == own[None, :]
    same = np.asarray(pairs.same, np.float64).copy()
    np.fill_diagonal(same, 0)
    n_others = within.sum(axis=1) - 1
    mean = np.where(within, same, 0).sum(axis=1) / np.maximum(n_others, 1)
    alone = 1 - same.max(axis=1, initial=0)
    confidence = np.zeros(len(labels))
    confidence[pairs.rows] = np.clip(np.where(n_others > 0, mean, alone), 0, 1)
    return confidence


def _exemplars(
    items: Items, labels: NDArray[np.int64], confidence: Floats, *, by_confidence: bool
) -> Mapping[int, tuple[Hashable, ...]]:
    if not by_confidence:
        metric = "precomputed" if items.is_distances else "euclidean"
        is_in = np.flatnonzero(labels >= 0)
        X = items.X if len(is_in) == len(labels) else items.X[is_in]
        if items.is_distances and len(is_in) < len(labels):
            X = X[:, is_in]
        rows = purest_examples(
            X, labels[is_in], N_EXEMPLARS, confidence=confidence[is_in], metric=metric
        )
        rows = np.where(rows < 0, -1, is_in[rows])
    else:
        rows = np.full((int(labels.max()) + 1, N_EXEMPLARS), -1, np.int64)
        order = np.lexsort((-confidence, labels))
        order = order[labels[order] >= 0]
        rank = np.arange(len(order)) - np.searchsorted(labels[order], labels[order])
        order, rank = order[rank < N_EXEMPLARS], rank[rank < N_EXEMPLARS]
        rows[labels[order], rank] = order
    names = items.ids.names
    return MappingProxyType(
        {at: tuple(names[row] for row in of if row >= 0) for at, of in enumerate(rows.tolist())}
    )


def _affinity(pairs: PairProbabilities, strategy: Strategy, n: int) -> csr_array:
    same, rows = pairs.same, pairs.rows
    stored = same >= LEAST_AFFINITY
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))
    for answer in strategy.answers:
        at = place[list(answer.question.rows)]
        stored[np.ix_(at[at >= 0], at[at >= 0])] = True
    np.fill_diagonal(stored, val=True)
    i, j = np.nonzero(stored)
    value = np.where(i == j, 1.0, same[i, j].astype(np.float64))
    alone = np.flatnonzero(place < 0)
    entries = np.concatenate([value, np.ones(len(alone))])
    i, j = np.concatenate([rows[i], alone]), np.concatenate([rows[j], alone])
    return csr_array((entries, (i, j)), shape=(n, n))


class _Pairs(NamedTuple):
    """Confidences and affinities of many rows, estimated from some of the pairs."""

    confidence: Floats
    affinity: csr_array


def _some_pairs(model: Chooser, labels: NDArray[np.int64]) -> _Pairs:
    """Estimate from pairs of each row with random rows of its group, and from answered pairs."""
    n, in_groups = len(labels), np.flatnonzero(labels >= 0)
    own = labels[in_groups]
    order = np.argsort(own, kind="stable")
    start = np.searchsorted(own[order], own)
    size = np.bincount(own)[own]
    step = np.random.RandomState(0).random_sample((len(own), N_COMPARED))
    others = in_groups[order[start[:, None] + (step * size[:, None]).astype(np.int64)]]
    i = np.repeat(in_groups, N_COMPARED)
    rows = [answer.question.rows for answer in model.strategy.answers]
    asked = np.array([pair for of in rows for pair in combinations(of, 2)], np.int64).reshape(-1, 2)
    pairs = np.concatenate([np.column_stack([i, others.ravel()]), asked])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    same = model.probabilities(labels, pairs).astype(np.float64)
    first, second = np.concatenate([pairs, pairs[:, ::-1]]).T
    both = np.concatenate([same, same])
    within = (labels[first] == labels[second]) & (labels[first] >= 0)
    total = np.bincount(first[within], both[within], minlength=n)
    count = np.bincount(first[within], minlength=n)
    alone = np.ones(n)
    np.minimum.at(alone, first, 1 - both)
    confidence = np.divide(total, count, out=alone, where=count > 0)
    every = np.arange(n)
    entries = np.concatenate([both, np.ones(n)]), (
        np.concatenate([first, every]), np.concatenate([second, every])
    )  # fmt: skip
    confidence[labels < 0] = 0.0
    return _Pairs(np.clip(confidence, 0, 1), csr_array(entries, shape=(n, n)))


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
    chain_answers: tuple[Answer, ...] = ()
    """The answers of the chain, one for each two consecutive items."""

    def __str__(self) -> str:
        who = self.answer.annotator or "somebody"
        rows = self.answer.question.ids or self.answer.question.rows
        about = ", ".join(map(str, rows))
        return (
            f"{about}: {who}'s answer is wrong with probability {self.p_wrong:.2f}; {self.reason}"
        )


def doubtful_answers(
    strategy: Strategy, labels: NDArray[np.int64], ids: RowIds, settled: GuidedResult | None = None
) -> tuple[Doubt, ...]:
    """Answers more likely wrong than right, worst first; some have to be outvoted, too."""
    answers = strategy.answers
    labels = as_alone(labels)
    doubts = doubts_of(strategy, labels, ids, settled)
    p_wrong = _in_order(answers, doubts)
    is_doubtful = p_wrong >= DOUBT
    if settled is None:
        is_doubtful &= are_outvoted(answers, labels)
    order = np.argsort(-p_wrong, kind="stable")
    return tuple(
        _doubt(answers[at], float(p_wrong[at]), labels, strategy, doubts)
        for at in order[is_doubtful[order]].tolist()
    )


def doubts_of(
    strategy: Strategy, labels: NDArray[np.int64], ids: RowIds, settled: GuidedResult | None
) -> AnswerPosterior:
    """Return the probability that each answer is wrong."""
    known = Constraints.from_answers(strategy.answers, ids=ids.names)
    if settled is None:
        return answer_posterior(known, as_alone(labels))
    pairs, triplets, odd = settled.answer_posterior
    return AnswerPosterior(pairs, triplets, odd, known, settled.answer_posterior.alternatives)


def are_outvoted(answers: Sequence[Answer], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Answers, (n_answers,), that others about a row and the other's group outweigh."""
    pairs = [
        (at, rows[i], rows[j], (1.0 if said == SAME else -1.0) * answer.weight)
        for at, answer in enumerate(answers)
        for rows in [answer.question.rows]
        if answer.is_evidence
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


def _in_order(answers: Sequence[Answer], doubts: AnswerPosterior) -> Floats:
    """Probabilities in the answers' order, the worst of their pairs'; 0 for don't-knows."""
    p_wrong = np.zeros(len(answers))
    positions: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for at, answer in enumerate(answers):
        for one in as_table_answers([answer]):
            positions[one.question.kind].append(at)
    for kind, of_kind in zip(KINDS, doubts, strict=True):
        np.maximum.at(p_wrong, np.array(positions[kind], np.int64), np.nan_to_num(of_kind))
    return p_wrong


def _doubt(
    answer: Answer,
    p_wrong: float,
    labels: NDArray[np.int64],
    strategy: Strategy,
    doubts: AnswerPosterior,
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
            links = answers_of_chain(chain, parted_at, strategy.answers)
            return Doubt(answer, p_wrong, f"other answers imply {text}", names, links)
    return Doubt(answer, p_wrong, _without_chain(answer, labels), ())


def answers_of_chain(
    chain: Sequence[int], parted_at: int, answers: Sequence[Answer]
) -> tuple[Answer, ...]:
    """Return the last answer that implies each link of a chain of rows."""
    links = {
        (min(pair), max(pair)): DIFFERENT if at == parted_at else SAME
        for at, pair in enumerate(pairwise(chain))
    }
    found: dict[tuple[int, int], Answer] = {}
    for answer in answers:
        rows = answer.question.rows
        for i, j, said, _ in expand(answer):
            pair = min(rows[i], rows[j]), max(rows[i], rows[j])
            if links.get(pair) == said:
                found[pair] = answer
    return tuple(found[pair] for pair in links if pair in found)


def _without_chain(answer: Answer, labels: NDArray[np.int64]) -> str:
    rows = answer.question.rows
    if all(
        (labels[rows[i]] == labels[rows[j]]) == (said == SAME) for i, j, said in implied(answer)
    ):
        return "the groups follow it, but groups that are nearly as likely do not"
    if len(rows) > 2:
        return "the groups imply another answer"
    return f"the items are in {'one group' if answer.value == DIFFERENT else 'different groups'}"
