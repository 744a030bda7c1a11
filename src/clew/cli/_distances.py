"""The rows to group, given by their distances: files of arrays and square tables."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._text import content_of, decoded
from clew.cli._rows import (
    ARRAYS,
    NUMBERS,
    STDIN,
    Rows,
    check_kind_of_array,
    kind_of,
    loaded,
    read_npy,
)
from clew.exceptions import FileFormatError, InvalidDataError
from clew.graphs import check_distances, check_triangles, n_rows_of_condensed
from clew.tables import Table
from clew.tables._delimited import Format
from clew.tables._read import Columns, check_ids, id_text, table_of

#: Larger arrays are read from the file where they are needed, not as a whole.
MAPPED_BYTES = 2**28
#: Names of the array of distances in a NumPy archive.
NAMES = ("D", "distances", "X")
#: Column names that Parquet's lists get, as `clew.tables` reads them.
OF_LIST = re.compile(r".*\[\d+\]")


class _Given(NamedTuple):
    """What a file holds."""

    values: NDArray[Any]
    ids: list[str] | None
    notes: list[str]


def read_distances(path: Path, form: Format | None = None, columns: Columns | None = None) -> Rows:
    """Read distances between all pairs of rows from a file."""
    kind, content = kind_of(path)
    if kind in ARRAYS:
        check_kind_of_array(path, columns)
        given = _from_array(path, kind, content)
    else:
        given = _from_table(path, content, form or Format(), columns or Columns())
    try:
        values, note = _filled(_as_single(given.values))
        D = check_distances(values, keep_single=True)
    except (InvalidDataError, TypeError) as error:
        raise InvalidDataError(f"{path}: {error}") from error
    if given.ids is not None:
        _check_ids(path, given.ids)
    notes = [*given.notes, *note, f"distances from {_range(D)}; {check_triangles(D)}"]
    return Rows(
        D,
        given.ids or [str(row) for row in range(len(D))],
        given.ids is not None,
        pd.DataFrame(index=range(len(D))),
        (),
        [f"{path}: {one}" for one in (f"{len(D):,} rows", *notes)],
        is_scaled=False,
        is_distances=True,
    )


def read_ids(path: Path) -> list[str]:
    """Read ids: one on each line of a text, or the column of ids of a table."""
    content = content_of(path)
    if path.suffix.lower() != ".parquet":
        try:
            lines = decoded(content, None).splitlines()
        except FileFormatError as error:
            raise FileFormatError(f"{path}, {error}") from error
        if not any(mark in lines[0] for mark in ",;\t") if lines else True:
            names = [line.strip().strip('"') for line in lines]
            if names and names[0].lower() in ("id", "ids"):
                names = names[1:]
            while names and not names[-1]:
                names.pop()
            _check_ids(path, names)
            return names
    table = table_of(content, str(path), Format(), Columns())
    if table.ids is None:
        raise FileFormatError(f"{path} has no column of ids; name one of its columns id")
    return table.ids


def _check_ids(path: Path, names: list[str]) -> None:
    try:
        check_ids(names)
    except InvalidDataError as error:
        raise InvalidDataError(f"{path}, {error}") from error


def _from_array(path: Path, kind: str, content: bytes | None) -> _Given:
    is_large = content is None and path.stat().st_size > MAPPED_BYTES
    read: Callable[[BinaryIO], Any] = _read_npz
    if kind == ".npy":
        read = (lambda _: (np.load(path, mmap_mode="r"), None)) if is_large else read_npy
    with path.open("rb") if content is None else io.BytesIO(content) as file:
        values, ids = loaded(path, read, file)
    if values.dtype.kind not in NUMBERS:
        raise FileFormatError(f"{path} holds {values.dtype}, not numbers")
    if values.ndim not in (1, 2):
        raise FileFormatError(
            f"{path} holds an array of shape {values.shape}; distances have two dimensions, or "
            "one if they are condensed"
        )
    return _Given(values, ids, [])


def _read_npz(file: BinaryIO) -> tuple[Any, list[str] | None]:
    stored = np.load(file, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError("the content does not match the ending")
    names = stored.files
    if {"format", "shape", "data"} <= set(names):
        raise ValueError(
            "it holds a sparse matrix, but the distances of all pairs are needed; save a dense one"
        )
    ids = next((name for name in names if name in ("id", "ids")), None)
    others = [name for name in names if name != ids]
    found = next((name for name in NAMES if name in others), None)
    if found is None and len(others) != 1:
        raise ValueError(
            "it should hold the distances as D, and may hold ids; it has "
            f"{', '.join(names) or 'nothing'}"
        )
    values = stored[others[0] if found is None else found]
    return values, None if ids is None else [id_text(each) for each in stored[ids]]


def _from_table(path: Path, content: bytes | None, form: Format, columns: Columns) -> _Given:
    content = content_of(path) if content is None else content
    source = "standard input" if path == STDIN else str(path)
    table = table_of(content, str(path), form, columns)
    if form.header is None and _has_hidden_header(table.frame):
        table = table_of(content, str(path), Format(*_with_header(form)), columns)
    if columns.id_column is None and table.ids is None and _has_hidden_ids(table.frame):
        first = str(table.frame.columns[0])
        wanted = Columns(first, columns.columns, columns.drop)
        table = table_of(content, str(path), form, wanted)
    try:
        values = table.frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{source}: {_not_a_number(table.frame)}") from error
    notes = list(table.notes)
    if 1 in values.shape:  # condensed, as a row or as a column
        return _Given(values.ravel(), None, notes)
    if values.shape[0] != values.shape[1]:
        return _Given(values, table.ids, notes)
    order, ids, note = _matched(source, table)
    return _Given(values if order is None else values[:, order], ids, [*notes, *note])


def _with_header(form: Format) -> tuple[Any, ...]:
    return form.sep, form.decimal, True, form.encoding


def _has_hidden_header(frame: pd.DataFrame) -> bool:
    """Whether the first row names the columns by numbers, so that it was read as a row."""
    n_rows, n_columns = frame.shape
    is_unnamed = [str(name) for name in frame.columns] == [str(at) for at in range(n_columns)]
    if not is_unnamed or n_rows < 3:
        return False
    # Either ids above all columns, or ids above and in the first column, and an empty corner.
    return n_rows == n_columns + 1 or (n_rows == n_columns and bool(frame.isna().iat[0, 0]))


def _has_hidden_ids(frame: pd.DataFrame) -> bool:
    """Whether the first column holds the names of the others."""
    n_rows, n_columns = frame.shape
    if n_columns != n_rows + 1:
        return False
    return bool(frame.iloc[:, 0].astype(str).tolist() == [str(name) for name in frame.columns[1:]])


def _matched(source: str, table: Table) -> tuple[NDArray[np.int64] | None, Any, list[str]]:
    """Return the columns in the order of the rows, the ids, and sentences on what was assumed."""
    names = [str(name) for name in table.frame.columns]
    is_counted = names == [str(at) for at in range(len(names))] or all(map(OF_LIST.match, names))
    if table.ids is None:
        return None, None if is_counted else names, []
    if is_counted or names == table.ids:
        return None, table.ids, []
    if sorted(names) == sorted(table.ids):
        at = {name: position for position, name in enumerate(names)}
        order = np.array([at[name] for name in table.ids], dtype=np.int64)
        return order, table.ids, ["columns are brought to the order of the rows, by their ids"]
    row = next(row for row, name in enumerate(table.ids) if name != names[row])
    raise InvalidDataError(
        f"{source}: rows and columns of distances must have the same ids, but row {row} is "
        f"{table.ids[row]!r} and column {row} {names[row]!r}"
    )


def _not_a_number(frame: pd.DataFrame) -> str:
    """Name the first cell that is not a number."""
    for name in frame.columns:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        wrong = np.flatnonzero(numbers.isna() & frame[name].notna())
        if len(wrong):
            value = str(frame[name].iloc[wrong[0]])[:40]
            return f"distances must be numbers, but row {wrong[0]}, column {name!r} is {value!r}"
    return "distances must be numbers"


def _as_single(values: NDArray[Any]) -> NDArray[Any]:
    """Convert whole numbers of many rows to single precision, which takes half of the memory."""
    n = n_rows_of_condensed(len(values)) if values.ndim == 1 else len(values)
    is_whole = values.dtype.kind in "bui" or values.dtype.itemsize < 4
    return values.astype(np.float32) if is_whole and n > ALL_PAIRS_ROWS else values


def _filled(values: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """Fill an empty triangle of a square matrix from the other one."""
    if values.ndim == 1 or values.shape[0] != values.shape[1]:
        return values, []
    first = (values[0, 1:], values[1:, 0])
    if not any(_is_empty(line) for line in first):
        return values, []
    upper, lower = np.triu(values, 1), np.tril(values, -1)
    above, below = _is_empty(upper), _is_empty(lower)
    if above == below:
        return values, []
    half = lower if above else upper
    note = f"only the {'lower' if above else 'upper'} triangle is filled; the other is its mirror"
    diagonal = np.nan_to_num(np.diagonal(values).astype(np.float64))
    return half + half.T + np.diag(diagonal), [note]


def _is_empty(values: NDArray[Any]) -> bool:
    """Whether all entries are 0 or missing."""
    return not np.nan_to_num(values.astype(np.float64), posinf=1.0).any()


def _range(D: NDArray[np.floating]) -> str:
    """Return the range of the distances as text; the smallest one is of the first 1,000 rows."""
    some = D[:1000, :1000]
    near = np.asarray(some[~np.eye(len(some), dtype=bool)])
    return f"{near.min():.4g} to {D.max():.4g}"
