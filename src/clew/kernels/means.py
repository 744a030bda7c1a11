"""The parts of a k-means iteration besides matrix products: cheapest groups, sums by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


@kernel
def cheapest(cost: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    """Find the column of lowest cost in each row, in a tie the first.

    IN cost (n_rows, n_columns): costs.
    OUT labels (n_rows,): the column of each row.
    """
    for row in range(cost.shape[0]):
        best = 0
        for column in range(1, cost.shape[1]):
            if cost[row, column] < cost[row, best]:
                best = column
        labels[row] = best


@kernel
def add_groups(
    rows: NDArray[np.float64],
    weight: NDArray[np.float64],
    labels: NDArray[np.int64],
    sums: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> None:
    """Add rows and weights to the sums of their groups, in the order of rows.

    IN rows (n_rows, n_columns): rows, multiplied by their weights; weight (n_rows,): weight of each
    row; labels (n_rows,): group of each row.
    INOUT sums (n_groups, n_columns): sum of the rows of each group; mass (n_groups,): sum of the
    weights of each group.
    """
    for row in range(rows.shape[0]):
        group = labels[row]
        mass[group] += weight[row]
        for column in range(rows.shape[1]):
            sums[group, column] += rows[row, column]
