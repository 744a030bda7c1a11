"""Gibbs sampling of single rows: each row draws its group, or a new one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.partitions.draws import draw, random_order
from clew.kernels.partitions.tables import Answered, Groups, Scoring, move_row

__all__ = ["draw_rows", "row_log_odds"]


@kernel
def draw_rows(
    groups: Groups,
    log_odds: NDArray[np.float32],
    answered: Answered,
    scoring: Scoring,
    state: NDArray[np.uint64],
) -> None:
    """Draw the group of each row once, in random order."""
    n = len(groups.label)
    order = np.arange(n)
    random_order(order, state)
    score = np.empty(n + 1)
    for at in order:
        row = int(at)
        k = groups.count[0]
        row_log_odds(groups, row, answered, scoring, score)
        n_options = k
        if groups.size[groups.label[row]] > 1:
            score[k] = scoring.alone
            n_options += 1
        to = draw(score, n_options, scoring.temperature, state)
        if to != groups.label[row]:
            move_row(groups, row, to, log_odds)


@kernel
def row_log_odds(
    groups: Groups,
    row: int,
    answered: Answered,
    scoring: Scoring,
    score: NDArray[np.float64],
) -> None:
    """Compute the log-odds that a row belongs to each group, from the other rows of the group.

    For the group of a single row it is `Scoring.alone`.
    """
    k = groups.count[0]
    own = groups.label[row]
    for a in range(k):
        size = groups.size[a] - (1 if a == own else 0)
        if size == 0:
            score[a] = scoring.alone
        else:
            mean = groups.total[a, row] / size
            score[a] = mean + scoring.top_share * (groups.top[a, row] - mean)
    for p in range(answered.start[row], answered.start[row + 1]):
        score[groups.label[answered.other[p]]] += answered.evidence[p]
