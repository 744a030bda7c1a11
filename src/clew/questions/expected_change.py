"""ExpectedChange (Active-HACC): the pair whose answer changes the clustering most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import in_threads
from clew._validation import Allowed, RandomState
from clew.answers import Answer, Question
from clew.cluster.linkage.hacc import Edges
from clew.constraints import Closure
from clew.exceptions import InvalidParameterError
from clew.kernels.expected_change.replay import Answers, Scratch, changed_agreements
from clew.kernels.expected_change.tree import (
    Candidates,
    Tree,
    blocked_joins,
    free_joins,
    grow_tree,
    nodes_of_cut,
    splits,
)
from clew.kernels.linkage import first_edges, merge_in_order
from clew.questions._answers import Batch, KnownPairs
from clew.questions._pair_order import PairOrder, Representatives, pair_probabilities
from clew.questions._strategy import Strategy

__all__ = ["ExpectedChange"]

N_REPRESENTATIVES = 2_000


class ExpectedChange(Strategy):
    """Asks about the pair whose answer changes the groups of `HACC` most, in expectation.

    The expected change of a pair is the probability that its answer differs from the present
    groups, times 1 - Jaccard's coefficient of the groups with and without that answer. It is
    computed exactly for all pairs that the answers do not imply (Active-HACC).

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    skip_below : float, default=0.0
        Must-links of less probable pairs count as no change: heuristic H1 of the thesis, with 0.1
        in the thesis. Only for comparisons.
    local : bool, default=False
        Whether the merges after the answer are assumed to stay the same: heuristic H2 of the
        thesis. A cannot-link then only undoes the merge that it forbids, and a must-link joins the
        two groups, or the two nodes if cannot-links separate the groups. Only for comparisons.
    n_representatives : int or None, default=None
        Number of representative rows that are asked about and clustered; every other row gets the
        group of its representative. None: all rows up to 5,000 rows, and 2,000 representatives
        above.
    random_state : int, RandomState or None, default=None
        Seed of the clusterings from which probabilities are computed, and of representatives.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The questions do not depend on it.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range, or there are more groups than
        representatives, or more than 5,000 of these.

    See Also
    --------
    MostProbable : Needs fewer questions until the groups are nearly perfect.

    Notes
    -----
    The questions of a batch are about different pairs of groups. If cannot-links prevent
    `n_clusters` groups, there are more, without a warning.

    Pairs whose answers change the groups in the same way form a block. For a cannot-link within a
    group, the block is that of the merge that it forbids. For a must-link between two groups
    without a cannot-link, the change has a closed form. For a must-link against cannot-links, the
    block is that of the first merge that it forbids. From each block, the pair with the highest
    probability of a change is taken. The merges after its answer are replayed only if that
    probability exceeds the best expected change so far. A replay begins at the first merge that
    differs, and skips components that stay the same.

    A question takes O(n²) time and O(n) replays; with many cannot-links, O(m) replays for m
    answers. Memory 9·n² bytes for n rows or representatives.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, chapter 3, equations 3.4 to 3.8. A. Biswas and D.
    Jacobs, "Active image clustering: seeking constraints from humans to complement algorithms",
    CVPR 2012.

    Examples
    --------
    >>> from clew.questions import ExpectedChange
    >>> X = [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]
    >>> strategy = ExpectedChange(2, random_state=0).start(X)
    >>> len(strategy.ask())
    1
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "skip_below": Allowed(kind=float, low=0, high=1),
        "local": Allowed(kind=bool),
        "n_representatives": Allowed(kind=int, low=2, high=ALL_PAIRS_ROWS, none=True),
    }

    _items: Representatives
    _order: PairOrder
    _known_items: KnownPairs
    _removed: dict[tuple[int, int], float]

    def __init__(
        self,
        n_clusters: int,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        skip_below: float = 0.0,
        local: bool = False,
        n_representatives: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.skip_below = skip_below
        self.local = local
        self.n_representatives = n_representatives
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        n = len(X)
        wanted = self.n_representatives or (n if n <= ALL_PAIRS_ROWS else N_REPRESENTATIVES)
        self._items = Representatives.of(X, self.metric, min(wanted, n), self._seed)
        if self.n_clusters > len(self._items.rows):
            raise InvalidParameterError(
                f"ExpectedChange(n_clusters={self.n_clusters}): there are only "
                f"{len(self._items.rows)} representatives"
            )
        data = self._items.data(X, self.metric)
        if probabilities is not None and len(data) < n:
            probabilities = np.asarray(probabilities)[np.ix_(self._items.rows, self._items.rows)]
        P = pair_probabilities(data, self.metric, self.n_clusters, probabilities, self._seed)
        self._order = PairOrder.of(data, self.metric, P)
        self._removed = {}

    def _forget(self) -> None:
        P = self._order.probabilities
        for (i, j), value in self._removed.items():
            P[i, j] = P[j, i] = value
        self._removed = {}
        self._known_items = self._items.known()

    def _learn(self, answers: Sequence[Answer]) -> None:
        self._known_items.add(answers)
        P = self._order.probabilities
        for answer in answers:
            if answer.question.kind == "pair":
                i, j = self._items.number[list(answer.question.rows)].tolist()
                self._removed.setdefault((min(i, j), max(i, j)), float(P[i, j]))
                P[i, j] = P[j, i] = np.nan

    def _choose(self, n: int, pending: Sequence[Question]) -> list[Question]:
        batch, chosen = Batch(self.known, pending), list[Question]()
        changes = Changes(
            self._order.probabilities, self._order.edges, self._items.size,
            self._known_items.closure, self.n_clusters,
            skip_below=self.skip_below, is_local=self.local, n_jobs=self.n_jobs,
        )  # fmt: skip
        taken = {changes.groups_of(self._items.number[list(q.rows[:2])]) for q in pending}
        for change in changes.best_first():
            i, j = sorted(self._items.rows[list(change.rows)].tolist())
            if change.groups not in taken and batch.accept(i, j):
                taken.add(change.groups)
                chosen.append(Question("pair", (i, j)))
            if len(chosen) == n or batch.is_full():
                break
        return chosen

    def _group(self) -> NDArray[np.int64]:
        found = self._order.groups(self._known_items.closure, self.n_clusters)
        return np.asarray(found[self._items.number])


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
    """Expected changes by answers about pairs; asked pairs have infinite `probabilities`.

    H1: must-links below `skip_below` change nothing; H2, `is_local`: only the pair's groups change.
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
        """Best pair of each block, best first; computed only where the bound is higher."""
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
        return free_joins(group, piece, is_apart, *pairs)

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
        n_parts = min(int(effective_n_jobs(self._n_jobs)), len(blocks))
        parts = np.array_split(np.arange(len(blocks)), n_parts)
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
