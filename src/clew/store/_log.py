"""The log in a database: entries in, each once, and out again, in order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.orm import aliased

from clew.answers import (
    Answer,
    Edit,
    Entry,
    Question,
    Retraction,
    entry_from_json,
    entry_to_json,
    items_of,
    new_id,
    now,
    question_key,
)
from clew.exceptions import InvalidConstraintsError
from clew.store._database import Transaction
from clew.store._models import AboutRow, AnnotatorRow, ItemRow, LeaseRow, LogRow, PoolRow
from clew.store._records import Logged, Status

#: Values in one statement: SQLite takes 32,766 at most.
CHUNK = 1000

T = TypeVar("T")


_LATER = aliased(LogRow)
IS_REVOKED = sa.exists().where(_LATER.revokes == LogRow.id)
ENTRIES = sa.select(LogRow.seq, LogRow.line, IS_REVOKED)
#: Whether a row of the log is an answer that no other entry revokes.
IS_STANDING_ANSWER = LogRow.question.is_not(None) & ~IS_REVOKED


def chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Cut values into lists of at most `size`."""
    left = iter(values)
    while part := list(islice(left, size)):
        yield part


def key_of(question: Question) -> str:
    """Return the same text for questions that ask the same, and as often repeated."""
    assert question.ids is not None
    kind, ids = question_key(question.kind, [str(name) for name in question.ids])
    text = json.dumps([kind, question.repeat, *question.parts, *ids])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def names_of(entry: Entry) -> tuple[str, ...]:
    """Return the ids of the items that an entry names; a store holds them as text."""
    return tuple(map(str, items_of(entry)))


# Statements of each answer, made once.
_IDS: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
LAST_SEQ = sa.select(sa.func.max(LogRow.seq))
ROWS = sa.select(ItemRow.id, ItemRow.row).where(ItemRow.id.in_(_IDS))
LINES = sa.select(LogRow.id, LogRow.line).where(LogRow.id.in_(_IDS))
GIVEN = (
    sa.select(LogRow.annotator, LogRow.question, LogRow.id, LogRow.value)
    .where(LogRow.question.in_(sa.bindparam("keys", expanding=True)), IS_STANDING_ANSWER)
    .order_by(LogRow.seq)
)
NAMES = sa.select(AnnotatorRow.name).where(
    AnnotatorRow.name.in_(sa.bindparam("names", expanding=True))
)
NEW_ENTRY, NEW_ABOUT = sa.insert(LogRow), sa.insert(AboutRow)


def append(
    transaction: Transaction, entries: Sequence[Entry], *, is_live: bool = False
) -> list[Status]:
    """Append entries, and say what became of each.

    `is_live`: a person answers now; the same answer is a duplicate, another replaces it.
    """
    connection, statuses = transaction.connection, list[Status]()
    for part in chunks(_checked(entry) for entry in entries):
        row_of = _rows(connection, part)
        lines = _lines(connection, part)
        answered = _answered(connection, part) if is_live else {}
        first = connection.execute(LAST_SEQ).scalar() or 0
        new: list[dict[str, Any]] = []
        about: list[dict[str, int]] = []
        set_aside: list[Edit | Retraction] = []
        for entry in part:
            status: Status = "stored"
            if entry.id in lines:
                is_same = _said(lines[entry.id]) == _said(entry_to_json(entry))
                statuses.append("duplicate" if is_same or is_live else "conflict")
                continue
            if is_live and isinstance(entry, Answer):
                asked = entry.annotator, key_of(entry.question)
                if asked in answered:
                    before, value = answered[asked]
                    if value == entry.value and entry.revokes is None:
                        statuses.append("duplicate")
                        continue
                    entry, status = replace(entry, revokes=entry.revokes or before), "superseded"
                answered[asked] = entry.id, entry.value
            lines[entry.id] = line = entry_to_json(entry)
            statuses.append(status)
            seq = first + len(new) + 1
            new.append(_row(seq, entry, line))
            about += [{"item": row_of[name], "seq": seq} for name in sorted(set(names_of(entry)))]
            if isinstance(entry, Retraction) or (
                isinstance(entry, Edit) and entry.kind == "set_aside"
            ):
                set_aside.append(entry)
        if new:
            connection.execute(NEW_ENTRY, new)
            if about:
                connection.execute(NEW_ABOUT, about)
            transaction.topics.add("log")
            _add_annotators(transaction, part)
        for entry in set_aside:
            _set_aside(transaction, entry)
    return statuses


def read_log(
    connection: Connection,
    *,
    after: int = 0,
    before: int | None = None,
    annotator: str | None = None,
    items: Iterable[str] | None = None,
    only_standing: bool = False,
    newest_first: bool = False,
    limit: int | None = None,
) -> list[Logged]:
    """Read entries; `Store.log` says which."""
    statement = ENTRIES.where(LogRow.seq > after)
    if before is not None:
        statement = statement.where(LogRow.seq < before)
    if annotator is not None:
        statement = statement.where(LogRow.annotator == annotator)
    if items is not None:
        rows = sa.select(ItemRow.row).where(ItemRow.id.in_(list(items)))
        seqs = sa.select(AboutRow.seq).where(AboutRow.item.in_(rows))
        statement = statement.where(LogRow.seq.in_(seqs))
    if only_standing:
        statement = statement.where(LogRow.kind != "retraction", ~IS_REVOKED)
    order = LogRow.seq.desc() if newest_first else LogRow.seq.asc()
    return [
        logged(seq, line, bool(revoked))
        for seq, line, revoked in connection.execute(statement.order_by(order).limit(limit))
    ]


def read_entries(connection: Connection, ids: Sequence[str]) -> dict[str, Logged]:
    """Read the entries with some ids."""
    found = (
        logged(seq, line, bool(revoked))
        for part in chunks(ids)
        for seq, line, revoked in connection.execute(ENTRIES.where(LogRow.id.in_(part)))
    )
    return {each.entry.id: each for each in found}


def logged(seq: int, line: str, is_revoked: bool) -> Logged:
    """Make the record of a row of the log."""
    entry = entry_from_json(line)
    return Logged(seq, entry, not is_revoked and not isinstance(entry, Retraction))


def last_answer(connection: Connection, annotator: str) -> Logged | None:
    """Return the last answer of a person that stands."""
    statement = (
        sa.select(LogRow.seq, LogRow.line)
        .where(LogRow.annotator == annotator, IS_STANDING_ANSWER)
        .order_by(LogRow.seq.desc())
        .limit(1)
    )
    row = connection.execute(statement).first()
    return None if row is None else logged(row.seq, row.line, False)


def _checked(entry: Entry) -> Entry:
    """Refuse what has no ids of items; give an id and a time to what has none."""
    if isinstance(entry, Answer) and entry.question.ids is None:
        raise InvalidConstraintsError(
            f"{entry.question!r} names rows; a store needs the ids of the items: Question.ids"
        )
    return replace(entry, id=entry.id or new_id(), at=entry.at or now())


def _row(seq: int, entry: Entry, line: str) -> dict[str, Any]:
    row = {
        "seq": seq,
        "id": entry.id,
        "line": line,
        "kind": "retraction" if isinstance(entry, Retraction) else "edit",
        "question": None,
        "repeat": 0,
        "value": None,
        "annotator": entry.annotator,
        "revokes": entry.revokes,
    }
    if isinstance(entry, Answer):
        question = entry.question
        row |= {"kind": question.kind, "question": key_of(question), "value": entry.value}
        row["repeat"] = question.repeat
    return row


def _rows(connection: Connection, entries: Sequence[Entry]) -> dict[str, int]:
    """Return the rows of the items that entries name; refuse unknown ones."""
    names = {name for entry in entries for name in names_of(entry)}
    row_of: dict[str, int] = {}
    for part in chunks(names):
        row_of |= {item.id: item.row for item in connection.execute(ROWS, {"ids": part})}
    if len(row_of) < len(names):
        unknown = sorted(names - row_of.keys())
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise InvalidConstraintsError(
            f"there are no items {', '.join(map(repr, unknown[:5]))}{more}; nothing was stored. "
            "Add the items first (clew add), or leave these answers out"
        )
    return row_of


def _lines(connection: Connection, entries: Sequence[Entry]) -> dict[str, str]:
    """Return those of some entries that are in the log, by their ids."""
    ids = [entry.id for entry in entries]
    return {row.id: row.line for row in connection.execute(LINES, {"ids": ids})}


def _answered(
    connection: Connection, entries: Sequence[Entry]
) -> dict[tuple[str, str], tuple[str, int]]:
    """Return the standing answers of the same people to the same questions: id and value."""
    keys = {key_of(entry.question) for entry in entries if isinstance(entry, Answer)}
    return {
        (annotator, cast(str, question)): (name, cast(int, value))
        for annotator, question, name, value in connection.execute(GIVEN, {"keys": list(keys)})
    }


def _said(line: str) -> dict[str, Any]:
    """Return an entry without its time and its source."""
    return {k: value for k, value in json.loads(line).items() if k not in ("time", "source")}


def _add_annotators(transaction: Transaction, entries: Sequence[Entry]) -> None:
    kinds = {
        entry.annotator: "rule"
        if isinstance(entry, Answer) and entry.origin == "rule"
        else "person"
        for entry in entries
    }
    connection = transaction.connection
    new = kinds.keys() - set(connection.execute(NAMES, {"names": list(kinds)}).scalars())
    if not new:
        return
    last = connection.execute(sa.select(sa.func.max(AnnotatorRow.number))).scalar() or 0
    connection.execute(
        sa.insert(AnnotatorRow),
        [
            {
                "number": number, "name": name, "kind": kinds[name], "role": "annotator",
                "is_active": True, "code": "", "note": "", "kinds": None,
            }
            for number, name in enumerate(
                (name for name in kinds if name in new), start=last + 1
            )
        ],
    )  # fmt: skip
    transaction.topics.add("annotators")


def _set_aside(transaction: Transaction, entry: Entry) -> None:
    """Set the items of an edit aside, or put those back whose edit is revoked."""
    connection = transaction.connection
    if entry.revokes:
        row = connection.execute(
            sa.select(LogRow.seq, LogRow.line).where(LogRow.id == entry.revokes)
        ).first()
        before = None if row is None else logged(row.seq, row.line, True).entry
        if isinstance(before, Edit) and before.kind == "set_aside":
            names = names_of(before)
            others = (each.entry for each in read_log(connection, items=names, only_standing=True))
            aside = {
                name
                for edit in others
                if isinstance(edit, Edit) and edit.kind == "set_aside" and edit.id != entry.id
                for name in edit.items
            }
            _mark(transaction, [name for name in names if name not in aside], None)
    if isinstance(entry, Edit):
        why = entry.note or f"set aside by {entry.annotator or 'somebody'}"
        _mark(transaction, names_of(entry), why)
        drop_questions(connection, set(names_of(entry)))
        transaction.topics.add("pool")


def _mark(transaction: Transaction, ids: Sequence[str], why: str | None) -> None:
    for part in chunks(ids):
        statement = sa.update(ItemRow).where(ItemRow.id.in_(part)).values(set_aside=why)
        transaction.connection.execute(statement)
    transaction.topics.add("items")


def drop_questions(connection: Connection, ids: set[str]) -> None:
    """Take questions about some items out of the pool and back from who holds them."""
    pool = connection.execute(sa.select(PoolRow.rank, PoolRow.body)).all()
    ranks = [rank for rank, body in pool if not ids.isdisjoint(json.loads(body)["items"])]
    connection.execute(sa.delete(PoolRow).where(PoolRow.rank.in_(ranks)))
    held = connection.execute(
        sa.select(LeaseRow.token, LeaseRow.body).where(LeaseRow.state == "held")
    ).all()
    tokens = [token for token, body in held if not ids.isdisjoint(json.loads(body)["items"])]
    statement = sa.update(LeaseRow).where(LeaseRow.token.in_(tokens)).values(state="released")
    connection.execute(statement)
