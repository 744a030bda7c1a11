"""Arrays of Dask, in blocks of rows of one size; errors of its cluster in clew's words.

Blocks have 65,536 rows, as those of rows in memory: results do not depend on how an array was cut,
and are the same on one machine and with any number of workers. All that a task needs besides its
block is in Dask's graph, so work of a lost worker is done again by others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from scipy.sparse import issparse

from clew._limits import BLOCK_ROWS
from clew._parallel import blocks
from clew.exceptions import ClusterError, InvalidDataError


class DaskRows:
    """Features in a Dask array."""

    def __init__(self, X: Any) -> None:
        self.X = in_blocks(X)
        self.n_rows = self.X.shape[0]
        self.bounds = blocks(self.n_rows, BLOCK_ROWS)
        """First row of each block, and the row after its last."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns."""
        return self.n_rows, int(self.X.shape[1])

    @property
    def blocks(self) -> list[Delayed]:
        """The blocks, which are not checked."""
        return list(self.X.to_delayed().ravel())

    def cut(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the positions of rows, in ascending order, within each block."""
        at = np.searchsorted(rows, [start for start, _ in self.bounds] + [self.n_rows])
        return [
            rows[low:high] - start
            for (start, _), low, high in zip(self.bounds, at[:-1], at[1:], strict=True)
        ]

    def checked(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Check all rows, and return some of them, in ascending order."""
        tasks = [
            delayed(_rows_of_block)(block, start, here)
            for block, (start, _), here in zip(
                self.blocks, self.bounds, self.cut(rows), strict=True
            )
        ]
        return np.concatenate(computed(tasks))

    def at(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return some rows, in ascending order; blocks without any of them are not read."""
        tasks = [
            delayed(_rows_of_block)(block, start, here)
            for block, (start, _), here in zip(
                self.blocks, self.bounds, self.cut(rows), strict=True
            )
            if len(here)
        ]
        return np.concatenate(computed(tasks)) if tasks else np.empty((0, self.shape[1]))


def in_blocks(X: Any) -> da.Array:
    """Return a Dask array, or the values of a data frame, cut after every 65,536 rows."""
    with clear_errors():
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
    with clear_errors():
        return list(dask.compute(*tasks))


@contextmanager
def clear_errors() -> Iterator[None]:
    try:
        # Answers are part of the graph; a cluster would warn of more than 10 MB. Its settings exist
        # once it is imported.
        settings = {"distributed.admin.large-graph-warning-threshold": "4GB"}
        with dask.config.set(settings if "distributed" in sys.modules else {}):
            yield
    except Exception as error:
        is_of_cluster = type(error).__module__.partition(".")[0] == "distributed"
        if not is_of_cluster and not isinstance(error, ConnectionError | CancelledError):
            raise
        if type(error).__name__ == "KilledWorker":
            raise ClusterError(
                "Dask's workers died while they computed one block, probably of too little memory: "
                f"give each worker at least six times the memory of a block of {BLOCK_ROWS:,} rows "
                f"for each of its threads, or fewer threads ({error})"
            ) from error
        raise ClusterError(
            "the connection to Dask's scheduler was lost; nothing was changed. Start the cluster "
            f"again, and call fit again ({type(error).__name__}: {error})"
        ) from error


def checked_block(block: Any, start: int) -> NDArray[np.float64]:
    """Return a block as numbers; `start` is the number of its first row."""
    if issparse(block):
        raise InvalidDataError(
            "the blocks of X are sparse, and rows in blocks are dense: reduce their columns first, "
            "with sklearn's TruncatedSVD(100)"
        )
    values = np.ascontiguousarray(block, dtype=np.float64)
    is_bad = ~np.isfinite(values).all(axis=1)
    if is_bad.any():
        row = int(is_bad.argmax())
        column = int((~np.isfinite(values[row])).argmax())
        raise InvalidDataError(
            f"X holds {values[row, column]} in row {start + row}, column {column} (the block of "
            f"rows {start} to {start + len(values) - 1}), and {is_bad.sum() - 1} more rows of this "
            "block hold such values: fill them in, or leave the rows out"
        )
    return values


def _rows_of_block(block: Any, start: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    return checked_block(block, start)[rows]
