"""Memberships of many groups: the most probable few of each row, and what answers do to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.belief_propagation import LEAST, AnswerFactors, sum_messages

#: Share of a suggested group that no anchor of the row has.
LEAST_SHARE = 1e-6


@bare_kernel
def insert(
    group: int, share: float, groups: NDArray[np.int32], shares: NDArray[np.float32]
) -> None:
    """Insert a group into the descending list of the largest shares, if it is large enough."""
    place = shares.shape[0] - 1
    if groups[place] >= 0 and share <= shares[place]:
        return
    while place > 0 and (groups[place - 1] < 0 or shares[place - 1] < share):
        groups[place] = groups[place - 1]
        shares[place] = shares[place - 1]
        place -= 1
    groups[place] = group
    shares[place] = share


@bare_kernel
def sharpen(
    groups: NDArray[np.int32], shares: NDArray[np.float32], floor: float, strength: float
) -> None:
    """Add `floor` to the shares, raise them to a power, and scale their sum to 1."""
    if groups[0] < 0:
        return
    largest = shares[0] + floor
    total = 0.0
    for place in range(groups.shape[0]):
        if groups[place] < 0:
            break
        shares[place] = ((shares[place] + floor) / largest) ** strength
        total += shares[place]
    for place in range(groups.shape[0]):
        shares[place] /= total


@bare_kernel
def keep_suggested(
    suggested: int, share: float, groups: NDArray[np.int32], shares: NDArray[np.float32]
) -> None:
    """Put a group that is not in the list in its last place."""
    last = groups.shape[0] - 1
    for place in range(last + 1):
        if groups[place] == suggested:
            return
    groups[last] = suggested
    shares[last] = share


@kernel
def mix_memberships(
    nearest: NDArray[np.int32],
    weight: NDArray[np.float32],
    anchor_groups: NDArray[np.int32],
    anchor_shares: NDArray[np.float32],
    suggested: NDArray[np.int32],
    floor: float,
    strength: float,
    total: NDArray[np.float32],
    groups: NDArray[np.int32],
    shares: NDArray[np.float32],
) -> None:
    """Average the memberships of each row's anchors, keep the largest and sharpen them.

    IN nearest, weight (n_rows, n_nearest): anchors of each row, and weights with sum 1;
    anchor_groups, anchor_shares (n_anchors, n_candidates): candidate groups of each anchor and
    their probabilities; -1 after the last; suggested (n_rows,): a group that each row keeps in any
    case; -1 for none; floor: added to each share before it is sharpened; strength: exponent of the
    shares.
    INOUT total (n_groups,): work space; 0 before and after the call.
    OUT groups (n_rows, n_kept): candidate groups of each row, the most probable first; -1 after the
    last. A suggested group may be last although it is more probable; shares (n_rows, n_kept): with
    sum 1.
    """
    touched = np.empty(nearest.shape[1] * anchor_groups.shape[1] + 1, np.int32)
    for row in range(nearest.shape[0]):
        n_touched = 0
        for near in range(nearest.shape[1]):
            anchor = nearest[row, near]
            for place in range(anchor_groups.shape[1]):
                group = anchor_groups[anchor, place]
                share = weight[row, near] * anchor_shares[anchor, place]
                if group < 0:
                    break
                if share <= 0.0:
                    continue
                if total[group] == 0.0:
                    touched[n_touched] = group
                    n_touched += 1
                total[group] += share
        kept = suggested[row]
        if kept >= 0 and total[kept] == 0.0:
            touched[n_touched] = kept
            n_touched += 1
            total[kept] = LEAST_SHARE
        groups[row] = -1
        shares[row] = 0.0
        for at in range(n_touched):
            insert(touched[at], total[touched[at]], groups[row], shares[row])
        if kept >= 0:
            keep_suggested(kept, total[kept], groups[row], shares[row])
        for at in range(n_touched):
            total[touched[at]] = 0.0
        sharpen(groups[row], shares[row], floor, strength)


@kernel
def add_to_anchors(
    nearest: NDArray[np.int32],
    weight: NDArray[np.float32],
    groups: NDArray[np.int32],
    shares: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> None:
    """Add the memberships of rows to those of their anchors.

    IN nearest, weight, groups, shares: as in `mix_memberships`.
    INOUT sums (n_anchors, n_groups): weighted sums of the memberships of each anchor's rows.
    """
    for row in range(nearest.shape[0]):
        for near in range(nearest.shape[1]):
            anchor = nearest[row, near]
            for place in range(groups.shape[1]):
                if groups[row, place] < 0:
                    break
                sums[anchor, groups[row, place]] += weight[row, near] * shares[row, place]


@kernel
def largest_shares(
    start: NDArray[np.int32],
    group: NDArray[np.int32],
    share: NDArray[np.float32],
    groups: NDArray[np.int32],
    shares: NDArray[np.float32],
) -> None:
    """Keep the largest shares of each row of a sparse matrix, and scale their sum to 1.

    IN start, group, share: the matrix in CSR form, nonnegative; each row with a positive entry.
    OUT groups, shares (n_rows, n_kept): columns and shares, the largest first; -1 after the last.
    """
    for row in range(groups.shape[0]):
        groups[row] = -1
        shares[row] = 0.0
        for at in range(start[row], start[row + 1]):
            if share[at] > 0.0:
                insert(group[at], share[at], groups[row], shares[row])
        sharpen(groups[row], shares[row], 0.0, 1.0)


@bare_kernel
def probability_of(
    group: int, groups: NDArray[np.int32], probabilities: NDArray[np.float32]
) -> float:
    """Look up the probability of a group; 0 if it is not a candidate."""
    for place in range(groups.shape[0]):
        if groups[place] == group:
            return probabilities[place]
    return 0.0


@bare_kernel
def overlap(
    groups: NDArray[np.int32],
    probabilities: NDArray[np.float32],
    other_groups: NDArray[np.int32],
    other_probabilities: NDArray[np.float32],
) -> float:
    """Return the probability that two independent rows share a group."""
    total = 0.0
    for place in range(groups.shape[0]):
        if groups[place] < 0:
            break
        total += probabilities[place] * probability_of(
            groups[place], other_groups, other_probabilities
        )
    return total


@bare_kernel
def update_sparse_message(
    end: int,
    factors: AnswerFactors,
    of_end: NDArray[np.int32],
    own: NDArray[np.int32],
    damping: float,
    cavity: NDArray[np.float32],
    message: NDArray[np.float32],
) -> float:
    """Update the message of an answer to the row of one of its ends; return the largest change."""
    first, second = factors.first[end], factors.second[end]
    of_first = of_end[first]
    rest = factors.constant[end]
    of_second = of_first
    if second >= 0:
        of_second = of_end[second]
        shared = overlap(of_first, cavity[first], of_second, cavity[second])
        rest += factors.by_rest[end] * shared
    change = 0.0
    for place in range(own.shape[0]):
        if own[place] < 0:
            break
        by_first = probability_of(own[place], of_first, cavity[first])
        likelihood = rest + factors.by_first[end] * by_first
        if second >= 0:
            likelihood += probability_of(own[place], of_second, cavity[second]) * (
                factors.by_second[end] + factors.by_both[end] * by_first
            )
        logarithm = factors.weight[end] * np.log(max(likelihood, LEAST))
        change = max(change, abs(logarithm - message[place]))
        message[place] += (1.0 - damping) * (logarithm - message[place])
    return change


@bare_kernel
def normalize_candidates(
    field: NDArray[np.float64], groups: NDArray[np.int32], q: NDArray[np.float32]
) -> None:
    """Turn log-probabilities of candidates into probabilities."""
    highest = field[0]
    for place in range(1, field.shape[0]):
        if groups[place] >= 0:
            highest = max(highest, field[place])
    total = 0.0
    for place in range(field.shape[0]):
        field[place] = np.exp(field[place] - highest) if groups[place] >= 0 else 0.0
        total += field[place]
    for place in range(field.shape[0]):
        q[place] = field[place] / total


@kernel
def propagate_sparse_beliefs(
    log_prior: NDArray[np.float32],
    groups: NDArray[np.int32],
    factors: AnswerFactors,
    row_of_end: NDArray[np.int64],
    damping: float,
    max_sweeps: int,
    tol: float,
    cavity: NDArray[np.float32],
    message: NDArray[np.float32],
    q: NDArray[np.float32],
) -> int:
    """Pass messages between rows and answers, until they hardly change.

    `belief_propagation.propagate_beliefs` for rows whose groups are not the same: no candidates of
    a row have probability 0. Each row collects its messages, then updates its cavities.

    IN groups (n_rows, n_candidates): candidate groups of each row, at least one; -1 after the last;
    log_prior, damping, max_sweeps, tol: as there, of candidates; row_of_end (n_ends,): the row of
    each end.
    INOUT cavity, message (n_ends, n_candidates); OUT q (n_rows, n_candidates): as there.
    Returns number of sweeps, each in time O((n_rows + n_ends)·n_candidates²).
    """
    n_rows, n_candidates = q.shape
    field = np.empty(n_candidates)
    rest = np.empty(n_candidates)
    # Rows of other ends are far apart in memory: so their groups are stored next to their cavities.
    of_end = groups[row_of_end]
    sweep, change = 0, np.inf
    while sweep <= max_sweeps:
        is_last = sweep == max_sweeps or change < tol
        change = 0.0
        for row in range(n_rows):
            if not is_last:
                for end in range(factors.start[row], factors.start[row + 1]):
                    updated = update_sparse_message(
                        end, factors, of_end, groups[row], damping, cavity, message[end]
                    )
                    change = max(change, updated)
            sum_messages(row, log_prior, factors, message, field)
            for end in range(factors.start[row], factors.start[row + 1]):
                for place in range(n_candidates):
                    rest[place] = field[place] - message[end, place]
                normalize_candidates(rest, groups[row], cavity[end])
            normalize_candidates(field, groups[row], q[row])
        if is_last:
            break
        sweep += 1
    return sweep


@kernel
def shared_probabilities(
    rows: NDArray[np.int64],
    groups: NDArray[np.int32],
    places: NDArray[np.int64],
    probabilities: NDArray[np.float32],
    shared: NDArray[np.float64],
) -> None:
    """Compute the probabilities that rows of questions share a group, independent of each other.

    IN rows (n_questions, 2): rows of each question; groups (n_rows, n_candidates): candidate
    groups; -1 after the last; places: of each row in `probabilities`: row numbers, or ends;
    probabilities (n_places, n_candidates).
    OUT shared (n_questions, 5): 1, and the probabilities that rows 1 and 2, 1 and 3, 2 and 3, and
    all three share a group; 0 where there are only two rows.
    """
    for at in range(rows.shape[0]):
        a, b = rows[at, 0], rows[at, 1]
        p, r = probabilities[places[at, 0]], probabilities[places[at, 1]]
        shared[at] = 0.0
        shared[at, 0] = 1.0
        shared[at, 1] = overlap(groups[a], p, groups[b], r)
        if rows.shape[1] == 2:
            continue
        c = rows[at, 2]
        s = probabilities[places[at, 2]]
        shared[at, 2] = overlap(groups[a], p, groups[c], s)
        shared[at, 3] = overlap(groups[b], r, groups[c], s)
        for place in range(groups.shape[1]):
            group = groups[a, place]
            if group < 0:
                break
            in_both = probability_of(group, groups[b], r) * probability_of(group, groups[c], s)
            shared[at, 4] += p[place] * in_both
