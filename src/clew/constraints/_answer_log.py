"""The lines of answers.jsonl, a log of answers from which nothing is ever removed.

Each line is a JSON object: an answer, or the retraction of an earlier one.

========== =====================================================================================
version    1
id         of this line; no other line has it
question   the same for answers to the same question
kind       pair, triplet (is the first more like the second or third?), odd_one_out (which differs?)
items      ids of the two or three items
shown      the same ids, in the order in which the person saw them
answer     pair: same, different, dont_know; triplet: the id of the second or third item, dont_know;
           odd_one_out: the id of an item, all_alike, dont_know. An id that is such a word is given
           by its position in `items`, from 0. null in a line that only takes another one back
annotator  who answered
ms         milliseconds from showing the question to the answer
time       UTC, ISO 8601
origin     how the question was chosen: random, asked (by a strategy) or imported
revokes    id of the line that this one takes back, or null
source     program that wrote the line
========== =====================================================================================
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, NamedTuple

from clew.answers import (
    ALL_ALIKE,
    ANSWER_WORDS,
    DONT_KNOW,
    N_ROWS,
    Kind,
    a_question,
    as_answer_code,
    as_kind,
)
from clew.exceptions import FileFormatError, InvalidConstraintsError

__all__ = ["LogEntry", "ParsedLog", "is_log", "parse_log", "read_log", "standing"]

VERSION: Final = 1
RESERVED: Final = frozenset({"same", "different", "dont_know", "all_alike", "not_comparable"})
DONT_KNOWS: Final = frozenset({"dont_know", "not_comparable"})


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A line of the log; the table of this module says what the fields mean."""

    id: str
    kind: Kind
    items: tuple[str, ...]
    shown: tuple[str, ...]
    code: int | None
    """The answer as in `clew.answers`, about `items`; None in a line that only revokes another."""
    annotator: str
    ms: int | None
    time: str
    origin: str
    revokes: str | None
    source: str
    line: int = 0
    """Number of the line in the file, from 1; 0 if it is not in a file yet."""

    @property
    def word(self) -> str:
        """The answer, as `Constraints.to_csv` writes it."""
        words = {code: word for word, code in ANSWER_WORDS[self.kind].items()}
        return "" if self.code is None else words[self.code]

    def to_json(self) -> str:
        """Return the line, without its end."""
        record = {"version": VERSION, "id": self.id, "question": self._question()}
        record |= {name: value for name, value in asdict(self).items() if name in _WRITTEN}
        record["answer"] = self._answer()
        return json.dumps(
            {name: record[name] for name in _ORDER}, ensure_ascii=False, separators=(",", ":")
        )

    def to_record(self) -> dict[str, str | None]:
        """Return the fields that tables of answers have."""
        names = (*self.items, None)[:3]
        columns = dict(zip(("id_i", "id_j", "id_k"), names, strict=True))
        origin = {"kind": self.kind, "origin": self.origin}
        return {**origin, **columns, "answer": self.word, "annotator": self.annotator}

    def _question(self) -> str:
        """Return the same text for questions that ask the same."""
        first, *others = self.items
        key = [first, *sorted(others)] if self.kind == "triplet" else sorted(self.items)
        text = json.dumps([self.kind, *key])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _answer(self) -> str | int | None:
        code = self.code
        if code is None or self.kind == "pair" or code == DONT_KNOW:
            return self.word or None
        if code == ALL_ALIKE:
            return "all_alike"
        at = code + 1 if self.kind == "triplet" else code
        return at if self.items[at] in RESERVED else self.items[at]


_WRITTEN: Final = {field.name for field in fields(LogEntry)} - {"line", "code"}
_ORDER: Final = (
    *("version", "id", "question", "kind", "items", "shown", "answer", "annotator", "ms", "time"),
    *("origin", "revokes", "source"),
)


class ParsedLog(NamedTuple):
    """What lines of a log hold."""

    entries: list[LogEntry]
    torn: list[int]
    """Numbers of lines that were not written to their end."""


def is_log(path: str | os.PathLike[str]) -> bool:
    """Whether a file of JSON lines is a log, and not a table of answers; by its first lines."""
    with open(path, "rb") as file:
        start = file.read(1000).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    return start.startswith('{"version"')


def read_log(path: str | os.PathLike[str]) -> ParsedLog:
    """Read the answers of a log that were not taken back.

    Parameters
    ----------
    path : str or path-like
        A file for which `is_log` is true.

    Returns
    -------
    ParsedLog

    Raises
    ------
    FileFormatError
        If a line is invalid.
    OSError
        If the file cannot be read.
    """
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        parsed = parse_log(file, path)
    return ParsedLog(standing(parsed.entries), parsed.torn)


def parse_log(lines: Iterable[str], path: object, first: int = 1) -> ParsedLog:
    """Read lines of a log.

    Parameters
    ----------
    lines : iterable of str
        With or without their ends; empty lines are skipped.
    path : object
        Name of the file, for errors.
    first : int, default=1
        Number of the first line.

    Returns
    -------
    ParsedLog
        A line with the id of an earlier one is left out: it was written twice.

    Raises
    ------
    FileFormatError
        If a line is invalid, other than one that a crash has cut off.
    """
    found: dict[str, LogEntry] = {}
    torn: list[int] = []
    for line, text in enumerate(lines, start=first):
        text = text.strip("\ufeff \t\r\n")
        if not text:
            continue
        try:
            record = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            if _is_torn(text, error):
                torn.append(line)
                continue
            raise FileFormatError(f"{path}, line {line}: not JSON: {error}") from error
        try:
            entry = _entry(record, line)
        except (InvalidConstraintsError, KeyError, TypeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise FileFormatError(f"{path}, line {line}: {what}") from error
        found.setdefault(entry.id, entry)
    return ParsedLog(list(found.values()), torn)


def standing(entries: Sequence[LogEntry]) -> list[LogEntry]:
    """Return the answers that were not taken back, in order."""
    revoked = {entry.revokes for entry in entries}
    return [entry for entry in entries if entry.code is not None and entry.id not in revoked]


def unknown_ids(entries: Iterable[LogEntry], ids: Iterable[str]) -> dict[str, int]:
    """Return the ids of items that are not among `ids`, each with its number of answers."""
    known, found = set(ids), dict[str, int]()
    for name in _named(entries):
        if name not in known:
            found[name] = found.get(name, 0) + 1
    return found


def check_ids_of_log(path: object, entries: Sequence[LogEntry], ids: Iterable[str]) -> None:
    """Refuse answers about unknown items, and name these.

    Raises
    ------
    FileFormatError
        If there are any.
    """
    unknown = unknown_ids(entries, ids)
    if not unknown:
        return
    named = ", ".join(repr(name)[:80] for name in list(unknown)[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    count = sum(any(name in unknown for name in entry.items) for entry in entries)
    raise FileFormatError(
        f"{path}: {count} of {len(entries)} answers name items that are not there: {named}{more}; "
        "no answer was read. Put the items back, or use another file of answers"
    )


def _named(entries: Iterable[LogEntry]) -> Iterator[str]:
    for entry in entries:
        yield from entry.items


def _is_torn(text: str, error: Exception) -> bool:
    """Whether a line that is not JSON is the beginning of a line that a crash cut off."""
    is_cut = not text.endswith("}") or str(error).startswith("Unterminated string")
    return "\0" in text or (text.startswith("{") and is_cut)


def _entry(record: Any, line: int) -> LogEntry:
    if not isinstance(record, dict):
        raise ValueError("expected an object such as {…}")
    if record["version"] != VERSION:
        raise ValueError(f"version {record['version']!r}; this clew reads version {VERSION}")
    kind = as_kind(record["kind"])
    items = tuple(map(str, record["items"]))
    if len(items) != N_ROWS[kind] or len(set(items)) < len(items):
        raise ValueError(f"{a_question(kind)} is about {N_ROWS[kind]} different items")
    ms = record.get("ms")
    return LogEntry(
        id=str(record["id"]),
        kind=kind,
        items=items,
        shown=tuple(map(str, record.get("shown") or items)),
        code=_code(kind, items, record["answer"]),
        annotator=str(record.get("annotator") or ""),
        ms=None if ms is None else int(ms),
        time=str(record.get("time") or ""),
        origin=str(record.get("origin") or "imported"),
        revokes=None if record.get("revokes") is None else str(record["revokes"]),
        source=str(record.get("source") or ""),
        line=line,
    )


def _code(kind: Kind, items: tuple[str, ...], answer: object) -> int | None:
    if answer is None:
        return None
    if answer in DONT_KNOWS:
        return DONT_KNOW
    if kind == "pair":
        return as_answer_code(kind, answer)
    if kind == "odd_one_out" and answer == "all_alike":
        return ALL_ALIKE
    is_position = isinstance(answer, int) and 0 <= answer < len(items)
    if not is_position and answer not in items:
        raise ValueError(f"the answer {answer!r} is none of the items")
    at = int(answer) if is_position else items.index(str(answer))  # type: ignore[call-overload]
    code = at - 1 if kind == "triplet" else at
    if code < 0:
        raise ValueError("the answer to a triplet question is its second or third item")
    return code
