"""Moves of single rows between groups: to the best one, or to a drawn one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.correlation.scores import Scoring, score, score_beside_no_prior

__all__ = ["Pairs", "anneal_rows", "move_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Pairs(NamedTuple):
    """The asked pairs as a matrix in CSR format; each pair is stored for both of its rows."""

    indptr: Ints
    indices: Ints
    evidence: Floats
    """Evidence of each pair, (n_stored,)."""
    prior: Floats
    """Prior log-odds of each pair, (n_stored,)."""


class Sums(NamedTuple):
    """Sums over the asked pairs of one row, by group."""

    evidence: Floats
    prior: Floats
    top: Floats
    """Maximum of their prior."""
    n_asked: Floats
    groups: Ints
    """Groups that a move compares; their number is kept by the caller."""


@kernel
def empty_sums(n_groups: int) -> Sums:
    """Return sums of no pairs."""
    return Sums(
        np.zeros(n_groups), np.zeros(n_groups), np.full(n_groups, -np.inf), np.zeros(n_groups),
        np.empty(n_groups, np.int64),
    )  # fmt: skip


@bare_kernel
def add_pair(pairs: Pairs, at: int, group: int, sums: Sums) -> None:
    """Add a pair to the sums of a group."""
    sums.evidence[group] += pairs.evidence[at]
    sums.prior[group] += pairs.prior[at]
    sums.top[group] = max(sums.top[group], pairs.prior[at])
    sums.n_asked[group] += 1


@bare_kernel
def sum_pairs(pairs: Pairs, row: int, labels: Ints, sums: Sums) -> int:
    """Sum the pairs of a row by the group of the other row; return the number of groups."""
    n_groups = 0
    for at in range(pairs.indptr[row], pairs.indptr[row + 1]):
        group = labels[pairs.indices[at]]
        if sums.n_asked[group] == 0:
            sums.groups[n_groups] = group
            n_groups += 1
        add_pair(pairs, at, group, sums)
    return n_groups


@bare_kernel
def clear(sums: Sums, group: int) -> None:
    """Remove all pairs from the sums of a group."""
    sums.evidence[group], sums.prior[group], sums.n_asked[group] = 0.0, 0.0, 0.0
    sums.top[group] = -np.inf


@bare_kernel
def row_score(scoring: Scoring, sums: Sums, group: int, n_others: float, is_fixed: bool) -> float:
    """Compute the score of a row and the `n_others` other rows of a group.

    If the number of groups is fixed, a row cannot be alone: terms that are equal for all groups are
    left out.
    """
    evidence, prior, top = sums.evidence[group], sums.prior[group], sums.top[group]
    n_asked = sums.n_asked[group]
    if is_fixed:
        return score_beside_no_prior(scoring, evidence, prior, top, n_asked, n_others)
    if n_others == 0:
        return 0.0
    return score(scoring, evidence, prior, top, n_asked, n_others, 1.0)


@kernel
def move_rows(
    pairs: Pairs,
    scoring: Scoring,
    margin: float,
    is_fixed: bool,
    n_few: int,
    labels: Ints,
    sizes: Floats,
) -> int:
    """Move each row, in order, to the group that it fits best, or to a group of its own.

    Parameters
    ----------
    pairs : Pairs (IN)
        The asked pairs.
    scoring : Scoring
        Weights of the score.
    margin : float
        A row moves if its score improves by more than this.
    is_fixed : bool
        Whether the number of groups is fixed: no group is emptied, and none added.
    n_few : int
        Each row is scored with the first `n_few` groups, and with all groups that an asked pair
        connects it to.
    labels : ndarray of shape (n_rows,), int64 (INOUT)
        Group of each row, below `n_rows`.
    sizes : ndarray of shape (n_rows,), float64 (INOUT)
        Number of rows of each group.

    Returns
    -------
    int
        Number of moves.
    """
    sums = empty_sums(len(labels))
    n_moves, empty = 0, 0
    for row in range(len(labels)):
        own = labels[row]
        if is_fixed and sizes[own] == 1:
            continue
        n_groups = sum_pairs(pairs, row, labels, sums)
        for group in range(n_few):  # also groups without an asked pair to this row
            if sums.n_asked[group] == 0 and sizes[group] > 0:
                sums.groups[n_groups] = group
                n_groups += 1
        here = row_score(scoring, sums, own, sizes[own] - 1, is_fixed)
        best, there = best_group(scoring, sums, n_groups, sizes, is_fixed, own, here)
        for at in range(n_groups):
            clear(sums, sums.groups[at])
        if best != own and there > margin + (here if is_fixed else max(here, 0.0)):
            target = best
        elif not is_fixed and here < -margin:
            while sizes[empty] > 0:
                empty += 1
            target = empty
        else:
            continue
        labels[row] = target
        sizes[own] -= 1
        sizes[target] += 1
        if sizes[own] == 0 and own < empty:
            empty = own
        n_moves += 1
    return n_moves


@bare_kernel
def best_group(
    scoring: Scoring,
    sums: Sums,
    n_groups: int,
    sizes: Floats,
    is_fixed: bool,
    own: int,
    here: float,
) -> tuple[int, float]:
    """Return the best group and its score; ties go to `own`, then to the smallest label."""
    best, largest = own, here
    for at in range(n_groups):
        group = sums.groups[at]
        if group == own:
            continue
        there = row_score(scoring, sums, group, sizes[group], is_fixed)
        if there > largest or (there == largest and group < best and best != own):
            best, largest = group, there
    return best, largest


@kernel
def anneal_rows(
    pairs: Pairs,
    scoring: Scoring,
    temperature: float,
    random: Floats,
    labels: Ints,
    sizes: Floats,
) -> None:
    """Draw the group of each row, in order, given those of all others (one Gibbs sweep).

    Parameters
    ----------
    pairs, scoring
        As in `move_rows`.
    temperature : float
        Divisor of the scores. Near 0, the best group is drawn.
    random : ndarray of shape (n_rows,), float64 (IN)
        Uniform numbers in [0, 1).
    labels : ndarray of shape (n_rows,), int64 (INOUT)
        Group of each row.
    sizes : ndarray of shape (n_groups,), float64 (INOUT)
        Number of rows of each group. Groups may become empty.
    """
    n_groups = len(sizes)
    sums, weight = empty_sums(n_groups), np.empty(n_groups)
    for row in range(len(labels)):
        sizes[labels[row]] -= 1
        for at in range(pairs.indptr[row], pairs.indptr[row + 1]):
            add_pair(pairs, at, labels[pairs.indices[at]], sums)
        best = -np.inf
        for group in range(n_groups):
            weight[group] = score_beside_no_prior(
                scoring, sums.evidence[group], sums.prior[group], sums.top[group],
                sums.n_asked[group], sizes[group],
            )  # fmt: skip
            best = max(best, weight[group])
            clear(sums, group)
        whole = 0.0
        for group in range(n_groups):
            weight[group] = np.exp((weight[group] - best) / temperature)
            whole += weight[group]
        level, chosen = random[row] * whole, 0
        while chosen < n_groups - 1 and level >= weight[chosen]:
            level -= weight[chosen]
            chosen += 1
        labels[row] = chosen
        sizes[chosen] += 1
