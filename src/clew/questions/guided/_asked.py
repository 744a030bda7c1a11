"""Answers about pairs, each with the log-odds that the model had before the answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels.partitions.tables import Answered

Floats = NDArray[np.float64]


class AskedPairs(NamedTuple):
    """One entry for each answer "same" or "different", in order of arrival."""

    rows: NDArray[np.int64]
    """(n_answers, 2)"""
    same: NDArray[np.bool_]
    weights: Floats
    annotators: NDArray[np.int64]
    """Codes, from 0."""
    features: Floats
    """Features of the two cores that the question was about, (n_answers, n_features)."""
    log_sizes: Floats
    """Log sizes of the smaller and the larger core, (n_answers, 2)."""
    offsets: Floats
    """Log-odds from the sampled partitions, minus those from the features."""
    log_odds: Floats
    """Log-odds that the pair is in one group, before the answer."""

    @classmethod
    def none(cls, n_features: int) -> AskedPairs:
        """Return no answers."""
        return cls(
            np.empty((0, 2), np.int64),
            np.empty(0, np.bool_),
            np.empty(0),
            np.empty(0, np.int64),
            np.empty((0, n_features)),
            np.empty((0, 2)),
            np.empty(0),
            np.empty(0),
        )

    def joined(self, new: AskedPairs) -> AskedPairs:
        """Append other answers."""
        joined: list[Any] = [np.concatenate(parts) for parts in zip(self, new, strict=True)]
        return AskedPairs(*joined)

    def evidence(self, n_rows: int, rates: Floats) -> Answered:
        """Return the log-likelihood ratios of answers that are wrong with `rates` (n_answers,)."""
        value = self.weights * np.log((1 - rates) / rates) * np.where(self.same, 1.0, -1.0)
        i, j = self.rows.T
        first, second = np.concatenate((i, j)), np.concatenate((j, i))
        order = np.argsort(first, kind="stable")
        start = np.searchsorted(first[order], np.arange(n_rows + 1)).astype(np.int64)
        return Answered(start, second[order], np.concatenate((value, value))[order])
