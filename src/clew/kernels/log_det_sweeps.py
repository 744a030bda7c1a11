"""Sweeps of log-det projections over blocks of constraints, mostly by matrix products."""

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
    """Compute the two squared Euclidean distances of each constraint.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float64 (IN)
        Features.
    rows : ndarray of shape (n, 4), int64 (IN)
        Rows i, j, g and h of each constraint.
    distance : ndarray of shape (n, 2), float64 (OUT)
        Squared distances between i and j, and between g and h.
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
    """Find the next block of constraints, which has at most `max_rows` different rows.

    Parameters
    ----------
    rows : ndarray of shape (n, 4), int64 (IN)
        Rows of each constraint.
    start : int
        First constraint of the block.
    place : ndarray of shape (n_rows,), int64 (INOUT)
        All -1; afterwards the number of each row within the block, -1 for rows not in it.
    members : ndarray of shape (max_rows,), int64 (OUT)
        Rows of the block; `max_rows` is at least 4.
    local : ndarray of shape (n, 4), int64 (OUT)
        The entries of `rows` as numbers within the block.

    Returns
    -------
    stop : int
        The constraint after the last one of the block.
    n_members : int
        Number of rows in the block.
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
    """Add ``weight·c c'`` to a Laplacian, for the difference c of the unit vectors i and j."""
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
    """Add the edges of some constraints to a Laplacian, weighted by the changes of their λ."""
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
    """Project once onto all constraints, block by block.

    Within a block, projections update only the inner products of its rows; A is updated once for
    each block, by matrix products. This function is not compiled: NumPy is as fast here, and Numba
    takes ten seconds to compile the matrix products.

    Parameters
    ----------
    limits : Limits (IN)
        The constraints, in the order of the projections.
    X : ndarray of shape (n_rows, n_features), float64 (IN)
        Features.
    max_rows : int
        Maximum number of rows in a block, at least 4.
    max_rounds : int
        Maximum number of rounds over each block.
    tol : float
        Violations up to this are tolerated, relative to the bound, or for a comparison relative to
        the sum of the two distances.
    corrected : bool
        Whether λ is kept within its range (Dykstra's correction), so that later projections may
        undo earlier ones; sweeps then converge to the nearest matrix that keeps all constraints.
        Otherwise only violated constraints are projected onto, and sweeps converge to some matrix
        that keeps them.
    multiplier : ndarray of shape (n,), float64 (INOUT)
        λ of each constraint.
    A : ndarray of shape (n_features, n_features), float64 (INOUT)
        The matrix; symmetric up to rounding.

    Returns
    -------
    int
        Number of projections.

    Notes
    -----
    For a block of m rows and d features: time O(m·d² + m²·d + m³), and O(m²) for each projection.
    Memory O(m·d + m² + d²).

    References
    ----------
    J. Davis, B. Kulis, P. Jain, S. Sra and I. Dhillon, "Information-theoretic metric learning",
    ICML 2007.
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
            # X'ΛX was added to A⁻¹, with the Laplacian Λ: A changes by the Woodbury formula.
            system = laplacian @ before_block
            system.flat[:: n_members + 1] += 1.0
            A -= images.T @ np.linalg.solve(system, laplacian @ images)
            n_steps += n_block
        place[members[:n_members]] = -1
        start = stop
    return n_steps
