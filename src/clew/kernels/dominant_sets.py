"""Dominant sets: the support of a local maximum of a quadratic form on the simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel


@bare_kernel
def bound_eigenvalue(
    block: NDArray[np.float64],
    start: int,
    size: int,
    vector: NDArray[np.float64],
    image: NDArray[np.float64],
    tol: float,
    max_iter: int,
) -> float:
    """Return an upper bound of the largest eigenvalue of a symmetric nonnegative matrix A.

    The largest entry of ``(Ax) / x`` bounds it for any positive x (Collatz and Wielandt); power
    iterations lower that.

    IN block (m, m): A is ``block[start:size, start:size]``; tol: relative gap between the largest
    and the smallest entry of ``(Ax) / x`` at which to stop; the bound holds after any number of
    iterations.
    OUT vector, image (m,).
    """
    vector[start:size] = 1.0
    bound = 0.0
    for _ in range(max_iter):
        bound, least = 0.0, np.inf
        for a in range(start, size):
            total = 0.0
            for b in range(start, size):
                total += block[a, b] * vector[b]
            image[a] = total
            bound = max(bound, total / vector[a])
            least = min(least, total / vector[a])
        if bound - least <= tol * bound:
            break
        largest = 0.0
        for a in range(start, size):
            # Adding a share of the vector keeps entries positive and prevents oscillation.
            vector[a] = image[a] + 0.25 * bound * vector[a]
            largest = max(largest, vector[a])
        for a in range(start, size):
            vector[a] /= largest
    return bound


@bare_kernel
def _worst(share: NDArray[np.float64], payoff: NDArray[np.float64], size: int, mean: float) -> int:
    """Find the element whose payoff differs most from the mean, and whose share can follow it."""
    best, gain = 0, -1.0
    for a in range(size):
        ahead = payoff[a] - mean
        if 0.0 < share[a] < 1.0:
            ahead = abs(ahead)
        if ahead > gain:
            best, gain = a, ahead
    return best


@bare_kernel
def maximize(
    block: NDArray[np.float64],
    size: int,
    share: NDArray[np.float64],
    payoff: NDArray[np.float64],
    tol: float,
    max_iter: int,
) -> bool:
    """Find a local maximum of ``x'Bx`` on the simplex.

    Each step moves x toward the element with the highest payoff, or away from the member with the
    lowest, to the best point on that line. A member that is removed has a share of exactly 0.

    IN block (m, m): B is ``block[:size, :size]``, symmetric; tol: largest distance of a member's
    payoff from the mean payoff ``x'Bx``, and of another's above it, at convergence.
    INOUT share (m,): the initial x, then the maximum: entries not negative, with sum 1.
    OUT payoff (m,): ``Bx``.
    Returns whether x converged within `max_iter` steps.
    """
    for a in range(size):
        payoff[a] = 0.0
        for b in range(size):
            payoff[a] += block[a, b] * share[b]
    for _ in range(max_iter):
        mean = 0.0
        for a in range(size):
            mean += share[a] * payoff[a]
        chosen = _worst(share, payoff, size, mean)
        ahead = payoff[chosen] - mean
        if abs(ahead) <= tol:
            return True
        # A step away from a member is negative, and at most removes the member.
        longest = 1.0 if ahead > 0.0 else -share[chosen] / (1.0 - share[chosen])
        curvature = block[chosen, chosen] - 2.0 * payoff[chosen] + mean
        step = longest
        if curvature < 0.0 and abs(ahead / curvature) < abs(longest):
            step = -ahead / curvature
        for a in range(size):
            share[a] *= 1.0 - step
            payoff[a] += step * (block[a, chosen] - payoff[a])
        share[chosen] += step
        if step == longest and step < 0.0:
            share[chosen] = 0.0
    return False


@bare_kernel
def _gather(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    members: NDArray[np.int64],
    size: int,
    place: NDArray[np.int64],
    block: NDArray[np.float64],
) -> None:
    """Copy the affinities among some rows from a graph; `place` is -1 before and after."""
    for a in range(size):
        place[members[a]] = a
    for a in range(size):
        for b in range(size):
            block[a, b] = 0.0
        for entry in range(indptr[members[a]], indptr[members[a] + 1]):
            b = place[indices[entry]]
            if b >= 0:
                block[a, b] = data[entry]
    for a in range(size):
        place[members[a]] = -1


@kernel
def dominant_members(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    first: NDArray[np.int64],
    listed: NDArray[np.int64],
    margin: float,
    tol: float,
    max_iter: int,
    is_member: NDArray[np.bool_],
) -> int:
    """Find for each row the dominant set of its neighborhood that contains the row.

    The diagonal entry of each neighbor is a penalty above the largest eigenvalue of the affinities
    among the neighbors; the row itself has none. Then every local maximum contains the row.

    IN indptr, indices, data: a symmetric CSR matrix (n, n) with an empty diagonal and entries in
    [0, 1]; first, listed (n + 1,): the neighbors of row i are ``listed[first[i]:first[i + 1]]``;
    margin: how far the penalty exceeds the eigenvalue, and the accuracy of that, relative to it;
    tol: of convergence, relative to the penalty; max_iter: steps for each row.
    OUT is_member (n_listed,): whether each listed neighbor is in the set of its row.
    Returns number of rows that did not converge. Time O(k²) for a row of k neighbors, and O(k) a
    step.
    """
    n = len(indptr) - 1
    most = 1
    for row in range(n):
        most = max(most, 1 + first[row + 1] - first[row])
    block, share, payoff = np.empty((most, most)), np.empty(most), np.empty(most)
    members, place = np.empty(most, np.int64), np.full(n, -1)
    n_unfinished = 0
    for row in range(n):
        size = 1 + first[row + 1] - first[row]
        members[0] = row
        members[1:size] = listed[first[row] : first[row + 1]]
        _gather(indptr, indices, data, members, size, place, block)
        penalty = bound_eigenvalue(block, 1, size, share, payoff, margin, 100)
        penalty = (1.0 + margin) * max(penalty, margin * block[0, :size].max())
        for a in range(1, size):
            block[a, a] = -penalty
        share[:size] = 1.0 / size
        if not maximize(block, size, share, payoff, tol * penalty, max_iter):
            n_unfinished += 1
        for a in range(1, size):
            is_member[first[row] + a - 1] = share[a] > 0.0
    return n_unfinished
