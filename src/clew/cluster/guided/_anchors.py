"""Anchors: a few thousand means of rows, links of rows to them, and memberships in both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._limits import BLOCK_ROWS
from clew._parallel import blocks, in_threads
from clew.cluster.guided._latent_classes import Categories
from clew.kernels.means import add_groups
from clew.kernels.nearest import keep_nearest
from clew.kernels.sparse_memberships import (
    add_to_anchors,
    largest_shares,
    mix_memberships,
    shared_probabilities,
)

Rows = NDArray[np.float32]

#: Maximum number of rows from which units, principal axes and anchors are computed.
SAMPLE_ROWS: Final = 400_000
#: Rounds of k-means that move anchors to the means of their rows.
N_ROUNDS: Final = 2
#: Nearest anchors that each row is linked to, and how fast weights fall with the squared distance.
N_NEAREST, DECAY = 5, 4.0
#: Number of rows in one task that reads features, and in one matrix of inner products with all
#: anchors.
LINKED_ROWS, PRODUCT_ROWS = 16_384, 2_048
#: Candidate groups of a row and of an anchor.
N_OF_ROW, N_OF_ANCHOR = 8, 16
#: Added to each share of a row, which is then raised to the power of `STRENGTH`.
FLOOR: Final = 0.03
STRENGTH: Final = 3.0


class Links(NamedTuple):
    """The nearest anchors of rows."""

    nearest: NDArray[np.int32]
    """Anchors of each row, the nearest first, (n_rows, n_nearest)."""
    weight: NDArray[np.float32]
    """Their weights; each row sums to 1."""

    def at(self, rows: Any) -> Links:
        """Select rows."""
        return Links(self.nearest[rows], self.weight[rows])

    @classmethod
    def stacked(cls, parts: list[Links]) -> Links:
        """Concatenate blocks of rows."""
        return cls(
            np.concatenate([part.nearest for part in parts]),
            np.concatenate([part.weight for part in parts]),
        )


def sampled_rows(n: int, seed: int) -> NDArray[np.int64]:
    """Choose 400,000 of n rows at random, in ascending order; all if there are no more."""
    if n <= SAMPLE_ROWS:
        return np.arange(n)
    return np.sort(np.random.RandomState(seed).choice(n, SAMPLE_ROWS, replace=False))


def columns_of(X: Any, transform: Callable[[Any], Any], n_jobs: int | None) -> Rows:
    """Map rows to columns, in blocks and in single precision."""
    parts = in_threads(
        lambda part: transform(X[slice(*part)]).astype(np.float32),
        blocks(X.shape[0], LINKED_ROWS),
        n_jobs=n_jobs,
    )
    return np.concatenate(parts)


def choose_anchors(rows: Rows, n_anchors: int, seed: int, n_jobs: int | None = None) -> Rows:
    """Choose random rows, and move each to the mean of the rows nearest to it, twice.

    Means are distinct, (n_found, n_columns). Rows of few values, as of a questionnaire, stay as
    they are: means would have many. Time O(n_rows·n_anchors·n_columns), in single precision.
    """
    chosen = np.random.RandomState(seed).choice(len(rows), min(n_anchors, len(rows)), replace=False)
    if Categories.of(rows[chosen].astype(np.float64)) is not None:
        return rows[chosen]
    anchors = np.unique(rows[chosen], axis=0)
    for _ in range(N_ROUNDS):
        anchors = _at_means(rows, anchors, n_jobs)
    return np.unique(anchors, axis=0)


def _at_means(rows: Rows, anchors: Rows, n_jobs: int | None) -> Rows:
    """Return the means of the rows nearest to each anchor; an anchor without rows stays."""
    parts = blocks(len(rows), BLOCK_ROWS)
    found = in_threads(
        lambda part: nearest_anchors(rows[slice(*part)], anchors, 1)[:, 0], parts, n_jobs=n_jobs
    )
    sums, mass = np.zeros(anchors.shape), np.zeros(len(anchors))
    # One block after the other, so that sums do not depend on threads.
    for part, nearest in zip(parts, found, strict=True):
        block = rows[slice(*part)].astype(np.float64)
        add_groups(block, np.ones(len(block)), nearest.astype(np.int64), sums, mass)
    means = sums / np.maximum(mass, 1.0)[:, None]
    return np.where(mass[:, None] > 0, means, anchors).astype(np.float32)


def nearest_anchors(rows: Rows, anchors: Rows, n_nearest: int) -> NDArray[np.int32]:
    """Nearest anchors of each row, the nearest first, (n_rows, n_nearest)."""
    half_squares = (anchors**2).sum(axis=1) / 2
    nearest = np.zeros((len(rows), n_nearest), np.int32)
    products = np.empty((min(len(rows), PRODUCT_ROWS), len(anchors)), np.float32)
    numbers, own = np.arange(len(anchors)), np.full(len(products), -1)  # no row is an anchor
    for start, end in blocks(len(rows), PRODUCT_ROWS):
        size = end - start
        np.matmul(rows[start:end], anchors.T, out=products[:size])
        apart = np.full((size, n_nearest), np.inf, np.float32)
        keep_nearest(products[:size], half_squares, numbers, own, nearest[start:end], apart)
    return nearest


def link_rows(rows: Rows, anchors: Rows) -> Links:
    """Link rows to their five nearest anchors, with Gaussian weights on a local scale.

    ``exp(-4 (d² - d₁²) / m)``, divided by their sum; d₁² is the least squared distance, m their
    mean.
    """
    nearest = nearest_anchors(rows, anchors, min(N_NEAREST, len(anchors)))
    # From differences: products of large numbers lose the digits of small distances.
    squared = np.stack(
        [((rows - anchors[column]) ** 2).sum(axis=1) for column in nearest.T], axis=1
    )
    beyond = squared - squared.min(axis=1, keepdims=True)
    scale = np.maximum(squared.mean(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    weight = np.exp(-DECAY * beyond / scale)
    weight /= weight.sum(axis=1, keepdims=True)
    return Links(nearest, weight.astype(np.float32))


class Memberships(NamedTuple):
    """Candidate groups and their probabilities, the most probable groups of each row or anchor."""

    groups: NDArray[np.int32]
    """Groups, (n_rows, n_candidates); rows with fewer candidates end in -1."""
    shares: NDArray[np.float32]
    """Their probabilities; each row sums to 1."""
    n_clusters: int
    """Number of all groups."""

    @classmethod
    def largest_of(cls, dense: Any, n_kept: int) -> Memberships:
        """Keep the `n_kept` largest entries of each row of a nonnegative matrix."""
        sparse = csr_array(dense)
        shape = sparse.shape[0], min(n_kept, sparse.shape[1])
        groups, shares = np.empty(shape, np.int32), np.empty(shape, np.float32)
        largest_shares(
            sparse.indptr.astype(np.int32),
            sparse.indices.astype(np.int32),
            sparse.data.astype(np.float32),
            groups,
            shares,
        )
        return cls(groups, shares, sparse.shape[1])

    @classmethod
    def stacked(cls, parts: Sequence[Memberships]) -> Memberships:
        """Concatenate blocks of rows."""
        groups = np.concatenate([part.groups for part in parts])
        shares = np.concatenate([part.shares for part in parts])
        return cls(groups, shares, parts[0].n_clusters)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Most probable group of each row."""
        best = self.shares.argmax(axis=1)
        return np.asarray(self.groups[np.arange(len(best)), best], dtype=np.int64)

    def at(self, rows: Any) -> Memberships:
        """Select rows."""
        return self._replace(groups=self.groups[rows], shares=self.shares[rows])

    def with_rows(self, rows: NDArray[Any], others: Memberships) -> Memberships:
        """Replace the memberships of some rows."""
        groups, shares = self.groups.copy(), self.shares.copy()
        groups[rows], shares[rows] = others.groups, others.shares
        return self._replace(groups=groups, shares=shares)

    def shared(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Probabilities that rows of questions share a group, see `co_membership`, (n, 5)."""
        found = np.empty((len(rows), 5))
        rows = np.ascontiguousarray(rows, np.int64)
        shared_probabilities(rows, self.groups, rows, self.shares, found)
        return found

    def as_sparse(self) -> csr_array:
        """Return the probabilities as a sparse matrix, (n_rows, n_clusters)."""
        is_group = self.groups >= 0
        start = np.concatenate([[0], is_group.sum(axis=1).cumsum()])
        shape = len(self.groups), self.n_clusters
        entries = self.shares[is_group].astype(np.float64), self.groups[is_group], start
        matrix = csr_array(entries, shape=shape)
        matrix.sort_indices()
        return matrix


def row_memberships(
    links: Links, anchors: Memberships, suggested: NDArray[np.int32] | None = None
) -> Memberships:
    """Predict rows by the weighted means of their anchors, plus .03, to the power of 3.

    Up to eight candidates a row; `suggested` is a group that stays one of them, -1 for none.
    """
    n = len(links.nearest)
    if suggested is None:
        suggested = np.full(n, -1, np.int32)
    shape = n, min(N_OF_ROW, anchors.n_clusters)
    groups, shares = np.empty(shape, np.int32), np.empty(shape, np.float32)
    total = np.zeros(anchors.n_clusters, np.float32)
    mix_memberships(
        *links, anchors.groups, anchors.shares, suggested, FLOOR, STRENGTH, total, groups, shares
    )
    return Memberships(groups, shares, anchors.n_clusters)


def anchor_sums(links: Links, rows: Memberships, n_anchors: int) -> csr_array:
    """Sum the memberships of rows for each anchor, by weight, (n_anchors, n_clusters)."""
    sums = np.zeros((n_anchors, rows.n_clusters), np.float32)
    add_to_anchors(*links, rows.groups, rows.shares, sums)
    return csr_array(sums)
