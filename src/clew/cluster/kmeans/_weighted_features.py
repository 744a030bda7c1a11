"""Features weighed for each group, by how rows spread and by comparisons of distances."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.cluster._centers import Means, plus_plus
from clew.cluster.kmeans._soft import means_of
from clew.similarity._comparisons import Relations

__all__ = ["Comparisons", "WeighedRun", "distances", "weigh_and_group"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
#: Steps by which the weights of a group are improved in each round, and halvings of each.
MAX_STEPS, MAX_HALVINGS = 10, 8


class Comparisons(NamedTuple):
    """Comparisons of distances from one row, the anchor, to two others."""

    anchor: Labels
    gap: Floats
    """Squared difference to the row that should be nearer, less that to the other; (m, d)."""
    price: Floats
    """What a unit of violated distance costs."""

    @classmethod
    def of(cls, X: Floats, relations: Relations, price: float) -> Self:
        """Read them off answers about three rows; each has the anchor in both of its pairs."""
        near, far = relations.near, relations.far
        is_anchor = (near[:, :1] == far) | (near[:, 1:] == far)
        anchor = far[is_anchor]
        gap = (X[near[:, 0]] - X[near[:, 1]]) ** 2 - (X[far[:, 0]] - X[far[:, 1]]) ** 2
        return cls(anchor, gap, relations.weight * price)

    def costs(self, weights: Floats, n_rows: int) -> Floats:
        """Give what each row pays in each group, where it is the anchor; (n_rows, n_groups)."""
        violated = np.maximum(self.gap @ weights.T, 0.0) * self.price[:, None]
        cost = np.zeros((n_rows, len(weights)))
        np.add.at(cost, self.anchor, violated)
        return cost


class WeighedRun(NamedTuple):
    """Where one start led."""

    objective: float
    labels: Labels
    centers: Floats
    shares: Floats
    """Share of each feature in each group, (n_groups, n_features); rows add up to 1."""
    n_iter: int


def distances(X: Floats, centers: Floats, weights: Floats) -> Floats:
    """Give the weighed squared distance of each row from each center.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    centers, weights : ndarray of shape (n_groups, n_features)
        Of each group.

    Returns
    -------
    ndarray of shape (n_rows, n_groups)
    """
    found = (X * X) @ weights.T - 2.0 * X @ (weights * centers).T
    found += (weights * centers * centers).sum(axis=1)
    return np.maximum(found, 0.0, out=found)


def weigh_and_group(
    X: Floats,
    comparisons: Comparisons,
    n_groups: int,
    power: float,
    floor: float,
    max_iter: int,
    seed: int,
) -> WeighedRun:
    """Assign rows, move centers and weigh features in turn, until no row moves.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    comparisons : Comparisons
        What people compared.
    n_groups, max_iter : int
        Number of groups, and of rounds at most.
    power : float
        A feature weighs as much as this power of its share.
    floor : float
        Squared difference that each row has from its center at least, in each feature.
    seed : int
        Draws the first centers (k-means++).

    Returns
    -------
    WeighedRun
        No round raises its objective.
    """
    n = len(X)
    centers, shares = _start(X, comparisons, n_groups, power, floor, seed)
    labels, n_iter = np.full(n, -1), 0
    for _ in range(max_iter):
        n_iter += 1
        before = labels
        cost = _costs(X, comparisons, centers, shares**power, floor)
        labels = cost.argmin(axis=1)
        _fill_empty(labels, cost)
        if np.array_equal(labels, before):
            break
        centers = means_of(X, labels, centers)
        spreads = _spread(X, labels, centers, floor)
        for group in np.unique(labels):
            mine = labels[comparisons.anchor] == group
            gap, price = comparisons.gap[mine], comparisons.price[mine]
            shares[group] = _weighed(shares[group], spreads[group], gap, price, power)
    cost = _costs(X, comparisons, centers, shares**power, floor)
    objective = float(cost[np.arange(n), labels].sum())
    return WeighedRun(objective, labels, centers, shares, n_iter)


def _start(
    X: Floats, comparisons: Comparisons, n_groups: int, power: float, floor: float, seed: int
) -> tuple[Floats, Floats]:
    """Weigh features as if all rows were one group, and choose centers by these weights.

    Comparisons thus speak before rows have chosen a group.
    """
    n, n_features = X.shape
    spread = ((X - X.mean(axis=0)) ** 2 + floor).sum(axis=0)
    even = np.full(n_features, 1.0 / n_features)
    shares = _weighed(even, spread, comparisons.gap, comparisons.price, power)
    stretch = shares ** (0.5 * power)
    seen = Means(X * stretch, np.arange(n))
    centers = plus_plus(seen, n_groups, np.random.RandomState(seed))
    # A feature of no weight at all says nothing of where a center is.
    centers = np.divide(
        centers, stretch, out=np.tile(X.mean(axis=0), (n_groups, 1)), where=stretch > 0
    )
    return centers, np.tile(shares, (n_groups, 1))


def _costs(
    X: Floats, comparisons: Comparisons, centers: Floats, weights: Floats, floor: float
) -> Floats:
    """Give what each row costs in each group."""
    cost = distances(X, centers, weights) + comparisons.costs(weights, len(X))
    cost += floor * weights.sum(axis=1)
    return cost


def _spread(X: Floats, labels: Labels, centers: Floats, floor: float) -> Floats:
    """Sum the squared differences of rows from their centers, by group and feature."""
    spread = np.zeros_like(centers)
    np.add.at(spread, labels, (X - centers[labels]) ** 2 + floor)
    return spread


def _weighed(shares: Floats, spread: Floats, gap: Floats, price: Floats, power: float) -> Floats:
    """Lower the cost of a group by other shares of features.

    The comparisons that are violated now are added to the spread, and the best shares for this
    sum have a closed form. The way there is halved until the cost, in which other comparisons may
    be violated, is lower.
    """
    least = float(spread.min()) * 1e-3

    def cost(tried: Floats) -> float:
        weights = tried**power
        return float(weights @ spread + price @ np.maximum(gap @ weights, 0.0))

    now = cost(shares)
    for _ in range(MAX_STEPS):
        is_violated = gap @ shares**power > 0
        total = np.maximum(spread + price[is_violated] @ gap[is_violated], least)
        best = (total / total.min()) ** (-1.0 / (power - 1.0))
        step = best / best.sum() - shares
        tries = (shares + step / 2.0**halving for halving in range(MAX_HALVINGS))
        found = next(((c, t) for t in tries if (c := cost(t)) < now * (1.0 - 1e-9)), None)
        if found is None:
            break
        now, shares = found
    return shares


def _fill_empty(labels: Labels, cost: Floats) -> None:
    """Give each empty group the row that costs most where it is."""
    size = np.bincount(labels, minlength=cost.shape[1])
    own = cost[np.arange(len(cost)), labels]
    least = own.min()
    for group in np.flatnonzero(size == 0):
        gain = np.where(size[labels] > 1, own, least)
        farthest = int(gain.argmax())
        if gain[farthest] <= least:
            return
        size[labels[farthest]] -= 1
        size[group], labels[farthest], own[farthest] = 1, group, least
