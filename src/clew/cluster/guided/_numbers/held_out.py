"""Held-out log-likelihoods by number of groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._answers.spaces import Spaces
from clew.cluster.guided._ensemble.ensemble import (
    Fold,
    Labels,
    held_out_log_likelihood,
    held_out_log_likelihood_of_asked,
)
from clew.cluster.guided._numbers.unconstrained import UnconstrainedNumbers
from clew.constraints import Constraints
from clew.similarity import E2CP

__all__ = ["HeldOutNumbers", "NumberScores", "clusterings_in_spaces", "highest"]

Floats = NDArray[np.float64]

#: Two numbers of groups are nearly tied if their log-likelihoods differ by less than this many
#: standard errors, computed from answers to asked questions; then the smaller one is chosen.
NEAR_TIE = 0.75


def highest(scores: Mapping[int, float]) -> int:
    """Return the number with the highest score, in a tie the smallest such number."""
    return max(scores, key=lambda k: (scores[k], -k))


class NumberScores:
    """Held-out log-likelihoods by number of groups: totals, and one for each asked answer."""

    def __init__(self, folds: Sequence[Fold]) -> None:
        self._folds = folds
        self.log_likelihoods: dict[int, float] = {}
        self._of_asked: dict[int, Floats] = {}

    def add(self, n_clusters: int, clusterings: Sequence[Sequence[Labels]]) -> float:
        """Score the best of several clusterings, each fitted to the training answers of folds."""
        totals = [held_out_log_likelihood(one, self._folds)[0] for one in clusterings]
        best = int(np.argmax(totals))
        self.log_likelihoods[n_clusters] = totals[best]
        of_asked = held_out_log_likelihood_of_asked(clusterings[best], self._folds)
        self._of_asked[n_clusters] = of_asked
        return totals[best]

    @property
    def largest(self) -> float:
        """The largest log-likelihood so far."""
        return max(self.log_likelihoods.values())

    def smallest_near_best(self, tried: Mapping[int, float]) -> int:
        """Return the smallest number that is not clearly worse than the best, by asked answers."""
        best = highest(tried)
        for k in sorted(tried):
            difference = self._of_asked[best] - self._of_asked[k]
            error = np.sqrt(len(difference)) * difference.std() if len(difference) else 0.0
            if tried[best] - tried[k] <= NEAR_TIE * error:
                return k
        return best


class HeldOutNumbers:
    """Held-out log-likelihood by number of groups."""

    def __init__(
        self,
        unconstrained: UnconstrainedNumbers,
        folds: Sequence[Fold],
        spaces: Spaces | None = None,
    ) -> None:
        self._unconstrained, self._n_folds, self._spaces = unconstrained, len(folds), spaces
        self._constrained = [self._propagated(fold.kept.as_pairs()) for fold in folds]
        self.scores = NumberScores(folds)

    def log_likelihood(self, n_clusters: int) -> float:
        """Return the log-likelihood of the best clustering."""
        if n_clusters not in self.scores.log_likelihoods:
            clusterings: list[list[Labels]] = []
            unconstrained = self._unconstrained.partitions(n_clusters)
            clusterings += [[labels] * self._n_folds for labels in unconstrained]
            if n_clusters <= self._unconstrained.most:
                clusterings.append([spectral(n_clusters) for spectral in self._constrained])
            if self._spaces is not None:
                clusterings += clusterings_in_spaces(self._spaces, n_clusters, self._n_folds)
            self.scores.add(n_clusters, clusterings)
        return self.scores.log_likelihoods[n_clusters]

    def _propagated(self, answers: Constraints) -> Callable[[int], Labels]:
        """Propagate answers over the neighbor graph, for spectral clustering."""
        e2cp = E2CP("precomputed", n_neighbors=None, form="sparse")
        graph = self._unconstrained.views.read("neighbors", 20)
        return self._unconstrained.spectral(e2cp.fit(graph, constraints=answers).affinity_matrix_)


def clusterings_in_spaces(spaces: Spaces, n_clusters: int, n_folds: int) -> list[list[Labels]]:
    """Return the groups of each space, fitted to the training answers of each fold."""
    return [
        [spaces.divided(space, n_clusters, at) for at in range(n_folds)]
        for space in spaces.available
    ]
