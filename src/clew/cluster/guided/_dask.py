"""Rows in a Dask array: each block is read, linked to anchors and summed where Dask has it.

What leaves a worker are rows of the sample, links of answered rows, sums for anchors, and labels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._dask import DaskRows, checked_block, clear_errors, computed
from clew._parallel import blocks, one_library_thread
from clew.cluster.guided._anchors import (
    LINKED_ROWS,
    Links,
    Memberships,
    Rows,
    link_rows,
    sampled_rows,
)
from clew.cluster.guided._features import FeatureSpace
from clew.cluster.guided._row_blocks import (
    AnsweredMemberships,
    Groups,
    LinkedBlocks,
    added_in_pairs,
    memberships_of_block,
)
from clew.graphs import DistanceSpace

R = TypeVar("R")


class LinkableRows(DaskRows):
    """Features in a Dask array, to be linked to anchors."""

    def sampled(self, seed: int) -> NDArray[np.float64]:
        """Check all rows, and return 400,000 random ones in their order, or all of fewer."""
        return self.checked(sampled_rows(self.n_rows, seed))

    def linked(
        self, space: FeatureSpace | DistanceSpace, anchors: Rows, n_jobs: int | None, verbose: int
    ) -> LinkedBlocks:
        """Link all rows to anchors; Dask decides how many threads and processes do so."""
        return DaskBlocks(self, space, anchors)


class DaskBlocks(LinkedBlocks):
    """Links of the rows of a Dask array, which stay where they were computed."""

    def __init__(self, rows: DaskRows, space: FeatureSpace | DistanceSpace, anchors: Rows) -> None:
        self._rows, self._fitted = rows, (space, anchors)
        self.n_rows = rows.n_rows
        self._stored: list[Delayed] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Links belong to a cluster: another process computes them again.
        return {**vars(self), "_stored": None}

    @property
    def _links(self) -> list[Delayed]:
        if self._stored is None:
            fitted = delayed(self._fitted, traverse=False)
            tasks = [delayed(_linked_block)(block, fitted) for block in self._rows.blocks]
            with clear_errors():
                self._stored = list(dask.persist(*tasks))
        return self._stored

    def _tasks(
        self, function: Callable[..., Any], parts: Sequence[Any], *shared: Any
    ) -> list[Delayed]:
        every = [delayed(value, traverse=False) for value in shared]
        return [
            delayed(_in_one_thread)(function, links, delayed(part, traverse=False), *every)
            for links, part in zip(self._links, parts, strict=True)
        ]

    def each(self, function: Callable[..., R], parts: Sequence[Any], *shared: Any) -> list[R]:
        """Call a function for each block, and collect the results."""
        return computed(self._tasks(function, parts, *shared))

    def total(
        self, function: Callable[..., csr_array], parts: Sequence[Any], *shared: Any
    ) -> csr_array:
        """Add up what the function returns for each block, on the workers."""
        found: csr_array = computed(
            [added_in_pairs(self._tasks(function, parts, *shared), delayed(operator.add))]
        )[0]
        return found

    def groups(self, anchors: Memberships, answered: AnsweredMemberships | None) -> Groups:
        """Predict the groups of all rows; probabilities are a Dask array."""
        parts = self.parts_of(answered)
        labels = np.concatenate(self.each(_labels_of_block, parts, anchors)).astype(np.int64)
        sizes = [end - start for start, end in self._rows.bounds]
        dense = [
            da.from_delayed(task, (size, anchors.n_clusters), np.float64)
            for task, size in zip(
                self._tasks(_probabilities_of_block, parts, anchors), sizes, strict=True
            )
        ]
        return Groups(labels, da.concatenate(dense))


def predicted(X: Any, predict: Callable[[NDArray[np.float64]], Any], n_clusters: int) -> da.Array:
    """Apply a prediction to each block: a Dask array of probabilities, (n_rows, n_clusters)."""
    rows, function = DaskRows(X), delayed(predict, traverse=False)
    parts = [
        da.from_delayed(
            delayed(_predicted_block)(block, start, function), (end - start, n_clusters), np.float64
        )
        for block, (start, end) in zip(rows.blocks, rows.bounds, strict=True)
    ]
    return da.concatenate(parts)


def _in_one_thread(function: Callable[..., R], *arguments: Any) -> R:
    with one_library_thread():
        return function(*arguments)


def _linked_block(block: Any, fitted: tuple[FeatureSpace | DistanceSpace, Rows]) -> Links:
    """Link the rows of a block to anchors, in parts as large as those of rows in memory."""
    space, anchors = fitted
    with one_library_thread():
        return Links.stacked(
            [
                link_rows(
                    space.transform(np.asarray(block[start:end], np.float64)).astype(np.float32),
                    anchors,
                )
                for start, end in blocks(len(block), LINKED_ROWS)
            ]
        )


def _labels_of_block(
    links: Links, answered: AnsweredMemberships | None, anchors: Memberships
) -> NDArray[np.int32]:
    return memberships_of_block(links, answered, anchors).labels.astype(np.int32)


def _probabilities_of_block(
    links: Links, answered: AnsweredMemberships | None, anchors: Memberships
) -> NDArray[np.float64]:
    return memberships_of_block(links, answered, anchors).as_sparse().toarray()


def _predicted_block(
    block: Any, start: int, predict: Callable[[NDArray[np.float64]], Any]
) -> NDArray[np.float64]:
    found = predict(checked_block(block, start))
    return found if isinstance(found, np.ndarray) else np.asarray(found.toarray())
