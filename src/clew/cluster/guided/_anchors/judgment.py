"""Which answers are wrong, and how often each annotator errs, for a fit to anchors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from clew.answers import DONT_KNOW
from clew.cluster.guided._anchors.answers import AnsweredRows, places_of_ends
from clew.cluster.guided._anchors.refinement import Beliefs
from clew.cluster.guided._anchors.rows import Memberships
from clew.cluster.guided._ensemble.answer_errors import AnswerErrors, outcomes_of_pairs
from clew.constraints import AnswerTable, Constraints
from clew.kernels.sparse_belief_propagation import shared_probabilities
from clew.trust import AnswerDoubts, ConfusionMatrices
from clew.trust._outcomes import OUTCOMES, answer_likelihoods
from clew.trust.doubts import is_forced_choice, judged

__all__ = [
    "answer_doubts",
    "final_confusion",
    "shared_by_memberships",
    "shared_without_answer",
]

Floats = NDArray[np.float64]


def shared_without_answer(answered: AnsweredRows, beliefs: Beliefs) -> list[Floats]:
    """Compute the probabilities that rows of answered questions share a group.

    Parameters
    ----------
    answered : AnsweredRows
        The answers.
    beliefs : Beliefs
        Result of belief propagation; its cavities leave out the evidence of the answer itself.

    Returns
    -------
    list of ndarray of shape (n_answers, 5)
        For each kind, see `clew.trust._outcomes.co_membership`.
    """
    found = []
    tables = answered.tied.tables
    for table, places in zip(tables, places_of_ends(tables), strict=True):
        shared = np.empty((len(table), 5))
        groups = beliefs.memberships.groups
        shared_probabilities(table.rows, groups, places, beliefs.cavities, shared)
        found.append(shared)
    return found


def final_confusion(
    errors: AnswerErrors, answered: AnsweredRows, shared: Sequence[Floats]
) -> ConfusionMatrices:
    """Estimate the confusion matrices of several annotators from all answers.

    Parameters
    ----------
    errors : AnswerErrors
        Estimated from held-out answers; returned for a single annotator, and without answers.
    answered : AnsweredRows
        All answers.
    shared : sequence of ndarray of shape (n_answers, 5)
        For each kind the probabilities that rows share a group, without the answer.

    Returns
    -------
    ConfusionMatrices
    """
    tables = answered.tied.tables
    if len(answered.known.annotators) < 2 or not any(map(len, tables)):
        return errors.confusion
    outcomes = {
        table.kind: outcomes_of_pairs(
            table.kind,
            [errors.rate.p_together(column) for column in of[:, 1 : 2 * table.rows.shape[1] - 2].T],
        )
        for table, of in zip(tables, shared, strict=True)
    }
    judged_answers = answered.known.with_tables(tables)
    confusion: ConfusionMatrices = clone(errors.confusion)
    return confusion.fit_probabilities(judged_answers, outcomes)


def answer_doubts(
    known: Constraints,
    answered: AnsweredRows,
    shared: Sequence[Floats],
    confusion: ConfusionMatrices,
) -> AnswerDoubts:
    """Compute the probability that each answer is wrong.

    Parameters
    ----------
    known : Constraints
        All answers, also those of weight 0.
    answered : AnsweredRows
        Those of positive weight, without don't-knows about pairs.
    shared : sequence of ndarray of shape (n_answers, 5)
        For each kind of these, the probabilities that rows share a group, without the answer.
    confusion : ConfusionMatrices
        Error rates of the annotators.

    Returns
    -------
    AnswerDoubts
        NaN for answers of weight 0 and don't-knows about pairs.
    """
    p_wrong, alternatives = [], []
    for every, table, of in zip(known.tables, answered.tied.tables, shared, strict=True):
        likelihoods = answer_likelihoods(confusion, table, answered.known)
        joint = np.maximum(of @ OUTCOMES[table.kind].T, 0.0) * likelihoods
        found = judged(table, joint, is_forced_choice(confusion, table.kind))
        is_judged = _is_judged(every)
        p_wrong.append(np.full(len(every), np.nan))
        alternatives.append(np.full(len(every), DONT_KNOW, np.int64))
        p_wrong[-1][is_judged] = found.p_wrong
        alternatives[-1][is_judged] = found.alternative
    (pairs, triplets, odd), (of_pairs, of_triplets, of_odd) = p_wrong, alternatives
    return AnswerDoubts(pairs, triplets, odd, known, (of_pairs, of_triplets, of_odd))


def _is_judged(table: AnswerTable) -> NDArray[np.bool_]:
    """Return which answers `informative_tables` selects."""
    is_informative = table.weights > 0
    return is_informative & (table.answers != DONT_KNOW) if table.kind == "pair" else is_informative


def shared_by_memberships(answered: AnsweredRows, memberships: Memberships) -> list[Floats]:
    """Compute `shared_without_answer` from memberships that no answer changed."""
    own = memberships.at(answered.rows)
    return [own.shared(table.rows) for table in answered.tied.tables]
