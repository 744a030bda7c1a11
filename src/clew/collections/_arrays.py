"""Vectors and distances from files, by themselves or beside the media that they belong to."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._text import text_of
from clew.exceptions import FileFormatError, InvalidDataError, MissingDependencyError
from clew.tables._read import check_ids, id_text, read_table

ARRAYS: Final = (".npy", ".npz")
#: Rows in which numbers are looked at one time.
BLOCK: Final = 1 << 14


class Rows(NamedTuple):
    """Rows of numbers with their ids."""

    values: NDArray[Any]
    """(n, n_features), or distances, (n, n)."""
    ids: list[str] | None
    """None if the file names no ids."""


def read_vectors(path: Path, ids: Path | None = None) -> Rows:
    """Read vectors from .npy, .npz or Parquet with a column of lists."""
    rows = _parquet(path) if path.suffix.lower() == ".parquet" else _array(path, "X")
    values = rows.values
    if values.ndim != 2 or values.dtype.kind not in "fiub" or 0 in values.shape:
        raise FileFormatError(
            f"{path} holds an array of {values.dtype} of shape {values.shape}; vectors are "
            "numbers, rows by features"
        )
    if values.dtype.kind != "f":
        values = values.astype(np.float32)
    for start in range(0, len(values), BLOCK):
        bad = np.argwhere(~np.isfinite(values[start : start + BLOCK]))
        if len(bad):
            row, column = bad[0]
            raise InvalidDataError(
                f"{path}, row {start + row}, column {column}: "
                f"{values[start + row, column]} is not a finite number"
            )
    return _named(path, Rows(values, rows.ids), ids, len(values))


def read_square(path: Path, ids: Path | None = None) -> Rows:
    """Read distances between all pairs of rows from .npy or .npz, square or condensed."""
    from clew.graphs import check_distances  # loads scikit-learn

    rows = _array(path, "D")
    try:
        values = np.asarray(check_distances(rows.values))
    except InvalidDataError as error:
        raise InvalidDataError(f"{path}: {error}") from error
    return _named(path, Rows(values, rows.ids), ids, len(values))


def _named(path: Path, rows: Rows, ids: Path | None, n: int) -> Rows:
    """Name the rows by a file of ids, and check the ids."""
    if ids is not None and rows.ids is not None:
        raise FileFormatError(f"{path} names its rows already; leave --ids out")
    names = rows.ids if ids is None else read_ids(ids)
    if names is None:
        return rows
    if len(names) != n:
        raise InvalidDataError(f"{ids or path} has {len(names):,} ids for {n:,} rows of {path}")
    try:
        check_ids(names)
    except InvalidDataError as error:
        raise InvalidDataError(f"{ids or path}, {error}") from error
    return Rows(rows.values, names)


def read_ids(path: Path) -> list[str]:
    """Read ids: one on each line, or a table with a column id."""
    if path.suffix.lower() in (".csv", ".tsv", ".parquet"):
        table = read_table(path)
        if table.ids is not None:
            return table.ids
    return [line.strip() for line in text_of(path).splitlines() if line.strip()]


def _array(path: Path, name: str) -> Rows:
    try:
        stored = np.load(path, allow_pickle=False, mmap_mode="r")
        if not isinstance(stored, np.lib.npyio.NpzFile):
            return Rows(stored, None)
        with stored:
            values = name if name in stored.files else next(iter(stored.files), name)
            ids = next((each for each in ("ids", "id") if each in stored.files), None)
            names = None if ids is None else [id_text(each) for each in stored[ids].tolist()]
            return Rows(stored[values], names)
    # A damaged file raises many kinds of errors, for example of the zip archive or of a header.
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError) as error:
        raise FileFormatError(
            f"{path} cannot be read as a NumPy file of numbers: {error}"
        ) from error


def _parquet(path: Path) -> Rows:
    """Read a column of lists of equally many numbers, and a column id if there is one."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
        import pyarrow.types as kinds
    except ImportError as error:
        raise MissingDependencyError(
            "reading Parquet needs pyarrow; install it with pip install 'clew[parquet]'"
        ) from error
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(f"{path} cannot be read as Parquet: {error}") from error
    lists = [
        field.name
        for field in table.schema
        if kinds.is_list(field.type)
        or kinds.is_large_list(field.type)
        or kinds.is_fixed_size_list(field.type)
    ]
    if len(lists) != 1:
        raise FileFormatError(
            f"{path} has {len(lists)} columns of lists ({', '.join(lists)}); vectors are one such "
            "column"
        )
    column = table[lists[0]].combine_chunks()
    flat = column.flatten().to_numpy(zero_copy_only=False)
    if len(column) == 0 or column.null_count or len(flat) % len(column):
        raise FileFormatError(f"{path}: the lists in {lists[0]!r} are not all of one length")
    values = flat.reshape(len(column), -1)
    lengths = column.value_lengths() if hasattr(column, "value_lengths") else None
    if lengths is not None and len(set(lengths.to_pylist())) > 1:
        raise FileFormatError(f"{path}: the lists in {lists[0]!r} are not all of one length")
    ids = next((name for name in table.column_names if name.lower() == "id"), None)
    return Rows(values, None if ids is None else list(map(id_text, table[ids].to_pylist())))


def positions(ids: Sequence[str], names: Sequence[str], path: Path) -> NDArray[np.int64]:
    """Return the row of each id of a collection in a file; refuse ids that it lacks."""
    row_of = {name: row for row, name in enumerate(names)}
    lacking = [name for name in ids if name not in row_of]
    if lacking:
        raise InvalidDataError(
            f"{path} has no row for {len(lacking):,} of {len(ids):,} items, such as "
            f"{lacking[0]!r}; give each item a row"
        )
    return np.array([row_of[name] for name in ids], np.int64)
