"""Consensus of an ensemble by its weights, with probabilities and error rates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._ensemble.answer_errors import AnswerErrors, answer_errors
from clew.cluster.guided._ensemble.ensemble import Ensemble, Labels, as_labels
from clew.cluster.guided._ensemble.folds import Answers
from clew.cluster.guided._ensemble.progress import IN_ONE_THREAD, Steps

__all__ = ["LEAST_LEAD", "Consensus", "consensus_of"]

Floats = NDArray[np.float64]

#: The unconstrained consensus is returned unless another clustering's held-out log-likelihood is
#: larger by this much.
LEAST_LEAD = 1.0


class Consensus(NamedTuple):
    """A consensus, and the ensemble behind it."""

    ensemble: Ensemble
    labels: Labels
    of_folds: list[Labels]
    """Consensus fitted to the training answers of each fold."""
    probabilities: Floats
    errors: AnswerErrors
    """Error rates of the answers, judged by held-out co-association."""
    saw_answers: bool = True


def consensus_of(
    ensemble: Ensemble, answers: Answers, n_clusters: int, seed: int, steps: Steps = IN_ONE_THREAD
) -> Consensus:
    """Return the weighted consensus of an ensemble, and the error rates that follow from it."""
    labels, of_folds = ensemble.consensus(n_clusters, seed, steps)
    probabilities = _votes(labels, n_clusters, ensemble)
    errors = answer_errors(ensemble, answers.folds, answers.known.annotators)
    return Consensus(ensemble, labels, of_folds, probabilities, errors)


def _votes(labels: Labels, n_clusters: int, ensemble: Ensemble) -> Floats:
    """Return the weighted share of clusterings that put each row into each consensus group."""
    groups = np.eye(n_clusters)[labels]
    votes = np.zeros_like(groups)
    for name in ensemble.names:
        votes += ensemble.weights[name] * _translated(ensemble.whole[name], groups)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _translated(partition: Any, groups: Floats) -> Floats:
    """Translate the groups of a partition into consensus groups, by the rows that they share.

    Shared rows are counted by label: counting probabilities would mix uncertain groups until all
    rows went to the largest one.
    """
    n_groups = partition.shape[1] if partition.ndim == 2 else partition.max() + 1
    likeliest = np.eye(n_groups)[as_labels(partition)]
    members = partition if partition.ndim == 2 else likeliest
    shared = likeliest.T @ groups
    return np.asarray(members @ (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1.0)))
