"""The answered pairs: their features, their closeness, and a forest that predicts the answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._units import Units
from clew.constraints import Constraints
from clew.forest import Forest, Growth, bin_columns, bin_edges, grow_forest
from clew.graphs import LocalScales, scaled_squares

__all__ = ["PairAnswers", "closeness", "grow_pair_forest", "pair_features"]

#: Lower limit of squared distances, in units of the local scales.
NEAREST = 1e-6


class PairAnswers(NamedTuple):
    """The answers "same" and "different" of positive weight."""

    position: NDArray[np.int64]
    """Index of each among all pairs, (n,)."""
    rows: NDArray[np.int64]
    """The pairs, (n, 2)."""
    is_same: NDArray[np.uint8]
    """The answers, 1 or 0, (n,)."""
    weight: NDArray[np.float64]
    """Weight of each answer, (n,)."""

    @classmethod
    def of(cls, constraints: Constraints) -> PairAnswers:
        """Select these answers from all."""
        position = np.flatnonzero(~constraints.is_dont_know & (constraints.pair_weights > 0))
        return cls(
            position,
            constraints.pairs[position],
            constraints.is_must_link[position].astype(np.uint8),
            constraints.pair_weights[position],
        )


def pair_features(X: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Describe pairs by the difference and the middle of their rows (COP-RF, equation 10).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    rows : ndarray of shape (n_pairs, 2)
        Row numbers.

    Returns
    -------
    ndarray of shape (n_pairs, 2 · n_features)
        ``|x_i - x_j|`` and ``(x_i + x_j) / 2`` side by side.
    """
    a, b = X[rows[:, 0]], X[rows[:, 1]]
    return np.hstack([np.abs(a - b), (a + b) / 2])


def closeness(X: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how close the rows of each pair are, compared with the local scales of both rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features; distances are measured with the range of each feature mapped to [-1, 1].
    rows : ndarray of shape (n_pairs, 2)
        Row numbers.

    Returns
    -------
    ndarray of shape (n_pairs,)
        ``-log(d² / (s·s'))``, where ``s`` and ``s'`` are the distances of both rows to their 7th
        neighbors; higher is closer. The ratio is at least 1e-6, as for rows that coincide.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """
    X = Units.to_unit_range(X).scale(X)
    X = Units.around_median(X).scale(X)
    named, place = np.unique(rows, return_inverse=True)
    scale = LocalScales(X).of(X[named])[place.reshape(rows.shape)]
    distance = np.linalg.norm(X[rows[:, 0]] - X[rows[:, 1]], axis=1)
    return np.asarray(-np.log(np.maximum(scaled_squares(distance, *scale.T), NEAREST)))


def grow_pair_forest(
    X: NDArray[np.float64],
    answers: PairAnswers,
    *,
    n_trees: int,
    seed: int,
    n_jobs: int | None,
) -> Forest:
    """Grow a classification forest on pairs, with the classes "same" and "different".

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    answers : PairAnswers
        The pairs and their answers. The bootstrap draws them in proportion to their weights.
    n_trees, seed, n_jobs
        Size of the forest, its seed, and threads.

    Returns
    -------
    Forest
        With `draws`.
    """
    Z = pair_features(X, answers.rows)
    edges = bin_edges(Z)
    # Effective number of answers: the sum of weights over the largest weight.
    n_draws = max(1, round(float(answers.weight.sum() / answers.weight.max())))
    return grow_forest(
        bin_columns(Z, edges),
        np.array([len(thresholds) + 1 for thresholds in edges]),
        answers.is_same,
        Growth(n_trees=n_trees, n_draws=n_draws, n_candidates=max(1, int(np.sqrt(Z.shape[1])))),
        n_rows=len(Z),
        seed=seed,
        weight=answers.weight,
        wants_draws=True,
        n_jobs=n_jobs,
    )
