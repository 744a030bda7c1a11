"""Features, and ids of their rows, from files."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cli._csv_table import read_csv_table
from clew.cli._parquet_table import read_parquet_table
from clew.exceptions import FileFormatError, InvalidDataError

__all__ = ["KINDS", "Items", "read_items"]

FLOAT64_KINDS = "buif"


class Items(NamedTuple):
    """The rows to group."""

    X: NDArray[np.float64]
    """Features, (n_rows, n_features), all finite."""
    ids: list[str]
    """One for each row, all different."""


class Table(NamedTuple):
    """What a file holds, not yet checked."""

    X: NDArray[Any]
    names: list[str] | None = None
    ids: list[str] | None = None
    lines: list[int] | None = None
    """Line of the file on which each row begins, in a file of lines."""


def read_items(path: Path) -> Items:
    """Read features from a file of a known kind.

    Parameters
    ----------
    path : Path
        A file whose name ends in one of `KINDS`.

    Returns
    -------
    Items
        Without ids in the file, row numbers are the ids.

    Raises
    ------
    FileFormatError
        If the file is of another kind, damaged, or holds something else than rows of numbers.
    InvalidDataError
        If a value is not finite, an id is missing or there twice, or there are too few rows.
    MissingDependencyError
        If the kind needs a package that is not installed.
    """
    read = KINDS.get(path.suffix.lower())
    if read is None:
        raise FileFormatError(
            f"{path}: cannot read files ending in {path.suffix or 'nothing'!r}; "
            f"give one of {', '.join(KINDS)}"
        )
    table = read(path)
    X = _as_features(path, table.X)
    _check_finite(path, X, table)
    if len(X) < 2:
        raise InvalidDataError(f"{path} has one row; grouping needs two rows or more")
    ids = [str(row) for row in range(len(X))] if table.ids is None else table.ids
    _check_ids(path, ids, table)
    return Items(X, ids)


def _read_npy(path: Path) -> Table:
    return Table(_loaded(path, lambda stored: stored))


def _read_npz(path: Path) -> Table:
    arrays = _loaded(path, lambda stored: {name: stored[name] for name in stored.files})
    features = "X" if "X" in arrays else next(iter(arrays), "X")
    ids = next((name for name in arrays if name in ("id", "ids") and name != features), None)
    if features not in arrays or ("X" not in arrays and len(arrays) > 1):
        raise FileFormatError(
            f"{path} should hold the features as X, and may hold ids; it has "
            f"{', '.join(arrays) or 'nothing'}"
        )
    return Table(arrays[features], ids=None if ids is None else [str(each) for each in arrays[ids]])


def _loaded(path: Path, take: Callable[[Any], Any]) -> Any:
    """Load a NumPy file and take from it what is wanted."""
    try:
        # NumPy leaves a damaged file open if it opens the file itself.
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if isinstance(stored, np.lib.npyio.NpzFile) != (path.suffix.lower() == ".npz"):
                raise ValueError("its ending does not say what it is")
            return take(stored)
    # Damage shows in many ways, from the zip down to a header; all of them mean the same.
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError) as error:
        raise FileFormatError(
            f"{path} cannot be read as a NumPy file of numbers: {error}"
        ) from error


def _read_csv(path: Path) -> Table:
    return Table(*read_csv_table(path))


def _read_parquet(path: Path) -> Table:
    return Table(*read_parquet_table(path))


#: How files are read, by their ending.
KINDS: dict[str, Callable[[Path], Table]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}


def _as_features(path: Path, X: NDArray[Any]) -> NDArray[np.float64]:
    if X.dtype.kind not in FLOAT64_KINDS:
        raise FileFormatError(f"{path} holds {X.dtype}, not numbers")
    if X.ndim != 2:
        hint = "; reshape(-1, 1) makes one feature of it" if X.ndim == 1 else ""
        raise FileFormatError(
            f"{path} holds an array of shape {X.shape}, but rows by features are two dimensions"
            f"{hint}"
        )
    if 0 in X.shape:
        raise InvalidDataError(f"{path} has {X.shape[0]} rows and {X.shape[1]} features")
    return np.ascontiguousarray(X, dtype=np.float64)


def _check_finite(path: Path, X: NDArray[np.float64], table: Table) -> None:
    bad = np.argwhere(~np.isfinite(X))
    if len(bad) == 0:
        return
    row, at = bad[0].tolist()
    column = repr(table.names[at]) if table.names else str(at)
    line = f" (line {table.lines[row]})" if table.lines else ""
    more = f", and {len(bad) - 1} more like it" if len(bad) > 1 else ""
    raise InvalidDataError(
        f"{path}, row {row}{line}, column {column}: {X[row, at]} is not a finite number{more}; "
        "fill such values in, or leave the rows or columns out"
    )


def _check_ids(path: Path, ids: list[str], table: Table) -> None:
    if len(ids) != len(table.X):
        raise InvalidDataError(f"{path} has {len(table.X)} rows, but {len(ids)} ids")
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        where = f"{path}, row {row}" + (f" (line {table.lines[row]})" if table.lines else "")
        if not name:
            raise InvalidDataError(f"{where}: the id is empty")
        if name in seen:
            raise InvalidDataError(f"{where}: the id {name[:40]!r} is that of row {seen[name]} too")
        seen[name] = row
