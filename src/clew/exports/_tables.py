"""Groups, examples and answers as CSV, JSON lines or Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from clew._text import quoted
from clew.answers import ANSWER_WORDS, Answer
from clew.exceptions import InvalidParameterError, MissingDependencyError
from clew.exports._members import Member

GROUP_COLUMNS: Final = (
    "id", "group", "name", "confidence", "subgroup", "is_exemplar", "doubtful", "doubt_reason",
    "n_answers",
)  # fmt: skip
EXEMPLAR_COLUMNS: Final = ("group", "name", "position", "id", "path")
ANSWER_COLUMNS: Final = ("kind", "id_i", "id_j", "id_k", "answer", "annotator", "weight")
Record = dict[str, Any]


def group_records(members: Sequence[Member]) -> list[Record]:
    """Return a record for each item."""
    rows = [
        (
            member.item.id, member.group, "" if member.group is None else member.title,
            member.confidence, member.subgroup, member.is_exemplar, bool(member.doubt),
            member.doubt, member.n_answers,
        )
        for member in members
    ]  # fmt: skip
    return [dict(zip(GROUP_COLUMNS, row, strict=True)) for row in rows]


def exemplar_records(members: Sequence[Member]) -> list[Record]:
    """Return a record for each example of each group, the most typical first."""
    examples = [member for member in members if member.exemplar is not None]
    examples.sort(key=lambda member: (member.group, member.exemplar))
    rows = (
        (member.group, member.title, member.exemplar, member.item.id, member.item.path)
        for member in examples
    )
    return [dict(zip(EXEMPLAR_COLUMNS, row, strict=True)) for row in rows]


def answer_records(answers: Iterable[Answer]) -> list[Record]:
    """Return a record for each answer about two or three items, as other libraries read them."""
    records = []
    for answer in answers:
        kind = answer.question.kind
        words = {code: word for word, code in ANSWER_WORDS[kind].items()}
        ids = tuple(map(str, answer.question.ids or ()))
        if len(ids) > 3 or answer.value not in words:
            continue
        names = (*ids, "", "")[:3]
        row = (kind, *names, words[answer.value], answer.annotator, answer.weight)
        records.append(dict(zip(ANSWER_COLUMNS, row, strict=True)))
    return records


def csv_bytes(columns: Sequence[str], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Format records as CSV; what a spreadsheet would take for a formula gets an apostrophe."""
    lines = [",".join(columns)]
    lines += [",".join(_cell(record[name]) for name in columns) for record in records]
    return ("\n".join(lines) + "\n").encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4f}"
    return quoted(json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value)


def json_lines(_: Sequence[str], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Format records as JSON, one a line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def parquet_bytes(columns: Sequence[str], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Format records as Parquet."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingDependencyError(
            "writing Parquet needs pyarrow; install it with pip install 'clew[parquet]', or use "
            "--as csv"
        ) from error
    table = pa.table({name: [record[name] for record in records] for name in columns})
    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()


TABLE_FORMATS: Final[
    Mapping[str, Callable[[Sequence[str], Sequence[Mapping[str, Any]]], bytes]]
] = {"csv": csv_bytes, "jsonl": json_lines, "parquet": parquet_bytes}


def table_bytes(as_: str, columns: Sequence[str], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Format records in one of `TABLE_FORMATS`."""
    if as_ not in TABLE_FORMATS:
        raise InvalidParameterError(f"{as_} is no form of a table; use {', '.join(TABLE_FORMATS)}")
    return TABLE_FORMATS[as_](columns, records)
