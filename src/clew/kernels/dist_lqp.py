"""Dual coordinate ascent for distances: projections onto triangle inequalities and soft bounds.

The problem is to minimize ``Σ (x - d)² / (2·step)`` plus penalties for missed bounds, under
triangle inequalities. Each constraint has a multiplier, and x is ``d - step·(signed sum of its
multipliers)`` at any time. A step changes one multiplier so that its constraint holds with
equality, or so that the multiplier reaches its limit (Hildreth's method).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel


class Bounds(NamedTuple):
    """Soft bounds on the first distances.

    IN over, under (n_bounded,): penalty for each unit above `upper` and below `lower`; 0 for no
    bound.
    """

    over: NDArray[np.float64]
    under: NDArray[np.float64]
    upper: float
    lower: float


@kernel
def sweep_bounds(
    bounds: Bounds,
    step: NDArray[np.float64],
    x: NDArray[np.float64],
    over: NDArray[np.float64],
    under: NDArray[np.float64],
) -> None:
    """Project onto the upper and the lower bound of each bounded distance.

    IN step (n_distances,): half the inverse weight of each distance.
    INOUT x (n_distances,): the distances; over, under (n_bounded,): multipliers; at most the
    penalties.
    """
    for i in range(len(bounds.over)):
        new = over[i] + (x[i] - bounds.upper) / step[i]
        new = min(max(new, 0.0), bounds.over[i])
        x[i] -= step[i] * (new - over[i])
        over[i] = new
        new = under[i] + (bounds.lower - x[i]) / step[i]
        new = min(max(new, 0.0), bounds.under[i])
        x[i] += step[i] * (new - under[i])
        under[i] = new


@kernel
def _change(
    longest: float, first: float, second: float, inverse: float, multiplier: float
) -> float:
    """Return the change of the multiplier of ``longest <= first + second``."""
    return max((longest - first - second) * inverse, -multiplier)


@kernel
def sweep_triangles(
    sides: NDArray[np.int32],
    step: NDArray[np.float64],
    which: NDArray[np.int32],
    n_which: int,
    x: NDArray[np.float64],
    multipliers: NDArray[np.float64],
    active: NDArray[np.int32],
) -> tuple[int, float]:
    """Project onto the triangle inequalities of some triangles in turn, in time O(n_which).

    IN sides (n_triangles, 3): distances of each triangle; step (n_distances,): half the inverse
    weight of each; 0 for a fixed one; which: triangles, of which the first `n_which` are visited.
    INOUT x (n_distances,): the distances; multipliers (n_triangles, 3): one for each longest side.
    OUT active: the visited triangles with a positive multiplier. May be the array `which`.
    Returns the length of `active`; the largest change of a multiplier.
    """
    n_active, largest = 0, 0.0
    for at in range(n_which):
        t = which[at]
        i, j, k = sides[t, 0], sides[t, 1], sides[t, 2]
        a, b, c = x[i], x[j], x[k]
        u, v, w = multipliers[t, 0], multipliers[t, 1], multipliers[t, 2]
        if a <= b + c and b <= a + c and c <= a + b and u + v + w == 0.0:
            continue
        r, s, q = step[i], step[j], step[k]
        inverse = 1.0 / (r + s + q)
        of_a = _change(a, b, c, inverse, u)
        a, b, c = a - r * of_a, b + s * of_a, c + q * of_a
        of_b = _change(b, a, c, inverse, v)
        a, b, c = a + r * of_b, b - s * of_b, c + q * of_b
        of_c = _change(c, a, b, inverse, w)
        x[i], x[j], x[k] = a + r * of_c, b + s * of_c, c - q * of_c
        u, v, w = u + of_a, v + of_b, w + of_c
        multipliers[t, 0], multipliers[t, 1], multipliers[t, 2] = u, v, w
        largest = max(largest, abs(of_a), abs(of_b), abs(of_c))
        if u + v + w > 0.0:
            active[n_active] = t
            n_active += 1
    return n_active, largest


@kernel
def close_triangles(sides: NDArray[np.int32], x: NDArray[np.float64]) -> None:
    """Shorten sides that are longer than the other two together, pass by pass until there are none.

    IN sides (n_triangles, 3): the three distances of each triangle.
    INOUT x (n_distances,): the distances, none negative.
    """
    changed = True
    while changed:
        changed = False
        for t in range(len(sides)):
            i, j, k = sides[t, 0], sides[t, 1], sides[t, 2]
            if x[i] > x[j] + x[k]:
                x[i], changed = x[j] + x[k], True
            elif x[j] > x[i] + x[k]:
                x[j], changed = x[i] + x[k], True
            elif x[k] > x[i] + x[j]:
                x[k], changed = x[i] + x[j], True
