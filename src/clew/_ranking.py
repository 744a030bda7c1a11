"""Ranks of values among others, and the area under the ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def weighted_auc(
    is_positive: NDArray[np.bool_], score: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    """Return the area under the ROC curve: how often a positive scores above a negative.

    scikit-learn's `roc_auc_score` replaces the warning filters of the whole process while it runs.
    """
    _, place = np.unique(score, return_inverse=True)
    positive = np.bincount(place, weight * is_positive)
    negative = np.bincount(place, weight * ~is_positive)
    below = np.cumsum(negative) - negative
    total = positive.sum() * negative.sum()
    return float(positive @ (below + negative / 2) / total) if total else float("nan")


def ranks_among(columns: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of a sorted column's values below each value of X, counting ties half."""
    ranks = np.empty(X.shape)
    for at, values in enumerate(columns.T):
        below = np.searchsorted(values, X[:, at], side="left")
        ranks[:, at] = (below + np.searchsorted(values, X[:, at], side="right")) / 2
    return ranks / len(columns)
