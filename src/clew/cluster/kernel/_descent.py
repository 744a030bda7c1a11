"""One start of kernel k-means: Lloyd's algorithm on inner products of rows."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew._parallel import blocks
from clew.cluster._centers import plus_plus
from clew.cluster._empty_groups import costliest_row, fill_empty
from clew.cluster.kernel._inner_products import Products

__all__ = ["KernelRun", "RowSeeds", "descend_in_kernel", "group_sums", "start_in_kernel"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
#: Maximum number of columns of inner products that are computed at once, and of their entries.
COLUMNS_PER_BLOCK, ENTRIES_PER_BLOCK = 1024, 1 << 22
#: Largest rounding error of the inertia, as a share of the kernel's trace.
ROUNDING = 1e-12


class KernelRun(NamedTuple):
    """The result of one start."""

    inertia: float
    labels: Labels
    n_iter: int


class RowSeeds:
    """Rows as candidates for k-means++; a cost is a squared distance in the kernel's space.

    Parameters
    ----------
    products : Products
        Inner products of the rows.
    """

    def __init__(self, products: Products) -> None:
        self._products = products
        self.weight = np.ones(len(products.diagonal))

    def costs(self, centers: Labels) -> Floats:
        """Return the squared distance of each row from some rows, (n, n_centers)."""
        square = self._products.diagonal
        squared = square[:, None] + square[centers] - 2.0 * self._products.columns(centers)
        return np.maximum(squared, 0.0)

    def at_components(self, which: Labels) -> Labels:
        """Return the rows: each is a center."""
        return which


class Sums(NamedTuple):
    """For each row and group, the sum of inner products of the row with the group's rows."""

    products: Products
    labels: Labels
    """Group of each row, (n,)."""
    table: Floats
    """The sums, (n, n_groups)."""
    size: Labels
    """Number of rows of each group, (n_groups,)."""

    @classmethod
    def of(cls, products: Products, labels: Labels, n_groups: int) -> Self:
        """Compute the sums from all rows."""
        table = group_sums(products, labels, n_groups)
        return cls(products, labels, table, np.bincount(labels, minlength=n_groups))

    def within(self) -> Floats:
        """Return the sum of inner products within each group, (n_groups,)."""
        own = self.table[np.arange(len(self.labels)), self.labels]
        return np.bincount(self.labels, own, len(self.size)).astype(np.float64)

    def inertia(self) -> float:
        """Return the sum of squared distances of rows from the means of their groups."""
        means = self.within() / np.maximum(self.size, 1)
        return float(self.products.diagonal.sum() - means.sum())

    def costs(self) -> Floats:
        """Return the squared distance of each row from each mean; infinite for empty groups."""
        size = np.maximum(self.size, 1)
        cost = self.table * (-2.0 / size)
        cost += self.products.diagonal[:, None]
        cost += self.within() / size**2
        cost[:, self.size == 0] = np.inf
        return cost

    def moved_to(self, labels: Labels) -> Self:
        """Return the sums for other labels; if few rows moved, only their columns are computed."""
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
    """Sum the inner products of each row with the rows of each group.

    Parameters
    ----------
    products : Products
        Inner products of n rows.
    labels : ndarray of shape (n,), int64
        Group of each row.
    n_groups : int
        Number of groups.

    Returns
    -------
    ndarray of shape (n, n_groups)

    Notes
    -----
    Time O(n²·n_groups), block by block of columns.
    """
    table = np.zeros((len(labels), n_groups))
    for start, stop in blocks(len(labels), _block_size(len(labels))):
        which = np.arange(start, stop)
        table += products.columns(which) @ _indicator(labels[which], n_groups)
    return table


def start_in_kernel(products: Products, n_groups: int, random: np.random.RandomState) -> Labels:
    """Choose rows by k-means++, and assign each row to the nearest of them.

    Parameters
    ----------
    products : Products
        Inner products of n rows.
    n_groups : int
        Number of groups.
    random : RandomState
        Source of random numbers.

    Returns
    -------
    ndarray of shape (n,), int64
    """
    seeds = RowSeeds(products)
    centers = plus_plus(seeds, n_groups, random)
    return np.asarray(seeds.costs(centers).argmin(axis=1))


def descend_in_kernel(
    products: Products, labels: Labels, n_groups: int, max_iter: int, tol: float
) -> KernelRun:
    """Assign rows to the nearest mean, until no row moves or the inertia hardly falls.

    Parameters
    ----------
    products : Products
        Inner products of n rows.
    labels : ndarray of shape (n,), int64
        Initial groups.
    n_groups, max_iter : int
        Number of groups, and maximum number of iterations.
    tol : float
        An iteration that lowers the inertia by at most this share is the last.

    Returns
    -------
    KernelRun
        The inertia never rises. With a kernel that is not positive semidefinite an iteration could
        raise it; that iteration is undone and the run ends.
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
    exact = Sums.of(products, now.labels, n_groups)  # moves add up rounding errors
    return KernelRun(max(exact.inertia(), 0.0), now.labels, n_iter)


def _block_size(n_rows: int) -> int:
    """Return the number of columns of `n_rows` entries that are computed at once."""
    return max(min(COLUMNS_PER_BLOCK, ENTRIES_PER_BLOCK // n_rows), 1)


def _assigned(cost: Floats, before: Labels) -> Labels:
    """Assign each row to the nearest mean, in a tie to the previous one; fill empty groups."""
    each = np.arange(len(before))
    labels = cost.argmin(axis=1)
    stays = cost[each, before] <= cost[each, labels]
    labels = np.where(stays, before, labels)
    own = cost[each, labels]
    least = ROUNDING * max(float(own.max()), 0.0)
    fill_empty(labels, cost.shape[1], costliest_row(labels, own, least))
    return labels


def _indicator(labels: Labels, n_groups: int) -> Floats:
    """Return the one-hot encoding of labels, (n_labels, n_groups)."""
    return np.asarray(labels[:, None] == np.arange(n_groups), dtype=np.float64)
