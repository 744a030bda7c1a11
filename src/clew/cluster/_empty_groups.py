"""Filling of empty groups: one loop for all methods; each chooses the row to move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["costliest_row", "fill_empty"]

Labels = NDArray[np.int64]


def fill_empty(labels: Labels, n_groups: int, choose: Callable[[int, Labels], int]) -> None:
    """Move one row into each empty group, until no further move is worthwhile.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int64
        Group of each row; changed in place. A row may stand for a must-link component.
    n_groups : int
        Number of groups.
    choose : callable
        ``choose(group, size)`` returns the row to move into the empty `group`, given the sizes of
        all groups, shape (n_groups,), or -1 to leave this and all further groups empty. It must
        not choose the only row of a group.

    Notes
    -----
    Time O(n_rows) and one call of `choose` for each empty group.
    """
    size = np.bincount(labels, minlength=n_groups)
    for group in np.flatnonzero(size == 0).tolist():
        row = choose(group, size)
        if row < 0:
            return
        size[labels[row]] -= 1
        size[group], labels[row] = 1, group


def costliest_row(
    labels: Labels, cost: NDArray[np.float64], least: float
) -> Callable[[int, Labels], int]:
    """Make the choice for `fill_empty` of k-means: the row that costs most in its own group.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int64
        Group of each row: the array that `fill_empty` changes.
    cost : ndarray of shape (n_rows,)
        Cost of each row in its own group, such as the squared distance from the group's center.
    least : float
        A row is moved only if it costs more than this.

    Returns
    -------
    callable
        The argument `choose` of `fill_empty`.
    """

    def choose(_: int, size: Labels) -> int:
        gain = np.where(size[labels] > 1, cost, -np.inf)
        row = int(gain.argmax())
        return row if gain[row] > least else -1

    return choose
