"""Random checks: questions drawn with known probabilities, to estimate how good the groups are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import Question
from clew.questions._log import Key
from clew.session._evidence import LEAST, Evidence, p_between

__all__ = ["Check", "check_of", "draw_check"]

#: Added to the probability that a pair between groups belongs together, so that each can be drawn.
FLOOR = 0.002

Pair = tuple[int, int]


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
    evidence: Evidence,
    labels: NDArray[np.int64],
    asked: set[Key],
    *,
    number: int,
    n_answers: int,
    seed: int,
) -> Check | None:
    """Draw a pair that was not asked, alternately within groups and between groups.

    Parameters
    ----------
    evidence : Evidence
        Probabilities of pairs.
    labels : ndarray of shape (n,), int64
        Groups.
    asked : set
        Keys of questions that were asked.
    number : int
        Number of the check, from 1. Odd checks are drawn within groups, even ones between.
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
    probability that they should be in one group, plus 0.002: nearly all of them are different, so
    uniform draws would hardly ever find a missed pair. Time O(n²).
    """
    random = np.random.RandomState((seed + 104729 * number) % 2**32)
    own, rows = labels[evidence.rows], evidence.rows
    taken = _positions(asked, rows)
    for is_within in ((number % 2 == 1), (number % 2 == 0)):
        weight = _weights(evidence, own, is_within=is_within)
        weight[taken[:, 0], taken[:, 1]] = 0
        of_rows = weight.sum(axis=1, dtype=np.float64)
        total = of_rows.sum()
        if total > 0:
            i = int(random.choice(len(rows), p=of_rows / total))
            row = weight[i].astype(np.float64)
            j = int(random.choice(len(rows), p=row / row.sum()))
            return _check(evidence, (i, j), float(row[j] / total), n_answers, is_within=is_within)
    return None


def check_of(
    question: Question, evidence: Evidence, labels: NDArray[np.int64], n: int
) -> Check | None:
    """Describe a check that was drawn elsewhere, such as in an earlier session.

    Parameters
    ----------
    question : Question
        About a pair.
    evidence : Evidence
        Probabilities of pairs, before its answer.
    labels : ndarray of shape (n,), int64
        Groups.
    n : int
        Number of answers before.

    Returns
    -------
    Check or None
        As `draw_check` would have drawn it; None if it could not, because the pair is not in the
        sample of rows.
    """
    i, j = np.searchsorted(evidence.rows, sorted(question.rows)).tolist()
    if j >= len(evidence.rows) or tuple(evidence.rows[[i, j]]) != tuple(sorted(question.rows)):
        return None
    own = labels[evidence.rows]
    is_within = bool(own[i] == own[j])
    weight = _weights(evidence, own, is_within=is_within)
    return _check(
        evidence, (i, j), float(weight[i, j] / weight.sum(dtype=np.float64)), n, is_within=is_within
    )


def _positions(asked: set[Key], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the asked pairs of rows of the sample, as positions in it, (m, 2)."""
    pairs = np.array([of for kind, of in asked if kind == "pair"], np.int64).reshape(-1, 2)
    at = np.minimum(np.searchsorted(rows, pairs), len(rows) - 1)
    return np.asarray(at[(rows[at] == pairs).all(axis=1)])


def _weights(
    evidence: Evidence, labels: NDArray[np.int64], *, is_within: bool
) -> NDArray[np.float32]:
    within = labels[:, None] == labels[None, :]
    weight = within.astype(np.float32) if is_within else evidence.questions + np.float32(FLOOR)
    if not is_within:
        weight[within] = 0
    return np.triu(weight, 1)


def _check(
    evidence: Evidence, pair: Pair, probability: float, n_answers: int, *, is_within: bool
) -> Check:
    p = evidence.labels[pair]
    p_wrong = 1 - p if is_within else p_between(p, evidence.questions[pair], evidence)
    i, j = evidence.rows[list(pair)].tolist()
    return Check(
        (i, j), is_within, probability, float(np.clip(p_wrong, LEAST, 1 - LEAST)), n_answers
    )
