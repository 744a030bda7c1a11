"""One start of SSSVaD: k-means in which each group weighs the features."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.cluster._centers import Means, group_means, plus_plus
from clew.cluster._empty_groups import costliest_row, fill_empty
from clew.kernels.means import add_groups
from clew.similarity._comparisons import Relations

__all__ = ["Comparisons", "WeightedRun", "descend_with_weights", "distances"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
#: Steps that improve the weights of a group in each iteration, and halvings of each step.
MAX_STEPS, MAX_HALVINGS = 10, 8


class Comparisons(NamedTuple):
    """Comparisons of the distances from one row, the anchor, to two other rows."""

    anchor: Labels
    """The row that is compared with two others, (n_comparisons,)."""
    gap: Floats
    """Squared difference to the row that should be nearer minus that to the other row, for each
    feature, (n_comparisons, n_features). A comparison is violated if its weighted sum is above 0.
    """
    penalty: Floats
    """Penalty for each unit of that sum, (n_comparisons,)."""

    @classmethod
    def of(cls, X: Floats, relations: Relations, weight: float) -> Self:
        """Make comparisons from answers about three rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Features.
        relations : Relations
            Pairs of rows that should be nearer than other pairs; both share the anchor.
        weight : float
            Penalty of an answer of weight 1, for each unit of violation.
        """
        near, far = relations.near, relations.far
        is_anchor = (near[:, :1] == far) | (near[:, 1:] == far)
        anchor = far[is_anchor]
        gap = (X[near[:, 0]] - X[near[:, 1]]) ** 2 - (X[far[:, 0]] - X[far[:, 1]]) ** 2
        return cls(anchor, gap, relations.weight * weight)

    def costs(self, weights: Floats, n_rows: int) -> Floats:
        """Return the penalties of each row as an anchor in each group, (n_rows, n_groups)."""
        violation = np.maximum(self.gap @ weights.T, 0.0) * self.penalty[:, None]
        cost = np.zeros((n_rows, len(weights)))
        add_groups(violation, np.ones(len(violation)), self.anchor, cost, np.zeros(n_rows))
        return cost


class WeightedRun(NamedTuple):
    """The result of one start."""

    objective: float
    labels: Labels
    centers: Floats
    shares: Floats
    """Share of each feature in each group, (n_groups, n_features); each row sums to 1."""
    n_iter: int


def distances(X: Floats, centers: Floats, weights: Floats) -> Floats:
    """Compute the weighted squared distance of each row from each center.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features.
    centers, weights : ndarray of shape (n_groups, n_features)
        Center and feature weights of each group.

    Returns
    -------
    ndarray of shape (n_rows, n_groups)
    """
    found = (X * X) @ weights.T - 2.0 * X @ (weights * centers).T
    found += (weights * centers * centers).sum(axis=1)
    return np.maximum(found, 0.0, out=found)


def descend_with_weights(
    X: Floats,
    comparisons: Comparisons,
    n_groups: int,
    power: float,
    floor: float,
    max_iter: int,
    seed: int,
) -> WeightedRun:
    """Assign rows, move centers and weigh features in turn, until no row changes its group.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    comparisons : Comparisons
        Comparisons from answers.
    n_groups, max_iter : int
        Number of groups, and maximum number of iterations.
    power : float
        The weight of a feature is its share to this power.
    floor : float
        Added to the squared difference of each row from its center, in each feature.
    seed : int
        Seed of the initial centers (k-means++).

    Returns
    -------
    WeightedRun
        No iteration raises its objective.
    """
    n = len(X)
    centers, shares = _start(X, comparisons, n_groups, power, floor, seed)
    labels, n_iter, each = np.full(n, -1), 0, np.arange(n)
    for _ in range(max_iter):
        n_iter += 1
        before = labels
        cost = _costs(X, comparisons, centers, shares**power, floor)
        labels = cost.argmin(axis=1)
        own = cost[each, labels]
        fill_empty(labels, n_groups, costliest_row(labels, own, float(own.min())))
        if np.array_equal(labels, before):
            break
        centers = group_means(X, np.ones(n), labels, centers)
        scatter = _scatter(X, labels, centers, floor)
        for group in np.unique(labels):
            mine = labels[comparisons.anchor] == group
            gap, penalty = comparisons.gap[mine], comparisons.penalty[mine]
            shares[group] = _improved_shares(shares[group], scatter[group], gap, penalty, power)
    cost = _costs(X, comparisons, centers, shares**power, floor)
    objective = float(cost[each, labels].sum())
    return WeightedRun(objective, labels, centers, shares, n_iter)


def _start(
    X: Floats, comparisons: Comparisons, n_groups: int, power: float, floor: float, seed: int
) -> tuple[Floats, Floats]:
    """Weigh features as if all rows were one group, and draw centers under these weights."""
    n, n_features = X.shape
    scatter = ((X - X.mean(axis=0)) ** 2 + floor).sum(axis=0)
    even = np.full(n_features, 1.0 / n_features)
    shares = _improved_shares(even, scatter, comparisons.gap, comparisons.penalty, power)
    scale = shares ** (0.5 * power)
    scaled = Means(X * scale, np.arange(n))
    centers = plus_plus(scaled, n_groups, np.random.RandomState(seed))
    # A feature of weight 0 cannot be scaled back: its centers start at the mean.
    centers = np.divide(centers, scale, out=np.tile(X.mean(axis=0), (n_groups, 1)), where=scale > 0)
    return centers, np.tile(shares, (n_groups, 1))


def _costs(
    X: Floats, comparisons: Comparisons, centers: Floats, weights: Floats, floor: float
) -> Floats:
    """Return the cost of each row in each group: distance from the center, and penalties."""
    cost = distances(X, centers, weights) + comparisons.costs(weights, len(X))
    cost += floor * weights.sum(axis=1)
    return cost


def _scatter(X: Floats, labels: Labels, centers: Floats, floor: float) -> Floats:
    """Sum squared differences of rows from their centers, for each group and feature."""
    scatter = np.zeros_like(centers)
    squares = (X - centers[labels]) ** 2 + floor
    add_groups(squares, np.ones(len(X)), labels, scatter, np.zeros(len(centers)))
    return scatter


def _improved_shares(
    shares: Floats, scatter: Floats, gap: Floats, penalty: Floats, power: float
) -> Floats:
    """Change the shares of a group so that its cost falls.

    If the set of violated comparisons were fixed, the best shares would have a closed form. Each
    step goes toward them, and is halved until the true cost falls.
    """
    least = float(scatter.min()) * 1e-3

    def cost(tried: Floats) -> float:
        weights = tried**power
        return float(weights @ scatter + penalty @ np.maximum(gap @ weights, 0.0))

    now = cost(shares)
    for _ in range(MAX_STEPS):
        is_violated = gap @ shares**power > 0
        total = np.maximum(scatter + penalty[is_violated] @ gap[is_violated], least)
        best = (total / total.min()) ** (-1.0 / (power - 1.0))
        step = best / best.sum() - shares
        tries = (shares + step / 2.0**halving for halving in range(MAX_HALVINGS))
        found = next(((c, t) for t in tries if (c := cost(t)) < now * (1.0 - 1e-9)), None)
        if found is None:
            break
        now, shares = found
    return shares
