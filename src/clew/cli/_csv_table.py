"""Tables of numbers in CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.exceptions import FileFormatError

__all__ = ["CsvTable", "is_id", "read_csv_table"]


class CsvTable(NamedTuple):
    """What a CSV file holds."""

    X: NDArray[np.float64]
    """Numbers, (n_rows, n_columns)."""
    names: list[str] | None
    """Names of the columns; None without a header."""
    ids: list[str] | None
    """The column `id`, if there is one."""
    lines: list[int]
    """Line on which each row begins."""


def is_id(name: str) -> bool:
    """Whether a column of this name holds ids, not features."""
    return name.strip().lower() == "id"


def read_csv_table(path: Path) -> CsvTable:
    """Read numbers, and ids, from a comma-separated file.

    The first line is a header if it has a field that is not a number.

    Raises
    ------
    FileFormatError
        Naming the file and the line.
    """
    names, lines = _header_and_rows(path)
    width = len(lines[0][1]) if names is None else len(names)
    id_column = next((at for at, name in enumerate(names or ()) if is_id(name)), None)
    columns = [at for at in range(width) if at != id_column]
    rows = []
    for line, fields in lines:
        if len(fields) != width:
            above = "the first line" if names is None else "the header"
            raise FileFormatError(
                f"{path}, line {line}: {len(fields)} fields, but {above} has {width}"
            )
        rows.append([_number(path, line, at, fields[at], names) for at in columns])
    return CsvTable(
        np.array(rows, dtype=np.float64).reshape(len(rows), len(columns)),
        None if names is None else [names[at] for at in columns],
        None if id_column is None else [fields[id_column].strip() for _, fields in lines],
        [line for line, _ in lines],
    )


def _header_and_rows(path: Path) -> tuple[list[str] | None, list[tuple[int, list[str]]]]:
    """Give the names of the columns, if the first line is a header, and the lines of numbers."""
    lines = list(_fields(path))
    if not lines:
        raise FileFormatError(f"{path} is empty: it should hold one line of numbers a row")
    if all(_is_number_or_empty(field) for field in lines[0][1]):
        return None, lines
    names = [name.strip() for name in lines[0][1]]
    _check_names(path, names)
    if len(lines) == 1:
        raise FileFormatError(f"{path} has a header and no rows")
    return names, lines[1:]


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of every line that is not blank, with its number."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    line = 1
    try:
        for fields in reader:
            if any(map(str.strip, fields)):
                yield line, fields
            # A record may span lines: the next begins behind the last line that was read.
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {line}: {error}") from error


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: not UTF-8 text; save the file as UTF-8"
        ) from error


def _is_number_or_empty(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return not field.strip()
    return True


def _check_names(path: Path, names: list[str]) -> None:
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise FileFormatError(f"{path}: fields must be separated by commas")
    for at, name in enumerate(names):
        if not name:
            raise FileFormatError(
                f"{path}: column {at + 1} has no name; name it id if it holds ids, or leave it out"
            )
        if name in names[:at] or (is_id(name) and any(map(is_id, names[:at]))):
            raise FileFormatError(f"{path}: two columns are named {name!r}")


def _number(path: Path, line: int, at: int, field: str, names: list[str] | None) -> float:
    column = repr(names[at]) if names else str(at + 1)
    try:
        return float(field)
    except ValueError as error:
        if not field.strip():
            raise FileFormatError(
                f"{path}, line {line}, column {column}: the field is empty; fill it in, or leave "
                "the row or the column out"
            ) from error
        raise FileFormatError(
            f"{path}, line {line}, column {column}: {field[:40]!r} is not a number; turn the "
            "column into numbers, name it id, or leave it out"
        ) from error
