"""Dominant sets: the support of a maximiser of a quadratic form on the simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

__all__ = ["bound_eigenvalue", "dominant_members", "maximise"]


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
    """Bound the largest eigenvalue of a symmetric matrix without negative entries from above.

    No positive vector x has a ratio ``max (Ax) / x`` below the eigenvalue (Collatz and Wielandt);
    power steps bring the ratio down to it.

    Parameters
    ----------
    block : ndarray of shape (m, m) (IN)
        The matrix is ``block[start:size, start:size]``.
    start, size : int
        Where it begins and ends.
    vector, image : ndarray of shape (m,) (OUT)
        Work space.
    tol : float
        Relative gap between the largest and the smallest ratio at which to stop.
    max_iter : int
        Power steps at most; the bound holds after any number.
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
            # A share of the vector stays: entries remain positive, and no step goes in circles.
            vector[a] = image[a] + 0.25 * bound * vector[a]
            largest = max(largest, vector[a])
        for a in range(start, size):
            vector[a] /= largest
    return bound


@bare_kernel
def _worst(share: NDArray[np.float64], payoff: NDArray[np.float64], size: int, mean: float) -> int:
    """Find the element that gains most by joining, or by leaving."""
    best, gain = 0, -1.0
    for a in range(size):
        ahead = payoff[a] - mean
        if 0.0 < share[a] < 1.0:
            ahead = abs(ahead)
        if ahead > gain:
            best, gain = a, ahead
    return best


@bare_kernel
def maximise(
    block: NDArray[np.float64],
    size: int,
    share: NDArray[np.float64],
    payoff: NDArray[np.float64],
    tol: float,
    max_iter: int,
) -> bool:
    """Climb to a local maximum of ``x'Bx`` on the simplex; False where the steps ran out.

    Each step moves towards the element with the highest payoff, or away from the member with the
    lowest, as far as the form rises. Members that leave have a share of exactly 0.

    Parameters
    ----------
    block : ndarray of shape (m, m) (IN)
        B is ``block[:size, :size]``, symmetric.
    size : int
        Number of elements.
    share : ndarray of shape (m,) (INOUT)
        Where to start, and x: no entry negative, their sum 1.
    payoff : ndarray of shape (m,) (OUT)
        ``Bx``.
    tol : float
        No payoff of a member may differ by more from their mean, and no other exceed it by more.
    max_iter : int
        Steps at most.
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
        # Away from a member is a step backwards, which ends where nothing is left of it.
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
    """Copy the affinities of some rows out of a graph; `place` holds -1 before and after."""
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
    """Find the dominant set of each row's neighbourhood that holds the row.

    Parameters
    ----------
    indptr, indices, data : ndarray (IN)
        The neighbour graph, a symmetric CSR matrix of shape (n, n): nothing on the diagonal, no
        entry negative, none above 1.
    first, listed : ndarray of shape (n + 1,) and (n_listed,), int64 (IN)
        The neighbours of row i are ``listed[first[i]:first[i + 1]]``.
    margin : float
        How far the penalty on neighbours lies above the largest eigenvalue of their affinities, as
        a share of it; also the accuracy of that eigenvalue.
    tol : float
        Where to stop, as a share of the penalty.
    max_iter : int
        Steps at most for each row.
    is_member : ndarray of shape (n_listed,), bool (OUT)
        Which entries of the lists are in the set.

    Returns
    -------
    int
        Rows whose steps ran out.
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
        if not maximise(block, size, share, payoff, tol * penalty, max_iter):
            n_unfinished += 1
        for a in range(1, size):
            is_member[first[row] + a - 1] = share[a] > 0.0
    return n_unfinished
