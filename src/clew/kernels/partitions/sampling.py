"""One step of a sampled partition: splits of groups, moves of rows, merges of groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel
from clew.kernels.partitions.tables import (
    LOWEST,
    NONE,
    Answered,
    Groups,
    Scoring,
    fill_tables,
    group_sums,
    move_row,
    split_group,
)
from clew.kernels.random_bits import draw, random_below, random_order, random_unit


@kernel
def advance(
    groups: Groups,
    log_odds: NDArray[np.float32],
    answered: Answered,
    scoring: Scoring,
    n_tries: int,
    state: NDArray[np.uint64],
) -> None:
    """Draw splits of groups, the group of each row, and merges; the tables are computed first."""
    fill_tables(groups, log_odds)
    draw_splits(groups, log_odds, answered, scoring, n_tries, state)
    draw_rows(groups, log_odds, answered, scoring, state)
    draw_blocks(groups, log_odds, answered, scoring, state)


Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
State = NDArray[np.uint64]

#: Number of sweeps that assign the rows of a group to one of two seeds.
SWEEPS = 3


class Sides(NamedTuple):
    """The two parts of one group; `position` is a row's place in `rows`, or `NONE`."""

    rows: Ints
    position: Ints
    side: Ints
    """Side of each row in `rows`: 0, 1 or `NONE`."""
    count: Ints
    """(2,)"""
    odds: Singles
    """(n_rows, n_rows): log-odds of the rows, side by side in memory."""
    total: Singles
    """(2, n_rows): sum of the log-odds of a row and the rows of a side."""
    top: Singles
    """(2, n_rows): their maximum."""


@kernel
def draw_splits(
    groups: Groups,
    log_odds: Singles,
    answered: Answered,
    scoring: Scoring,
    n_tries: int,
    state: State,
) -> None:
    """Propose `n_tries` splits of each group; make the first that is accepted."""
    position = np.full(len(groups.label), NONE)
    for group in range(groups.count[0]):
        if groups.size[group] < 2:
            continue
        sides = _members(groups, group, position, log_odds)
        for _ in range(n_tries):
            _propose(sides, answered, scoring, state)
            score = _score(sides, answered, scoring)
            if random_unit(state) >= 1.0 / (1.0 + np.exp(-score / scoring.temperature)):
                split_group(groups, group, sides.rows, sides.side, log_odds)
                break
        position[sides.rows] = NONE


@kernel
def _members(groups: Groups, group: int, position: Ints, log_odds: Singles) -> Sides:
    """Collect the rows of a group, none of them on a side."""
    m = groups.size[group]
    rows = np.empty(m, np.int64)
    i = groups.first[group]
    for p in range(m):
        rows[p] = i
        position[i] = p
        i = groups.after[i]
    odds = np.empty((m, m), np.float32)
    for p in range(m):
        for q in range(m):
            odds[p, q] = log_odds[rows[p], rows[q]]
    total, top = np.empty((2, m), np.float32), np.empty((2, m), np.float32)
    return Sides(rows, position, np.full(m, NONE), np.zeros(2, np.int64), odds, total, top)


@kernel
def _propose(sides: Sides, answered: Answered, scoring: Scoring, state: State) -> None:
    """Draw the side of each row, from two seeds."""
    sides.side[:] = NONE
    sides.count[:] = 0
    sides.total[:] = 0.0
    sides.top[:] = LOWEST
    first, second = _seeds(sides, answered, state)
    _assign(sides, first, 0)
    _assign(sides, second, 1)
    order = np.arange(len(sides.rows))
    random_order(order, state)
    for _ in range(SWEEPS):
        for place in order:
            p = int(place)
            if p in (first, second):
                continue
            gap = _side_gap(sides, p, answered, scoring)
            zero = 1.0 / (1.0 + np.exp(-gap / scoring.temperature))
            side = 0 if random_unit(state) < zero else 1
            if side != sides.side[p]:
                _assign(sides, p, side)


@kernel
def _seeds(sides: Sides, answered: Answered, state: State) -> tuple[int, int]:
    """Draw two seeds; with probability ½ a pair with an answer "different", if there is one."""
    m = len(sides.rows)
    first, second, seen = NONE, NONE, 0
    if random_unit(state) < 0.5:
        for p in range(m):
            i = sides.rows[p]
            for at in range(answered.start[i], answered.start[i + 1]):
                q = sides.position[answered.other[at]]
                if answered.evidence[at] < 0 and q != NONE:
                    seen += 1
                    if random_below(state, seen) == 0:
                        first, second = p, q
    if first == NONE:
        first = random_below(state, m)
        second = random_below(state, m - 1)
        if second >= first:
            second += 1
    return first, second


@kernel
def _assign(sides: Sides, p: int, side: int) -> None:
    """Put the row at place p on a side, and update the tables of all rows of the group."""
    was = sides.side[p]
    odds = sides.odds[p]
    sides.side[p] = side
    sides.count[side] += 1
    total, top = sides.total[side], sides.top[side]
    own_total, own_top = total[p], top[p]
    for q in range(len(odds)):
        total[q] += odds[q]
        top[q] = max(top[q], odds[q])
    total[p], top[p] = own_total, own_top
    if was == NONE:
        return
    sides.count[was] -= 1
    total, top = sides.total[was], sides.top[was]
    own_total = total[p]
    for q in range(len(odds)):
        total[q] -= odds[q]
    total[p] = own_total
    for q in range(len(odds)):
        if odds[q] >= top[q] and q != p:
            top[q] = _top_of(sides, q, was)


@kernel
def _top_of(sides: Sides, q: int, side: int) -> np.float32:
    """Compute the maximum of the log-odds of the row at place q and the other rows of a side."""
    top = LOWEST
    odds = sides.odds[q]
    for p in range(len(odds)):
        if sides.side[p] == side and p != q:
            top = max(top, odds[p])
    return top


@kernel
def _side_gap(sides: Sides, p: int, answered: Answered, scoring: Scoring) -> float:
    """Compute the log-odds of a row and side 0, minus those of the row and side 1."""
    gap = 0.0
    for side in range(2):
        count = sides.count[side] - (1 if sides.side[p] == side else 0)
        mean = sides.total[side, p] / count
        odds = mean + scoring.top_share * (sides.top[side, p] - mean)
        gap += odds if side == 0 else -odds
    i = sides.rows[p]
    for at in range(answered.start[i], answered.start[i + 1]):
        q = sides.position[answered.other[at]]
        if q != NONE and sides.side[q] != NONE:
            gap += answered.evidence[at] if sides.side[q] == 0 else -answered.evidence[at]
    return gap


@kernel
def _score(sides: Sides, answered: Answered, scoring: Scoring) -> float:
    """Compute the log-odds that the two sides are one group."""
    total, evidence, top = 0.0, 0.0, np.float64(LOWEST)
    for p in range(len(sides.rows)):
        if sides.side[p] == 1:
            continue
        total += sides.total[1, p]
        top = max(top, np.float64(sides.top[1, p]))
        i = sides.rows[p]
        for at in range(answered.start[i], answered.start[i + 1]):
            q = sides.position[answered.other[at]]
            if q != NONE and sides.side[q] == 1:
                evidence += answered.evidence[at]
    mean = total / (sides.count[0] * sides.count[1])
    alone = scoring.alone / min(sides.count[0], sides.count[1]) ** 2
    return mean + scoring.top_share * (top - mean) + evidence - alone - scoring.apart


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
    groups: Groups, row: int, answered: Answered, scoring: Scoring, score: NDArray[np.float64]
) -> None:
    """Compute the log-odds that a row belongs to each group, from the group's other rows.

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


Floats = NDArray[np.float64]

IMPOSSIBLE = -1e300


@kernel
def draw_blocks(
    groups: Groups,
    log_odds: NDArray[np.float32],
    answered: Answered,
    scoring: Scoring,
    state: NDArray[np.uint64],
) -> None:
    """Draw for each group, in random order, whether it joins another group, and which."""
    k = groups.count[0]
    total, top, evidence = group_sums(groups, answered)
    size = groups.size[:k].astype(np.float64)
    into = np.arange(k)
    order = np.arange(k)
    random_order(order, state)
    score = np.empty(k + 1)
    for a in order:
        if into[a] != a:
            continue
        for b in range(k):
            mean = total[a, b] / (size[a] * size[b])
            between = mean + scoring.top_share * (top[a, b] - mean) + evidence[a, b]
            score[b] = IMPOSSIBLE if b == a or into[b] != b else between
        score[k] = scoring.alone / size[a] ** 2 + scoring.apart
        b = draw(score, k + 1, scoring.temperature, state)
        if b < k:
            into[a] = b
            _add_group(total, top, evidence, a, b)
            size[b] += size[a]
    if (into != np.arange(k)).any():
        _apply(groups, into)
        fill_tables(groups, log_odds)


@kernel
def _add_group(total: Floats, top: Floats, evidence: Floats, a: int, b: int) -> None:
    """Add the sums of group a to those of group b."""
    for c in range(len(total)):
        if c != b:
            total[b, c] += total[a, c]
            total[c, b] += total[c, a]
            evidence[b, c] += evidence[a, c]
            evidence[c, b] += evidence[c, a]
            top[b, c] = max(top[b, c], top[a, c])
            top[c, b] = top[b, c]


@kernel
def _apply(groups: Groups, into: NDArray[np.int64]) -> None:
    """Relabel the rows after the merges; groups are numbered from 0."""
    number = np.full(len(into), -1)
    count = 0
    for i in range(len(groups.label)):
        a = groups.label[i]
        while into[a] != a:
            a = into[a]
        if number[a] < 0:
            number[a] = count
            count += 1
        groups.label[i] = number[a]
    groups.count[0] = count
