"""Many small groups, such as persons on photos: correlation clustering of pair answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._warnings import silenced
from clew.answers import CODES, DONT_KNOW
from clew.cluster.correlation.correlation_clustering import CorrelationClustering
from clew.cluster.guided._ensemble.answer_errors import informative_answers
from clew.cluster.guided._ensemble.ensemble import Fold, Labels, held_out_log_likelihood
from clew.cluster.guided._result.result import Result, of_all_answers
from clew.constraints import AnswerTable, Constraints
from clew.metrics import n_violated
from clew.trust import AnswerDoubts, ConfusionMatrices
from clew.trust._outcomes import (
    TRUE_LABEL,
    answer_likelihoods,
    outcome_probabilities,
)

__all__ = [
    "SMALL_GROUP",
    "are_groups_small",
    "halves_of_questions",
    "identities_of",
    "log_likelihood_of_identities",
    "n_answers_a_question",
    "result_of_identities",
]

Floats = NDArray[np.float64]

#: Groups are small if they have fewer rows than this on the average.
SMALL_GROUP = 5.0
#: Larger tables of rows by groups are sparse.
MAX_DENSE_ENTRIES = 50_000_000
#: Limits of the probability that the partition is wrong about an asked pair.
LEAST_ERROR, MOST_ERROR = 0.005, 0.2


def n_answers_a_question(known: Constraints) -> float:
    """Return how often a pair was asked on the average, among those with a definite answer."""
    pairs = known.tables[0]
    rows = np.sort(pairs.rows[(pairs.answers >= 0) & (pairs.weights > 0)], axis=1)
    return len(rows) / max(len(np.unique(rows, axis=0)), 1)


def identities_of(
    X: Floats | None, known: Constraints, seed: int, n_clusters: int | None = None
) -> CorrelationClustering:
    """Group rows by correlation clustering; it finds the number of groups if that is None."""
    model = CorrelationClustering(n_clusters, random_state=seed)
    if n_clusters is not None:
        return model.fit(X, constraints=known.as_pairs())
    with silenced():
        return model.fit(X, constraints=known.as_pairs())


def are_groups_small(model: CorrelationClustering) -> bool:
    """Whether groups have fewer than five rows on the average."""
    return len(model.labels_) < SMALL_GROUP * model.n_clusters_


def halves_of_questions(known: Constraints) -> list[Fold]:
    """Split the answers to each question into two halves, each held out once.

    Holding out whole questions would not measure how well small groups predict, as these do not
    follow from the answers to other questions.

    Parameters
    ----------
    known : Constraints
        Pairs, many of them asked repeatedly.

    Returns
    -------
    list of Fold
        Two folds.
    """
    pairs = known.tables[0]
    _, question = np.unique(np.sort(pairs.rows, axis=1), axis=0, return_inverse=True)
    order = np.argsort(question.ravel(), kind="stable")
    start = np.searchsorted(question.ravel()[order], question.ravel())
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    half = (place - start) % 2
    return [
        Fold(known.select(pairs=half != number), known.select(pairs=half == number))
        for number in (0, 1)
    ]


def log_likelihood_of_identities(X: Floats | None, folds: Sequence[Fold], seed: int) -> float:
    """Return the held-out log-likelihood of correlation clustering, in nats."""
    found = [identities_of(X, fold.kept, seed).labels_ for fold in folds]
    return held_out_log_likelihood(found, folds)[0]


def result_of_identities(known: Constraints, model: CorrelationClustering) -> Result:
    """Compute the fitted attributes from correlation clustering.

    Parameters
    ----------
    known : Constraints
        All answers, also those of weight 0.
    model : CorrelationClustering
        Fitted.

    Returns
    -------
    Result
    """
    informative, labels = informative_answers(known), model.labels_
    confusion = ConfusionMatrices().fit(informative, labels)
    weights = np.maximum(confusion.n_answers_, 1e-12)
    low, high = np.average(confusion.error_intervals_, axis=0, weights=weights)
    doubts = _doubts(informative, labels, confusion, _error_of_partition(model))
    return Result(
        labels=labels,
        probabilities=cast(Floats, _one_hot(labels, model.n_clusters_)),
        error_rate=float(np.average(confusion.error_rates_, weights=weights)),
        error_interval=(float(low), float(high)),
        confusion=confusion,
        answer_posterior=of_all_answers(known, doubts),
        scores={},
        weights={},
        n_violated=n_violated(labels, informative),
    )


def _are_outvoted(pairs: AnswerTable, labels: Labels) -> NDArray[np.bool_]:
    """Whether other answers speak against each one, not just that most pairs differ.

    Two groups that only "same" joins may be one; "different" within a group is outvoted by the
    answers that join the group.
    """
    ends = np.sort(labels[pairs.rows], axis=1)
    is_different = (pairs.answers == 0) & (pairs.weights > 0)
    _, between = np.unique(ends, axis=0, return_inverse=True)
    n_different = np.bincount(between.ravel(), is_different)[between.ravel()]
    return np.asarray((pairs.answers != 1) | (n_different > 0))


def _one_hot(labels: Labels, n_clusters: int) -> Floats | csr_array:
    n = len(labels)
    if n * n_clusters <= MAX_DENSE_ENTRIES:
        return np.eye(n_clusters)[labels]
    return csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_clusters))


def _error_of_partition(model: CorrelationClustering) -> float:
    """Return the mean probability that the groups of an asked pair are wrong."""
    pairs = model.dawid_skene_.questions_["pair"]
    p_same, p_different = model.dawid_skene_.probabilities_["pair"].T
    is_same = model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]]
    wrong = np.where(is_same, p_different, p_same)
    return float(np.clip(wrong.mean() if len(wrong) else 0.0, LEAST_ERROR, MOST_ERROR))


def _doubts(
    known: Constraints, labels: Labels, confusion: ConfusionMatrices, error: float
) -> AnswerDoubts:
    """Compute the probability that each answer is wrong; `error` is that of the partition."""
    wrong, alternatives = [], []
    for table in known.tables:
        of_partition = outcome_probabilities(table.kind, [labels[rows] for rows in table.rows.T])
        n_outcomes = of_partition.shape[1]
        prior = (1 - error) * of_partition + error / n_outcomes
        joint = prior * answer_likelihoods(confusion, table, known)
        is_wrong = TRUE_LABEL[table.kind] != table.answer_index[:, None]
        others = np.where(is_wrong, joint, 0.0)
        p_wrong = others.sum(axis=1) / np.maximum(joint.sum(axis=1), 1e-300)
        if table.kind == "pair":
            p_wrong = np.where(_are_outvoted(table, labels), p_wrong, np.minimum(p_wrong, 0.5))
        wrong.append(np.where(table.answers == DONT_KNOW, np.nan, p_wrong))
        label = TRUE_LABEL[table.kind][np.where(is_wrong, joint, -1.0).argmax(axis=1)]
        alternatives.append(np.array(CODES[table.kind])[label])
    (pairs, triplets, odd), (of_pairs, of_triplets, of_odd) = wrong, alternatives
    return AnswerDoubts(pairs, triplets, odd, known, (of_pairs, of_triplets, of_odd))
