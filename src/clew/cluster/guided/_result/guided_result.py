"""The result of a fit as one immutable object, which later fits do not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clew.cluster.guided._result.regime import Regime
from clew.cluster.guided._result.result import Result
from clew.constraints import Constraints

__all__ = ["GuidedResult"]


@dataclass(frozen=True, eq=False)
class GuidedResult(Result):
    """The fitted attributes of `GuidedClustering`, without the underscore.

    All fields come from one fit: `GuidedClustering.partial_fit` makes another object, and does
    not change this one. Its arrays are read-only.

    Parameters
    ----------
    labels : ndarray
        Group of each row, (n_samples,).
    probabilities : ndarray or csr_array
        Probability of each group for each row, (n_samples, n_clusters).
    n_clusters : int
        Number of groups.
    n_clusters_probabilities : mapping of int to float
        Probability of each number of groups that was tried.
    regime : Regime
        What decided the groups.
    error_rate : float
        Estimated share of wrong answers.
    error_interval : tuple of float
        Interval that holds the true share with probability 0.95.
    confusion : ConfusionMatrices
        Error rates and confusion matrices of the annotators.
    answer_posterior : AnswerDoubts
        Probability that each answer is wrong.
    scores : dict of str to float
        Mean log-likelihood of the held-out answers, for each clustering.
    weights : dict of str to float
        Weight of each clustering in its consensus.
    n_violated : int
        Number of answers of positive weight that `labels` violate.
    constraints : Constraints
        All answers so far.
    alternatives : tuple of Alternative
        Other groupings that the answers support.
    is_settled : bool
        Whether this is the result of `fit`; False after a `partial_fit` that moved groups on.
    """

    n_clusters: int
    n_clusters_probabilities: Mapping[int, float]
    regime: Regime
    constraints: Constraints
    alternatives: tuple[Any, ...] = ()
    is_settled: bool = True

    @classmethod
    def of(
        cls,
        result: Result,
        constraints: Constraints,
        regime: Regime,
        n_clusters_probabilities: Mapping[int, float],
        alternatives: tuple[Any, ...] = (),
        *,
        is_settled: bool = True,
    ) -> Self:
        """Collect the results of one fit, and make arrays read-only.

        Parameters
        ----------
        result : Result
            Groups, errors and scores.
        constraints : Constraints
            All answers.
        regime : Regime
            What decided the groups.
        n_clusters_probabilities : mapping of int to float
            Probability of each number of groups that was tried.
        alternatives : tuple of Alternative
            Other groupings.
        is_settled : bool
            Whether this is the result of `fit`.

        Returns
        -------
        GuidedResult
        """
        doubts = result.answer_posterior
        for array in (result.labels, result.probabilities, *doubts, *doubts.alternatives):
            _protect(array)
        return cls(
            n_clusters=result.probabilities.shape[1],
            n_clusters_probabilities=dict(n_clusters_probabilities),
            regime=regime,
            constraints=constraints,
            alternatives=alternatives,
            is_settled=is_settled,
            **vars(result),
        )


def _protect(array: Any) -> None:
    """Make an array, or the entries of a sparse one, read-only."""
    dense = array if isinstance(array, np.ndarray) else array.data
    dense.flags.writeable = False
