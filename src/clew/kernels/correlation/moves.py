"""Scores of a clustering by pairwise evidence, and moves of single rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel

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

    IN pairs: the asked pairs; scoring: weights of the score; margin: a row moves if its score
    improves by more than this; is_fixed: whether the number of groups is fixed: no group is
    emptied, and none added; n_few: each row is scored with the first `n_few` groups, and with all
    groups that an asked pair connects it to.
    INOUT labels (n_rows,): group of each row, below `n_rows`; sizes (n_rows,): number of rows of
    each group.
    Returns number of moves.
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

    IN pairs, scoring; temperature: divisor of the scores. Near 0, the best group is drawn; random
    (n_rows,): uniform numbers in [0, 1).
    INOUT labels (n_rows,): group of each row; sizes (n_groups,): number of rows of each group.
    Groups may become empty.
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


class Scoring(NamedTuple):
    """Weights in the score of two groups.

    The score of groups of a and b rows is a sum over the pairs of rows between them: the evidence
    of each asked pair, and `unasked` for each other pair. Two terms are added: `attraction` times
    ``log((a + b - 1)! / ((a - 1)! (b - 1)!))``, and the prior, ``mean_share * mean + (1 -
    mean_share) * max`` of the prior log-odds of the asked pairs, or `no_prior` if there are none.
    """

    mean_share: float
    unasked: float
    no_prior: float
    attraction: float


@bare_kernel
def score(
    scoring: Scoring,
    evidence: float,
    prior: float,
    top: float,
    n_asked: float,
    size: float,
    other: float,
) -> float:
    """Compute the score of two groups of these sizes."""
    crowd = math.lgamma(size + other) - math.lgamma(size) - math.lgamma(other)
    return (
        scoring.no_prior
        + scoring.attraction * crowd
        + score_beside_no_prior(scoring, evidence, prior, top, n_asked, size * other)
    )


@bare_kernel
def score_beside_no_prior(
    scoring: Scoring, evidence: float, prior: float, top: float, n_asked: float, n_pairs: float
) -> float:
    """Compute the score without `no_prior` and without the term of the sizes."""
    unasked = scoring.unasked * (n_pairs - n_asked)
    if n_asked == 0:
        return unasked
    mixed = scoring.mean_share * prior / n_asked + (1.0 - scoring.mean_share) * top
    return evidence + unasked + mixed - scoring.no_prior


@kernel
def cut_sums(
    order: Ints,
    above: Ints,
    first: Ints,
    second: Ints,
    values: Floats,
    sums: Floats,
    size: Floats,
) -> None:
    """Sum values of pairs over the cut that each edge of a tree makes when it is removed.

    IN order (n_nodes,): nodes of the tree, each after its parent; the root first; above (n_nodes,):
    parent of each node; that of the root is not read; first, second (n_pairs,): nodes of each pair;
    values (n_pairs, n_values): values of each pair.
    OUT sums (n_nodes, n_values): for each node, sums over the pairs of which exactly one node is in
    its subtree; size (n_nodes,): number of nodes in each subtree.
    """
    n, n_values = len(order), values.shape[1]
    depth = np.zeros(n, np.int64)
    sums[:] = 0.0
    size[:] = 1.0
    for at in range(1, n):
        depth[order[at]] = depth[above[order[at]]] + 1
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        for column in range(n_values):
            sums[a, column] += values[pair, column]
            sums[b, column] += values[pair, column]
        while a != b:
            if depth[a] < depth[b]:
                a, b = b, a
            a = above[a]
        for column in range(n_values):
            sums[a, column] -= 2.0 * values[pair, column]
    for at in range(n - 1, 0, -1):
        node = order[at]
        size[above[node]] += size[node]
        for column in range(n_values):
            sums[above[node], column] += sums[node, column]
