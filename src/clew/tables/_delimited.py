"""Delimited text (CSV, TSV) as a data frame, with the line of the file on which each row begins."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clew._text import (
    MISSING,
    decoded,
    first_lines,
    first_records,
    is_number,
    lacks_name,
    separator,
    without_mark,
)
from clew.exceptions import FileFormatError
from clew.tables._columns import LEADING_ZERO

#: Number of rows in which leading zeros are looked for.
FIRST_ROWS = 1_000


@dataclass(frozen=True)
class Format:
    """How delimited text is read; None is recognized from the text."""

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None


class TextTable(NamedTuple):
    """Columns of delimited text."""

    names: list[str]
    """Column names; an unnamed column has an empty one. Numbers from 0 without a header."""
    has_header: bool
    body: str
    """The text below the header."""
    lines: list[int]
    """Line of the file on which each row begins."""
    is_blank: list[bool]
    """Whether all fields of a record of the body are empty. Such records are skipped, so
    ``len(lines)`` is the number of the others."""
    sep: str
    decimal: str
    notes: list[str]
    """What was assumed about the format."""

    def frame(self, columns: Sequence[int], as_text: Sequence[int]) -> pd.DataFrame:
        """Parse some columns, by position; those of `as_text` stay text and keep leading zeros."""
        wanted = sorted({*columns, *as_text})
        missing: dict[Any, Any] = {at: MISSING for at in columns if at not in as_text}
        frame = pd.read_csv(
            io.StringIO(self.body),
            sep=self.sep,
            decimal=self.decimal,
            header=None,
            names=list(range(len(self.names))),
            usecols=wanted,
            dtype=dict.fromkeys(as_text, "str"),
            na_values=missing,
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
            index_col=False,
        )
        if len(frame) != len(self.is_blank):
            raise FileFormatError(
                f"{len(self.is_blank)} records, of which pandas reads {len(frame)}; is a quote "
                "missing or in the wrong place?"
            )
        return frame[~np.array(self.is_blank, dtype=bool)].reset_index(drop=True)

    def with_leading_zeros(self, columns: Sequence[int]) -> list[int]:
        """Return the columns that hold whole numbers with leading zeros in the first rows."""
        if not columns:
            return []
        frame = pd.read_csv(
            io.StringIO(self.body), sep=self.sep, header=None, names=list(range(len(self.names))),
            usecols=list(columns), dtype="str", keep_default_na=False, skipinitialspace=True,
            nrows=FIRST_ROWS, index_col=False,
        )  # fmt: skip
        return [at for at in columns if frame[at].str.fullmatch(LEADING_ZERO).any()]


@dataclass
class _Lines:
    """Lines of a text, and the number of characters that were read."""

    text: str
    offset: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[str]:
        for line in io.StringIO(self.text, newline=""):
            self.offset += len(line)
            yield line


def read_delimited(content: bytes, form: Format) -> TextTable:
    """Recognize the format of a text, and check that all rows have equally many fields."""
    text = decoded(content, form.encoding)
    text, sep = without_mark(text)
    sample = first_lines(text)
    sep = form.sep or sep or separator(sample)
    records = first_records(sample, sep)
    if not records:
        raise FileFormatError("the file is empty; it needs one line for each row")
    decimal = form.decimal or _decimal(records, sep)
    notes = _notes(form, sep, decimal)
    has_header = form.header
    if has_header is not False and lacks_name(records):
        records[0].insert(0, "")
        has_header = True
        notes.append(
            "the header has one field fewer than the rows; the first column is taken for names of "
            "rows, as R's write.table writes them"
        )
    if has_header is None:
        has_header, note = _has_header(records, decimal)
        notes += note
    lines = _Lines(text)
    reader = csv.reader(lines, delimiter=sep, strict=True, skipinitialspace=True)
    names = [str(at) for at in range(len(records[0]))]
    first_line, body_starts = 1, 0
    if has_header:
        names = [name.strip() for name in records[0]]
        _check_names(names)
        first_line = _skip_header(reader)
        body_starts = lines.offset
    starts, is_blank = _rows(reader, len(names), first_line, has_header=has_header)
    if not starts:
        raise FileFormatError("the file has a header and no rows")
    return TextTable(names, has_header, text[body_starts:], starts, is_blank, sep, decimal, notes)


def _decimal(records: list[list[str]], sep: str) -> str:
    """Return a comma if some fields have a decimal comma and none a decimal point."""
    if sep == ",":
        return "."
    fields = [one.strip() for fields in records for one in fields]
    with_point = any(re.fullmatch(r"[+-]?\d*\.\d+", one) for one in fields)
    with_comma = any(re.fullmatch(r"[+-]?\d*,\d+", one) for one in fields)
    return "," if with_comma and not with_point else "."


def _notes(form: Format, sep: str, decimal: str) -> list[str]:
    words = {";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
    notes = []
    if form.sep is None and sep != ",":
        notes.append(f"fields are separated by {words.get(sep, repr(sep))}")
    if form.decimal is None and decimal == ",":
        notes.append("numbers have a decimal comma")
    return notes


def _has_header(records: list[list[str]], decimal: str) -> tuple[bool, list[str]]:
    """Return whether the first record holds names, and notes on that."""
    first = [value.strip() for value in records[0]]
    is_missing = [value in MISSING for value in first]
    if not all(
        missing or is_number(value, decimal)
        for missing, value in zip(is_missing, first, strict=True)
    ):
        return True, []
    # pandas numbers columns without names, and leaves the name of the index empty.
    counted = first[1:] if first[0] == "" else first
    if counted != [str(at) for at in range(len(counted))] or not counted:
        return False, []
    rest = [value.strip() for fields in records[1:] for value in fields]
    are_whole = all(re.fullmatch(r"[+-]?\d*", value) for value in rest)
    if first[0] == "" or (len(counted) > 1 and not are_whole) or len(counted) > 2:
        return True, [f"the first line, {','.join(first)}, is taken for column names"]
    return False, [f"the first line, {','.join(first)}, is taken for a row"]


def _check_names(names: list[str]) -> None:
    repeated = sorted({name for name in names if name and names.count(name) > 1})
    if repeated:
        raise FileFormatError(
            f"two columns are named {repeated[0]!r}; rename one, or say that there is no header"
        )


def _skip_header(reader: Iterator[list[str]]) -> int:
    """Read past the header; return the number of the line after it."""
    try:
        for fields in reader:
            if any(map(str.strip, fields)):
                break
    except csv.Error as error:
        line = int(reader.line_num)  # type: ignore[attr-defined]
        raise FileFormatError(f"line {line}: {error}") from error
    return int(reader.line_num) + 1  # type: ignore[attr-defined]


def _rows(
    reader: Iterator[list[str]], width: int, line: int, *, has_header: bool
) -> tuple[list[int], list[bool]]:
    """Check the number of fields of every record below the header."""
    starts: list[int] = []
    is_blank: list[bool] = []
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                if len(fields) != width:
                    raise FileFormatError(_ragged(line, len(fields), width, has_header=has_header))
                blank = not any(map(str.strip, fields))
                is_blank.append(blank)
                if not blank:
                    starts.append(line)
            # A record may span lines: the next begins after the last line that was read.
            line = int(reader.line_num) + 1  # type: ignore[attr-defined]
    except csv.Error as error:
        raise FileFormatError(f"line {line}: {error}") from error
    return starts, is_blank


def _ragged(line: int, n_fields: int, width: int, *, has_header: bool) -> str:
    """Return the message for a record with another number of fields than the first."""
    above = "the header" if has_header else "the first line"
    problem = f"line {line}: {n_fields} fields, but {above} has {width}"
    if has_header and width == 1:
        return f"{problem}; remove lines above the column names, such as a title"
    return f"{problem}; quote fields that hold the separator, and leave no field out"
