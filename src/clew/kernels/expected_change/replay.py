"""Expected change of a clustering: merges replayed with one more answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.expected_change.tree import Tree

#: Positions in `Scratch.counts`.
SLOTS, DIRTY, AFFECTED = 0, 1, 2


@bare_kernel
def follow_tree(tree: Tree, answers: Answers, s: Scratch, merge: int) -> bool:
    """Follow a merge of two nodes in the tree; return False if no slot is left.

    A node that was the same in the replay becomes a dirty component: it was not merged there.
    """
    n = s.component.shape[0]
    a, b = tree.children[merge, 0], tree.children[merge, 1]
    if s.is_affected[a] and s.is_affected[b]:
        replace_affected(s, a, n + merge)
        replace_affected(s, b, -1)
        return True
    clean = b if s.is_affected[a] else a
    slot = open_slot(s)
    if slot < 0:
        return False
    add_node(tree, answers, s, slot, clean)
    replace_affected(s, a if clean == b else b, n + merge)
    return True


@bare_kernel
def last_edge(tree: Tree, answers: Answers, s: Scratch) -> int:
    """Return the edge after which the wanted number of groups is left, if nothing else changes."""
    wanted = answers.n_groups - s.counts[DIRTY] + s.counts[AFFECTED]
    return tree.reached[max(0, min(wanted, s.component.shape[0]))]


@bare_kernel
def replay(tree: Tree, answers: Answers, s: Scratch, edge: int, merge: int) -> bool:
    """Visit the edges from `edge` on, until the wanted number of groups is left.

    IN merge: first merge of the tree at this edge or later. INOUT s: the components that differ.
    Returns False if there are more dirty components than slots.
    """
    last = last_edge(tree, answers, s)
    next_merge = tree.times[merge]
    while edge <= last:
        u, v = tree.first[edge], tree.second[edge]
        a, b = s.component[u], s.component[v]
        is_merge = edge == next_merge
        edge += 1
        if is_merge:
            merge += 1
            next_merge = tree.times[merge]
        if a == b and (a < 0 or not is_merge):
            continue
        has_changed = is_merge
        if is_merge:
            if not follow_tree(tree, answers, s, merge - 1):
                return False
            a, b = s.component[u], s.component[v]
        if a != b:
            if a >= 0 and b >= 0:
                has_changed |= join_dirty(s, a, b)
            elif a >= 0:
                has_changed |= join_clean(tree, answers, s, a, v, merge)
            else:
                has_changed |= join_clean(tree, answers, s, b, u, merge)
        if has_changed:
            last = last_edge(tree, answers, s)
    return True


@bare_kernel
def next_item(tree: Tree, s: Scratch, item: int, node: int) -> int:
    """Return the next item of a node or, if that is -1, of the component of an item; or -1."""
    if node < 0:
        return s.following[item]
    position = tree.start[item] + 1
    return tree.items[position] if position < tree.stop[node] else -1


@bare_kernel
def shared_pairs(tree: Tree, answers: Answers, s: Scratch, first: int, node: int) -> int:
    """Count pairs of rows in one present group, among the items of a node from the first one on.

    If `node` is -1, those of the component of the first item.
    """
    total = 0
    item = first
    while item >= 0:
        w, group = tree.size[item], answers.group[item]
        total += w * (w - 1) // 2 + w * s.rows_in_group[group]
        s.rows_in_group[group] += w
        item = next_item(tree, s, item, node)
    item = first
    while item >= 0:
        s.rows_in_group[answers.group[item]] = 0
        item = next_item(tree, s, item, node)
    return total


@bare_kernel
def agreement(tree: Tree, answers: Answers, s: Scratch) -> float:
    """Return Jaccard's coefficient of the replayed groups and the present ones."""
    n = s.component.shape[0]
    left = answers.n_groups - s.counts[DIRTY] + s.counts[AFFECTED]
    left = max(tree.fewest, min(left, n))
    is_finer = left >= answers.n_present
    n_new = tree.n_same[left]
    n_both = tree.n_same[left] if is_finer else tree.n_same[answers.n_present]
    for k in range(s.counts[AFFECTED]):
        node = s.affected[k]
        within = tree.size[node] * (tree.size[node] - 1) // 2
        n_new -= within
        if is_finer:
            n_both -= within
        else:
            n_both -= shared_pairs(tree, answers, s, tree.items[tree.start[node]], node)
    for slot in range(s.counts[SLOTS]):
        if s.is_used[slot]:
            n_rows = 0
            item = s.head[slot]
            while item >= 0:
                n_rows += tree.size[item]
                item = s.following[item]
            n_new += n_rows * (n_rows - 1) // 2
            n_both += shared_pairs(tree, answers, s, s.head[slot], -1)
    n_any = n_new + tree.n_same[answers.n_present] - n_both
    return n_both / n_any if n_any > 0 else 1.0


@bare_kernel
def start_replay(tree: Tree, answers: Answers, s: Scratch, a: int, b: int) -> None:
    """Set the components before the first edge at which an answer matters.

    A cannot-link (`b` is -1) keeps the two children of `a` apart; a must-link makes `a` and `b`
    one.
    """
    n = s.component.shape[0]
    one = open_slot(s)
    if b >= 0:
        add_node(tree, answers, s, one, a)
        add_node(tree, answers, s, one, b)
        add_affected(s, a)
        add_affected(s, b)
        return
    left, right = tree.children[a - n, 0], tree.children[a - n, 1]
    two = open_slot(s)
    add_node(tree, answers, s, one, left)
    add_node(tree, answers, s, two, right)
    s.is_forbidden[one, tree.items[tree.start[right]]] = True
    s.is_forbidden[two, tree.items[tree.start[left]]] = True
    s.is_apart[one, two] = True
    s.is_apart[two, one] = True
    add_affected(s, a)


@kernel
def changed_agreements(
    tree: Tree,
    answers: Answers,
    s: Scratch,
    nodes: NDArray[np.int64],
    merges: NDArray[np.int64],
    agreements: NDArray[np.float64],
) -> None:
    """Compute for each possible answer Jaccard's coefficient of the groups with and without it.

    IN nodes (n, 2): a node and -1: a cannot-link between its two children; two nodes: a must-link;
    merges (n,): the merge at which the replay begins: of a must-link, the first that it forbids.
    OUT agreements (n,): coefficients, or -1 where slots did not suffice.
    """
    for k in range(nodes.shape[0]):
        start_replay(tree, answers, s, nodes[k, 0], nodes[k, 1])
        is_split = nodes[k, 1] < 0
        edge = tree.times[merges[k]] + int(is_split)
        is_done = replay(tree, answers, s, edge, merges[k] + int(is_split))
        agreements[k] = agreement(tree, answers, s) if is_done else -1.0
        clear(s)


class Answers(NamedTuple):
    """Cannot-links of items, in rows of compressed sparse form, and the present groups."""

    pointer: NDArray[np.int64]
    others: NDArray[np.int64]
    group: NDArray[np.int64]
    """Present group of each item."""
    n_groups: int
    """Number of groups at which the replay stops."""
    n_present: int
    """Number of present groups; more or fewer than `n_groups` if that is not reached."""


class Scratch(NamedTuple):
    """Buffers of one thread, empty between two replays."""

    component: NDArray[np.int16]
    """Slot of the dirty component of each item, or -1."""
    head: NDArray[np.int64]
    """First item of the component in each slot."""
    tail: NDArray[np.int64]
    following: NDArray[np.int64]
    """Next item of the same component, or -1."""
    is_used: NDArray[np.bool_]
    """Whether a slot is in use."""
    is_forbidden: NDArray[np.bool_]
    """Whether the component has a cannot-link with an item, (n_slots, n_items)."""
    is_refused: NDArray[np.bool_]
    """Whether it was found that it cannot be merged with the component of an item."""
    is_apart: NDArray[np.bool_]
    """Whether it was found that two components cannot be merged, (n_slots, n_slots)."""
    affected: NDArray[np.int64]
    is_affected: NDArray[np.bool_]
    """(n_nodes,)"""
    rows_in_group: NDArray[np.int64]
    counts: NDArray[np.int64]


@bare_kernel
def add_node(tree: Tree, answers: Answers, s: Scratch, slot: int, node: int) -> None:
    """Append the items of a node to the component in a slot."""
    for p in range(tree.start[node], tree.stop[node]):
        item = tree.items[p]
        s.component[item] = slot
        s.following[item] = -1
        if s.head[slot] < 0:
            s.head[slot] = item
        else:
            s.following[s.tail[slot]] = item
        s.tail[slot] = item
        for q in range(answers.pointer[item], answers.pointer[item + 1]):
            s.is_forbidden[slot, answers.others[q]] = True


@bare_kernel
def open_slot(s: Scratch) -> int:
    """Return an empty slot, or -1 if all are in use."""
    slot = 0
    while slot < s.counts[SLOTS] and s.is_used[slot]:
        slot += 1
    if slot == s.is_used.shape[0]:
        return -1
    s.counts[SLOTS] = max(s.counts[SLOTS], slot + 1)
    s.counts[DIRTY] += 1
    s.is_used[slot] = True
    s.head[slot] = -1
    for item in range(s.component.shape[0]):
        s.is_forbidden[slot, item] = False
        s.is_refused[slot, item] = False
    for other in range(s.counts[SLOTS]):
        s.is_apart[slot, other] = False
        s.is_apart[other, slot] = False
    return slot


@bare_kernel
def add_affected(s: Scratch, node: int) -> None:
    """Mark a node as affected."""
    s.affected[s.counts[AFFECTED]] = node
    s.counts[AFFECTED] += 1
    s.is_affected[node] = True


@bare_kernel
def replace_affected(s: Scratch, node: int, replacement: int) -> None:
    """Replace an affected node by another one, or remove it if that is -1."""
    k = 0
    while s.affected[k] != node:
        k += 1
    s.is_affected[node] = False
    if replacement < 0:
        s.counts[AFFECTED] -= 1
        s.affected[k] = s.affected[s.counts[AFFECTED]]
        return
    s.affected[k] = replacement
    s.is_affected[replacement] = True


@bare_kernel
def join_dirty(s: Scratch, a: int, b: int) -> bool:
    """Merge two dirty components unless a cannot-link is between them; return whether it did."""
    if s.is_apart[a, b]:
        return False
    item = s.head[b]
    while item >= 0:
        if s.is_forbidden[a, item]:
            s.is_apart[a, b] = True
            s.is_apart[b, a] = True
            return False
        item = s.following[item]
    item = s.head[b]
    while item >= 0:
        s.component[item] = a
        item = s.following[item]
    s.following[s.tail[a]] = s.head[b]
    s.tail[a] = s.tail[b]
    for other in range(s.component.shape[0]):
        s.is_forbidden[a, other] |= s.is_forbidden[b, other]
        s.is_refused[a, other] |= s.is_refused[b, other]
    for slot in range(s.counts[SLOTS]):
        if s.is_apart[b, slot]:
            s.is_apart[a, slot] = True
            s.is_apart[slot, a] = True
    s.is_used[b] = False
    s.counts[DIRTY] -= 1
    return True


@bare_kernel
def join_clean(
    tree: Tree, answers: Answers, s: Scratch, slot: int, item: int, n_merged: int
) -> bool:
    """Merge a dirty component with the node of an item, unless a cannot-link is between them."""
    if s.is_refused[slot, item]:
        return False
    node = item
    while 0 <= tree.parent[node] < s.component.shape[0] + n_merged:
        node = tree.parent[node]
    for p in range(tree.start[node], tree.stop[node]):
        if s.is_forbidden[slot, tree.items[p]]:
            for q in range(tree.start[node], tree.stop[node]):
                s.is_refused[slot, tree.items[q]] = True
            return False
    add_node(tree, answers, s, slot, node)
    add_affected(s, node)
    return True


@bare_kernel
def clear(s: Scratch) -> None:
    """Empty the buffers for the next replay."""
    for slot in range(s.counts[SLOTS]):
        if s.is_used[slot]:
            item = s.head[slot]
            while item >= 0:
                s.component[item] = -1
                item = s.following[item]
        s.is_used[slot] = False
    for k in range(s.counts[AFFECTED]):
        s.is_affected[s.affected[k]] = False
    s.counts[:] = 0
