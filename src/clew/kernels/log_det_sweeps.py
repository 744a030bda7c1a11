"""Sweeps of log-det projections, block by block: products of matrices do most of the work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.log_det import Limits, project_block

__all__ = ["squared_distances", "sweep"]


@kernel
def squared_distances(
    X: NDArray[np.float64], rows: NDArray[np.int64], distance: NDArray[np.float64]
) -> None:
    """Measure the squared distances of the first two rows of each constraint, and the last two.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float64 (IN)
        Features.
    rows : ndarray of shape (n, 4), int64 (IN)
        Rows of each constraint.
    distance : ndarray of shape (n, 2), float64 (OUT)
        The distances.
    """
    for at in range(rows.shape[0]):
        for end in range(2):
            x, y = X[rows[at, 2 * end]], X[rows[at, 2 * end + 1]]
            total = 0.0
            for feature in range(X.shape[1]):
                total += (x[feature] - y[feature]) ** 2
            distance[at, end] = total


@kernel
def cut_block(
    rows: NDArray[np.int64],
    start: int,
    place: NDArray[np.int64],
    members: NDArray[np.int64],
    local: NDArray[np.int64],
) -> tuple[int, int]:
    """Take as many constraints as have room in a block, and number their rows.

    Parameters
    ----------
    rows : ndarray of shape (n, 4), int64 (IN)
        Rows of each constraint.
    start : int
        The first one.
    place : ndarray of shape (n_rows,), int64 (INOUT)
        Number of each row in the block; -1 for all others, and for all before.
    members : ndarray of shape (max_rows,), int64 (OUT)
        Rows of the block; there is room for 4 at least.
    local : ndarray of shape (n, 4), int64 (OUT)
        The same as `rows`, in numbers of the block.

    Returns
    -------
    stop : int
        The constraint after the last one.
    n_members : int
        Number of rows.
    """
    n_members = 0
    stop = start
    while stop < rows.shape[0] and n_members + 4 <= members.shape[0]:
        for end in range(4):
            row = rows[stop, end]
            if place[row] < 0:
                place[row] = n_members
                members[n_members] = row
                n_members += 1
            local[stop, end] = place[row]
        stop += 1
    return stop, n_members


@kernel
def add_edge(weight: float, i: int, j: int, laplacian: NDArray[np.float64]) -> None:
    """Add ``weight·c c'`` for the difference c of unit vectors i and j."""
    laplacian[i, i] += weight
    laplacian[j, j] += weight
    laplacian[i, j] -= weight
    laplacian[j, i] -= weight


@kernel
def add_edges(
    limits: Limits,
    start: int,
    stop: int,
    step: NDArray[np.float64],
    laplacian: NDArray[np.float64],
) -> None:
    """Add the edges of some constraints, each weighted by its step of λ, to a Laplacian."""
    for at in range(start, stop):
        rows = limits.rows[at]
        add_edge(step[at] * limits.factor[at], rows[0], rows[1], laplacian)
        if limits.inverse_bound[at] == 0.0:
            add_edge(-step[at], rows[2], rows[3], laplacian)


def sweep(
    limits: Limits,
    X: NDArray[np.float64],
    max_rows: int,
    max_rounds: int,
    tol: float,
    corrected: bool,
    multiplier: NDArray[np.float64],
    A: NDArray[np.float64],
) -> int:
    """Project on all constraints, block by block.

    Within a block, inner products of its rows are all that is kept; A follows once a block, by
    products of matrices. This is no kernel: NumPy multiplies and solves as fast, and Numba would
    compile the calls for ten seconds.

    Parameters
    ----------
    limits : Limits (IN)
        The constraints, in the order of the projections.
    X : ndarray of shape (n_rows, n_features), float64 (IN)
        Features.
    max_rows : int
        Rows of a block at most, 4 at least.
    max_rounds : int
        Rounds over each block at most.
    tol : float
        What counts as violated: for two distances relative to their sum, for one relative to its
        bound.
    corrected : bool
        Whether λ stays between its limits, so that steps which were too long are taken back; the
        result is then the nearest matrix of all. Otherwise only violated constraints are projected
        on, and the result is some matrix that keeps them.
    multiplier : ndarray of shape (n,), float64 (INOUT)
        λ.
    A : ndarray of shape (n_features, n_features), float64 (INOUT)
        The matrix; symmetric up to rounding.

    Returns
    -------
    int
        Number of projections.
    """
    local, before = np.empty_like(limits.rows), multiplier.copy()
    in_block = limits._replace(rows=local)
    place, members = np.full(X.shape[0], -1), np.empty(max_rows, np.int64)
    n_steps, start = 0, 0
    while start < limits.rows.shape[0]:
        stop, n_members = cut_block(limits.rows, start, place, members, local)
        rows = X[members[:n_members]]
        images = rows @ A
        before_block = images @ rows.T
        gram = before_block.copy()
        n_block = project_block(in_block, start, stop, max_rounds, tol, corrected, multiplier, gram)
        if n_block > 0:
            laplacian = np.zeros_like(gram)
            add_edges(in_block, start, stop, multiplier - before, laplacian)
            # A - X'(Λ⁻¹ + X A X')⁻¹X for what was added, X'ΛX, by Sherman, Morrison and Woodbury.
            system = laplacian @ before_block
            system.flat[:: n_members + 1] += 1.0
            A -= images.T @ np.linalg.solve(system, laplacian @ images)
            n_steps += n_block
        place[members[:n_members]] = -1
        start = stop
    return n_steps
