"""Probability that two rows are the same, from a strategy or from its groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from clew.questions import Guided, Strategy
from clew.session._items import Items

__all__ = ["Evidence", "evidence_of", "near_pairs", "p_between"]

Singles = NDArray[np.float32]

#: If there are more rows than this, evidence is of a random sample of so many.
MOST_ROWS, SAMPLE_SEED = 3000, 0
#: For strategies without probabilities: the probability that a row is the same as one of its
#: nearest rows, and the number of nearest rows. Other pairs between groups have probability 0.
P_NEAR, N_NEAR = 0.25, 10
#: A pair between groups is the same with probability
#: ``sigmoid(INTERCEPT + OF_LABELS * logit(P) + OF_QUESTIONS * logit(A))``, where P is its entry in
#: `Evidence.labels` and A in `Evidence.questions`: logistic regression on 1,281 checks of 91
#: sessions.
INTERCEPT, OF_LABELS, OF_QUESTIONS = 0.29, 0.28, 0.80
LEAST = 1e-4
#: For strategies without probabilities: the probability that a pair within a group is the same.
P_WITHIN = 0.8


class Evidence(NamedTuple):
    """Probability that two rows are the same, by two estimates; (n, n), symmetric."""

    labels: Singles
    """The estimate from which groups are made."""
    questions: Singles
    """The estimate by which questions are chosen: less certain between groups that features alone
    separate."""
    is_estimated: bool
    """Whether the strategy estimates them from the answers."""
    rows: NDArray[np.int64]
    """Numbers of the n rows, ascending: all rows, or a random sample."""


def evidence_of(strategy: Strategy, labels: NDArray[np.int64], near: Singles | None) -> Evidence:
    """Read the probabilities of a strategy, or derive them from its groups.

    Parameters
    ----------
    strategy : Strategy
        Has been started.
    labels : ndarray of shape (n,), int64
        Its groups.
    near : ndarray of shape (n, n), float32, or None
        See `near_pairs`.

    Returns
    -------
    Evidence
        Of all rows, or of a sample of 3,000. For strategies other than `Guided`, of all rows: 1 or
        0 where answers imply that two rows are the same or different; else 0.8 within groups; else
        0.25 for nearest rows and 0 for all others.
    """
    n = len(labels)
    rows = np.arange(n)
    if isinstance(strategy, Guided):
        if n > MOST_ROWS:
            drawn = np.random.RandomState(SAMPLE_SEED).choice(n, MOST_ROWS, replace=False)
            rows = np.sort(drawn).astype(np.int64)
        P, A = (_of_guided(strategy, rows, for_questions=which) for which in (False, True))
        return Evidence(P, A, is_estimated=True, rows=rows)
    within = labels[:, None] == labels[None, :]
    found = np.where(within, np.float32(P_WITHIN), 0 if near is None else near)
    found = found.astype(np.float32, copy=False)
    component = strategy.known.closure.component
    together = component[:, None] == component[None, :]
    found[strategy.known.apart()[np.ix_(component, component)]] = 0
    found[together] = 1
    return Evidence(found, found, is_estimated=False, rows=rows)


def _of_guided(strategy: Guided, rows: NDArray[np.int64], *, for_questions: bool) -> Singles:
    n = len(rows)
    if n == strategy.n_samples_:
        return strategy.probabilities(for_questions=for_questions)
    pairs = np.column_stack([np.repeat(rows, n), np.tile(rows, n)])
    return strategy.probabilities(pairs, for_questions=for_questions).reshape(n, n)


def p_between(labels: Singles, questions: Singles, evidence: Evidence) -> Singles:
    """Return the probability that pairs of different groups are the same.

    Parameters
    ----------
    labels, questions : ndarray of shape (n_pairs,), float32
        Entries of `evidence.labels` and `evidence.questions`.
    evidence : Evidence
        Only its `is_estimated` is read.

    Returns
    -------
    ndarray of shape (n_pairs,), float32
        With `Guided`, a calibrated mean of `labels`, which are too low, and `questions`, which are
        too high; with other strategies, `questions`.
    """
    if not evidence.is_estimated:
        return questions
    P, A = (logit(np.clip(p, LEAST, 1 - LEAST)) for p in (labels, questions))
    found = expit(INTERCEPT + OF_LABELS * P + OF_QUESTIONS * A)
    return np.asarray(found, np.float32)


def near_pairs(items: Items) -> Singles:
    """Return 0.25 for each row and its ten nearest rows, 0 for other pairs; (n, n), symmetric.

    Parameters
    ----------
    items : Items
        Features or distances. If neither is known, all pairs have the same probability.
    """
    n = len(items.X)
    if not items.is_known:
        return np.full((n, n), P_NEAR * min(1.0, N_NEAR / n), np.float32)
    found = np.zeros((n, n), np.float32)
    for start in range(0, n, 1024):
        block = slice(start, start + 1024)
        apart = items.X[block] if items.is_distances else _squares(items.X[block], items.X)
        nearest = np.argpartition(apart, min(N_NEAR, n - 1), axis=1)[:, : N_NEAR + 1]
        found[np.arange(n)[block, None], nearest] = P_NEAR
    found = np.maximum(found, found.T)
    np.fill_diagonal(found, 1)
    return found


def _squares(rows: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((others**2).sum(axis=1) - 2 * rows @ others.T)
