"""Random checks: questions drawn with known probabilities, to estimate how good the groups are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import Question
from clew.questions._log import Key

__all__ = ["Check", "check_of", "draw_check"]

#: Every so many checks, one is drawn within groups; the others are drawn between groups, whose
#: probabilities are less reliable.
WITHIN_EVERY = 4
#: Probabilities are clipped to at least this, so that each pair can be drawn, and at most 1 minus
#: this.
LEAST = 1e-5

Pair = tuple[int, int]
Singles = NDArray[np.float32]


class Check(NamedTuple):
    """A random check: how its pair was drawn, and what was known before its answer."""

    pair: Pair
    is_within: bool
    """Whether its rows are in one group."""
    probability: float
    """Probability with which it was drawn among the pairs within groups, or between groups."""
    p_wrong: float
    """Probability that the groups are wrong about it, before the answer."""
    n_answers: int
    """Number of answers before the check."""


def draw_check(
    same: Singles,
    labels: NDArray[np.int64],
    rows: NDArray[np.int64],
    asked: set[Key],
    *,
    number: int,
    n_answers: int,
    seed: int,
) -> Check | None:
    """Draw a pair that was not asked, in every fourth check within groups, else between groups.

    Parameters
    ----------
    same : ndarray of shape (n, n), float32
        Probability that two rows are the same, symmetric.
    labels : ndarray of shape (n,), int64
        Groups.
    rows : ndarray of shape (n,), int64
        Row numbers, ascending; pairs of these are drawn.
    asked : set
        Keys of questions that were asked.
    number : int
        Number of the check, from 1. The first of four is drawn within groups.
    n_answers : int
        Number of answers so far.
    seed : int
        Seed of the draw.

    Returns
    -------
    Check or None
        If all pairs of the wanted kind were asked, a pair of the other kind; None if all pairs
        were.

    Notes
    -----
    Within groups all pairs are equally likely. Between groups they are drawn in proportion to the
    square root of the probability that they are the same: nearly all of them are different, so
    uniform draws would hardly ever find a missed pair. Time O(n²).
    """
    random = np.random.RandomState((seed + 104729 * number) % 2**32)
    taken = _positions(asked, rows)
    is_first = number % WITHIN_EVERY == 1
    for is_within in (is_first, not is_first):
        weight = _weights(same, labels, is_within=is_within)
        weight[taken[:, 0], taken[:, 1]] = 0
        of_rows = weight.sum(axis=1, dtype=np.float64)
        total = of_rows.sum()
        if total > 0:
            i = int(random.choice(len(rows), p=of_rows / total))
            row = weight[i].astype(np.float64)
            j = int(random.choice(len(rows), p=row / row.sum()))
            pair = int(rows[i]), int(rows[j])
            p_wrong = _p_wrong(same[i, j], is_within=is_within)
            return Check(pair, is_within, float(row[j] / total), p_wrong, n_answers)
    return None


def check_of(
    question: Question, same: Singles, labels: NDArray[np.int64], rows: NDArray[np.int64], n: int
) -> Check | None:
    """Describe a check that was drawn elsewhere, such as in an earlier session.

    Parameters
    ----------
    question : Question
        About a pair.
    same, labels, rows : ndarray
        As for `draw_check`, before its answer.
    n : int
        Number of answers before.

    Returns
    -------
    Check or None
        As `draw_check` would have drawn it; None if it could not, because the pair is not in the
        sample of rows.
    """
    pair = (min(question.rows), max(question.rows))
    i, j = np.searchsorted(rows, pair).tolist()
    if j >= len(rows) or tuple(rows[[i, j]].tolist()) != pair:
        return None
    is_within = bool(labels[i] == labels[j])
    weight = _weights(same, labels, is_within=is_within)
    probability = float(weight[i, j] / weight.sum(dtype=np.float64))
    return Check(pair, is_within, probability, _p_wrong(same[i, j], is_within=is_within), n)


def _positions(asked: set[Key], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the asked pairs of rows of the sample, as positions in it, (m, 2)."""
    pairs = np.array([of for kind, of in asked if kind == "pair"], np.int64).reshape(-1, 2)
    at = np.minimum(np.searchsorted(rows, pairs), len(rows) - 1)
    return np.asarray(at[(rows[at] == pairs).all(axis=1)])


def _weights(same: Singles, labels: NDArray[np.int64], *, is_within: bool) -> Singles:
    within = labels[:, None] == labels[None, :]
    if is_within:
        return np.triu(within.astype(np.float32), 1)
    weight = np.sqrt(np.maximum(same, np.float32(LEAST)))
    weight[within] = 0
    return np.triu(weight, 1)


def _p_wrong(same: np.float32, *, is_within: bool) -> float:
    return float(np.clip(1 - same if is_within else same, LEAST, 1 - LEAST))
