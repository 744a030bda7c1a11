"""Centres of groups of must-link components: means of features, or medoids of distances."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from clew._units import Units
from clew.kernels.means import add_groups

__all__ = [
    "Centres",
    "Means",
    "Medoids",
    "Seeds",
    "nearest_centres",
    "plus_plus",
]


class Seeds(Protocol):
    """What the choice of first centres asks: centres are rows of an array."""

    weight: NDArray[np.float64]

    def costs(self, centres: NDArray[Any]) -> NDArray[np.float64]:
        """Give the cost of each component at each centre, of shape (n_components, n_centres)."""

    def at_components(self, which: NDArray[np.int64]) -> NDArray[Any]:
        """Put a centre into each of some components."""


class Centres(Seeds, Protocol):
    """What a round of k-means asks of a kind of centres.

    Centres are rows of an array: of features for means, of row numbers for medoids.
    """

    def row_costs(self, rows: NDArray[np.int64], centres: NDArray[Any]) -> NDArray[np.float64]:
        """Give the cost of single rows at each centre, of shape (n_rows, n_centres)."""

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Put a centre onto each of some rows."""

    def of_groups(self, labels: NDArray[np.int64], before: NDArray[Any]) -> NDArray[Any]:
        """Move each centre to its group's; that of an empty group stays."""


class Means:
    """Means of features; the cost is the sum of squared distances.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, centred.
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

    def costs(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the cost of each component at each centre."""
        return _squared(self._sums, self.weight, self._squares, centres)

    def row_costs(
        self, rows: NDArray[np.int64], centres: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Give the cost of single rows at each centre."""
        X = self._X[rows]
        return _squared(X, np.ones(len(X)), np.einsum("ij,ij->i", X, X), centres)

    def at_components(self, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Put a centre onto the mean of each of some components."""
        return np.asarray(self._sums[which] / self.weight[which, None])

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Put a centre onto each of some rows."""
        return self._X[rows]

    def of_groups(
        self, labels: NDArray[np.int64], before: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Move each centre to the mean of its group."""
        sums, mass = np.zeros_like(before), np.zeros(len(before))
        add_groups(self._sums, self.weight, labels, sums, mass)
        return np.divide(sums, mass[:, None], out=before.copy(), where=mass[:, None] > 0)


class Medoids:
    """Rows that are nearest to all others of their group; the cost is the sum of distances.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_samples)
        Distance of every two rows.
    component : ndarray of shape (n_samples,), int64
        The must-link component of each row.
    """

    def __init__(self, distances: NDArray[np.float64], component: NDArray[np.int64]) -> None:
        self._distances, self._component = distances, component
        self.weight = np.bincount(component).astype(np.float64)
        order = np.argsort(component, kind="stable")
        start = np.cumsum(self.weight).astype(np.int64) - self.weight.astype(np.int64)
        # Distances from every component to every row; where no rows are joined, those given.
        is_single = len(self.weight) == len(distances)
        self._sums = distances if is_single else np.add.reduceat(distances[order], start, axis=0)
        own = np.where(component == np.arange(len(self.weight))[:, None], self._sums, np.inf)
        self._medoid = own.argmin(axis=1)

    def costs(self, centres: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the cost of each component at each medoid."""
        return np.ascontiguousarray(self._sums[:, centres])

    def row_costs(self, rows: NDArray[np.int64], centres: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the distance of single rows from each medoid."""
        return self._distances[np.ix_(rows, centres)]

    def at_components(self, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take the medoid of each of some components."""
        return np.asarray(self._medoid[which])

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take some rows as medoids."""
        return rows

    def of_groups(self, labels: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take the row of each group that is nearest to all of it."""
        medoids = before.copy()
        row_group = labels[self._component]
        for group in np.unique(labels):
            rows = np.flatnonzero(row_group == group)
            total = self._sums[np.ix_(np.flatnonzero(labels == group), rows)].sum(axis=0)
            medoids[group] = rows[total.argmin()]
        return medoids


def plus_plus(
    centres: Seeds,
    n_centres: int,
    random: np.random.RandomState,
    given: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Choose components to start from: each likely in proportion to its cost (k-means++).

    Of several drawn the one is kept that lowers the cost most, as scikit-learn has it.

    Parameters
    ----------
    centres : Seeds
        The components and their costs.
    n_centres : int
        How many centres there will be.
    random : RandomState
        What draws.
    given : ndarray, default=None
        Centres that are there already.

    Returns
    -------
    ndarray of n_centres rows
        Centres; some coincide where fewer components differ.

    References
    ----------
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
    """
    if given is None:
        heap = np.cumsum(centres.weight)
        first = np.searchsorted(heap, random.uniform() * heap[-1], side="right")
        given = centres.at_components(np.array([first]))
    chosen = [given]
    least = centres.costs(given).min(axis=1)
    n_drawn = 2 + int(np.log(n_centres))
    for _ in range(n_centres - len(given)):
        heap = np.cumsum(least)
        drawn = np.searchsorted(heap, random.uniform(size=n_drawn) * heap[-1], side="right")
        tried = centres.at_components(np.minimum(drawn, len(least) - 1))
        costs = np.minimum(centres.costs(tried), least[:, None])
        best = int(costs.sum(axis=0).argmin())
        chosen.append(tried[best : best + 1])
        least = costs[:, best]
    return np.concatenate(chosen)


def nearest_centres(X: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find the nearest centre of each row, however large the numbers are."""
    units = Units.around_mean(centres)
    units = units._replace(unit=max(units.unit, float(np.abs(X - units.origin).max())))
    return np.asarray(pairwise_distances_argmin(units.inside(X), units.inside(centres)))


def _squared(
    sums: NDArray[np.float64],
    weight: NDArray[np.float64],
    squares: NDArray[np.float64],
    centres: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum squared distances from weighted rows to centres, by one product of matrices."""
    cost = sums @ (-2.0 * centres.T)
    cost += weight[:, None] * np.einsum("ij,ij->i", centres, centres)
    cost += squares[:, None]
    return np.maximum(cost, 0.0, out=cost)
