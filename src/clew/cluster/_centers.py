"""Centers for k-means on must-link components: means of features, or medoids of distances."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from clew._parallel import one_blas_thread
from clew._units import Units
from clew.kernels.means import add_groups

__all__ = [
    "Centers",
    "Means",
    "Medoids",
    "Seeds",
    "group_means",
    "nearest_centers",
    "plus_plus",
]


class Seeds(Protocol):
    """Interface of a kind of centers for k-means++.

    Several centers are one array, with an entry along the first axis for each center: features for
    means, row numbers for medoids.
    """

    weight: NDArray[np.float64]
    """Number of rows of each component, (n_components,)."""

    def costs(self, centers: NDArray[Any]) -> NDArray[np.float64]:
        """Return the cost of each component at each center, (n_components, n_centers)."""

    def at_components(self, which: NDArray[np.int64]) -> NDArray[Any]:
        """Return the center of each of some components."""


class Centers(Seeds, Protocol):
    """Interface of a kind of centers for k-means."""

    def row_costs(self, rows: NDArray[np.int64], centers: NDArray[Any]) -> NDArray[np.float64]:
        """Return the cost of some rows at each center, (n_rows, n_centers)."""

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return centers at some rows."""

    def of_groups(self, labels: NDArray[np.int64], before: NDArray[Any]) -> NDArray[Any]:
        """Return the center of each group of components; that of an empty group as before."""


class Means:
    """Means of features; a cost is a sum of squared distances.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, centered.
    component : ndarray of shape (n_samples,), int64
        The must-link component of each row.
    """

    def __init__(self, X: NDArray[np.float64], component: NDArray[np.int64]) -> None:
        n = int(component.max()) + 1
        self._X = X
        self._sums, self.weight = np.zeros((n, X.shape[1])), np.zeros(n)
        add_groups(X, np.ones(len(X)), component, self._sums, self.weight)
        squares = np.bincount(component, np.einsum("ij,ij->i", X, X))
        self._squares = squares.astype(np.float64)

    def costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of squared distances from each component's rows to each center."""
        return _squared(self._sums, self.weight, self._squares, centers)

    def row_costs(
        self, rows: NDArray[np.int64], centers: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the squared distance from some rows to each center."""
        X = self._X[rows]
        return _squared(X, np.ones(len(X)), np.einsum("ij,ij->i", X, X), centers)

    def at_components(self, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean of each of some components."""
        return np.asarray(self._sums[which] / self.weight[which, None])

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the features of some rows."""
        return self._X[rows]

    def of_groups(
        self, labels: NDArray[np.int64], before: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the mean of each group."""
        return group_means(self._sums, self.weight, labels, before)


class Medoids:
    """Medoids of groups: rows with the lowest sum of distances to the rows of their group.

    A cost is a sum of distances.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_samples)
        Distances between rows.
    component : ndarray of shape (n_samples,), int64
        The must-link component of each row.
    """

    def __init__(self, distances: NDArray[np.float64], component: NDArray[np.int64]) -> None:
        self._distances, self._component = distances, component
        self.weight = np.bincount(component).astype(np.float64)
        order = np.argsort(component, kind="stable")
        start = np.cumsum(self.weight).astype(np.int64) - self.weight.astype(np.int64)
        # Sum of distances from each component to each row; without must-links, the distances.
        is_single = len(self.weight) == len(distances)
        self._sums = distances if is_single else np.add.reduceat(distances[order], start, axis=0)
        own = np.where(component == np.arange(len(self.weight))[:, None], self._sums, np.inf)
        self._medoid = own.argmin(axis=1)

    def costs(self, centers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sum of distances from each component's rows to each medoid."""
        return np.ascontiguousarray(self._sums[:, centers])

    def row_costs(self, rows: NDArray[np.int64], centers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distance from some rows to each medoid."""
        return self._distances[np.ix_(rows, centers)]

    def at_components(self, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the medoid of each of some components."""
        return np.asarray(self._medoid[which])

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows: each is a medoid."""
        return rows

    def of_groups(self, labels: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the medoid of each group."""
        medoids = before.copy()
        row_group = labels[self._component]
        for group in np.unique(labels):
            rows = np.flatnonzero(row_group == group)
            total = self._sums[np.ix_(np.flatnonzero(labels == group), rows)].sum(axis=0)
            medoids[group] = rows[total.argmin()]
        return medoids


def plus_plus(
    centers: Seeds,
    n_centers: int,
    random: np.random.RandomState,
    given: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Choose initial centers by k-means++: components drawn in proportion to their cost.

    Several candidates are drawn for each center, and the one that lowers the total cost most is
    kept, as in scikit-learn.

    Parameters
    ----------
    centers : Seeds
        The components and their costs.
    n_centers : int
        Number of centers, including the given ones.
    random : RandomState
        Source of random numbers.
    given : ndarray, default=None
        Centers that are chosen already; at most `n_centers`.

    Returns
    -------
    ndarray of length n_centers
        Centers; some are equal if there are fewer different components.

    Notes
    -----
    Time O(n·k·log k) costs for n components and k centers.

    References
    ----------
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
    """
    if given is None:
        heap = np.cumsum(centers.weight)
        first = np.searchsorted(heap, random.uniform() * heap[-1], side="right")
        given = centers.at_components(np.array([first]))
    chosen = [given]
    least = centers.costs(given).min(axis=1)
    n_drawn = 2 + int(np.log(n_centers))
    for _ in range(n_centers - len(given)):
        heap = np.cumsum(least)
        drawn = np.searchsorted(heap, random.uniform(size=n_drawn) * heap[-1], side="right")
        tried = centers.at_components(np.minimum(drawn, len(least) - 1))
        costs = np.minimum(centers.costs(tried), least[:, None])
        best = int(costs.sum(axis=0).argmin())
        chosen.append(tried[best : best + 1])
        least = costs[:, best]
    return np.concatenate(chosen)


def group_means(
    rows: NDArray[np.float64],
    weight: NDArray[np.float64],
    labels: NDArray[np.int64],
    before: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Compute the mean of each group.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Features, multiplied by the weights.
    weight : ndarray of shape (n_rows,)
        Weight of each row.
    labels : ndarray of shape (n_rows,), int64
        Group of each row.
    before : ndarray of shape (n_groups, n_features)
        Previous means, kept for empty groups.

    Returns
    -------
    ndarray of shape (n_groups, n_features)

    Notes
    -----
    Time O(n_rows·n_features).
    """
    sums, mass = np.zeros_like(before), np.zeros(len(before))
    add_groups(rows, weight, labels, sums, mass)
    return np.divide(sums, mass[:, None], out=before.copy(), where=mass[:, None] > 0)


def nearest_centers(X: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find the nearest center of each row, without overflow of large features.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features.
    centers : ndarray of shape (n_groups, n_features)
        Centers.

    Returns
    -------
    ndarray of shape (n_rows,), int64
    """
    units = Units.around_mean(centers)
    units = units._replace(unit=max(units.unit, float(np.abs(X - units.origin).max())))
    with one_blas_thread():
        return np.asarray(pairwise_distances_argmin(units.scale(X), units.scale(centers)))


def _squared(
    sums: NDArray[np.float64],
    weight: NDArray[np.float64],
    squares: NDArray[np.float64],
    centers: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum squared distances from components to centers, by one matrix product."""
    cost = sums @ (-2.0 * centers.T)
    cost += weight[:, None] * np.einsum("ij,ij->i", centers, centers)
    cost += squares[:, None]
    return np.maximum(cost, 0.0, out=cost)
