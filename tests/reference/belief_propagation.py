"""Slow twin of belief propagation: every message by enumeration of the groups of rows.

An answer is a triple: its rows, its likelihood as a function of their groups, and its weight.
"""

import itertools
import math


def softmax(field):
    """Turn log-probabilities into probabilities."""
    exps = [math.exp(f - max(field)) for f in field]
    return [value / sum(exps) for value in exps]


def message(answer, position, group, cavity):
    """Compute the message of an answer to one of its rows, for one group of that row."""
    rows, likelihood, weight = answer
    total = 0.0
    for groups in itertools.product(range(len(cavity[0])), repeat=len(rows)):
        if groups[position] == group:
            probability = likelihood(groups)
            for at, k in enumerate(groups):
                probability *= 1.0 if at == position else cavity[at][k]
            total += probability
    return weight * math.log(max(total, 1e-12))


class BeliefPropagation:
    """Messages between rows and answers, initialized from probabilities of rows."""

    def __init__(self, answers, q):
        self.answers, self.n_groups = answers, len(q[0])
        self.cavity = [[list(q[row]) for row in rows] for rows, _, _ in answers]
        self.messages = [
            [[message(a, at, k, cavity) for k in range(self.n_groups)] for at in range(len(a[0]))]
            for a, cavity in zip(answers, self.cavity, strict=True)
        ]

    def field(self, row, log_prior):
        """Sum the log-prior of a row and all messages to it."""
        field = list(log_prior[row])
        for (rows, _, _), messages in zip(self.answers, self.messages, strict=True):
            if row in rows:
                field = [f + t for f, t in zip(field, messages[rows.index(row)], strict=True)]
        return field

    def sweep(self, log_prior, damping):
        """Update all rows once; return the largest change of a message."""
        change = 0.0
        for row in range(len(log_prior)):
            field = self.field(row, log_prior)
            for a, answer in enumerate(self.answers):
                if row not in answer[0]:
                    continue
                here = answer[0].index(row)
                left = [f - t for f, t in zip(field, self.messages[a][here], strict=True)]
                self.cavity[a][here] = softmax(left)
                for at in range(len(answer[0])):
                    if at == here:
                        continue
                    for k in range(self.n_groups):
                        new, old = message(answer, at, k, self.cavity[a]), self.messages[a][at][k]
                        self.messages[a][at][k] = damping * old + (1 - damping) * new
                        change = max(change, abs(new - old))
        return change

    def propagate(self, log_prior, damping, max_sweeps, tol):
        """Sweep until messages converge; return probabilities and the number of sweeps."""
        sweeps, change = 0, math.inf
        while sweeps < max_sweeps and change >= tol:
            change = self.sweep(log_prior, damping)
            sweeps += 1
        return [softmax(self.field(row, log_prior)) for row in range(len(log_prior))], sweeps


def marginals(log_prior, answers):
    """Compute the exact posterior of each row, by enumeration of the groups of all rows."""
    n, n_groups = len(log_prior), len(log_prior[0])
    posterior = [[0.0] * n_groups for _ in range(n)]
    for groups in itertools.product(range(n_groups), repeat=n):
        joint = math.exp(sum(log_prior[row][k] for row, k in enumerate(groups)))
        for rows, likelihood, weight in answers:
            joint *= likelihood(tuple(groups[row] for row in rows)) ** weight
        for row, k in enumerate(groups):
            posterior[row][k] += joint
    return [[value / sum(of_row) for value in of_row] for of_row in posterior]
