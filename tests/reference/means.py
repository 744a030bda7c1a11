"""Slow, plain twins of the steps of k-means."""

from __future__ import annotations


def cheapest(cost):
    """The first of the cheapest columns of each row."""
    return [row.index(min(row)) for row in cost]


def group_sums(rows, weight, labels, n_groups):
    """Sums of rows and of weights by group."""
    groups = range(n_groups)
    members = [[r for r, label in enumerate(labels) if label == group] for group in groups]
    sums = [[sum(rows[r][c] for r in m) for c in range(len(rows[0]))] for m in members]
    return sums, [sum(weight[r] for r in m) for m in members]
