"""Log-det (Bregman) projections onto limits of distances, one by one and in blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


@kernel
def squared_distances(
    X: NDArray[np.float64], rows: NDArray[np.int64], distance: NDArray[np.float64]
) -> None:
    """Compute squared distances (n, 2) between rows i and j, and g and h, of `rows` (n, 4)."""
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
    """Find the next block of constraints, from `start`, with at most `max_rows` different rows.

    IN rows (n, 4): rows of each constraint.
    INOUT place (n_rows,): all -1; afterwards the number within the block of each of its rows.
    OUT members (max_rows,): rows of the block; local (n, 4): `rows` as numbers within the block.
    Returns the constraint after the last one of the block; the number of rows in it.
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
    limits: Limits, start: int, stop: int, step: NDArray[np.float64], laplacian: NDArray[np.float64]
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
    each, by matrix products. Not compiled: NumPy is as fast here, and Numba takes ten seconds to
    compile those.

    IN limits: the constraints, in the order of the projections; X (n_rows, n_features); max_rows:
    in a block, at least 4; max_rounds: over each block; tol: tolerated violation, relative to the
    bound or to the sum of the two distances; corrected: whether λ is kept within its range
    (Dykstra's correction): later projections may undo earlier ones, and sweeps converge to the
    nearest matrix that keeps all constraints. Otherwise only violated ones are projected onto, and
    sweeps converge to some such matrix.
    INOUT multiplier (n,): λ of each constraint; A (n_features, n_features): the matrix; symmetric
    up to rounding.
    Returns number of projections. A block of m rows takes O(m·d² + m²·d + m³), and O(m²) for each
    projection.

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


class Limits(NamedTuple):
    """Constraints on squared distances, each with a multiplier λ.

    A constraint with ``inverse_bound`` 0 compares two distances: ``factor·d(i, j) <= d(g, h)``.
    Any other bounds one distance: ``factor·d(i, j) <= factor·bound``, with a factor of 1 or -1.

    IN rows (n, 4): the rows i, j, g and h; factor (n,): factor of the first distance; inverse_bound
    (n,): 1 / bound, or 0; slack (n,): slack of a bound: at the multiplier λ the bound is ``1 /
    (inverse_bound - factor·slack·λ)``. 0 makes it hard; low, high (n,): range of λ.
    """

    rows: NDArray[np.int64]
    factor: NDArray[np.float64]
    inverse_bound: NDArray[np.float64]
    slack: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@kernel
def best_step(
    limits: Limits, at: int, multiplier: float, near: float, far: float, cross: float
) -> float:
    """Return the change of λ after which a constraint holds with equality; 0 if there is none.

    IN at: number of the constraint; multiplier: its λ; near, far, cross: ``c'Ac``, ``e'Ae`` and
    ``c'Ae`` for the differences ``c = x_i - x_j`` and ``e = x_g - x_h``.
    """
    factor = limits.factor[at]
    if limits.inverse_bound[at] == 0.0:
        # -(η₁ + η₂) / (2 η₁ η₂) for the eigenvalues η of a matrix of two rows.
        area = near * far - cross * cross
        return (factor * near - far) / (2.0 * factor * area) if area > 0.0 else 0.0
    if near <= 0.0:
        return 0.0
    inverse = limits.inverse_bound[at] - factor * limits.slack[at] * multiplier
    return factor * (inverse - 1.0 / near) / (1.0 + limits.slack[at])


@kernel
def apply_one(step: float, near: float, u: NDArray[np.float64], gram: NDArray[np.float64]) -> None:
    """Update `gram` for the matrix ``(A⁻¹ + step·c c')⁻¹`` in place of A."""
    scale = step / (1.0 + step * near)
    for row in range(gram.shape[0]):
        x = scale * u[row]
        for column in range(gram.shape[1]):
            gram[row, column] -= x * u[column]


@kernel
def apply_two(
    steps: tuple[float, float],
    near: float,
    far: float,
    cross: float,
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    gram: NDArray[np.float64],
) -> None:
    """Update `gram` for the matrix ``(A⁻¹ + s·c c' + t·e e')⁻¹`` in place of A, with steps s, t."""
    s, t = steps
    whole = (1.0 + s * near) * (1.0 + t * far) - s * t * cross * cross
    both = -s * t * cross / whole
    first = s * (1.0 + t * far) / whole
    second = t * (1.0 + s * near) / whole
    for row in range(gram.shape[0]):
        x = first * u[row] + both * v[row]
        y = both * u[row] + second * v[row]
        for column in range(gram.shape[1]):
            gram[row, column] -= x * u[column] + y * v[column]


@kernel
def excess(limits: Limits, at: int, multiplier: float, near: float, far: float) -> float:
    """Return the relative violation of a constraint; negative if it holds with a margin."""
    factor = limits.factor[at]
    if limits.inverse_bound[at] == 0.0:
        total = factor * near + far
        return (factor * near - far) / total if total > 0.0 else 0.0
    inverse = limits.inverse_bound[at] - factor * limits.slack[at] * multiplier
    return factor * (near * inverse - 1.0)


@kernel
def project_block(
    limits: Limits,
    start: int,
    stop: int,
    max_rounds: int,
    tol: float,
    corrected: bool,
    multiplier: NDArray[np.float64],
    gram: NDArray[np.float64],
) -> int:
    """Project onto the constraints ``start:stop``, round after round until they hold.

    IN limits: its rows are row numbers of `gram`; max_rounds, tol, corrected: as in `sweep`.
    INOUT multiplier (n,): λ of all constraints; gram (n_rows, n_rows): ``X A X'`` of the block's
    rows.
    Returns number of projections; each takes O(n_rows²).
    """
    u, v = np.empty(gram.shape[0]), np.empty(gram.shape[0])
    n_steps = 0
    for _ in range(max_rounds):
        worst = 0.0
        for at in range(start, stop):
            i, j, g, h = limits.rows[at]
            compares = limits.inverse_bound[at] == 0.0
            near = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
            far, cross = 0.0, 0.0
            if compares:
                far = gram[g, g] + gram[h, h] - 2.0 * gram[g, h]
                cross = gram[i, g] - gram[i, h] - gram[j, g] + gram[j, h]
            off = excess(limits, at, multiplier[at], near, far)
            if not corrected and off <= tol and (limits.low[at] >= 0.0 or off >= -tol):
                continue
            step = best_step(limits, at, multiplier[at], near, far, cross)
            if corrected:
                new = min(max(multiplier[at] + step, limits.low[at]), limits.high[at])
                step = new - multiplier[at]
            if step == 0.0:
                continue
            multiplier[at] += step
            worst = max(worst, abs(off))
            n_steps += 1
            for row in range(len(u)):
                u[row] = gram[i, row] - gram[j, row]
            if compares:
                for row in range(len(v)):
                    v[row] = gram[g, row] - gram[h, row]
                steps = (step * limits.factor[at], -step)
                apply_two(steps, near, far, cross, u, v, gram)
            else:
                apply_one(step * limits.factor[at], near, u, gram)
        if worst <= tol:
            break
    return n_steps
