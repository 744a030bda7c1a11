"""The merges of constrained Kruskal after one more answer, replayed where they differ.

Components that differ from the tree are *dirty*. The nodes of the tree that hold the same items at
the same time are *affected*. All other components are the same in both, so edges between them are
skipped, and the number of groups is that of the tree, plus the number of dirty ones, minus the
number of affected ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel, kernel
from clew.kernels.expected_change.components import (
    AFFECTED,
    DIRTY,
    SLOTS,
    Answers,
    Scratch,
    add_affected,
    add_node,
    clear,
    join_clean,
    join_dirty,
    open_slot,
    replace_affected,
)
from clew.kernels.expected_change.tree import Tree

__all__ = ["changed_agreements"]


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
    """Visit the edges from one on, until the wanted number of groups is left.

    Parameters
    ----------
    tree : Tree (IN)
        The merges without the answer.
    answers : Answers (IN)
        The answers so far.
    s : Scratch (INOUT)
        With the components that differ before `edge`.
    edge : int
        First edge to visit.
    merge : int
        First merge of the tree at this edge or later.

    Returns
    -------
    bool
        False if there are more dirty components than slots.
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
    """Count pairs of rows in one present group, among items from the first one on.

    The items are those of a node or, if that is -1, of the component of the first item.
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

    For a cannot-link (`b` is -1) these are the two children of node `a`, which stay apart. For a
    must-link they are the nodes `a` and `b` as one.
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

    Parameters
    ----------
    tree : Tree (IN)
        The merges without the answer.
    answers : Answers (IN)
        The answers so far.
    s : Scratch (INOUT)
        Buffers.
    nodes : ndarray of shape (n, 2) (IN)
        A merged node and -1: a cannot-link between its two children. Two nodes: a must-link
        between them.
    merges : ndarray of shape (n,) (IN)
        The merge of the tree at which the replay begins: for a must-link the first one that makes
        it impossible.
    agreements : ndarray of shape (n,) (OUT)
        Jaccard's coefficients, or -1 where slots did not suffice.
    """
    for k in range(nodes.shape[0]):
        start_replay(tree, answers, s, nodes[k, 0], nodes[k, 1])
        is_split = nodes[k, 1] < 0
        edge = tree.times[merges[k]] + int(is_split)
        is_done = replay(tree, answers, s, edge, merges[k] + int(is_split))
        agreements[k] = agreement(tree, answers, s) if is_done else -1.0
        clear(s)
