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
content    checksums of the contents of `items`, if they have no ids and are named by row number
========== =====================================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, NamedTuple

from clew._files import check_regular
from clew._text import check_plain_text, content_of, utf16_of
from clew.answers import (
    ALL_ALIKE,
    ANSWER_WORDS,
    DONT_KNOW,
    N_ROWS,
    Kind,
    a_question,
    as_answer_code,
    as_kind,
    as_origin,
    question_key,
)
from clew.exceptions import FileFormatError

VERSION: Final = 1
RESERVED: Final = frozenset({"same", "different", "dont_know", "all_alike", "not_comparable"})
#: What may stand around a line: a byte-order mark, and white space.
_SPACE: Final = "\ufeff \t\r\n"
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
    content: tuple[str, ...] = ()
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
            {name: record[name] for name in _ORDER if name != "content" or self.content},
            ensure_ascii=False,
            separators=(",", ":"),
        )

    def to_record(self) -> dict[str, str | None]:
        """Return the fields that tables of answers have."""
        names = (*self.items, None)[:3]
        columns = dict(zip(("id_i", "id_j", "id_k"), names, strict=True))
        origin = {"kind": self.kind, "origin": self.origin}
        return {**origin, **columns, "answer": self.word, "annotator": self.annotator}

    def _question(self) -> str:
        """Return the same text for questions that ask the same."""
        kind, items = question_key(self.kind, self.items)
        text = json.dumps([kind, *items])
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
    *("origin", "revokes", "source", "content"),
)


class ParsedLog(NamedTuple):
    """What lines of a log hold."""

    entries: list[LogEntry]
    torn: list[int]
    """Numbers of lines that were not written to their end."""


def is_log(path: str | os.PathLike[str]) -> bool:
    """Whether a file of JSON lines is a log, and not a table of answers; by its first line."""
    return _content(path)[:1000].decode("utf-8", "replace").lstrip(_SPACE).startswith('{"version"')


def read_log(path: str | os.PathLike[str]) -> ParsedLog:
    """Read the answers of a log that were not taken back."""
    parsed = parse_log(_content(path), path)
    return ParsedLog(standing(parsed.entries), parsed.torn)


def _content(path: str | os.PathLike[str]) -> bytes:
    """Return a file as UTF-8; a character that a crash has cut off is replaced, not refused."""
    check_regular(path)
    content = content_of(path)
    encoding = utf16_of(content)
    return content.decode(encoding, "replace").encode() if encoding else content


def parse_log(content: bytes, path: object, first: int = 1) -> ParsedLog:
    """Read lines of a log."""
    check_plain_text(path, content)
    found: dict[str, LogEntry] = {}
    torn: list[int] = []
    for line, text in enumerate(content.decode("utf-8", "replace").split("\n"), start=first):
        text = text.strip(_SPACE)
        if not text:
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            if _is_torn(text, error):
                torn.append(line)
                continue
            raise FileFormatError(f"{path}, line {line}: not JSON: {error}") from error
        try:
            entry = _entry(record, line)
        except (KeyError, ValueError) as error:
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
    """Refuse answers about unknown items, and name these."""
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


def check_content_of_log(
    path: object, entries: Sequence[LogEntry], content_of: Callable[[str], str]
) -> None:
    """Refuse answers about rows that are named by number and hold something else now."""
    changed = [
        entry
        for entry in entries
        if entry.content and entry.content != tuple(map(content_of, entry.items))
    ]
    if changed:
        raise FileFormatError(
            f"{path}: {len(changed)} of {len(entries)} answers are about rows that hold something "
            f"else now, such as rows {' and '.join(changed[0].items)}: the rows have no ids, so "
            "answers name them by number, and since then the table was sorted, shortened or "
            "edited, or other columns are read. Use the table and the columns as they were; or "
            "give the rows ids (a column id, or --ids), and use another file of answers"
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
    items = _names(record, "items")
    if len(items) != N_ROWS[kind] or len(set(items)) < len(items):
        raise ValueError(f"{a_question(kind)} is about {N_ROWS[kind]} different items")
    if record["id"] is None:
        raise ValueError("id must be a text, not null")
    return LogEntry(
        id=str(record["id"]),
        kind=kind,
        items=items,
        shown=_names(record, "shown") if record.get("shown") else items,
        code=_code(kind, items, record["answer"]),
        annotator=str(record.get("annotator") or ""),
        ms=_milliseconds(record.get("ms")),
        time=str(record.get("time") or ""),
        origin=as_origin(record.get("origin") or "imported"),
        revokes=None if record.get("revokes") is None else str(record["revokes"]),
        source=str(record.get("source") or ""),
        content=_names(record, "content") if record.get("content") else (),
        line=line,
    )


def _names(record: dict[str, Any], field: str) -> tuple[str, ...]:
    """Read a list of ids, which are texts or numbers."""
    names = record[field]
    if not isinstance(names, list) or not all(isinstance(name, str | int) for name in names):
        raise ValueError(f"{field} must be a list of ids, got {names!r}")
    return tuple(map(str, names))


def _milliseconds(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int | float) and 0 <= value < math.inf:
        return int(value)
    raise ValueError(f"ms must be a number of milliseconds or null, got {value!r}")


def _code(kind: Kind, items: tuple[str, ...], answer: object) -> int | None:
    if answer is None:
        return None
    if not isinstance(answer, str | int):
        raise ValueError(f"answer must be a word, an id or a position, got {answer!r}")
    if answer in DONT_KNOWS:
        return DONT_KNOW
    if kind == "pair":
        return as_answer_code(kind, answer)
    if kind == "odd_one_out" and answer == "all_alike":
        return ALL_ALIKE
    is_position = isinstance(answer, int) and 0 <= answer < len(items)
    if not is_position and answer not in items:
        raise ValueError(f"the answer {answer!r} is none of the items")
    at = int(answer) if is_position else items.index(str(answer))
    code = at - 1 if kind == "triplet" else at
    if code < 0:
        raise ValueError("the answer to a triplet question is its second or third item")
    return code
