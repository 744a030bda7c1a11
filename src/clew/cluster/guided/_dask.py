"""Rows in a Dask array: each block is read, linked to anchors and summed where Dask has it.

Blocks have 65,536 rows, as those of rows in memory: a fit gives the same result on one machine, and
with any number of workers. What leaves a worker are rows of the sample and links of answered rows,
sums for anchors, and labels. All that a task needs besides its block is in Dask's graph, so work of
a lost worker is done again by others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._parallel import blocks, one_library_thread
from clew.cluster.guided._anchors import (
    BLOCK_ROWS,
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
from clew.exceptions import ClusterError, InvalidDataError
from clew.graphs import DistanceSpace

R = TypeVar("R")


class DaskRows:
    """Features in a Dask array."""

    def __init__(self, X: Any) -> None:
        self.X = in_blocks(X)
        self.n_rows = self.X.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns."""
        return self.n_rows, int(self.X.shape[1])

    def sampled(self, seed: int) -> NDArray[np.float64]:
        """Check all rows, and return 400,000 random ones in their order, or all of fewer."""
        chosen = sampled_rows(self.n_rows, seed)
        parts = blocks(self.n_rows, BLOCK_ROWS)
        bounds = np.searchsorted(chosen, [start for start, _ in parts] + [self.n_rows])
        tasks = [
            delayed(_rows_of_block)(block, start, chosen[low:high] - start)
            for block, (start, _), low, high in zip(
                _delayed_blocks(self.X), parts, bounds[:-1], bounds[1:], strict=True
            )
        ]
        return np.concatenate(computed(tasks))

    def linked(
        self, space: FeatureSpace | DistanceSpace, anchors: Rows, n_jobs: int | None, verbose: int
    ) -> LinkedBlocks:
        """Link all rows to anchors; Dask decides how many threads and processes do so."""
        return DaskBlocks(self.X, space, anchors)


class DaskBlocks(LinkedBlocks):
    """Links of the rows of a Dask array, which stay where they were computed."""

    def __init__(self, X: da.Array, space: FeatureSpace | DistanceSpace, anchors: Rows) -> None:
        self._X, self._fitted = X, (space, anchors)
        self.n_rows = X.shape[0]
        self._stored: list[Delayed] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Links belong to a cluster: another process computes them again.
        return {**vars(self), "_stored": None}

    @property
    def _links(self) -> list[Delayed]:
        if self._stored is None:
            fitted = delayed(self._fitted, traverse=False)
            tasks = [delayed(_linked_block)(block, fitted) for block in _delayed_blocks(self._X)]
            with _clear_errors():
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
        sizes = [end - start for start, end in blocks(self.n_rows, BLOCK_ROWS)]
        dense = [
            da.from_delayed(task, (size, anchors.n_clusters), np.float64)
            for task, size in zip(
                self._tasks(_probabilities_of_block, parts, anchors), sizes, strict=True
            )
        ]
        return Groups(labels, da.concatenate(dense))


def predicted(X: Any, predict: Callable[[NDArray[np.float64]], Any], n_clusters: int) -> da.Array:
    """Apply a prediction to each block: a Dask array of probabilities, (n_rows, n_clusters)."""
    rows, function = in_blocks(X), delayed(predict, traverse=False)
    parts = [
        da.from_delayed(
            delayed(_predicted_block)(block, start, function), (end - start, n_clusters), np.float64
        )
        for block, (start, end) in zip(
            _delayed_blocks(rows), blocks(rows.shape[0], BLOCK_ROWS), strict=True
        )
    ]
    return da.concatenate(parts)


def in_blocks(X: Any) -> da.Array:
    """Return a Dask array, or the values of a Dask data frame, in blocks of 65,536 rows.

    Blocks that are empty or of different sizes are joined and divided.
    """
    with _clear_errors():
        rows = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
        if rows.ndim != 2:
            raise InvalidDataError(f"X must have two dimensions, got a Dask array {rows.shape}")
        if rows.dtype.kind not in "fiub":
            raise InvalidDataError(
                f"X holds {rows.dtype}; a Dask array of features holds numbers. Turn other columns "
                "into numbers first, with tables.TableFeatures or dask's own tools"
            )
        if np.isnan(rows.shape).any():
            rows = rows.compute_chunk_sizes()
    return rows.rechunk({0: BLOCK_ROWS, 1: -1})


def computed(tasks: Sequence[Delayed]) -> list[Any]:
    """Compute tasks together; errors of the cluster are raised as `ClusterError`."""
    with _clear_errors():
        return list(dask.compute(*tasks))


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        # Answers are part of the graph; Dask would warn of more than 10 MB.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"}):
            yield
    except Exception as error:
        is_of_cluster = type(error).__module__.partition(".")[0] == "distributed"
        if not is_of_cluster and not isinstance(error, ConnectionError | CancelledError):
            raise
        if type(error).__name__ == "KilledWorker":
            raise ClusterError(
                "Dask's workers died while they computed one block, probably of too little memory: "
                f"give each worker at least {_needed()}, or fewer threads ({error})"
            ) from error
        raise ClusterError(
            "the connection to Dask's scheduler was lost; nothing was changed. Start the cluster "
            f"again, and call fit again ({type(error).__name__}: {error})"
        ) from error


def _needed() -> str:
    return f"six times the memory of a block of {BLOCK_ROWS:,} rows for each of its threads"


def _delayed_blocks(X: da.Array) -> list[Delayed]:
    return list(X.to_delayed().ravel())


def _in_one_thread(function: Callable[..., R], *arguments: Any) -> R:
    with one_library_thread():
        return function(*arguments)


def _checked(block: Any, start: int) -> NDArray[np.float64]:
    """Return a block as numbers; `start` is the number of its first row."""
    values = np.ascontiguousarray(block, dtype=np.float64)
    is_bad = ~np.isfinite(values).all(axis=1)
    if is_bad.any():
        row = int(is_bad.argmax())
        column = int((~np.isfinite(values[row])).argmax())
        raise InvalidDataError(
            f"X holds {values[row, column]} in row {start + row}, column {column} (the block of "
            f"rows {start} to {start + len(values) - 1}); {is_bad.sum()} rows of this block hold "
            "such values: fill them in, or leave the rows out"
        )
    return values


def _rows_of_block(block: Any, start: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    return _checked(block, start)[rows]


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
    found = predict(_checked(block, start))
    return found if isinstance(found, np.ndarray) else np.asarray(found.toarray())
