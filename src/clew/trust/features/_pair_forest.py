"""The forest that learns from answers what pairs of the same kind look like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.constraints import Constraints
from clew.forest import Forest, Growth, bin_columns, bin_edges, grow_forest
from clew.trust.features._pair_features import pair_features

__all__ = ["answered_pairs", "grow_pair_forest"]


def answered_pairs(constraints: Constraints) -> NDArray[np.int64]:
    """Give the positions of the pairs that somebody called the same or different."""
    return np.flatnonzero(~constraints.is_dont_know)


def grow_pair_forest(
    X: NDArray[np.float64],
    rows: NDArray[np.int64],
    is_same: NDArray[np.uint8],
    *,
    n_trees: int,
    seed: int,
    n_jobs: int | None,
) -> Forest:
    """Grow a forest on pairs that tells "same" from "different".

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    rows : ndarray of shape (n_pairs, 2)
        The pairs.
    is_same : ndarray of shape (n_pairs,)
        What was said, 1 or 0.
    n_trees, seed, n_jobs
        Size of the forest, its seed, and threads.

    Returns
    -------
    Forest
        With `draws`.
    """
    Z = pair_features(X, rows)
    edges = bin_edges(Z)
    return grow_forest(
        bin_columns(Z, edges),
        np.array([len(thresholds) + 1 for thresholds in edges]),
        is_same,
        Growth(n_trees=n_trees, n_draws=len(Z), n_candidates=max(1, int(np.sqrt(Z.shape[1])))),
        n_rows=len(Z),
        seed=seed,
        wants_draws=True,
        n_jobs=n_jobs,
    )
