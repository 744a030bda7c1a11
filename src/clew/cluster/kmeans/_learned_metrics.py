"""Metrics learned for groups, from how rows spread in them and from violated answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cluster.kmeans._soft import Answers

__all__ = ["LearnedMetrics", "costs_at", "inverse_spread", "log_det", "squares"]

#: Steps from a row to the one farthest from it, by which a far pair is found.
N_STEPS = 4


class LearnedMetrics:
    """Squared distances under one metric for each group, or one for all; prices grow with them.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, centered.
    answers : Answers
        Must-links and cannot-links.
    weight : float
        Weight of all answers beside distances.
    ridge : float
        Variance added to each direction, in units of the mean variance of features that have any.
    n_groups : int
        Number of groups.
    is_full, is_per_group : bool
        Whether metrics have entries off the diagonal, and whether each group has its own.

    Attributes
    ----------
    metrics : ndarray of shape (n_metrics, n_features) or (n_metrics, n_features, n_features)
        Positive diagonals, or positive definite matrices; one or `n_groups` of them.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        answers: Answers,
        weight: float,
        ridge: float,
        n_groups: int,
        *,
        is_full: bool,
        is_per_group: bool,
    ) -> None:
        self._X, self._answers, self._n_groups = X, answers, n_groups
        self._weight = weight * answers.weight
        self._between = X[answers.rows[:, 0]] - X[answers.rows[:, 1]]
        variances = X.var(axis=0)
        has_spread = variances > 0
        variance = float(variances[has_spread].mean()) if has_spread.any() else 1.0
        self._floor = ridge * variance
        n_features = X.shape[1]
        one = np.eye(n_features) if is_full else np.ones(n_features)
        # Distances begin in units of the spread, as the learned ones will be.
        self.metrics = np.repeat(one[None] / variance, n_groups if is_per_group else 1, axis=0)
        self._outlier = X[np.einsum("ij,ij->i", X, X).argmax()]
        self._measure()

    def base(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the squared distance of each row from each center, less the metric's log det."""
        return costs_at(self._X, centers, self.metrics)

    def alone(self, group: int) -> float:
        """Give the cost of a row that is the center of a group."""
        return -log_det(self.metrics[group % len(self.metrics)])

    def price(self) -> NDArray[np.float64]:
        """Give the price of each answer in each group.

        Of a must-link half the squared distance of its rows; of a cannot-link the squared
        distance of the farthest rows, less that of its own.
        """
        is_must = self._answers.lists.is_must[:, None]
        price = np.where(is_must, 0.5 * self._apart, self._farthest - self._apart)
        price *= self._weight[:, None]
        return np.repeat(price, self._n_groups // len(self.metrics), axis=1)

    def learn(self, labels: NDArray[np.int64], centers: NDArray[np.float64]) -> None:
        """Learn metrics from the groups and from the answers that they violate."""
        residual = self._X - centers[labels]
        first, second = labels[self._answers.rows].T
        is_must, is_apart = self._answers.lists.is_must, first != second
        if len(self.metrics) == 1:  # all rows and all answers teach the one metric
            labels, first, second = (np.zeros_like(groups) for groups in (labels, first, second))
        metrics = self.metrics.copy()
        for number in np.unique(labels):
            ends = (first == number).astype(np.float64) + (second == number)
            pulls = 0.5 * ends * self._weight * (is_must & is_apart)
            pushes = self._weight * (~is_must & ~is_apart & (first == number))
            inside = residual[labels == number]
            spread = self._outer(inside, np.ones(len(inside)))
            spread += self._outer(self._between, pulls - pushes)
            spread += self._outer(self._far[number : number + 1], pushes.sum(keepdims=True))
            metrics[number] = inverse_spread(spread / len(inside), self._floor)
        self.metrics = metrics
        self._measure()

    def _measure(self) -> None:
        """Measure what follows from the metrics: distances of pairs, and of the farthest."""
        self._apart = np.column_stack([squares(self._between, metric) for metric in self.metrics])
        self._far = np.array([self._farthest_difference(metric) for metric in self.metrics])
        far = [squares(self._far[k : k + 1], metric) for k, metric in enumerate(self.metrics)]
        self._farthest = np.concatenate(far)

    def _farthest_difference(self, metric: NDArray[np.float64]) -> NDArray[np.float64]:
        """Look for the two rows farthest apart: step to the farthest row, again and again."""
        here, most = self._outlier, 0.0
        best: NDArray[np.float64] = np.zeros_like(here)
        for _ in range(N_STEPS):
            away = squares(self._X - here, metric)
            there = self._X[away.argmax()]
            if away.max() > most:
                best, most = there - here, float(away.max())
            here = there
        # No answer's rows may be farther apart than the farthest: its price would be negative.
        own = squares(self._between, metric)
        if len(own) and own.max() > most:
            best = self._between[own.argmax()]
        return best

    def _outer(self, rows: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the weighted squares of rows, or their outer products for matrices."""
        weighted = weight[:, None] * rows
        is_full = self.metrics.ndim == 3
        return np.asarray(weighted.T @ rows if is_full else (weighted * rows).sum(axis=0))


def costs_at(
    X: NDArray[np.float64], centers: NDArray[np.float64], metrics: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the squared distance of each row from each center, less the log det of its metric.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    centers : ndarray of shape (n_groups, n_features)
        Centers.
    metrics : ndarray
        One metric, or one for each center: diagonals or matrices.

    Returns
    -------
    ndarray of shape (n_rows, n_groups)
    """
    cost = np.empty((len(X), len(centers)))
    for group, center in enumerate(centers):
        metric = metrics[group % len(metrics)]
        cost[:, group] = squares(X - center, metric) - log_det(metric)
    return cost


def squares(rows: NDArray[np.float64], metric: NDArray[np.float64]) -> NDArray[np.float64]:
    """Square the length of each row under a metric, a diagonal or a matrix."""
    if metric.ndim == 1:
        return np.asarray((rows * rows) @ metric)
    return np.asarray(np.einsum("ij,ij->i", rows @ metric, rows))


def log_det(metric: NDArray[np.float64]) -> float:
    """Take the logarithm of the determinant of a metric, a diagonal or a matrix."""
    return float(np.log(metric).sum() if metric.ndim == 1 else np.linalg.slogdet(metric)[1])


def inverse_spread(spread: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Invert a mean spread, a diagonal or a matrix; negative directions count as 0.

    Parameters
    ----------
    spread : ndarray of shape (n_features,) or (n_features, n_features)
        Mean of squares, or of outer products.
    floor : float
        Positive; added to each direction.

    Returns
    -------
    ndarray of the same shape
        Positive, or positive definite.
    """
    if spread.ndim == 1:
        return np.asarray(1.0 / (np.maximum(spread, 0.0) + floor))
    value, vector = np.linalg.eigh(spread)
    return np.asarray((vector / (np.maximum(value, 0.0) + floor)) @ vector.T)
