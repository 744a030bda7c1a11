"""Slow, plain twin of coordinate mean field: every expectation by enumeration."""

from __future__ import annotations

import itertools
import math


def expected(rows, log_likelihood, q, fixed=None):
    """Mean log-likelihood of one answer over all groups of its rows; some rows may be fixed."""
    fixed = fixed or {}
    total = 0.0
    for groups in itertools.product(range(len(q[0])), repeat=len(rows)):
        chance = 1.0
        for row, group in zip(rows, groups, strict=True):
            chance *= float(fixed[row] == group) if row in fixed else q[row][group]
        total += chance * log_likelihood(groups)
    return total


def swept(log_prior, answers, q, *, is_hard=False, tie=1e-9):
    """One round over all rows; `answers` are pairs of rows and a function of their groups."""
    q = [list(chances) for chances in q]
    for row in range(len(q)):
        field = [
            sum(expected(rows, f, q, {row: k}) for rows, f in answers if row in rows)
            for k in range(len(q[row]))
        ]
        if is_hard:
            field = [0.0 if f >= max(field) - tie else -math.inf for f in field]
        field = [f + p for f, p in zip(field, log_prior[row], strict=True)]
        chances = [math.exp(f - max(field)) for f in field]
        q[row] = [chance / sum(chances) for chance in chances]
    return q


def lower_bound(log_prior, answers, q):
    """What each round raises: expected log-likelihood, prior and entropy."""
    likelihood = sum(expected(rows, f, q) for rows, f in answers)
    return likelihood + sum(
        chance * (prior - math.log(chance))
        for chances, priors in zip(q, log_prior, strict=True)
        for chance, prior in zip(chances, priors, strict=True)
        if chance > 0
    )
