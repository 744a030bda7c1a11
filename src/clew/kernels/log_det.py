"""Bregman projections under the log-det divergence onto constraints on squared distances.

A is the positive definite matrix of the squared distances d(i, j) = (x_i - x_j)' A (x_i - x_j).
A projection is the nearest matrix, in log-det divergence, under which one constraint holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

__all__ = ["Limits", "project_block"]


class Limits(NamedTuple):
    """Constraints on squared distances, each with a multiplier λ.

    A constraint with ``inverse_bound`` 0 compares two distances: ``factor·d(i, j) <= d(g, h)``.
    Any other bounds one distance: ``factor·d(i, j) <= factor·bound``, with a factor of 1 or -1.

    Parameters
    ----------
    rows : ndarray of shape (n, 4), int64
        The rows i, j, g and h.
    factor : ndarray of shape (n,), float64
        Factor of the first distance.
    inverse_bound : ndarray of shape (n,), float64
        1 / bound, or 0.
    slack : ndarray of shape (n,), float64
        Slack of a bound: at the multiplier λ the bound is ``1 / (inverse_bound - factor·slack·λ)``.
        0 makes it hard.
    low, high : ndarray of shape (n,), float64
        Range of λ.
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
    """Return the change of λ after which a constraint holds with equality.

    Parameters
    ----------
    limits : Limits
        The constraints.
    at : int
        Number of the constraint.
    multiplier : float
        Its λ.
    near, far, cross : float
        ``c'Ac``, ``e'Ae`` and ``c'Ae`` for the differences ``c = x_i - x_j`` and ``e = x_g - x_h``.

    Returns
    -------
    float
        0 if there is no such change.
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
    """Project onto some constraints in turn, round after round until they hold.

    Parameters
    ----------
    limits : Limits (IN)
        The constraints; their rows are row numbers of `gram`.
    start, stop : int
        The constraints used are those from `start` to ``stop - 1``.
    max_rounds : int
        Maximum number of rounds.
    tol : float
        The round in which no relative violation exceeds this is the last.
    corrected : bool
        As for `log_det_sweeps.sweep`.
    multiplier : ndarray of shape (n,), float64 (INOUT)
        λ of all constraints.
    gram : ndarray of shape (n_rows, n_rows), float64 (INOUT)
        Inner products of the rows of the block under A, ``X A X'``.

    Returns
    -------
    int
        Number of projections.

    Notes
    -----
    Time O(n_rows²) for each projection.
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
