"""The components that differ from the tree of merges, in buffers that replays use again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.kernels._jit import bare_kernel
from clew.kernels.expected_change.tree import Tree

__all__ = [
    "AFFECTED",
    "DIRTY",
    "SLOTS",
    "Answers",
    "Scratch",
    "add_affected",
    "add_node",
    "clear",
    "join_clean",
    "join_dirty",
    "open_slot",
    "replace_affected",
]

#: Positions in `Scratch.counts`.
SLOTS, DIRTY, AFFECTED = 0, 1, 2


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
