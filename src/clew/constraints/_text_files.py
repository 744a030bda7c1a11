"""Answers in CSV and JSONL files."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from clew._files import atomic_write
from clew.constraints._columns import AnswerColumns
from clew.constraints._records import COLUMNS, RecordCollector, check_columns, records
from clew.exceptions import ClewError, FileFormatError

__all__ = ["read_csv", "read_jsonl", "write_csv", "write_jsonl"]

FilePath = str | os.PathLike[str]

#: Spreadsheets take a field that begins with one of these for a formula.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def write_csv(constraints: AnswerColumns, path: FilePath) -> None:
    """Write a header and one line an answer."""
    with atomic_write(path) as file:
        file.write(",".join(COLUMNS) + "\n")
        for kind, i, j, k, answer, annotator, weight in records(constraints):
            third = "" if k is None else k
            file.write(f"{kind},{i},{j},{third},{answer},{_quoted(annotator)},{weight!r}\n")


def read_csv(path: FilePath, n_samples: int) -> dict[str, Any]:
    """Read what `write_csv` wrote, or people did; return arguments for `Constraints`."""
    reader = csv.reader(io.StringIO(_read_text(path), newline=""), strict=True)
    collector = RecordCollector(n_samples)
    header: list[str] | None = None
    line = 1
    try:
        for fields in reader:
            if header is None and fields:
                header = [name.strip() for name in fields]
                check_columns(header)
            elif header is not None and any(map(str.strip, fields)):
                collector.add(_record(header, fields))
            # A record may span lines: the next begins behind the last line that was read.
            line = reader.line_num + 1
    except (ClewError, csv.Error) as error:
        raise FileFormatError(f"{path}, line {line}: {error}") from error
    if header is None:
        raise FileFormatError(f"{path} is empty: it should begin with the line {','.join(COLUMNS)}")
    return collector.columns


def _record(header: list[str], fields: list[str]) -> Mapping[str, object]:
    if len(fields) != len(header):
        raise FileFormatError(f"{len(fields)} fields, but the header has {len(header)}")
    record = dict(zip(header, fields, strict=True))
    record["annotator"] = _unquoted(record.get("annotator", ""))
    return record


def _quoted(name: str) -> str:
    # Not csv.writer, which leaves a lone carriage return unquoted before Python 3.13.
    if name.lstrip("'").startswith(_FORMULA_STARTS):
        name = f"'{name}"
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in '",\r\n') else name


def _unquoted(name: str) -> str:
    is_quoted = name.startswith("'") and name.lstrip("'").startswith(_FORMULA_STARTS)
    return name[1:] if is_quoted else name


def write_jsonl(constraints: AnswerColumns, path: FilePath) -> None:
    """Write one JSON object a line and answer; a pair has no "k"."""
    with atomic_write(path) as file:
        for fields in records(constraints):
            record = {
                name: value
                for name, value in zip(COLUMNS, fields, strict=True)
                if value is not None
            }
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_jsonl(path: FilePath, n_samples: int) -> dict[str, Any]:
    """Read what `write_jsonl` wrote; return arguments for `Constraints`."""
    collector = RecordCollector(n_samples)
    for line, text in _lines(_read_text(path)):
        try:
            record = json.loads(text)
            if not isinstance(record, dict):
                raise FileFormatError(f"expected an object such as {{...}}, got {text[:40]!r}")
            check_columns(record)
            collector.add(record)
        except (ClewError, json.JSONDecodeError, RecursionError) as error:
            raise FileFormatError(f"{path}, line {line}: {error}") from error
    return collector.columns


def _lines(text: str) -> Iterator[tuple[int, str]]:
    # Not str.splitlines, which also splits at characters that a JSON string may hold.
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            yield line, content


def _read_text(path: FilePath) -> str:
    content = Path(path).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: not UTF-8 text (byte 0x{content[error.start]:02x}); "
            "save the file as UTF-8"
        ) from error
