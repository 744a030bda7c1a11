"""The expected change of HACC's groups by the answer to each possible question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from clew._parallel import in_threads
from clew.cluster.linkage._ordered_edges import Edges
from clew.constraints import Closure
from clew.kernels.expected_change.candidates import (
    Candidates,
    blocked_joins,
    free_joins,
    splits,
)
from clew.kernels.expected_change.replay import Answers, Scratch, changed_agreements
from clew.kernels.expected_change.tree import Tree, grow_tree, nodes_of_cut
from clew.kernels.linkage import first_edges, merge_in_order

__all__ = ["Change", "Changes"]

Integers = NDArray[np.int64]
#: Probabilities of pairs; rows in an order in which the rows of each node of the tree are
#: contiguous; start and stop of each node in that order.
Pairs = tuple[NDArray[np.float32], Integers, Integers]

N_SLOTS = 32
#: Number of blocks whose changes are computed at once: the first number, doubled each time, up to
#: the second.
FIRST_BLOCKS, MOST_BLOCKS = 32, 512


class Change(NamedTuple):
    """The best pair of a block of pairs whose answers change the groups in the same way."""

    expected: float
    """Probability that the answer changes the groups, times the change."""
    rows: tuple[int, int]
    groups: tuple[int, int]
    """Present groups of the rows, the smaller number first."""


class Changes:
    """The expected changes of the groups by answers about pairs.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_rows), float32
        Probability that each pair is in one group; NaN for pairs that are not to be asked about.
    edges : Edges
        Pairs in the order in which HACC merges.
    row_sizes : ndarray of shape (n_rows,)
        Number of rows for which each row stands.
    closure : Closure
        What earlier answers imply.
    n_clusters : int
        Number of groups.
    skip_below : float
        A must-link counts as no change if the probability of its pair is smaller (heuristic H1).
    is_local : bool
        Whether only the groups of the pair are assumed to change (heuristic H2).
    n_jobs : int or None
        Number of threads.
    """

    def __init__(
        self, probabilities: NDArray[np.float32], edges: Edges, row_sizes: Integers,
        closure: Closure, n_clusters: int, *, skip_below: float, is_local: bool,
        n_jobs: int | None,
    ) -> None:  # fmt: skip
        self._n_jobs = n_jobs
        tree = _tree_of(edges, row_sizes, closure)
        n = len(tree.items)
        n_present = min(max(n_clusters, tree.fewest), n)
        group = np.unique(nodes_of_cut(tree, n_present), return_inverse=True)[1]
        pointer, others = _as_rows(closure.cannot_link_components, n)
        self._tree = tree
        self._answers = Answers(pointer, others, group.astype(np.int64), n_clusters, n_present)
        self._group_of_row = group[closure.component]
        self._collect(probabilities, closure)
        self._bound[self._is_join & (self._probability < skip_below)] = 0.0
        if is_local:
            self._agreement[:] = self._local_agreements()
        self._scratch: list[Scratch] = []

    def groups_of(self, rows: Integers) -> tuple[int, int]:
        """Return the present groups of two rows, the smaller number first."""
        a, b = sorted(self._group_of_row[rows].tolist())
        return a, b

    def best_first(self) -> Iterator[Change]:
        """Return the best pair of each block, the largest expected change first.

        The probability that an answer changes the groups bounds its expected change, which is
        computed only if that bound exceeds the changes found so far. Among equal expected changes,
        the more probable pair comes first, then the one with the smaller row numbers.
        """
        is_done = ~np.isnan(self._agreement) | (self._bound == 0)
        expected = np.where(is_done, self._bound * (1 - np.nan_to_num(self._agreement)), -1.0)
        order = np.flatnonzero(~is_done)
        order = order[np.argsort(-self._bound[order], kind="stable")]
        is_open, at, n_blocks = np.ones(len(expected), np.bool_), 0, FIRST_BLOCKS
        while True:
            limit = self._bound[order[at]] if at < len(order) else -1.0
            ready = np.flatnonzero(is_open & (expected > limit))
            is_open[ready] = False
            i, j = self._rows[ready].T
            for k in ready[np.lexsort((j, i, -self._probability[ready], -expected[ready]))]:
                yield self._change(int(k), float(expected[k]))
            if at >= len(order):
                return
            blocks = order[at : at + n_blocks]
            expected[blocks] = self._bound[blocks] * (1 - self._agreements(blocks))
            at, n_blocks = at + n_blocks, min(2 * n_blocks, MOST_BLOCKS)

    def _change(self, k: int, expected: float) -> Change:
        i, j = sorted(self._rows[k].tolist())
        return Change(expected, (i, j), self.groups_of(self._rows[k]))

    def _collect(self, P: NDArray[np.float32], closure: Closure) -> None:
        """Collect all blocks, with the agreements of those that have a closed form."""
        tree, answers = self._tree, self._answers
        rows = np.argsort(tree.start[closure.component], kind="stable")
        ends = np.cumsum(np.bincount(closure.component, minlength=len(tree.items))[tree.items])
        ends = np.concatenate([[0], ends])
        bounds = np.column_stack([ends[tree.start], ends[tree.stop]])
        n_pieces = min(max(answers.n_groups + 1, tree.fewest), len(tree.items))
        piece_of = nodes_of_cut(tree, n_pieces)
        links = closure.cannot_link_components
        pairs = P, rows, bounds
        parts = [
            splits(tree, answers.n_present, *pairs),
            self._free_joins(piece_of, links, pairs),
            self._blocked_joins(piece_of, links, pairs),
        ]
        n_splits, n_free, _ = (len(part.merges) for part in parts)
        found = Candidates(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        self._is_join = np.arange(len(found.merges)) >= n_splits
        size = tree.size[found.nodes]
        free = slice(n_splits, n_splits + n_free)
        within, present = tree.n_same[n_pieces], tree.n_same[answers.n_present]
        agreement = np.full(len(found.merges), np.nan)
        joined = within + size[free, 0] * size[free, 1]
        agreement[free] = within / np.maximum(joined + present - within, 1)
        kept = found.rows[:, 0] >= 0
        self._is_join, self._agreement = self._is_join[kept], agreement[kept]
        self._nodes, self._merges = found.nodes[kept], found.merges[kept]
        self._rows, self._probability = found.rows[kept], found.probability[kept]
        self._bound = np.where(self._is_join, self._probability, 1 - self._probability)

    def _free_joins(self, piece_of: Integers, links: Integers, pairs: Pairs) -> Candidates:
        """List the pairs of pieces without a cannot-link between them."""
        piece, number = np.unique(piece_of, return_inverse=True)
        is_apart = np.zeros((len(piece), len(piece)), np.bool_)
        a, b = number[links].T
        is_apart[a, b] = is_apart[b, a] = True
        group = np.full(len(self._tree.parent), -1, np.int64)
        group[piece_of] = self._answers.group
        return free_joins(self._tree, group, piece, is_apart, *pairs)

    def _blocked_joins(self, piece_of: Integers, links: Integers, pairs: Pairs) -> Candidates:
        """List the pairs of nodes whose must-link breaks up groups."""
        group = self._answers.group[links]
        links = links[group[:, 0] != group[:, 1]]
        tops = piece_of[links]
        is_turned = tops[:, 0] > tops[:, 1]
        links[is_turned], tops[is_turned] = links[is_turned, ::-1], tops[is_turned, ::-1]
        order = np.lexsort((tops[:, 1], tops[:, 0]))
        links, tops = np.ascontiguousarray(links[order]), np.ascontiguousarray(tops[order])
        P, rows, bounds = pairs
        capacity = 64 + 8 * len(links)
        found, n_found = blocked_joins(self._tree, links, tops, P, rows, bounds, capacity)
        if n_found > capacity:
            found, _ = blocked_joins(self._tree, links, tops, P, rows, bounds, n_found)
        return found

    def _agreements(self, blocks: Integers) -> NDArray[np.float64]:
        """Return Jaccard's coefficient with the present groups after the answer of each block."""
        result = np.empty(len(blocks))
        nodes, merges = self._nodes[blocks], self._merges[blocks]
        n = len(self._tree.items)
        is_split = ~self._is_join[blocks]
        nodes[is_split] = np.column_stack([merges[is_split] + n, np.full(is_split.sum(), -1)])
        parts = np.array_split(np.arange(len(blocks)), self._n_parts(len(blocks)))
        while len(self._scratch) < len(parts):
            self._scratch.append(_scratch(n, len(self._tree.parent), min(N_SLOTS, n + 2)))

        def compute(part: int) -> None:
            at = parts[part]
            while len(at):
                found = np.empty(len(at))
                s = self._scratch[part]
                changed_agreements(self._tree, self._answers, s, nodes[at], merges[at], found)
                result[at] = found
                at = at[found < 0]
                if len(at):
                    n_slots = min(4 * len(s.is_used), n + 2)
                    self._scratch[part] = _scratch(n, len(self._tree.parent), n_slots)

        in_threads(compute, range(len(parts)), n_jobs=self._n_jobs)
        return result

    def _n_parts(self, n_blocks: int) -> int:
        return min(int(effective_n_jobs(self._n_jobs)), n_blocks)

    def _local_agreements(self) -> NDArray[np.float64]:
        """Return the agreements if only the groups of the pair change: heuristic H2."""
        tree, answers = self._tree, self._answers
        a, b = tree.size[self._nodes].T
        size = np.bincount(answers.group, tree.size[: len(tree.items)]).astype(np.int64)
        in_a, in_b = size[self._group_of_row[self._rows]].T
        present = tree.n_same[answers.n_present]
        # A blocked must-link joins two nodes; the rest of their two groups stays apart.
        is_free = self._is_join & (self._merges < 0)
        a, b = np.where(is_free, in_a, a), np.where(is_free, in_b, b)
        kept = present - np.where(self._is_join, a * (in_a - a) + b * (in_b - b), a * b)
        either = present + np.where(self._is_join, a * b, 0)
        return np.asarray(kept / np.maximum(either, 1))


def _tree_of(edges: Edges, row_sizes: Integers, closure: Closure) -> Tree:
    """Merge must-link components along the edges as far as cannot-links allow."""
    n = closure.n_components
    is_apart = np.zeros((n, n), np.bool_)
    i, j = closure.cannot_link_components.T
    is_apart[i, j] = is_apart[j, i] = True
    first, second = np.empty_like(edges.first), np.empty_like(edges.second)
    item = closure.component.astype(np.uint16)
    n_kept = first_edges(edges.first, edges.second, item, is_apart, first, second)
    first, second = first[:n_kept], second[:n_kept]
    is_apart[:] = False
    is_apart[i, j] = is_apart[j, i] = True
    children, times = np.empty((n - 1, 2), np.int64), np.empty(n - 1, np.int64)
    n_merges = merge_in_order(first, second, is_apart, children, times)
    sizes = np.bincount(closure.component, row_sizes, n).astype(np.int64)
    return grow_tree(first, second, children[:n_merges], times[:n_merges], sizes)


def _as_rows(links: Integers, n: int) -> tuple[Integers, Integers]:
    """Return cannot-links in both directions, in rows of compressed sparse form."""
    both = np.concatenate([links, links[:, ::-1]])
    order = np.argsort(both[:, 0], kind="stable")
    pointer = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=n))])
    return pointer.astype(np.int64), np.ascontiguousarray(both[order, 1])


def _scratch(n: int, n_nodes: int, n_slots: int) -> Scratch:
    """Return empty buffers."""
    return Scratch(
        component=np.full(n, -1, np.int16),
        head=np.full(n_slots, -1, np.int64),
        tail=np.full(n_slots, -1, np.int64),
        following=np.full(n, -1, np.int64),
        is_used=np.zeros(n_slots, np.bool_),
        is_forbidden=np.zeros((n_slots, n), np.bool_),
        is_refused=np.zeros((n_slots, n), np.bool_),
        is_apart=np.zeros((n_slots, n_slots), np.bool_),
        affected=np.zeros(n_nodes + 1, np.int64),
        is_affected=np.zeros(n_nodes, np.bool_),
        rows_in_group=np.zeros(n, np.int64),
        counts=np.zeros(3, np.int64),
    )
