"""The result of guided clustering: groups, and the probability that each answer is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clew.answers import DONT_KNOW
from clew.cluster.guided._ensemble.answer_errors import informative_answers
from clew.cluster.guided._ensemble.ensemble import Labels
from clew.cluster.guided._ensemble.weighted_consensus import Consensus
from clew.constraints import Constraints
from clew.metrics import n_violated
from clew.trust import AnswerDoubts, ConfusionMatrices, answer_posterior

__all__ = ["Result", "of_all_answers", "result_of"]


@dataclass(frozen=True, eq=False)
class Result:
    """What a fit finds about rows and answers; `GuidedResult` describes the fields."""

    labels: Labels
    probabilities: Any
    error_rate: float
    error_interval: tuple[float, float]
    confusion: ConfusionMatrices
    answer_posterior: AnswerDoubts
    scores: dict[str, float]
    weights: dict[str, float]
    n_violated: int


def result_of(known: Constraints, first: Consensus, last: Consensus) -> Result:
    """Compute the fitted attributes from the last consensus.

    Parameters
    ----------
    known : Constraints
        All answers, also those of weight 0.
    first, last : Consensus
        Before and after the refinement; the same if there was none.

    Returns
    -------
    Result
    """
    labels = np.asarray(last.probabilities.argmax(axis=1), dtype=np.int64)
    informative, errors = informative_answers(known), last.errors
    doubts = answer_posterior(
        informative,
        last.probabilities,
        errors.confusion,
        inference="belief_propagation" if last.saw_answers else None,
    )
    return Result(
        labels=labels,
        probabilities=last.probabilities,
        error_rate=errors.rate.rate,
        error_interval=errors.rate.interval,
        confusion=errors.confusion,
        answer_posterior=of_all_answers(known, doubts),
        scores=first.ensemble.scores | last.ensemble.scores,
        weights=first.ensemble.weights | last.ensemble.weights,
        n_violated=n_violated(labels, informative),
    )


def of_all_answers(known: Constraints, doubts: AnswerDoubts) -> AnswerDoubts:
    """Insert NaN for the answers of weight 0."""
    every = [np.full(len(table), np.nan) for table in known.tables]
    alternatives = [np.full(len(table), DONT_KNOW, dtype=np.int64) for table in known.tables]
    for at, table in enumerate(known.tables):
        is_informative = table.weights > 0
        every[at][is_informative] = [*doubts][at]
        alternatives[at][is_informative] = doubts.alternatives[at]
    (pairs, triplets, odd), (of_pairs, of_triplets, of_odd) = every, alternatives
    return AnswerDoubts(pairs, triplets, odd, known, (of_pairs, of_triplets, of_odd))
