"""The quadratic programs of DistLQP, solved by brute force."""

from itertools import combinations

import numpy as np
from scipy.optimize import nnls


def all_triangles(n):
    """Every triangle of n rows: positions of its sides among the pairs of `combinations`."""
    place = {pair: at for at, pair in enumerate(combinations(range(n), 2))}
    return np.array(
        [[place[a, b], place[a, c], place[b, c]] for a, b, c in combinations(range(n), 3)]
    )


def triangle_rows(sides, n_distances):
    """Return G, such that ``G x <= 0`` are the triangle inequalities."""
    rows = []
    for triangle in sides:
        for longest in triangle:
            row = np.zeros(n_distances)
            row[list(triangle)] = -1.0
            row[longest] = 1.0
            rows.append(row)
    return np.array(rows).reshape(-1, n_distances)


def brute_force(D, fixed):
    """Solve eq. 2.1: all pairs and all triangles; answered pairs have a fixed distance.

    The nearest point with ``G x <= h`` is found by nonnegative least squares (Lawson and Hanson,
    "Solving least squares problems", chapter 23).
    """
    n = len(D)
    pairs = list(combinations(range(n), 2))
    given = np.array([D[pair] for pair in pairs], float)
    is_fixed = np.array([pair in fixed for pair in pairs])
    G = triangle_rows(all_triangles(n), len(pairs))
    h = -G[:, is_fixed] @ np.array([fixed[p] for p in pairs if p in fixed])
    G, start = G[:, ~is_fixed], given[~is_fixed]
    # y = x - start is the shortest vector with -G y >= G start - h.
    E = np.vstack([-G.T, (G @ start - h)[None]])
    target = np.zeros(len(E))
    target[-1] = 1.0
    weights, _ = nnls(E, target, maxiter=100 * E.shape[1])
    residual = E @ weights - target
    moved = start - residual[:-1] / residual[-1]
    found = np.zeros_like(D, dtype=float)
    values = iter(moved)
    for pair, is_set in zip(pairs, is_fixed, strict=True):
        found[pair] = found[pair[::-1]] = fixed[pair] if is_set else next(values)
    return found


def objective(problem, x):
    """Squared changes and penalties, one distance after the other."""
    total = 0.0
    for at, value in enumerate(x):
        total += problem.weight[at] * (value - problem.target[at]) ** 2
        if at < len(problem.bounds.over):
            total += problem.bounds.over[at] * max(value - problem.bounds.upper, 0.0)
            total += problem.bounds.under[at] * max(problem.bounds.lower - value, 0.0)
    return total


def sampled(D, links, n_neighbors):
    """Triangles of an answered pair and a neighbor of either of its rows, as sets of rows."""
    n = len(D)
    near = [{int(k) for k in np.argsort(np.where(np.arange(n) == i, np.inf, D[i]))[:n_neighbors]}
            for i in range(n)]  # fmt: skip
    linked = {(i, k) for i in range(n) for k in near[i]}
    found = set()
    for i, j in links:
        for k in range(n):
            if k in (i, j):
                continue
            if any((a, k) in linked or (k, a) in linked for a in (i, j)):
                found.add(frozenset((i, j, k)))
    return found


def sweep_triangles(sides, step, x, multipliers):
    """Project onto each triangle inequality in turn."""
    for t, triangle in enumerate(sides):
        for which in range(3):
            longest = triangle[which]
            others = [triangle[side] for side in range(3) if side != which]
            excess = x[longest] - x[others].sum()
            new = max(0.0, multipliers[t, which] + excess / step[triangle].sum())
            change = new - multipliers[t, which]
            x[longest] -= step[longest] * change
            x[others] += step[others] * change
            multipliers[t, which] = new
    return x, multipliers


def shortest_paths(D, must, cannot):
    """Floyd-Warshall through must-linked rows; cannot-linked rows get the largest distance."""
    found = D.astype(float).copy()
    for i, j in must:
        found[i, j] = found[j, i] = 0.0
    for k in sorted({row for pair in must for row in pair}):
        found = np.minimum(found, found[:, [k]] + found[[k]])
    for i, j in cannot:
        found[i, j] = found[j, i] = D.max()
    return found
