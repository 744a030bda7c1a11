"""The rows that a file of answers names, which are all rows if nothing else says what there is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.constraints._answer_log import is_log, read_log
from clew.constraints._header import BY_ID, BY_ROW
from clew.constraints._layout import Layout, as_own_columns
from clew.constraints._text_files import csv_lines, json_lines, split_columns, unquoted
from clew.constraints._validation import is_missing, parse_rows
from clew.exceptions import FileFormatError, InvalidConstraintsError

__all__ = ["named_rows"]


def named_rows(
    path: str | os.PathLike[str], layout: Layout | None = None
) -> tuple[list[str], bool]:
    """Return the ids of the rows that answers name, and whether these are ids or row numbers.

    Ids are in the order in which answers name them; row numbers run from 0 to the largest one.

    Raises
    ------
    FileFormatError
        If the file has neither columns of ids nor of row numbers, or a row number is invalid.
    """
    by_id: dict[str, None] = {}
    by_row: dict[str, int] = {}
    for line, record in _records(Path(path), layout or Layout()):
        n_rows = 2 if str(record.get("kind")).strip().casefold() == "pair" else 3
        by_id.update(dict.fromkeys(_given(record, BY_ID[:n_rows])))
        if not by_id:
            by_row.update(dict.fromkeys(_given(record, BY_ROW[:n_rows]), line))
    return list(by_id) or _row_numbers(path, by_row), bool(by_id)


def _given(record: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return the fields that are not empty, as text."""
    fields = (record.get(name) for name in names)
    return [unquoted(str(field)) for field in fields if not is_missing(field)]


def _records(path: Path, layout: Layout) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the fields of each line, by the names of the columns."""
    if path.suffix.lower() == ".jsonl" and is_log(path):
        for entry in read_log(path).entries:
            yield entry.line, entry.to_record()
        return
    if path.suffix.lower() == ".jsonl":
        for line, record in json_lines(path):
            yield line, {str(name).strip().casefold(): value for name, value in record.items()}
        return
    lines = list(csv_lines(path))
    header, rest = (lines[0][1] if lines else []), lines[1:]
    numbers = [line for line, _ in rest]
    given = split_columns(
        [fields for _, fields in rest], len(header), lambda at: f"{path}, line {numbers[at]}"
    )
    try:
        names, columns = as_own_columns(header, given or [()] * len(header), layout, by_id=True)
    except InvalidConstraintsError as error:
        raise FileFormatError(f"{path}: {error}") from error
    plain = [name.strip().casefold() for name in names]
    if "id_i" not in plain and "i" not in plain:
        raise FileFormatError(
            f"{path}: answers name rows in columns id_i and id_j, or by number in i and j; the "
            f"columns of the file are {', '.join(map(repr, header)) or 'none'}. Columns of other "
            "names are taken if one says which hold the items, the answer and the annotator"
        )
    for line, fields in zip(numbers, zip(*columns, strict=True), strict=True):
        yield line, dict(zip(plain, fields, strict=True))


def _row_numbers(path: object, by_row: dict[str, int]) -> list[str]:
    lines = list(by_row.values())
    try:
        rows = parse_rows(list(by_row), lambda at: f"{path}, line {lines[at]}")
    except InvalidConstraintsError as error:
        raise FileFormatError(str(error)) from error
    return [str(row) for row in range(int(rows.max(initial=-1)) + 1)]
