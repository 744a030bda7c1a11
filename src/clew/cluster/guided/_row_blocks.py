"""All rows of a fit on anchors, in blocks of 65,536: what each step reads of them.

A step that reads all rows is a function of one block: its links to anchors, and what differs from
block to block. Rows in memory are read by threads, see `ArrayBlocks`; those of a Dask array stay
where they are, see `_dask.DaskBlocks`. Results are added in one order, so both give the same.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from clew._limits import BLOCK_ROWS
from clew._parallel import blocks, in_threads
from clew.cluster.guided._anchors import (
    LINKED_ROWS,
    N_OF_ANCHOR,
    Links,
    Memberships,
    Rows,
    anchor_sums,
    link_rows,
    row_memberships,
    sampled_rows,
)
from clew.cluster.guided._features import FeatureSpace
from clew.graphs import DistanceSpace, largest_stored

R = TypeVar("R")


class Groups(NamedTuple):
    """Groups of all rows."""

    labels: NDArray[np.int64]
    probabilities: Any
    """Up to eight a row: csr_array, or Dask array, (n_rows, n_clusters)."""


class AnsweredMemberships(NamedTuple):
    """Memberships of the rows that answers name, which are not those that their anchors give."""

    rows: NDArray[np.int64]
    """In ascending order."""
    memberships: Memberships


class LinkedBlocks(ABC):
    """The links of all rows to anchors, in blocks."""

    n_rows: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // BLOCK_ROWS)

    @abstractmethod
    def each(self, function: Callable[..., R], parts: Sequence[Any], *shared: Any) -> list[R]:
        """Call ``function(links, part, *shared)`` for the links and the part of each block."""

    @abstractmethod
    def total(
        self, function: Callable[..., csr_array], parts: Sequence[Any], *shared: Any
    ) -> csr_array:
        """Add up what the function returns for each block, see `added_in_pairs`."""

    @abstractmethod
    def groups(self, anchors: Memberships, answered: AnsweredMemberships | None) -> Groups:
        """Predict the groups of all rows by those of anchors, but for answered rows."""

    def at(self, rows: NDArray[np.int64]) -> Links:
        """Return the links of some rows, in ascending order."""
        return Links.stacked(self.each(Links.at, [here for here, _ in self.cut(rows)]))

    def cut(self, rows: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], slice]]:
        """Return the positions of rows within each block, and which of the rows these are."""
        parts = blocks(self.n_rows, BLOCK_ROWS)
        bounds = np.searchsorted(rows, [start for start, _ in parts] + [self.n_rows])
        return [
            (rows[low:high] - start, slice(low, high))
            for (start, _), low, high in zip(parts, bounds[:-1], bounds[1:], strict=True)
        ]

    def parts_of(self, answered: AnsweredMemberships | None) -> list[AnsweredMemberships | None]:
        """Cut the memberships of answered rows into those of each block."""
        if answered is None:
            return [None] * self.n_blocks
        return [
            AnsweredMemberships(here, answered.memberships.at(which))
            for here, which in self.cut(answered.rows)
        ]

    def update(self, anchors: Memberships, answered: AnsweredMemberships) -> Memberships:
        """Average the rows of each anchor, as predicted by `anchors` but for answered rows.

        Anchors without rows stay.
        """
        sums = self.total(sums_of_block, self.parts_of(answered), anchors)
        found = Memberships.largest_of(sums, N_OF_ANCHOR)
        has_none = found.groups[:, 0] < 0
        return found.with_rows(has_none, anchors.at(has_none))

    def neighbors(self, rows: NDArray[np.int64], n_anchors: int, k: int) -> csr_array:
        """Up to `k` rows that share anchors with each of some rows, (len(rows), n_rows).

        Entries are sums over shared anchors of the products of weights.
        """
        order = np.argsort(rows, kind="stable")
        own = self.at(rows[order])
        start = [(part[0], k) for part in blocks(self.n_rows, BLOCK_ROWS)]
        near = csr_array(hstack(self.each(near_of_block, start, own, rows[order], n_anchors)))
        at = np.empty(len(order), np.int64)
        at[order] = np.arange(len(order))
        return largest_of_rows(near, k)[at]


class ArrayBlocks(LinkedBlocks):
    """Links in memory, read by threads."""

    def __init__(self, links: Links, n_jobs: int | None) -> None:
        self.links, self._n_jobs = links, n_jobs
        self.n_rows = len(links.nearest)

    @classmethod
    def of(
        cls,
        X: Any,
        space: FeatureSpace | DistanceSpace,
        anchors: Rows,
        n_jobs: int | None,
        verbose: int = 0,
    ) -> ArrayBlocks:
        """Link all rows to anchors, one block of features after the other."""

        def link(part: tuple[int, int]) -> Links:
            return link_rows(space.transform(X[slice(*part)]).astype(np.float32), anchors)

        parts = in_threads(
            link,
            blocks(X.shape[0], LINKED_ROWS),
            n_jobs=n_jobs,
            verbose=verbose,
            what="blocks of linked rows",
        )
        return cls(Links.stacked(parts), n_jobs)

    def each(self, function: Callable[..., R], parts: Sequence[Any], *shared: Any) -> list[R]:
        """Call a function for each block, in threads."""

        def of_block(task: tuple[tuple[int, int], Any]) -> R:
            block, part = task
            return function(self.links.at(slice(*block)), part, *shared)

        tasks = list(zip(blocks(self.n_rows, BLOCK_ROWS), parts, strict=True))
        return in_threads(of_block, tasks, n_jobs=self._n_jobs)

    def total(
        self, function: Callable[..., csr_array], parts: Sequence[Any], *shared: Any
    ) -> csr_array:
        """Add up what the function returns for each block."""
        found: csr_array = added_in_pairs(self.each(function, parts, *shared), operator.add)
        return found

    def groups(self, anchors: Memberships, answered: AnsweredMemberships | None) -> Groups:
        """Predict the groups of all rows."""
        found = Memberships.stacked(
            self.each(memberships_of_block, self.parts_of(answered), anchors)
        )
        return Groups(found.labels, found.as_sparse())

    def at(self, rows: NDArray[np.int64]) -> Links:
        """Return the links of some rows."""
        return self.links.at(rows)


def added_in_pairs(values: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Add neighbors up, then the neighbors of their sums, until one is left."""
    while len(values) > 1:
        values = [
            add(*values[at : at + 2]) if at + 1 < len(values) else values[at]
            for at in range(0, len(values), 2)
        ]
    return values[0]


def memberships_of_block(
    links: Links, answered: AnsweredMemberships | None, anchors: Memberships
) -> Memberships:
    """Predict the rows of a block by their anchors, but for the answered ones."""
    found = row_memberships(links, anchors)
    return found if answered is None else found.with_rows(*answered)


def sums_of_block(
    links: Links, answered: AnsweredMemberships | None, anchors: Memberships
) -> csr_array:
    """Sum the memberships of a block for each anchor, (n_anchors, n_clusters)."""
    return anchor_sums(links, memberships_of_block(links, answered, anchors), len(anchors.groups))


def near_of_block(
    links: Links, part: tuple[int, int], own: Links, rows: NDArray[np.int64], n_anchors: int
) -> csr_array:
    """Find up to `k` rows of a block that share anchors with each row, (len(rows), n_of_block).

    `part` is the number of the first row of the block, and `k`.
    """
    start, k = part
    near = csr_array(_as_sparse(own, n_anchors) @ _as_sparse(links, n_anchors).T).tocoo()
    near.data[near.col + start == rows[near.row]] = 0.0  # a row is no neighbor of itself
    return largest_of_rows(csr_array(near), k)


def largest_of_rows(table: csr_array, k: int) -> csr_array:
    """Keep the `k` largest entries of each row; unlike `largest_stored`, also on the diagonal."""
    n, m = table.shape
    return csr_array(largest_stored(csr_array(hstack([csr_array((n, n)), table])), k)[:, n : n + m])


def _as_sparse(links: Links, n_anchors: int) -> csr_array:
    n, n_near = links.nearest.shape
    entries = links.weight.ravel(), links.nearest.ravel(), np.arange(n + 1) * n_near
    return csr_array(entries, shape=(n, n_anchors))


class ArrayRows:
    """Features in memory."""

    def __init__(self, X: Any) -> None:
        self.X, self.n_rows = X, X.shape[0]

    def sampled(self, seed: int) -> Any:
        """Return 400,000 random rows in their order, or all if there are no more."""
        rows = sampled_rows(self.n_rows, seed)
        return self.X if len(rows) == self.n_rows else self.X[rows]

    def linked(
        self, space: FeatureSpace | DistanceSpace, anchors: Rows, n_jobs: int | None, verbose: int
    ) -> LinkedBlocks:
        """Link all rows to anchors."""
        return ArrayBlocks.of(self.X, space, anchors, n_jobs, verbose)
