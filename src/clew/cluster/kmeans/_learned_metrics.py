"""The metrics of MPCKMeans, learned from the scatter of groups and from violated answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cluster.kmeans._soft import WeightedPairs

__all__ = ["LearnedMetrics", "costs_at", "inverse_scatter", "log_det", "squares"]

#: Steps in the search for the two rows farthest apart; each goes to the row farthest from the last.
N_STEPS = 4


class LearnedMetrics:
    """Squared distances under a common metric or one metric for each group.

    Penalties are squared distances under the same metrics.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, centered.
    pairs : WeightedPairs
        Must-links and cannot-links.
    weight : float
        Factor of all penalties.
    ridge : float
        Variance added to each direction, as a share of the mean variance of features that vary.
    n_groups : int
        Number of groups.
    is_full : bool
        Whether metrics are full matrices; otherwise they are diagonal.
    is_per_group : bool
        Whether each group has a metric of its own.

    Attributes
    ----------
    metrics : ndarray of shape (n_metrics, n_features) or (n_metrics, n_features, n_features)
        Positive diagonals, or positive definite matrices; `n_metrics` is 1 or `n_groups`.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        pairs: WeightedPairs,
        weight: float,
        ridge: float,
        n_groups: int,
        *,
        is_full: bool,
        is_per_group: bool,
    ) -> None:
        self._X, self._pairs, self._n_groups = X, pairs, n_groups
        self._weight = weight * pairs.weight
        self._between = X[pairs.rows[:, 0]] - X[pairs.rows[:, 1]]
        variances = X.var(axis=0)
        varies = variances > 0
        variance = float(variances[varies].mean()) if varies.any() else 1.0
        self._floor = ridge * variance
        n_features = X.shape[1]
        one = np.eye(n_features) if is_full else np.ones(n_features)
        # The learned metrics are inverse variances too.
        self.metrics = np.repeat(one[None] / variance, n_groups if is_per_group else 1, axis=0)
        self._outlier = X[np.einsum("ij,ij->i", X, X).argmax()]
        self._measure()

    def distances(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared distance of each row from each center, minus the metric's log det."""
        return costs_at(self._X, centers, self.metrics)

    def cost_at_center(self, group: int) -> float:
        """Return the cost of a row that is the center of a group: minus the metric's log det."""
        return -log_det(self.metrics[group % len(self.metrics)])

    def penalties(self) -> NDArray[np.float64]:
        """Return the penalty of each pair in each group.

        For a must-link, half the squared distance between its rows; for a cannot-link, the largest
        squared distance between any two rows minus that between its own.
        """
        is_must = self._pairs.lists.is_must[:, None]
        penalty = np.where(is_must, 0.5 * self._squared, self._largest - self._squared)
        penalty *= self._weight[:, None]
        return np.repeat(penalty, self._n_groups // len(self.metrics), axis=1)

    def learn(self, labels: NDArray[np.int64], centers: NDArray[np.float64]) -> None:
        """Learn metrics from the groups and from the answers that they violate."""
        residual = self._X - centers[labels]
        first, second = labels[self._pairs.rows].T
        is_must, is_apart = self._pairs.lists.is_must, first != second
        if len(self.metrics) == 1:  # one metric is learned as if all rows were in group 0
            labels, first, second = (np.zeros_like(groups) for groups in (labels, first, second))
        metrics = self.metrics.copy()
        for number in np.unique(labels):
            ends = (first == number).astype(np.float64) + (second == number)
            by_must_links = 0.5 * ends * self._weight * (is_must & is_apart)
            by_cannot_links = self._weight * (~is_must & ~is_apart & (first == number))
            inside = residual[labels == number]
            scatter = self._outer(inside, np.ones(len(inside)))
            scatter += self._outer(self._between, by_must_links - by_cannot_links)
            far = self._far[number : number + 1]
            scatter += self._outer(far, by_cannot_links.sum(keepdims=True))
            metrics[number] = inverse_scatter(scatter / len(inside), self._floor)
        self.metrics = metrics
        self._measure()

    def _measure(self) -> None:
        """Compute squared distances of pairs, and of the farthest rows, under the new metrics."""
        self._squared = np.column_stack([squares(self._between, metric) for metric in self.metrics])
        self._far = np.array([self._farthest_difference(metric) for metric in self.metrics])
        far = [squares(self._far[k : k + 1], metric) for k, metric in enumerate(self.metrics)]
        self._largest = np.concatenate(far)

    def _farthest_difference(self, metric: NDArray[np.float64]) -> NDArray[np.float64]:
        """Search for the two rows farthest apart, and return their difference."""
        here, most = self._outlier, 0.0
        best: NDArray[np.float64] = np.zeros_like(here)
        for _ in range(N_STEPS):
            away = squares(self._X - here, metric)
            there = self._X[away.argmax()]
            if away.max() > most:
                best, most = there - here, float(away.max())
            here = there
        # The search may miss the farthest rows, and a penalty must not be negative.
        own = squares(self._between, metric)
        if len(own) and own.max() > most:
            best = self._between[own.argmax()]
        return best

    def _outer(self, rows: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum weighted squares of rows, or weighted outer products for full matrices."""
        weighted = weight[:, None] * rows
        is_full = self.metrics.ndim == 3
        return np.asarray(weighted.T @ rows if is_full else (weighted * rows).sum(axis=0))


def costs_at(
    X: NDArray[np.float64], centers: NDArray[np.float64], metrics: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the squared distance of each row from each center, minus the metric's log det.

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
    """Compute the squared length of each row under a diagonal or full metric."""
    if metric.ndim == 1:
        return np.asarray((rows * rows) @ metric)
    return np.asarray(np.einsum("ij,ij->i", rows @ metric, rows))


def log_det(metric: NDArray[np.float64]) -> float:
    """Compute the log determinant of a diagonal or full metric."""
    return float(np.log(metric).sum() if metric.ndim == 1 else np.linalg.slogdet(metric)[1])


def inverse_scatter(scatter: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Invert a diagonal or full scatter matrix; negative eigenvalues are set to 0 first.

    Parameters
    ----------
    scatter : ndarray of shape (n_features,) or (n_features, n_features)
        Mean of squares, or of outer products.
    floor : float
        Positive; added to each eigenvalue.

    Returns
    -------
    ndarray of the same shape
        Positive, or positive definite.
    """
    if scatter.ndim == 1:
        return np.asarray(1.0 / (np.maximum(scatter, 0.0) + floor))
    value, vector = np.linalg.eigh(scatter)
    return np.asarray((vector / (np.maximum(value, 0.0) + floor)) @ vector.T)
