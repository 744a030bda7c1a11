"""Answers that follow from distances in a space, and how well a model predicts them."""

from __future__ import annotations

import numpy as np

from clew import Constraints

N = 30
ALL = ["pairs", "triplets", "odd_one_out"]


def true_space(seed, n=N, d=2):
    return np.random.default_rng(seed).normal(size=(n, d)) * 1.5


def squared(space, i, j):
    return ((space[i] - space[j]) ** 2).sum(axis=1)


def triplets(space, m, seed, noise=0.0):
    """Rows and answers; a share of the answers is random."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(space))[:3] for _ in range(m)])
    a, b, c = rows.T
    answers = (squared(space, a, c) < squared(space, a, b)).astype(int)
    return rows, np.where(rng.uniform(size=m) < noise, rng.integers(2, size=m), answers)


def odd_one_out(space, m, seed):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(space))[:3] for _ in range(m)])
    a, b, c = rows.T
    apart = np.stack([squared(space, b, c), squared(space, a, c), squared(space, a, b)])
    return rows, apart.argmin(axis=0)


def most_central(space, m, seed):
    """Rows of questions, and the position of the row opposite to the longest side."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(space))[:3] for _ in range(m)])
    a, b, c = rows.T
    apart = np.stack([squared(space, b, c), squared(space, a, c), squared(space, a, b)])
    return rows, apart.argmax(axis=0)


def pairs(space, m, seed):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(space))[:2] for _ in range(m)])
    return rows, (squared(space, *rows.T) < 2).astype(int)


def ratings(space, m, seed):
    """Ratings from 0, far apart, to 6, at the same place."""
    rows = pairs(space, m, seed)[0]
    near = np.rint(6 * np.exp(-squared(space, *rows.T) / 4))
    return Constraints.from_ratings(rows, near, different=0, same=6, n_samples=len(space))


ASKED = {"pairs": pairs, "triplets": triplets, "odd_one_out": odd_one_out}


def answers_of(kinds, space, m, seed, n=None):
    given = {kind: np.column_stack(ASKED[kind](space, m, seed)) for kind in kinds}
    return Constraints(n or len(space), **given)


def accuracy(model, known):
    """Share of answers that are the most probable ones."""
    right = [
        model.predict_proba({table.kind: table.rows})[table.kind].argmax(axis=1) == table.answers
        for table in known.tables
        if len(table)
    ]
    return np.concatenate(right).mean()
