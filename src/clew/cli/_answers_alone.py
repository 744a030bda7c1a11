"""The rows that answers name, which are grouped if there is no file of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from clew.cli._inputs import Items
from clew.cli._progress import counted
from clew.constraints._answer_log import is_log, read_log
from clew.constraints._header import BY_ID, BY_ROW
from clew.constraints._text_files import csv_lines, json_lines, unquoted
from clew.constraints._validation import is_missing, parse_rows
from clew.exceptions import FileFormatError, InvalidConstraintsError, InvalidDataError

__all__ = ["rows_of_answers"]


def rows_of_answers(path: Path) -> Items:
    """Return the rows that a file of answers names.

    Parameters
    ----------
    path : Path
        A table or JSON lines, as `Constraints.read_csv` and `Constraints.read_jsonl` take them.

    Returns
    -------
    Items
        Without features. Ids are in the order in which answers name them; row numbers run from 0
        to the largest one.

    Raises
    ------
    FileFormatError
        If the file has neither columns of ids nor of row numbers, or a row number is invalid.
    InvalidDataError
        If fewer than two rows are named.
    """
    by_id: dict[str, None] = {}
    by_row: dict[str, int] = {}
    for line, record in _records(path):
        n_rows = 2 if str(record.get("kind")).strip().casefold() == "pair" else 3
        by_id.update(dict.fromkeys(_given(record, BY_ID[:n_rows])))
        if not by_id:
            by_row.update(dict.fromkeys(_given(record, BY_ROW[:n_rows]), line))
    ids = list(by_id) or _row_numbers(path, by_row)
    if len(ids) < 2:
        raise InvalidDataError(
            f"{path} names {counted(len(ids), 'row')}; grouping needs two rows or more"
        )
    named = "of the answers" if by_id else "0 to the largest row number of the answers"
    note = f"{path}: {len(ids):,} rows, {named}; no features"
    return Items.without_features(ids, bool(by_id), pd.DataFrame(index=range(len(ids))), [note])


def _given(record: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return the fields that are not empty, as text."""
    fields = (record.get(name) for name in names)
    return [unquoted(str(field)) for field in fields if not is_missing(field)]


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the fields of each line, by the names of the columns."""
    if path.suffix.lower() == ".jsonl" and is_log(path):
        for entry in read_log(path).entries:
            yield entry.line, entry.to_record()
        return
    if path.suffix.lower() == ".jsonl":
        for line, record in json_lines(path):
            yield line, {str(name).strip().casefold(): value for name, value in record.items()}
        return
    lines = csv_lines(path)
    _, header = next(lines, (0, []))
    names = [name.strip().casefold() for name in header]
    if "id_i" not in names and "i" not in names:
        raise FileFormatError(
            f"{path}: answers name rows in columns id_i and id_j, or by number in i and j; the "
            f"columns of the file are {', '.join(map(repr, header)) or 'none'}"
        )
    for line, fields in lines:
        yield line, dict(zip(names, fields, strict=False))  # the reader of answers checks lengths


def _row_numbers(path: Path, by_row: dict[str, int]) -> list[str]:
    lines = list(by_row.values())
    try:
        rows = parse_rows(list(by_row), lambda at: f"{path}, line {lines[at]}")
    except InvalidConstraintsError as error:
        raise FileFormatError(str(error)) from error
    return [str(row) for row in range(int(rows.max(initial=-1)) + 1)]
