"""Partitions made from all answers, and again from parts of them, to be judged by the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._consensus import co_association, consensus
from clew.constraints import Constraints
from clew.metrics._likelihood import answer_counts, log_likelihood_of_counts

__all__ = ["Ensemble", "Fold", "Labels", "weights_of"]

Labels = NDArray[np.int64]
Weights = dict[str, float]

#: What the log-likelihood of answers is multiplied by: candidates that do well on answers held out
#: count more, but by far not as much more as if all the rest of the model were right.
TEMPER = 0.25
#: Candidates of less than this share of the largest weight are left out.
LEAST_WEIGHT = 0.02


class Fold(NamedTuple):
    """Answers to learn from, and answers held out."""

    kept: Constraints
    held: Constraints


class Ensemble(NamedTuple):
    """Partitions by name: those that saw all answers, and for each fold those that saw its part."""

    whole: dict[str, Labels]
    of_folds: list[dict[str, Labels]]

    @classmethod
    def empty(cls, n_folds: int) -> Self:
        """Begin with none."""
        return cls({}, [{} for _ in range(n_folds)])

    def add(self, name: str, whole: Labels, of_folds: Sequence[Labels]) -> None:
        """Add a way to group."""
        self.whole[name] = whole
        for partitions, labels in zip(self.of_folds, of_folds, strict=True):
            partitions[name] = labels

    def scores(self, folds: Sequence[Fold]) -> dict[str, float]:
        """Give the log-likelihood of the answers held out, by way."""
        return {name: self._score(name, folds) for name in self.whole}

    def _score(self, name: str, folds: Sequence[Fold]) -> float:
        parts = [
            answer_counts(partitions[name], fold.held)
            for partitions, fold in zip(self.of_folds, folds, strict=True)
        ]
        if not parts:
            return 0.0
        return log_likelihood_of_counts({kind: sum(p[kind] for p in parts) for kind in parts[0]})

    def joined(self, weights: Weights, n_clusters: int, seed: int) -> tuple[Labels, list[Labels]]:
        """Give the consensus of all answers, and that of each fold."""
        return (
            _consensus(self.whole, weights, n_clusters, seed),
            [_consensus(partitions, weights, n_clusters, seed) for partitions in self.of_folds],
        )

    def held_out_association(
        self, weights: Weights, pairs: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Give for each fold how often rows are together in partitions that saw only its part."""
        found = []
        for partitions, of_fold in zip(self.of_folds, pairs, strict=True):
            chosen, weight = _used(partitions, weights)
            found.append(co_association(chosen, of_fold, weights=weight))
        return found


def weights_of(scores: Mapping[str, float], log_priors: Mapping[str, float]) -> Weights:
    """Turn scores into weights, the largest of which is 1; small ones are 0."""
    logarithm = np.array([TEMPER * score + log_priors.get(k, 0.0) for k, score in scores.items()])
    weight = np.exp(logarithm - logarithm.max())
    weight[weight < LEAST_WEIGHT] = 0.0
    return dict(zip(scores, weight.tolist(), strict=True))


def _used(
    partitions: Mapping[str, Labels], weights: Weights
) -> tuple[Labels, list[float]]:
    names = [name for name, weight in weights.items() if weight > 0]
    return np.stack([partitions[name] for name in names]), [weights[name] for name in names]


def _consensus(
    partitions: Mapping[str, Labels], weights: Weights, n_clusters: int, seed: int
) -> Labels:
    chosen, weight = _used(partitions, weights)
    return consensus(chosen, n_clusters, weights=weight, random_state=seed)
