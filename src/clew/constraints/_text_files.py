"""Lines of CSV and JSONL files: their numbers, fields, quoting and encoding."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from clew._files import check_plain_text
from clew.constraints._validation import Where
from clew.exceptions import FileFormatError

__all__ = ["csv_lines", "json_lines", "quoted", "split_columns", "unquoted"]

FilePath = str | os.PathLike[str]

#: A spreadsheet interprets a field that begins with one of these as a formula.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def split_columns(records: Sequence[list[str]], n_fields: int, where: Where) -> list[Sequence[str]]:
    """Transpose lines of fields, and remove the apostrophes that `quoted` put in front."""
    for at, fields in enumerate(records):
        if len(fields) != n_fields:
            raise FileFormatError(
                f"{where(at)}: {len(fields)} fields, but the header has {n_fields}"
            )
    return [
        list(map(unquoted, column)) if "'" in "".join(column) else column
        for column in zip(*records, strict=True)
    ]


def csv_lines(path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not empty."""
    content = _read_utf8(path)
    if content[:100].decode("utf-8-sig", "ignore").lstrip().startswith("{"):
        raise FileFormatError(f"{path} holds JSON lines, not CSV: use read_jsonl")
    first = content.lstrip().partition(b"\n")[0]
    delimiter = max(",;\t", key=lambda mark: first.count(mark.encode()))
    with io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        line = 1
        try:
            for fields in reader:
                if fields and (fields[0].strip() or any(map(str.strip, fields))):
                    yield line, fields
                # A record may span several lines; line_num is the number of lines read so far.
                line = reader.line_num + 1
        except csv.Error as error:
            raise FileFormatError(f"{path}, line {line}: {error}") from error


def json_lines(path: FilePath) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty."""
    # str.splitlines would also split at characters that JSON strings may contain.
    with io.TextIOWrapper(io.BytesIO(_read_utf8(path)), "utf-8-sig", newline="\n") as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise FileFormatError(f"{path}, line {line}: not JSON: {error}") from error
            if not isinstance(record, dict):
                raise FileFormatError(
                    f"{path}, line {line}: expected an object such as {{...}}, got {text[:40]!r}"
                )
            yield line, record


def _read_utf8(path: FilePath) -> bytes:
    content = Path(path).read_bytes()
    check_plain_text(path, content)
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: not UTF-8 text (byte 0x{content[error.start]:02x}); "
            "save the file as UTF-8"
        ) from error
    return content


def quoted(value: object) -> str:
    """Quote a field of a CSV file, and put an apostrophe before what looks like a formula."""
    # csv.writer does not quote a lone carriage return before Python 3.13.
    text = str(value)
    if not isinstance(value, int) and text.lstrip("'").startswith(_FORMULA_STARTS):
        text = f"'{text}"
    is_plain = text == text.strip() and not any(mark in text for mark in '",;\t\r\n')
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def unquoted(text: str) -> str:
    """Remove the apostrophe that `quoted` put in front."""
    is_quoted = text.startswith("'") and text.lstrip("'").startswith(_FORMULA_STARTS)
    return text[1:] if is_quoted else text
