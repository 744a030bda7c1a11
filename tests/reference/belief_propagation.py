"""Slow, plain twin of belief propagation: every message by going through the groups of rows.

An answer is a triple: its rows, how likely it is as a function of their groups, and its weight.
"""

from __future__ import annotations

import itertools
import math


def softmax(field):
    """Turn logarithms into chances."""
    chances = [math.exp(f - max(field)) for f in field]
    return [chance / sum(chances) for chance in chances]


def message(answer, position, group, others):
    """What an answer tells one of its rows of a group, by all groups that the others may be in."""
    rows, likelihood, weight = answer
    total = 0.0
    for groups in itertools.product(range(len(others[0])), repeat=len(rows)):
        if groups[position] == group:
            chance = likelihood(groups)
            for at, k in enumerate(groups):
                chance *= 1.0 if at == position else others[at][k]
            total += chance
    return weight * math.log(max(total, 1e-12))


class Beliefs:
    """Messages between rows and answers, at first what follows from memberships of rows."""

    def __init__(self, answers, q):
        self.answers, self.n_groups = answers, len(q[0])
        self.others = [[list(q[row]) for row in rows] for rows, _, _ in answers]
        self.told = [
            [[message(a, at, k, others) for k in range(self.n_groups)] for at in range(len(a[0]))]
            for a, others in zip(answers, self.others, strict=True)
        ]

    def field(self, row, log_prior):
        """The prior of a row and all that it is told."""
        field = list(log_prior[row])
        for (rows, _, _), told in zip(self.answers, self.told, strict=True):
            if row in rows:
                field = [f + t for f, t in zip(field, told[rows.index(row)], strict=True)]
        return field

    def sweep(self, log_prior, damping):
        """Go through all rows once, and give the largest change of a message."""
        change = 0.0
        for row in range(len(log_prior)):
            field = self.field(row, log_prior)
            for a, answer in enumerate(self.answers):
                if row not in answer[0]:
                    continue
                here = answer[0].index(row)
                left = [f - t for f, t in zip(field, self.told[a][here], strict=True)]
                self.others[a][here] = softmax(left)
                for at in range(len(answer[0])):
                    if at == here:
                        continue
                    for k in range(self.n_groups):
                        new, old = message(answer, at, k, self.others[a]), self.told[a][at][k]
                        self.told[a][at][k] = damping * old + (1 - damping) * new
                        change = max(change, abs(new - old))
        return change

    def settle(self, log_prior, damping, max_sweeps, tol):
        """Go through all rows until nothing changes; give memberships and the number of rounds."""
        sweeps, change = 0, math.inf
        while sweeps < max_sweeps and change >= tol:
            change = self.sweep(log_prior, damping)
            sweeps += 1
        return [softmax(self.field(row, log_prior)) for row in range(len(log_prior))], sweeps


def marginals(log_prior, answers):
    """The chances of each row's groups, by going through all groups that all rows may be in."""
    n, n_groups = len(log_prior), len(log_prior[0])
    chances = [[0.0] * n_groups for _ in range(n)]
    for groups in itertools.product(range(n_groups), repeat=n):
        joint = math.exp(sum(log_prior[row][k] for row, k in enumerate(groups)))
        for rows, likelihood, weight in answers:
            joint *= likelihood(tuple(groups[row] for row in rows)) ** weight
        for row, k in enumerate(groups):
            chances[row][k] += joint
    return [[chance / sum(of_row) for chance in of_row] for of_row in chances]
