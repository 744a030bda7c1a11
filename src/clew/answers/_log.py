"""The lines of answers.jsonl, a log from which nothing is ever removed.

Each line is a JSON object: an answer, an edit, or the retraction of an earlier line.

========== =====================================================================================
version    1
id         of this line; no other line has it
question   the same for answers to the same question
kind       of a question: pair, triplet (is the first more like the second or third?), odd_one_out
           (which differs?), which_of (to which group does the first belong?), confirm (which are
           strangers?); of an edit: merge, split, move, lock, not_in, set_aside
items      ids of the items
target     of an edit: ids of items of the other group
shown      the ids of the items in the order in which the person saw them
answer     pair: same, different; triplet: the id of the second or third item; odd_one_out: the id
           of an item, all_alike; which_of: the id of the first example of a group, none_of_these;
           confirm: the list of the strangers' ids; all kinds: dont_know, not_comparable, bad_item.
           An id that is such a word is given by its position in `items` (which_of: by the number
           of the group), from 0. null in a line that only takes another one back
annotator  who answered
ms         milliseconds from showing the question to the answer
time       UTC, ISO 8601
origin     how the question was chosen: random (a check), asked (by a strategy) or imported; edit or
           rule if the answer follows from one
revokes    id of the line that this one takes back, or null
source     program that wrote the line
weight     of the answer, if it is not 1
parts      of which_of and confirm: how the items are divided
repeat     how often this person was asked the question before, if at all
check      probability with which a check was drawn
examples   of a pair or a triplet: items that were shown as the group of the first item
note       what the person noted
bad        of the answer bad_item: the items that cannot be judged
edit       id of the edit that implies the answer
content    checksums of the contents of `items`, if they have no ids and are named by row number
========== =====================================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from clew._files import check_plain_text, check_regular, content_of, utf16_of
from clew.answers._records import EDIT_KINDS, Answer, Edit, Entry, Question, Retraction, new_id, now
from clew.answers._words import (
    ALL_ALIKE,
    ANSWER_WORDS,
    DONT_KNOW,
    FLAG_WORDS,
    NONE_OF_THESE,
    QUESTION_KINDS,
    as_answer_code,
    as_kind,
    as_origin,
    question_key,
)
from clew.exceptions import FileFormatError, InvalidConstraintsError

VERSION: Final = 1
#: Answers to questions of every kind, which are no ids.
COMMON_WORDS: Final[Mapping[str, int]] = {"dont_know": DONT_KNOW, **FLAG_WORDS}
RESERVED: Final = frozenset(
    {"same", "different", "all_alike", "none_of_these", "all_belong", *COMMON_WORDS}
)
#: What may stand around a line: a byte-order mark, and white space.
_SPACE: Final = "\ufeff \t\r\n"


class Line(NamedTuple):
    """A line of a file."""

    entry: Entry
    number: int
    """From 1."""
    content: tuple[str, ...]
    """Checksums of the contents of the items."""


class ParsedLog(NamedTuple):
    """What lines of a log hold."""

    lines: list[Line]
    torn: list[int]
    """Numbers of lines that were not written to their end."""

    @property
    def entries(self) -> list[Entry]:
        """The entries, in order."""
        return [line.entry for line in self.lines]


def entry_to_json(entry: Entry, content: Sequence[str] = ()) -> str:
    """Return an entry as a line of a log, without the end of the line.

    Parameters
    ----------
    entry : Answer, Edit or Retraction
        The entry. Its ids become text.
    content : sequence of str, default=()
        Checksums of the contents of its items.

    Returns
    -------
    str

    Raises
    ------
    InvalidConstraintsError
        If the question of an answer has no ids.

    Examples
    --------
    >>> from clew.answers import Retraction, entry_to_json
    >>> entry_to_json(Retraction("a1", "ann", id="a2"))
    '{"version":1,"id":"a2","answer":null,"annotator":"ann","time":"","revokes":"a1","source":""}'
    """
    record: dict[str, Any] = {"version": VERSION, "id": entry.id}
    if isinstance(entry, Answer):
        record |= _of_answer(entry)
    elif isinstance(entry, Edit):
        record |= {"kind": entry.kind, "items": _texts(entry.items), "target": _texts(entry.target)}
    else:
        record["answer"] = None
    record |= {"annotator": entry.annotator}
    if isinstance(entry, Answer):
        record["ms"] = entry.ms
    record["time"] = entry.at
    if isinstance(entry, Answer):
        record["origin"] = entry.origin
    record |= {"revokes": entry.revokes, "source": entry.source}
    record |= {name: value for name, value in _optional(entry) if value or isinstance(value, float)}
    if content:
        record["content"] = list(content)
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _of_answer(answer: Answer) -> dict[str, Any]:
    question = answer.question
    if question.ids is None:
        raise InvalidConstraintsError(
            f"{question} has no ids: a log names items by id, so pass Question(ids=...)"
        )
    items = _texts(question.ids)
    kind, key = question_key(question.kind, items)
    text = json.dumps([kind, *key])
    return {
        "question": hashlib.sha256(text.encode()).hexdigest()[:16],
        "kind": kind,
        "items": items,
        "shown": _texts(answer.shown) or items,
        "answer": _word(question, items, answer.value),
    }


def _optional(entry: Entry) -> list[tuple[str, Any]]:
    """Return the fields that are written only if they are not the default."""
    if isinstance(entry, Retraction):
        return []
    if isinstance(entry, Edit):
        return [("note", entry.note)]
    question = entry.question
    return [
        ("weight", entry.weight if entry.weight != 1 else None),
        ("parts", list(question.parts)),
        ("repeat", question.repeat),
        ("check", question.check),
        ("examples", _texts(question.examples)),
        ("note", entry.note),
        ("bad", _texts(entry.bad)),
        ("edit", entry.edit),
    ]  # fmt: skip


def _texts(ids: Iterable[Hashable]) -> list[str]:
    return [str(name) for name in ids]


def _word(question: Question, items: list[str], code: int) -> str | int | list[str]:
    """Return an answer as a word, an id or a position; inverse of `_code`."""
    kind = question.kind
    for word, flag in COMMON_WORDS.items():
        if code == flag:
            return word
    if kind == "pair":
        return next(word for word, value in ANSWER_WORDS[kind].items() if value == code)
    if kind == "confirm":
        members = items[question.parts[0] :]
        return [name for at, name in enumerate(members) if code >> at & 1]
    if code == ALL_ALIKE:
        return "all_alike" if kind == "odd_one_out" else "none_of_these"
    if kind == "which_of":
        name = items[sum(question.parts[: code + 1])]
        return code if name in RESERVED else name
    at = code + 1 if kind == "triplet" else code
    return at if items[at] in RESERVED else items[at]


def entry_from_json(line: str | Mapping[str, Any]) -> Entry:
    """Return the entry of a line of a log.

    Parameters
    ----------
    line : str or mapping
        The line, or its object.

    Returns
    -------
    Answer, Edit or Retraction
        Ids are text.

    Raises
    ------
    InvalidConstraintsError
        If it is not JSON, or a field is missing or invalid.

    Examples
    --------
    >>> from clew.answers import entry_from_json
    >>> entry_from_json('{"version":1,"id":"a2","answer":null,"revokes":"a1"}')
    Retraction(revokes='a1', annotator='', id='a2', at='', source='')
    """
    try:
        return _entry(json.loads(line) if isinstance(line, str) else line)
    except KeyError as error:
        raise InvalidConstraintsError(f"{error} is missing") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidConstraintsError):
            raise
        raise InvalidConstraintsError(f"not JSON: {error}") from error


def is_log(path: str | os.PathLike[str]) -> bool:
    """Whether a file of JSON lines is a log, and not a table of answers; by its first line."""
    return _content(path)[:1000].decode("utf-8", "replace").lstrip(_SPACE).startswith('{"version"')


def read_log(path: str | os.PathLike[str]) -> ParsedLog:
    """Read the answers and edits of a log that were not taken back."""
    parsed = parse_log(_content(path), path)
    kept = set(map(id, standing(parsed.entries)))
    return ParsedLog([line for line in parsed.lines if id(line.entry) in kept], parsed.torn)


def _content(path: str | os.PathLike[str]) -> bytes:
    """Return a file as UTF-8; a character that a crash has cut off is replaced, not refused."""
    check_regular(path)
    content = content_of(path)
    encoding = utf16_of(content)
    return content.decode(encoding, "replace").encode() if encoding else content


def parse_log(content: bytes, path: object, first: int = 1) -> ParsedLog:
    """Read lines of a log."""
    check_plain_text(path, content)
    found: dict[str, Line] = {}
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
            entry = Line(_entry(record), line, tuple(_names(record, "content")))
        except (KeyError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise FileFormatError(f"{path}, line {line}: {what}") from error
        found.setdefault(entry.entry.id, entry)
    return ParsedLog(list(found.values()), torn)


def standing(entries: Iterable[Entry]) -> list[Answer | Edit]:
    """Return the answers and edits that were not taken back or replaced, in order.

    Parameters
    ----------
    entries : iterable of Answer, Edit or Retraction
        A log, in order of arrival.

    Returns
    -------
    list of Answer or Edit
        A retraction is final: taking it back has no effect.

    Examples
    --------
    >>> from clew.answers import Answer, Question, standing
    >>> first = Answer(Question("pair", ids=("wren", "robin")), "same", id="a1")
    >>> second = Answer(Question("pair", ids=("wren", "robin")), 0, id="a2", revokes="a1")
    >>> [answer.id for answer in standing([first, second])]
    ['a2']
    """
    known = list(entries)
    revoked = {entry.revokes for entry in known} - {None}
    return [e for e in known if not isinstance(e, Retraction) and e.id not in revoked]


def last_answers(entries: Iterable[Entry]) -> list[Answer | Edit]:
    """Return what stands, with one of a person's answers to a question, which models learn.

    It is the last one; of a question that was repeated, the first one that is evidence.
    """
    found: dict[Hashable, Answer | Edit] = {}
    for entry in standing(entries):
        if isinstance(entry, Edit):
            found[entry.id] = entry
            continue
        question = entry.question
        items: tuple[Any, ...] = question.rows or question.ids or ()
        key = (*question_key(question.kind, items), question.parts, entry.annotator)
        before = found.get(key)
        if not isinstance(before, Answer) or _is_better(entry, before):
            found.pop(key, None)
            found[key] = entry
    return list(found.values())


def _is_better(answer: Answer, other: Answer) -> bool:
    """Whether models learn an answer rather than an earlier one of the same person."""
    if answer.question.repeat == other.question.repeat:
        return (meaning_of(answer), answer.weight) != (meaning_of(other), other.weight)
    if answer.is_evidence == other.is_evidence:
        return answer.question.repeat < other.question.repeat
    return answer.is_evidence


def meaning_of(answer: Answer) -> Hashable:
    """Return the same for answers that mean the same, in whatever order the items are."""
    question, code = answer.question, answer.value
    if code < 0 or question.kind not in ("triplet", "odd_one_out"):
        return code
    items = question.rows or question.ids or ()
    return items[1 + code] if question.kind == "triplet" else items[code]


def brought_back(
    entries: Iterable[Entry], ids: Iterable[Hashable], annotator: str = "", source: str = ""
) -> list[Entry]:
    """Entries that bring items back: a retraction, and an edit about what else was set aside."""
    back = set(map(str, ids))
    found: list[Entry] = []
    for edit in entries:
        if not isinstance(edit, Edit) or edit.kind != "set_aside":
            continue
        left = tuple(name for name in edit.items if str(name) not in back)
        if not left:
            found.append(Retraction(edit.id, annotator, new_id(), now(), source))
        elif len(left) < len(edit.items):
            found.append(
                Edit("set_aside", left, (), annotator, new_id(), now(), source, edit.note, edit.id)
            )
    return found


def items_of(entry: Entry) -> tuple[Hashable, ...]:
    """Return the ids of the items that an entry names."""
    if isinstance(entry, Answer):
        return entry.question.ids or ()
    return entry.items + entry.target if isinstance(entry, Edit) else ()


def unknown_ids(entries: Iterable[Entry], ids: Iterable[str]) -> dict[str, int]:
    """Return the ids of items that are not among `ids`, each with its number of answers."""
    known, found = set(ids), dict[str, int]()
    for entry in entries:
        for name in items_of(entry):
            if name not in known:
                found[str(name)] = found.get(str(name), 0) + 1
    return found


def check_ids_of_log(path: object, entries: Sequence[Entry], ids: Iterable[str]) -> None:
    """Refuse answers about unknown items, and name these."""
    unknown = unknown_ids(entries, ids)
    if not unknown:
        return
    named = ", ".join(repr(name)[:80] for name in list(unknown)[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    count = sum(any(name in unknown for name in items_of(entry)) for entry in entries)
    raise FileFormatError(
        f"{path}: {count} of {len(entries)} answers name items that are not there: {named}{more}; "
        "no answer was read. Put the items back, or use another file of answers"
    )


def check_content_of_log(
    path: object, lines: Collection[Line], content_of: Callable[[str], str]
) -> None:
    """Refuse answers about rows that are named by number and hold something else now."""
    changed = [
        line
        for line in lines
        if line.content
        and line.content != tuple(content_of(str(name)) for name in items_of(line.entry))
    ]
    if changed:
        raise FileFormatError(
            f"{path}: {len(changed)} of {len(lines)} answers are about rows that hold something "
            f"else now, such as rows {' and '.join(_texts(items_of(changed[0].entry)))}: the rows "
            "have no ids, so "
            "answers name them by number, and since then the table was sorted, shortened or "
            "edited, or other columns are read. Use the table and the columns as they were; or "
            "give the rows ids (a column id, or --ids), and use another file of answers"
        )


def _is_torn(text: str, error: Exception) -> bool:
    """Whether a line that is not JSON is the beginning of a line that a crash cut off."""
    is_cut = not text.endswith("}") or str(error).startswith("Unterminated string")
    return "\0" in text or (text.startswith("{") and is_cut)


def _entry(record: Any) -> Entry:
    if not isinstance(record, Mapping):
        raise InvalidConstraintsError("expected an object such as {…}")
    if record["version"] != VERSION:
        raise InvalidConstraintsError(
            f"version {record['version']!r}; this clew reads version {VERSION}"
        )
    if record["id"] is None:
        raise InvalidConstraintsError("id must be a text, not null")
    common: dict[str, Any] = {
        "id": str(record["id"]),
        "annotator": str(record.get("annotator") or ""),
        "at": str(record.get("time") or ""),
        "source": str(record.get("source") or ""),
    }
    revokes = None if record.get("revokes") is None else str(record["revokes"])
    if revokes is not None and record.get("answer", "") is None:
        return Retraction(revokes, **common)
    kind: Any = as_kind(record["kind"], (*QUESTION_KINDS, *EDIT_KINDS))  # type: ignore[arg-type]
    items = _names(record, "items", required=True)
    common |= {"revokes": revokes, "note": str(record.get("note") or "")}
    if kind in EDIT_KINDS:
        return Edit(kind, items, _names(record, "target"), **common)
    origin = as_origin(record.get("origin") or "imported")
    repeat, parts = record.get("repeat") or 0, tuple(record.get("parts") or ())
    examples = _names(record, "examples")
    question = Question(kind, (), origin, items, parts, repeat, record.get("check"), examples)
    return Answer(
        question,
        _code(question, items, record["answer"]),
        weight=record.get("weight", 1.0),
        origin=origin,
        ms=_milliseconds(record.get("ms")),
        shown=_names(record, "shown"),
        edit=str(record.get("edit") or ""),
        bad=_names(record, "bad"),
        **common,
    )


def _names(record: Mapping[str, Any], field: str, *, required: bool = False) -> tuple[str, ...]:
    """Read a list of ids, which are texts or numbers."""
    names = record[field] if required else record.get(field) or []
    if not isinstance(names, list) or not all(isinstance(name, str | int) for name in names):
        raise InvalidConstraintsError(f"{field} must be a list of ids, got {names!r}")
    return tuple(map(str, names))


def _milliseconds(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int | float) and 0 <= value < math.inf:
        return int(value)
    raise InvalidConstraintsError(f"ms must be a number of milliseconds or null, got {value!r}")


def _code(question: Question, items: tuple[str, ...], answer: object) -> int:
    kind = question.kind
    if kind == "confirm" and isinstance(answer, list):
        members = items[question.parts[0] :]
        if not set(map(str, answer)) <= set(members):
            raise InvalidConstraintsError(f"strangers {answer!r} are not all among the members")
        return sum(2 ** members.index(str(name)) for name in answer)
    if not isinstance(answer, str | int):
        raise InvalidConstraintsError(f"answer must be a word, an id or a position, got {answer!r}")
    if answer in COMMON_WORDS:
        return COMMON_WORDS[str(answer)]
    if kind == "pair":
        return as_answer_code(kind, answer)
    if answer == {"odd_one_out": "all_alike", "which_of": "none_of_these"}.get(kind):
        return ALL_ALIKE if kind == "odd_one_out" else NONE_OF_THESE
    if kind == "which_of":
        firsts = [sum(question.parts[: at + 1]) for at in range(len(question.parts) - 1)]
        choices: Sequence[str] = [items[at] for at in firsts]
    else:
        choices = items
    is_position = isinstance(answer, int) and 0 <= answer < len(choices)
    if not is_position and answer not in choices:
        raise InvalidConstraintsError(f"the answer {answer!r} is none of the items")
    at = int(answer) if is_position else choices.index(str(answer))
    code = at - 1 if kind == "triplet" else at
    if code < 0:
        raise InvalidConstraintsError(
            "the answer to a triplet question is its second or third item"
        )
    return code
