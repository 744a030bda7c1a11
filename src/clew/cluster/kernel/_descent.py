"""Kernel k-means: Lloyd's rounds where only inner products of rows are known."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew._parallel import blocks
from clew.cluster._centers import plus_plus
from clew.cluster.kernel._inner_products import Products

__all__ = ["KernelRun", "RowSeeds", "descend_in_kernel", "group_sums", "start_in_kernel"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
#: Columns of inner products looked at together: so many, or fewer where they are long.
COLUMNS_PER_BLOCK, NUMBERS_PER_BLOCK = 1024, 1 << 22
#: What rounding may add to the objective, as a share of the trace.
ROUNDING = 1e-12


class KernelRun(NamedTuple):
    """Where one start led."""

    inertia: float
    labels: Labels
    n_iter: int


class RowSeeds:
    """Rows as centers to start from; the cost is the squared distance that inner products make."""

    def __init__(self, products: Products) -> None:
        self._products = products
        self.weight = np.ones(len(products.diagonal))

    def costs(self, centers: Labels) -> Floats:
        """Give the squared distance of each row from some."""
        square = self._products.diagonal
        apart = square[:, None] + square[centers] - 2.0 * self._products.columns(centers)
        return np.maximum(apart, 0.0)

    def at_components(self, which: Labels) -> Labels:
        """Take some rows."""
        return which


class Sums(NamedTuple):
    """Sums of inner products of each row with those of each group."""

    products: Products
    labels: Labels
    table: Floats
    """The sums, (n, n_groups)."""
    size: Labels
    """Rows of each group, (n_groups,)."""

    @classmethod
    def of(cls, products: Products, labels: Labels, n_groups: int) -> Self:
        """Sum over all rows."""
        table = group_sums(products, labels, n_groups)
        return cls(products, labels, table, np.bincount(labels, minlength=n_groups))

    def within(self) -> Floats:
        """Sum the inner products within each group."""
        own = self.table[np.arange(len(self.labels)), self.labels]
        return np.bincount(self.labels, own, len(self.size)).astype(np.float64)

    def inertia(self) -> float:
        """Sum the squared distances of rows from the means of their groups."""
        means = self.within() / np.maximum(self.size, 1)
        return float(self.products.diagonal.sum() - means.sum())

    def costs(self) -> Floats:
        """Give the squared distance of each row from each mean, infinite where no rows are."""
        size = np.maximum(self.size, 1)
        cost = self.table * (-2.0 / size)
        cost += self.products.diagonal[:, None]
        cost += self.within() / size**2
        cost[:, self.size == 0] = np.inf
        return cost

    def moved_to(self, labels: Labels) -> Self:
        """Give the sums of other groups; where few rows move, only these are looked at."""
        n_groups = len(self.size)
        moved = np.flatnonzero(labels != self.labels)
        if 2 * len(moved) > len(labels):
            return self.of(self.products, labels, n_groups)
        table = self.table.copy()
        for start, stop in blocks(len(moved), _block_size(len(labels))):
            which = moved[start:stop]
            change = _indicator(labels[which], n_groups) - _indicator(self.labels[which], n_groups)
            table += self.products.columns(which) @ change
        return self._replace(
            labels=labels, table=table, size=np.bincount(labels, minlength=n_groups)
        )


def group_sums(products: Products, labels: Labels, n_groups: int) -> Floats:
    """Sum the inner products of each row with those of each group.

    Parameters
    ----------
    products : Products
        Inner products of n rows.
    labels : ndarray of shape (n,), int64
        Groups.
    n_groups : int
        How many.

    Returns
    -------
    ndarray of shape (n, n_groups)
    """
    table = np.zeros((len(labels), n_groups))
    for start, stop in blocks(len(labels), _block_size(len(labels))):
        which = np.arange(start, stop)
        table += products.columns(which) @ _indicator(labels[which], n_groups)
    return table


def start_in_kernel(products: Products, n_groups: int, random: np.random.RandomState) -> Labels:
    """Choose rows as k-means++ does, and give each row the nearest of them."""
    seeds = RowSeeds(products)
    centers = plus_plus(seeds, n_groups, random)
    return np.asarray(seeds.costs(centers).argmin(axis=1))


def descend_in_kernel(
    products: Products, labels: Labels, n_groups: int, max_iter: int, tol: float
) -> KernelRun:
    """Give rows the nearest mean in turns, until none moves, or it hardly pays.

    Parameters
    ----------
    products : Products
        Inner products of n rows.
    labels : ndarray of shape (n,), int64
        Groups to start from.
    n_groups, max_iter : int
        Number of groups, and of rounds at most.
    tol : float
        Rounds end where one lowers the objective by a smaller share.

    Returns
    -------
    KernelRun
        The objective never rises: a round that would raise it, which only happens where inner
        products are not positive semidefinite, is taken back and ends the run.
    """
    now = Sums.of(products, labels, n_groups)
    inertia, n_iter = now.inertia(), 0
    slack = ROUNDING * float(products.diagonal.sum())
    for _ in range(max_iter):
        n_iter += 1
        after = _assigned(now.costs(), now.labels)
        if np.array_equal(after, now.labels):
            break
        moved = now.moved_to(after)
        fell = inertia - moved.inertia()
        if fell < -slack:
            break
        now, inertia = moved, inertia - fell
        if fell <= tol * inertia:
            break
    exact = Sums.of(products, now.labels, n_groups)  # without the rounding of many moves
    return KernelRun(max(exact.inertia(), 0.0), now.labels, n_iter)


def _block_size(n_rows: int) -> int:
    """Give how many columns of so many rows are looked at together."""
    return max(min(COLUMNS_PER_BLOCK, NUMBERS_PER_BLOCK // n_rows), 1)


def _assigned(cost: Floats, before: Labels) -> Labels:
    """Give each row the nearest mean, the one before if it is as near; fill empty groups."""
    each = np.arange(len(before))
    labels = cost.argmin(axis=1)
    stays = cost[each, before] <= cost[each, labels]
    labels = np.where(stays, before, labels)
    own = cost[each, labels]
    size = np.bincount(labels, minlength=cost.shape[1])
    for group in np.flatnonzero(size == 0):
        gain = np.where(size[labels] > 1, own, 0.0)
        farthest = int(gain.argmax())
        if gain[farthest] <= ROUNDING * max(float(own.max()), 0.0):
            break
        size[labels[farthest]] -= 1
        size[group], labels[farthest], own[farthest] = 1, group, 0.0
    return labels


def _indicator(labels: Labels, n_groups: int) -> Floats:
    """Give a row with a single 1 for each label."""
    return np.asarray(labels[:, None] == np.arange(n_groups), dtype=np.float64)
