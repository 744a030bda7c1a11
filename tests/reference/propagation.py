"""Slow twins of answers in affinities: LinkedAffinity and E2CP."""

import numpy as np


def linked(affinity, answers, low, high):
    """Move the affinities of answered pairs; an answer is (i, j, is_same, weight)."""
    net = {}
    for i, j, is_same, weight in answers:
        pair = (min(i, j), max(i, j))
        net[pair] = net.get(pair, 0.0) + (weight if is_same else -weight)
    result = [list(row) for row in affinity]
    for (i, j), total in net.items():
        strength = max(-1.0, min(1.0, total))
        target = high if strength > 0 else low
        value = affinity[i][j] + abs(strength) * (target - affinity[i][j])
        result[i][j] = result[j][i] = value
    return np.array(result)


def exhaustive(graph, answers, alpha):
    """Compute the affinities of E2CP by the formulas of the paper, with explicit inverses."""
    n = len(graph)
    degree = graph.sum(axis=1)
    S = graph / np.sqrt(np.outer(degree, degree))
    Z = np.zeros((n, n))
    for i, j, is_same in answers:
        Z[i, j] = Z[j, i] = 1 if is_same else -1
    propagation = np.linalg.inv(np.eye(n) - alpha * S)
    F = (1 - alpha) ** 2 * propagation @ Z @ propagation
    np.fill_diagonal(F, 0)
    F = F / abs(F).max()
    W = graph / graph.max()
    adjusted = np.where(F >= 0, 1 - (1 - F) * (1 - W), (1 + F) * W)
    np.fill_diagonal(adjusted, 0)
    return adjusted


def solved(S, alpha, right):
    """Solve ``(I - alpha·S) x = right`` by elimination."""
    return np.linalg.solve(np.eye(len(S)) - alpha * S, right)
