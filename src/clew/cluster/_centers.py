"""Centres of groups of must-link components: means of features, or medoids of distances."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from clew.exceptions import InvalidDataError
from clew.kernels.means import add_groups

__all__ = [
    "Centres",
    "Means",
    "Medoids",
    "Ranges",
    "Scale",
    "Seeds",
    "nearest_centres",
    "plus_plus",
]

#: Ranges of features whose squares, and their inverses, are numbers.
MIN_RANGE, MAX_RANGE = 1e-150, 1e153


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


#: Between the inverse of the first and it features need no other unit; nor an origin of their own
#: unless they are so many units away from theirs.
LARGEST_UNIT, FARTHEST_SHIFT = 1e50, 10.0


class Scale:
    """Shift and scale features so that their squares neither overflow nor cancel out."""

    def __init__(self, X: NDArray[np.float64]) -> None:
        self.shift = X.mean(axis=0)
        farthest = np.maximum(X.max(axis=0) - self.shift, self.shift - X.min(axis=0))
        self.unit = float(farthest.max()) or 1.0

    @property
    def is_near_unit(self) -> bool:
        """Whether features can be computed with as they are."""
        is_far_off = bool(np.abs(self.shift).max() > FARTHEST_SHIFT * self.unit)
        return 1 / LARGEST_UNIT < self.unit < LARGEST_UNIT and not is_far_off

    def inside(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring features into the range that is computed in."""
        inside = np.asarray(X - self.shift)
        inside /= self.unit  # in place: of many rows two copies may not fit
        return inside

    def outside(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring features back into their own units."""
        return np.asarray(X * self.unit + self.shift)

    def squared(self, value: float) -> float:
        """Bring a sum of squares back into its own units; beyond the largest float it is inf."""
        return value * self.unit * self.unit


class Ranges:
    """Shift features to mean 0 and divide each by its range, so that units do not matter.

    A range treats features that are nearly always the same as k-means does: they say little. By
    their standard deviations they would weigh as much as others. Those without a range are 0.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.

    Raises
    ------
    InvalidDataError
        If the square of a range, or its inverse, is beyond what a number can hold.
    """

    def __init__(self, X: NDArray[np.float64]) -> None:
        self._low = X.min(axis=0)
        with np.errstate(over="ignore"):
            span = X.max(axis=0) - self._low
        bad = np.flatnonzero((span > MAX_RANGE) | ((span > 0) & (span < MIN_RANGE)))
        if len(bad):
            raise InvalidDataError(
                f"the values of feature {bad[0]} span {span[bad[0]]:.3g}; a metric is in inverse "
                f"squared units, so a span must be 0 or within {MIN_RANGE:g} and {MAX_RANGE:g}. "
                "Give the feature in other units"
            )
        self._unit = np.where(span > 0, span, 1.0)
        # Lowest values first: a feature without a range becomes 0, not a rounding error.
        self._mean = ((X - self._low) / self._unit).mean(axis=0)

    def inside(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring features into the range that is computed in."""
        return np.asarray((X - self._low) / self._unit - self._mean)

    def outside(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring features back into their own units."""
        return np.asarray((X + self._mean) * self._unit + self._low)

    def metrics(self, metrics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring diagonals or matrices of squared distances back into the features' own units."""
        each = metrics / self._unit
        return each / (self._unit[:, None] if metrics.ndim == 3 else self._unit)


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
    scale = Scale(centres)
    unit = max(scale.unit, float(np.abs(X - scale.shift).max()))
    inside = (centres - scale.shift) / unit
    return np.asarray(pairwise_distances_argmin((X - scale.shift) / unit, inside))


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
