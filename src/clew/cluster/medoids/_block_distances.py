"""Distances of the rows of a Dask array: the nearest rows are found where their blocks are.

Rows that the search for subclusters names (candidates, their nearest rows, a sample) are fetched
once and kept; there are some ten thousand of them, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import dask.array as da
import numpy as np
from dask.delayed import delayed

from clew._dask import DaskRows, checked_block, computed
from clew._parallel import one_library_thread
from clew._units import Units
from clew.cluster.medoids._distances import ALIASES, Floats, Index, Metric, RowDistances, Rows
from clew.exceptions import InvalidParameterError

#: Number of partial lists of nearest rows that one task merges.
MERGED = 8


class BlockDistances(RowDistances):
    """`RowDistances` of rows that are not in memory."""

    def __init__(
        self, rows: DaskRows, metric: Metric, metric_params: Mapping[str, Any] | None = None
    ) -> None:
        self.metric = ALIASES.get(metric, metric) if isinstance(metric, str) else metric
        if self.metric == "precomputed":
            raise InvalidParameterError(
                "metric='precomputed' needs all distances in memory: give features as a Dask array"
            )
        self.params = dict(metric_params or {})
        self._blocks = rows
        self._fetched, self._values = np.empty(0, np.int64), np.empty((0, rows.shape[1]))
        X = rows.X.astype(np.float64)
        rows.checked(np.empty(0, np.int64))
        if self.metric == "euclidean":
            mean, least, largest = computed([X.mean(axis=0), X.min(axis=0), X.max(axis=0)])
            farthest = float(np.maximum(largest - mean, mean - least).max())
            self.units = Units(mean, farthest or 1.0)
        elif self.metric == "seuclidean" and "V" not in self.params:
            self.params["V"] = computed([X.var(axis=0, ddof=1)])[0]
        elif self.metric == "mahalanobis" and "VI" not in self.params:
            self.params["VI"] = np.linalg.inv(np.atleast_2d(computed([da.cov(X.T)])[0]))
        self.unit = 1.0
        first = self.among(np.zeros(1, np.int64))
        tasks = [delayed(_farthest)(block, start, first) for block, (start, _) in self._each()]
        self.unit = max(computed(tasks)) or 1.0

    @classmethod
    def of_array(cls, X: Any, metric: Metric, metric_params: Mapping[str, Any] | None) -> Self:
        """Prepare distances of the rows of a Dask array or data frame."""
        return cls(DaskRows(X), metric, metric_params)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._blocks.shape[1]

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self._blocks.n_rows)

    def block(self, first: Index, second: Index | None) -> Rows:
        """Return distances between rows as one block, not divided by `unit`."""
        if second is None:
            raise MemoryError("the distances of all rows of a Dask array are never computed")
        named = np.union1d(first, second)
        here = self.among(named)
        return here.block(np.searchsorted(named, first), np.searchsorted(named, second))

    def among(self, rows: Index) -> RowDistances:
        """Return the distances between some rows, in memory, in the same units."""
        missing = np.setdiff1d(rows, self._fetched)
        if len(missing):
            both = np.concatenate([self._fetched, missing])
            order = np.argsort(both)
            values = np.concatenate([self._values, self._blocks.at(missing)])
            self._fetched, self._values = both[order], values[order]
        return self.of(self._values[np.searchsorted(self._fetched, rows)])

    def nearest(
        self, owners: Index, n: int, among: Index | None = None, n_jobs: int | None = None
    ) -> tuple[Index, Floats]:
        """Find the nearest other rows of some rows, among all rows or some, (n_owners, n) each."""
        if among is not None:
            named = np.union1d(owners, among)
            here = self.among(named)
            nearest, apart = here.nearest(
                np.searchsorted(named, owners), n, np.searchsorted(named, among), n_jobs
            )
            return named[nearest], apart
        own = delayed((owners, self.among(owners)), traverse=False)
        lists = [
            delayed(_nearest_of_block)(block, start, own, n) for block, (start, _) in self._each()
        ]
        while len(lists) > 1:
            lists = [
                delayed(_merged)(lists[at : at + MERGED], n) for at in range(0, len(lists), MERGED)
            ]
        nearest, apart = computed(lists)[0]
        return nearest, apart

    def _each(self) -> Any:
        return zip(self._blocks.blocks, self._blocks.bounds, strict=True)


def _farthest(block: Any, start: int, first: RowDistances) -> float:
    rows = _joined(first, block, start)
    return float(rows.block(np.zeros(1, np.int64), None).max())


def _nearest_of_block(
    block: Any, start: int, own: tuple[Index, RowDistances], n: int
) -> tuple[Index, Floats]:
    """Find up to n rows of a block that are nearest to some rows; infinity: the row itself."""
    owners, distances = own
    rows, n_owners = _joined(distances, block, start), len(owners)
    is_here = (owners >= start) & (owners < start + len(block))
    # Within the block, an owner has its place there, so that it is no neighbor of itself.
    at = np.where(is_here, owners - start + n_owners, np.arange(n_owners))
    members = np.arange(n_owners, rows.n_samples)
    with one_library_thread():
        if len(block) > n:
            nearest, apart = rows.nearest(at, n, members, 1)
            return nearest - n_owners + start, apart
        table = np.asarray(rows.block(at, members), np.float64)
    table[at[:, None] == members] = np.inf
    order = np.argsort(table, axis=1, kind="stable")
    return order + start, np.take_along_axis(table, order, 1)


def _merged(lists: list[tuple[Index, Floats]], n: int) -> tuple[Index, Floats]:
    """Keep the nearest rows of several lists; of equally near ones the first."""
    nearest, apart = (np.concatenate(part, axis=1) for part in zip(*lists, strict=True))
    order = np.argsort(apart, axis=1, kind="stable")[:, :n]
    return np.take_along_axis(nearest, order, 1), np.take_along_axis(apart, order, 1)


def _joined(distances: RowDistances, block: Any, start: int) -> RowDistances:
    """Return distances between the given rows and, after them, those of a block."""
    return distances.of(np.concatenate([distances.rows, checked_block(block, start)]))
