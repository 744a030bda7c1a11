"""Forests of two-class trees: bins, memory and threads for the kernels that grow and read trees.

`clew.trust` and `clew.similarity` use it. Each feature has at most 255 thresholds: midpoints of
its distinct values if these are few, quantiles otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from clew._parallel import Progress, blocks, has_cluster, in_threads, on_cluster
from clew.kernels.forest.layout import (
    Links,
    Problem,
    Rules,
    Trees,
    make_sample,
    make_scratch,
    measure_paths,
    route,
)
from clew.kernels.forest.trees import grow_trees

__all__ = [
    "Forest",
    "Growth",
    "bin_columns",
    "bin_edges",
    "grow_forest",
    "links_of",
    "marginal_twin",
]

MAX_BINS = 256
TREES_PER_BLOCK = 25
#: The best cut is searched by sorting in nodes of at most SORTED_ROWS rows with more than
#: BINS_PER_SORTED_ROW bins for each row, otherwise by counting bins, which is then faster.
SORTED_ROWS, BINS_PER_SORTED_ROW = 20, 2
#: Fixed-point weight of a link of weight 1.
LINK_UNIT = 1 << 20
#: Weight of a hard must-link. It exceeds the weight of four million cannot-links, and the sum of
#: two million of them fits an integer of 64 bits.
NEVER = -(1 << 42)

Proximity = Literal["adaptive", "uniform", "leaf"]


@dataclass(frozen=True)
class Growth:
    """Parameters of growth; `clew.kernels.forest.layout.Rules` describes them."""

    n_trees: int
    n_draws: int
    n_candidates: int
    min_samples_leaf: int = 1
    share: float = 1.0
    reward: float = 0.0
    is_relative: bool = False


class Forest(NamedTuple):
    """A grown forest."""

    trees: Trees
    leaf: NDArray[np.int32]
    """Leaf of each row in each tree, as a node number within the tree, (n_trees, n_rows)."""
    order: NDArray[np.int32]
    """Rows in an order in which those of each node are adjacent, (n_trees, n_rows)."""
    n_violated: NDArray[np.int64]
    """Number of drawn links that each tree violates, (n_trees,)."""
    draws: NDArray[np.uint8]
    """Number of times each tree drew each row, (n_trees, n_rows); (0, 0) if not requested."""

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.leaf)

    @property
    def largest_tree(self) -> int:
        """Number of nodes of the largest tree."""
        return int(np.diff(self.trees.offset).max())

    def paths(
        self, kind: Proximity
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """Return the parent, depth and mass of each node; `kind` determines the mass."""
        n = len(self.trees.feature)
        parent, depth = np.empty(n, np.int32), np.empty(n, np.int32)
        mass = np.empty(n, np.float32)
        measure_paths(self.trees, 0, self.n_trees, kind == "adaptive", parent, depth, mass)
        return parent, depth, mass

    def leaves_of(self, bins: NDArray[np.uint8], n_jobs: int | None) -> NDArray[np.int32]:
        """Return the leaves of binned rows, (n_trees, n_rows)."""
        leaf = np.empty((self.n_trees, bins.shape[1]), np.int32)
        in_threads(
            lambda block: route(self.trees, *block, bins, leaf),
            blocks(self.n_trees, TREES_PER_BLOCK),
            n_jobs=n_jobs,
        )
        return leaf


def bin_edges(X: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Choose the thresholds of each feature.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    list of ndarray
        For each feature at most 255 ascending thresholds. The bin of a value is the number of
        thresholds below it.
    """
    return [_edges_of_column(column) for column in X.T]


def _edges_of_column(column: NDArray[np.float64]) -> NDArray[np.float64]:
    values, counts = np.unique(column, return_counts=True)
    below, above = values[:-1], values[1:]
    if len(values) > MAX_BINS:
        # A value that fills several bins alone would leave few for the others.
        mass = np.minimum(counts, len(column) / MAX_BINS).cumsum()
        quantiles = mass[-1] * np.arange(1, MAX_BINS) / MAX_BINS
        cut = np.unique(np.searchsorted(mass, quantiles))
        cut = cut[cut < len(below)]
        below, above = below[cut], above[cut]
    middle = below / 2 + above / 2
    return np.where(middle < above, middle, below)


def bin_columns(X: NDArray[np.float64], edges: list[NDArray[np.float64]]) -> NDArray[np.uint8]:
    """Return the bin of every value, (n_features, n_samples)."""
    bins = np.empty(X.T.shape, np.uint8)
    for column, thresholds, out in zip(X.T, edges, bins, strict=True):
        out[:] = np.searchsorted(thresholds, column, side="left")
    return bins


def marginal_twin(bins: NDArray[np.uint8], random: np.random.RandomState) -> NDArray[np.uint8]:
    """Draw as many pseudo rows as there are rows, each feature independently of the others."""
    n = bins.shape[1]
    return np.stack([column[random.randint(n, size=n)] for column in bins])


def links_of(
    must_link: NDArray[np.int64],
    cannot_link: NDArray[np.int64],
    weight: NDArray[np.float64] | None = None,
    *,
    is_hard: bool = False,
) -> Links:
    """Convert must-links and cannot-links for the kernels.

    Parameters
    ----------
    must_link, cannot_link : ndarray of shape (m, 2)
        Pairs of rows.
    weight : ndarray of shape (n_must + n_cannot,), default=None
        Weight of each link, must-links first; None is 1 everywhere.
    is_hard : bool, default=False
        Whether must-links have priority over everything else.

    Returns
    -------
    Links
    """
    rows = np.concatenate([must_link, cannot_link]).astype(np.int32).reshape(-1, 2)
    whole = np.ones(len(rows)) if weight is None else weight
    fixed = np.round(whole * LINK_UNIT).astype(np.int64)
    is_must = np.arange(len(rows)) < len(must_link)
    return Links(rows, np.where(is_must, NEVER if is_hard else -fixed, fixed))


NO_LINKS = links_of(np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))


def grow_forest(
    bins: NDArray[np.uint8],
    n_bins: NDArray[np.int64],
    is_one: NDArray[np.uint8],
    growth: Growth,
    *,
    n_rows: int,
    seed: int,
    links: Links | None = None,
    weight: NDArray[np.float64] | None = None,
    wants_draws: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Progress | None = None,
) -> Forest:
    """Grow a forest that separates class 1 from class 0.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_total)
        Bin of every value.
    n_bins : ndarray of shape (n_features,)
        Number of bins of each feature.
    is_one : ndarray of shape (n_total,)
        Class of every row, 0 or 1.
    growth : Growth
        Parameters of growth.
    n_rows : int
        The leaves of the first `n_rows` rows are returned.
    seed : int
        Seed; tree ``t`` depends on it and on ``t`` only.
    links : Links, default=None
        Must-links and cannot-links that influence the splits.
    weight : ndarray of shape (n_total,), default=None
        Relative probability with which the bootstrap draws each row.
    wants_draws : bool
        Whether `Forest.draws` is stored.
    n_jobs, verbose, callback
        See `clew._parallel.in_threads`.

    Returns
    -------
    Forest
    """
    cumulative = np.empty(0)
    if weight is not None and np.ptp(weight) > 0:
        cumulative = np.cumsum(weight) / weight.sum()
    problem = Problem(np.ascontiguousarray(bins), n_bins, is_one, n_rows, cumulative)
    rules = Rules(
        seed, growth.n_draws, growth.n_candidates, growth.min_samples_leaf,
        growth.share, growth.reward, float(LINK_UNIT), growth.is_relative,
        SORTED_ROWS, BINS_PER_SORTED_ROW,
    )  # fmt: skip
    leaf = np.empty((growth.n_trees, n_rows), np.int32)
    order = np.empty_like(leaf)
    n_violated = np.empty(growth.n_trees, np.int64)
    draws = np.empty(leaf.shape if wants_draws else (0, 0), np.uint8)
    size = max(1, min(TREES_PER_BLOCK, growth.n_trees // (4 * effective_n_jobs(n_jobs))))
    tasks, known = blocks(growth.n_trees, size), NO_LINKS if links is None else links
    outputs: tuple[NDArray[Any], ...] = (leaf, order, n_violated, draws)
    if has_cluster():
        grown = on_cluster(partial(_grow_apart, problem, known, rules, wants_draws), tasks)
        for (first, last), (_, *arrays) in zip(tasks, grown, strict=True):
            for output, array in zip(outputs, arrays, strict=True):
                output[first:last] = array
        parts = [trees for trees, *_ in grown]
    else:
        parts = in_threads(
            lambda block: _grow_block(
                problem, known, rules, [output[slice(*block)] for output in outputs], block
            ),
            tasks, n_jobs=n_jobs, verbose=verbose, what="blocks of trees", callback=callback,
        )  # fmt: skip
    return Forest(_joined(list(chain(*parts)), n_jobs), leaf, order, n_violated, draws)


def _grow_apart(
    problem: Problem, links: Links, rules: Rules, wants_draws: bool, block: tuple[int, int]
) -> tuple[Any, ...]:
    """Grow the trees of one block on a worker: the trees, and what `_grow_block` fills."""
    n_trees = block[1] - block[0]
    leaf = np.empty((n_trees, problem.n_rows), np.int32)
    draws = np.empty(leaf.shape if wants_draws else (0, 0), np.uint8)
    outputs = leaf, np.empty_like(leaf), np.empty(n_trees, np.int64), draws
    return _grow_block(problem, links, rules, outputs, block), *outputs


def _grow_block(
    problem: Problem, links: Links, rules: Rules, outputs: Sequence[Any], block: tuple[int, int]
) -> list[Trees]:
    """Grow a block of trees, in several calls if nodes do not fit; `outputs` are these trees'."""
    first, last = block
    n_features, n_total = problem.bins.shape
    sample = make_sample(n_total, problem.n_rows, len(links.weight), n_features)
    scratch, state = make_scratch(n_total), np.empty(1, np.uint64)
    room = 2 * min(n_total, rules.n_draws) + 1
    parts = []
    while first < last:
        trees = _empty_trees(last - first, max(room, room * (last - first) // 2))
        leaf, order, n_violated, draws = (output[first - block[0] :] for output in outputs)
        n_grown = grow_trees(
            problem, links, rules, first, leaf, order, n_violated, draws, trees, sample, scratch,
            state,
        )  # fmt: skip
        used = trees.offset[n_grown]
        columns: list[Any] = [column[:used].copy() for column in trees[1:]]
        parts.append(Trees(trees.offset[: n_grown + 1].copy(), *columns))
        first += n_grown
    return parts


def _empty_trees(n_trees: int, n_nodes: int) -> Trees:
    int32 = [np.empty(n_nodes, np.int32) for _ in range(4)]
    offset = np.zeros(n_trees + 1, np.int64)
    return Trees(offset, int32[0], np.empty(n_nodes, np.uint8), *int32[1:])


def _joined(parts: list[Trees], n_jobs: int | None) -> Trees:
    """Concatenate the trees of several parts, each column in a thread."""
    sizes = np.concatenate([np.diff(part.offset) for part in parts])
    offset = np.concatenate([[0], sizes.cumsum()])
    columns: list[Any] = list(zip(*(part[1:] for part in parts), strict=True))
    return Trees(offset, *in_threads(np.concatenate, columns, n_jobs=n_jobs))
