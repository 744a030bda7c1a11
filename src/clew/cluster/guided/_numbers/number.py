"""A number of groups, and how certain features and answers make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from clew.cluster.guided._ensemble.ensemble import TEMPER

__all__ = ["NumberOfGroups"]

Floats = NDArray[np.float64]

NOT_TRIED: Mapping[int, float] = {}


class NumberOfGroups(NamedTuple):
    """A number of groups, and how certain it is."""

    n_clusters: int
    certainty: float = 1.0
    """1, or in [0.05, 0.5] if neither features nor answers show groups."""
    log_likelihoods: Mapping[int, float] = NOT_TRIED
    """Held-out log-likelihood of each number that was tried; empty without answers. If the rule for
    asked answers preferred a number to a larger one with a slightly higher log-likelihood, it gets
    that higher value."""

    @property
    def probabilities(self) -> dict[int, float]:
        """Probabilities of the numbers, by held-out answers, in ascending order of the numbers."""
        numbers = sorted(self.log_likelihoods)
        values = np.array([self.log_likelihoods[number] for number in numbers])
        found = softmax(TEMPER * values) if numbers else values
        return dict(zip(numbers, found.tolist(), strict=True))

    def shrunk(self, probabilities: Floats) -> Floats:
        """Shrink probabilities of groups toward ``1 / n_clusters`` where certainty is low."""
        even = 1 / probabilities.shape[1]
        return np.asarray(even + self.certainty * (probabilities - even))
