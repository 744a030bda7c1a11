"""Sums and maxima of log-odds between rows and groups, kept up to date while rows move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import kernel

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

LOWEST = np.float32(-1e9)
NONE = -1


class Scoring(NamedTuple):
    """Weights in the log-odds that two sets of rows are one group.

    They are ``(1 - top_share) * mean(W) + top_share * max(W) + sum(E)``, over the pairs between the
    two sets: `W` the log-odds from features, `E` the evidence of answers.
    """

    top_share: float
    alone: float
    """Log-odds that a row is a group of its own, instead of in a given group."""
    apart: float
    """Log-odds that two groups are two, before features and answers."""
    temperature: float


class Answered(NamedTuple):
    """Evidence of answers about pairs, as the rows of a symmetric CSR matrix."""

    start: Ints
    """(n_rows + 1,)"""
    other: Ints
    evidence: Floats
    """Log-likelihood ratio of the answer, same against different."""


class Groups(NamedTuple):
    """One partition of n rows, and its tables; `count[0]` groups are in use."""

    label: Ints
    """Group of each row, below ``count[0]``."""
    size: Ints
    """(n,): rows in each group."""
    count: Ints
    """(1,)"""
    first: Ints
    """(n + 1,): a row of each group, or `NONE`."""
    after: Ints
    """(n,): the next row of the same group, or `NONE`."""
    before: Ints
    """(n,): the row before, or `NONE`."""
    total: Singles
    """(n + 1, n): sum of the log-odds of the rows of a group and a row."""
    top: Singles
    """(n + 1, n): their maximum, `LOWEST` for an empty group."""


@kernel
def fill_tables(groups: Groups, log_odds: Singles) -> None:
    """Compute all other fields from the labels and their count; the diagonal is ignored."""
    for a in range(groups.count[0]):
        _empty(groups, a)
    for i in range(len(groups.label)):
        _join(groups, i, groups.label[i], log_odds)


@kernel
def split_group(groups: Groups, group: int, rows: Ints, side: Ints, log_odds: Singles) -> None:
    """Move the rows of a group that are on side 1 to a new group."""
    new = groups.count[0]
    groups.count[0] += 1
    _empty(groups, group)
    _empty(groups, new)
    for p in range(len(rows)):
        _join(groups, rows[p], new if side[p] == 1 else group, log_odds)


@kernel
def _empty(groups: Groups, group: int) -> None:
    """Let a group have no rows."""
    groups.size[group] = 0
    groups.first[group] = NONE
    groups.total[group] = 0.0
    groups.top[group] = LOWEST


@kernel
def _join(groups: Groups, row: int, group: int, log_odds: Singles) -> None:
    """Put a row that is in no group into one."""
    groups.label[row] = group
    groups.size[group] += 1
    _link(groups, row, group)
    _add_row(groups, row, group, log_odds[row])


@kernel
def _add_row(groups: Groups, row: int, group: int, odds: Singles) -> None:
    """Add the log-odds of a row to the tables of a group, for all other rows."""
    total, top = groups.total[group], groups.top[group]
    own_total, own_top = total[row], top[row]
    for j in range(len(odds)):
        total[j] += odds[j]
        top[j] = max(top[j], odds[j])
    total[row], top[row] = own_total, own_top


@kernel
def _link(groups: Groups, row: int, group: int) -> None:
    """Put a row at the head of the list of a group."""
    head = groups.first[group]
    groups.after[row], groups.before[row] = head, NONE
    if head != NONE:
        groups.before[head] = row
    groups.first[group] = row


@kernel
def _unlink(groups: Groups, row: int, group: int) -> None:
    """Take a row out of the list of its group."""
    before, after = groups.before[row], groups.after[row]
    if before == NONE:
        groups.first[group] = after
    else:
        groups.after[before] = after
    if after != NONE:
        groups.before[after] = before


@kernel
def move_row(groups: Groups, row: int, to: int, log_odds: Singles) -> None:
    """Move a row to a group, which may be the first unused one; keep the used groups first."""
    was = groups.label[row]
    if to == groups.count[0]:
        groups.count[0] += 1
        _empty(groups, to)
    _unlink(groups, row, was)
    groups.size[was] -= 1
    _join(groups, row, to, log_odds)
    if groups.size[was] == 0:
        _remove_group(groups, was)
    else:
        _subtract_row(groups, row, was, log_odds)


@kernel
def _subtract_row(groups: Groups, row: int, group: int, log_odds: Singles) -> None:
    """Take the log-odds of a row out of the tables of the group that it left."""
    total, top, odds = groups.total[group], groups.top[group], log_odds[row]
    own_total = total[row]
    for j in range(len(odds)):
        total[j] -= odds[j]
    total[row] = own_total
    for j in range(len(odds)):
        if odds[j] >= top[j] and j != row:
            top[j] = _top_of(groups, j, group, log_odds)


@kernel
def _top_of(groups: Groups, row: int, group: int, log_odds: Singles) -> np.float32:
    """Compute the maximum of the log-odds of a row and the other rows of a group."""
    top = LOWEST
    i = groups.first[group]
    while i != NONE:
        if i != row:
            top = max(top, log_odds[row, i])
        i = groups.after[i]
    return top


@kernel
def _remove_group(groups: Groups, empty: int) -> None:
    """Give the number of an empty group to the last group."""
    last = groups.count[0] - 1
    groups.count[0] = last
    if empty == last:
        return
    groups.size[empty] = groups.size[last]
    groups.first[empty] = groups.first[last]
    groups.total[empty] = groups.total[last]
    groups.top[empty] = groups.top[last]
    i = groups.first[empty]
    while i != NONE:
        groups.label[i] = empty
        i = groups.after[i]


@kernel
def group_sums(groups: Groups, answered: Answered) -> tuple[Floats, Floats, Floats]:
    """Compute sums and maxima of log-odds, and sums of evidence, between all groups."""
    k = groups.count[0]
    total, evidence = np.zeros((k, k)), np.zeros((k, k))
    top = np.full((k, k), np.float64(LOWEST))
    for b in range(k):
        for i in range(len(groups.label)):
            a = groups.label[i]
            total[a, b] += groups.total[b, i]
            top[a, b] = max(top[a, b], np.float64(groups.top[b, i]))
    for i in range(len(groups.label)):
        a = groups.label[i]
        for p in range(answered.start[i], answered.start[i + 1]):
            evidence[a, groups.label[answered.other[p]]] += answered.evidence[p]
    return total, top, evidence
