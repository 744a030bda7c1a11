"""Slow twin of the mean-field kernel: coordinate ascent with expectations by enumeration."""

import itertools
import math


def expected(rows, log_likelihood, q, fixed=None):
    """Expected log-likelihood of one answer; the groups of some rows may be fixed."""
    fixed = fixed or {}
    total = 0.0
    for groups in itertools.product(range(len(q[0])), repeat=len(rows)):
        probability = 1.0
        for row, group in zip(rows, groups, strict=True):
            probability *= float(fixed[row] == group) if row in fixed else q[row][group]
        total += probability * log_likelihood(groups)
    return total


def swept(log_prior, answers, q, *, is_hard=False, tie=1e-9):
    """Sweep once over all rows; an answer is its rows and a log-likelihood of their groups."""
    q = [list(of_row) for of_row in q]
    for row in range(len(q)):
        field = [
            sum(expected(rows, f, q, {row: k}) for rows, f in answers if row in rows)
            for k in range(len(q[row]))
        ]
        if is_hard:
            field = [0.0 if f >= max(field) - tie else -math.inf for f in field]
        field = [f + p for f, p in zip(field, log_prior[row], strict=True)]
        exps = [math.exp(f - max(field)) for f in field]
        q[row] = [value / sum(exps) for value in exps]
    return q


def lower_bound(log_prior, answers, q):
    """Sum expected log-likelihood, expected log-prior and entropy; no sweep lowers this sum."""
    likelihood = sum(expected(rows, f, q) for rows, f in answers)
    return likelihood + sum(
        p * (prior - math.log(p))
        for of_row, priors in zip(q, log_prior, strict=True)
        for p, prior in zip(of_row, priors, strict=True)
        if p > 0
    )
