"""A number of groups, and how far features and answers support it."""

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
    """A number of groups, and how far data support it."""

    n_clusters: int
    certainty: float = 1.0
    """1, or in [0.05, 0.5] if neither features nor answers show groups."""
    log_likelihoods: Mapping[int, float] = NOT_TRIED
    """Held-out log-likelihood of each number that was tried; empty without answers. That of the
    number which answers choose is the largest, even if the rule for asked answers preferred it to a
    larger number of slightly higher log-likelihood."""

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
