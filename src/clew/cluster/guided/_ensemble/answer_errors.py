"""Errors of annotators, estimated from clusterings that did not see their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from clew.answers import DIFFERENT, KINDS, SAME, Kind
from clew.cluster.guided._ensemble.ensemble import Clustering, Ensemble, Fold
from clew.cluster.guided._ensemble.error_rate import ErrorRate, ScoredAnswers, error_rate
from clew.constraints import Constraints
from clew.constraints._support import of_some_weight
from clew.constraints._tables import PARAMETER
from clew.similarity._comparisons import Relations, inequalities_of
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import OUTCOMES
from clew.trust.annotators import forced_choice_kinds

__all__ = [
    "AnswerErrors",
    "Associations",
    "annotator_weights",
    "answer_errors",
    "informative_answers",
    "outcomes_of_pairs",
    "weighted_by",
    "weighted_folds",
]

Floats = NDArray[np.float64]

#: The error rate in the confusion matrix of a single annotator is clipped to this range.
MIN_RATE, MAX_RATE = 0.02, 0.4
#: Number of answers that the prior, and the pooled matrix, count for.
STRENGTH = 20.0
#: Error rates of random answers to pairs, triplets and odd-one-out questions.
RANDOM_ERROR = np.array([0.5, 0.5, 0.75])
#: The outcome (row of `OUTCOMES`) of a question for each partition of its three rows: only 1 and 2
#: together, only 1 and 3, only 2 and 3, all together, all apart.
OUTCOME_OF_PARTITION: dict[Kind, NDArray[np.int64]] = {
    "triplet": np.array([0, 1, 2, 2, 2]),
    "odd_one_out": np.array([2, 1, 0, 3, 4]),
}

#: Without answers the error rate is unknown.
UNKNOWN = ErrorRate(float("nan"), (0.0, 1.0), 1.0, 0.0)


class Associations(Protocol):
    """Clusterings that did not see the answers that they judge: `Ensemble`, for example."""

    def held_out_association(self, pairs: Sequence[NDArray[np.int64]]) -> Floats:
        """Return the co-association of the pairs of all folds, concatenated."""


class AnswerErrors(NamedTuple):
    """Error rate of all answers together, and confusion matrices of their annotators."""

    rate: ErrorRate
    confusion: ConfusionMatrices


def annotator_weights(ensemble: Ensemble, folds: Sequence[Fold]) -> dict[str, float]:
    """Weigh annotators by how much better than random their answers are.

    Parameters
    ----------
    ensemble : Ensemble
        Clusterings that use no answers.
    folds : sequence of Fold
        All answers.

    Returns
    -------
    dict of str to float
        In [-1, 1]; the largest absolute value is 1. Near 0 for random answers, negative for
        answers that are worse than random.
    """
    held = [fold.held for fold in folds]
    return _better_than_random(answer_errors(ensemble, folds).confusion, sum(held[1:], held[0]))


def _better_than_random(confusion: ConfusionMatrices, known: Constraints) -> dict[str, float]:
    """Compare each annotator with random answers to the same numbers of questions by kind."""
    n = len(known.annotators)
    counts = np.stack([np.bincount(table.annotators, minlength=n) for table in known.tables])
    random = RANDOM_ERROR @ counts / np.maximum(counts.sum(axis=0), 1)
    weights = 1 - confusion.error_rates_ / np.where(random > 0, random, 0.5)
    weights /= np.abs(weights).max() or 1.0
    return dict(zip(confusion.annotators_, weights.tolist(), strict=True))


def weighted_by(known: Constraints, weights: Mapping[str, float]) -> Constraints:
    """Multiply the weight of each answer by that of its annotator.

    Parameters
    ----------
    known : Constraints
        The answers.
    weights : mapping of str to float
        See `annotator_weights`.

    Returns
    -------
    Constraints
        Where an annotator's weight is negative, answers about pairs are reversed and get its
        absolute value; answers about three rows get weight 0.
    """
    of_annotator = np.array([weights[name] for name in known.annotators])
    pairs, *about_three = known.tables
    of_pairs = of_annotator[pairs.annotators]
    is_reversed = (of_pairs < 0) & ~known.is_dont_know
    reversed_answers = np.where(pairs.answers == SAME, DIFFERENT, SAME)
    tables = (
        replace(
            pairs,
            answers=np.where(is_reversed, reversed_answers, pairs.answers),
            weights=pairs.weights * np.abs(of_pairs),
        ),
        *(
            table.with_weights(table.weights * np.maximum(of_annotator[table.annotators], 0.0))
            for table in about_three
        ),
    )
    return known.with_tables(tables)


def informative_answers(known: Constraints) -> Constraints:
    """Leave out answers of weight 0, and annotators all of whose answers have weight 0."""
    informative = of_some_weight(known)
    codes = np.unique(np.concatenate([table.annotators for table in informative.tables]))
    tables = tuple(
        replace(table, annotators=np.searchsorted(codes, table.annotators))
        for table in informative.tables
    )
    return known.with_tables(tables, tuple(known.annotators[code] for code in codes))


def weighted_folds(
    folds: Sequence[Fold], clusterings: Sequence[Clustering]
) -> tuple[list[Fold], dict[str, float]]:
    """Weigh the answers of folds by their annotators.

    Parameters
    ----------
    folds : sequence of Fold
        All answers.
    clusterings : sequence of Clustering
        Clusterings that follow no answers; annotators are compared with these.

    Returns
    -------
    folds : list of Fold
        The same folds, see `weighted_by`.
    weights : dict of str to float
        See `annotator_weights`.
    """
    weights = annotator_weights(Ensemble.of(clusterings, folds), folds)
    return [Fold(*(weighted_by(part, weights) for part in fold)) for fold in folds], weights


def answer_errors(
    ensemble: Associations, folds: Sequence[Fold], annotators: Sequence[str] = ("",)
) -> AnswerErrors:
    """Estimate the share of wrong answers, and the confusion matrix of each annotator.

    Parameters
    ----------
    ensemble : Ensemble or Associations
        Clusterings, fitted to the training answers of each fold.
    folds : sequence of Fold
        The answers.
    annotators : sequence of str, default=("",)
        Names for the matrices if there are no folds.

    Returns
    -------
    AnswerErrors

    Notes
    -----
    The rate of a single annotator follows from the pairs that its answers imply. The rates of
    several annotators follow from their confusion matrices, and the rate of all answers is the mean
    of these rates. So does the rate of a single annotator if most answers are forced choices: if no
    group determines an answer, the pairs it implies are neither right nor wrong.
    """
    if not folds:
        confusion = ConfusionMatrices.uniform(MIN_RATE, annotators or ("",))
        return AnswerErrors(UNKNOWN, confusion)
    held = [fold.held for fold in folds]
    rate = _rate(held, ensemble)
    known = sum(held[1:], held[0])
    error = min(max(rate.rate, MIN_RATE), MAX_RATE)
    prior_error = 2 * error / (1 + error)  # of three labels, one of which is don't-know
    if len(known.annotators) < 2:
        confusion = ConfusionMatrices.uniform(prior_error, known.annotators, constraints=known)
        if _are_forced_choices(known):
            rate = rate.over_annotators(_confusion(held, ensemble, rate, prior_error))
        confusion.error_rates_ = np.full(len(known.annotators), rate.rate)
        confusion.error_intervals_ = np.tile(rate.interval, (len(known.annotators), 1))
        return AnswerErrors(rate, confusion)
    confusion = _confusion(held, ensemble, rate, prior_error)
    # Annotators who contradict each other make the clusterings look less accurate than they are.
    weights = _better_than_random(confusion, known)
    reweighted = _rate([weighted_by(part, weights) for part in held], ensemble)
    confusion = _confusion(held, ensemble, reweighted, prior_error)
    return AnswerErrors(rate.over_annotators(confusion), confusion)


def _are_forced_choices(known: Constraints) -> bool:
    """Whether most answers are about three rows, and none of these is don't-know."""
    forced = forced_choice_kinds(known)
    weights = {table.kind: float(table.weights.sum()) for table in known.tables}
    return 2 * sum(weights[kind] for kind in forced) > sum(weights.values())


def _rate(held: Sequence[Constraints], ensemble: Associations) -> ErrorRate:
    """Estimate the error rate of the held-out answers."""
    forced = forced_choice_kinds(sum(held[1:], held[0]))
    pairs = [_without(of_fold, forced).as_pairs() for of_fold in held]
    score = ensemble.held_out_association([of_fold.pairs for of_fold in pairs])
    answered = sum(pairs[1:], pairs[0])
    weight = np.where(answered.is_dont_know, 0.0, answered.pair_weights)
    choices = [inequalities_of(_without(of_fold, set(KINDS) - forced)) for of_fold in held]
    choice_weight = np.concatenate([of_fold.weight for of_fold in choices])
    choice_score = _choice_scores(choices, ensemble)
    return error_rate(
        ScoredAnswers.of(score, answered.is_must_link, weight, choice_score, choice_weight)
    )


def _without(known: Constraints, kinds: set[Kind]) -> Constraints:
    """Leave out the answers of some kinds."""
    none = {
        PARAMETER[table.kind]: np.zeros(len(table), np.bool_)
        for table in known.tables
        if table.kind in kinds
    }
    return known.select(**none)


def _choice_scores(choices: Sequence[Relations], ensemble: Associations) -> Floats:
    """Look up the co-association of the three pairs of rows of each choice, (n_choices, 3)."""
    third = []
    for of_fold in choices:
        is_shared = of_fold.near[:, :, None] == of_fold.far[:, None, :]
        near = of_fold.near[~is_shared.any(axis=2)]
        third.append(np.column_stack([near, of_fold.far[~is_shared.any(axis=1)]]))
    pairs = [of_fold.near for of_fold in choices], [of_fold.far for of_fold in choices], third
    return np.column_stack([ensemble.held_out_association(of_column) for of_column in pairs])


def _confusion(
    held: Sequence[Constraints], ensemble: Associations, rate: ErrorRate, prior_error: float
) -> ConfusionMatrices:
    """Estimate confusion matrices from the probabilities that rows are together."""
    probabilities = {
        of_kind[0].kind: _outcome_probabilities(
            of_kind[0].kind, [table.rows for table in of_kind], ensemble, rate
        )
        for of_kind in zip(*(known.tables for known in held), strict=True)
    }
    matrices = ConfusionMatrices(
        prior_error=prior_error, prior_strength=STRENGTH, pooling_strength=STRENGTH
    )
    return matrices.fit_probabilities(sum(held[1:], held[0]), probabilities)


def _outcome_probabilities(
    kind: Kind,
    rows: Sequence[NDArray[np.int64]],
    ensemble: Associations,
    rate: ErrorRate,
) -> Floats:
    """Return the probabilities of the outcomes of questions, (m, n_outcomes)."""
    ends = ((0, 1),) if kind == "pair" else ((0, 1), (0, 2), (1, 2))
    return outcomes_of_pairs(
        kind,
        [
            rate.p_together(ensemble.held_out_association([of[:, [a, b]] for of in rows]))
            for a, b in ends
        ],
    )


def outcomes_of_pairs(kind: Kind, together: Sequence[Floats]) -> Floats:
    """Compute the probabilities of outcomes from those of pairs.

    Parameters
    ----------
    kind : {"pair", "triplet", "odd_one_out"}
        Kind of the questions.
    together : sequence of one or three ndarray of shape (m,)
        Probabilities that rows 1 and 2, 1 and 3, and 2 and 3 of each question share a group.

    Returns
    -------
    ndarray of shape (m, n_outcomes)
        The three probabilities are taken as independent; contradictory outcomes are left out.
    """
    if kind == "pair":
        return np.column_stack([together[0], 1 - together[0]])
    ab, ac, bc = together
    partitions = np.column_stack(
        [
            ab * (1 - ac) * (1 - bc),
            ac * (1 - ab) * (1 - bc),
            bc * (1 - ab) * (1 - ac),
            ab * ac * bc,
            (1 - ab) * (1 - ac) * (1 - bc),
        ]
    )
    partitions /= np.maximum(partitions.sum(axis=1, keepdims=True), 1e-300)
    outcomes = np.zeros((len(partitions), len(OUTCOMES[kind])))
    for partition, outcome in enumerate(OUTCOME_OF_PARTITION[kind]):
        outcomes[:, outcome] += partitions[:, partition]
    return outcomes
