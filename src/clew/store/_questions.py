"""The pool of questions, and who holds which."""

from __future__ import annotations

import json
import math
import secrets
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from clew.answers import Answer, Kind, Question, entry_from_json
from clew.store._database import Transaction
from clew.store._log import IS_STANDING_ANSWER, LAST_SEQ, chunks, key_of
from clew.store._models import ItemRow, LeaseRow, LogRow, PoolRow
from clew.store._records import LEASE_SECONDS, STALE_AFTER, Lease, Suggestion

#: Seconds after which a lease that nobody answered is forgotten.
FORGOTTEN_SECONDS = 7 * 24 * 3600


# Statements of each answer, made once.
_TOKENS: sa.BindParameter[Any] = sa.bindparam("tokens", expanding=True)
_QUESTIONS: sa.BindParameter[Any] = sa.bindparam("questions", expanding=True)
N_GIVEN = sa.select(sa.func.count()).where(
    LogRow.annotator == sa.bindparam("name"), LogRow.question.is_not(None)
)
POOL = sa.select(*PoolRow.__table__.columns).order_by(PoolRow.rank)
LIVE = (
    sa.select(*LeaseRow.__table__.columns)
    .where(
        LeaseRow.state == "held",
        LeaseRow.expires > sa.bindparam("now"),
        LeaseRow.expires <= sa.bindparam("until"),
    )
    .order_by(LeaseRow.annotator, LeaseRow.position)
)
OPEN_LEASES = sa.select(*LeaseRow.__table__.columns).where(
    LeaseRow.question.in_(_QUESTIONS), LeaseRow.state != "answered"
)
ANSWERED = sa.select(LogRow.question, LogRow.annotator).where(
    LogRow.question.in_(_QUESTIONS), IS_STANDING_ANSWER
)
WANTED = (
    sa.select(*LeaseRow.__table__.columns)
    .where(LeaseRow.state == "wanted")
    .order_by(LeaseRow.annotator, LeaseRow.position)
)
NEW_LEASE = sa.insert(LeaseRow)
CLOSE = sa.update(LeaseRow).where(LeaseRow.token.in_(_TOKENS)).values(state=sa.bindparam("new"))
RENEW = sa.update(LeaseRow).where(LeaseRow.token.in_(_TOKENS)).values(expires=sa.bindparam("until"))


def question_to_json(question: Question) -> str:
    """Return a question as JSON."""
    record = {
        "kind": question.kind,
        "items": [str(name) for name in question.ids or ()],
        "origin": question.origin,
        "parts": question.parts,
        "repeat": question.repeat,
        "check": question.check,
        "examples": [str(name) for name in question.examples],
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def question_from_json(text: str) -> Question:
    """Make a question from its JSON."""
    body = json.loads(text)
    return Question(
        body["kind"], (), body["origin"], tuple(body["items"]), tuple(body["parts"]),
        body["repeat"], body["check"], tuple(body.get("examples", ())),
    )  # fmt: skip


def lease_of(row: Row[Any] | LeaseRow) -> Lease:
    """Make the record of a row of leases."""
    return Lease(
        row.token, row.annotator, question_from_json(row.body), row.revision, row.expires,
        cast(Any, row.state),
    )  # fmt: skip


def is_live(now: float) -> sa.ColumnElement[bool]:
    """Whether a lease holds: at most 120 s are left, unless a clock was set back."""
    until = now + LEASE_SECONDS
    return (LeaseRow.state == "held") & (LeaseRow.expires > now) & (LeaseRow.expires <= until)


def live_leases(connection: Connection, now: float) -> Sequence[LeaseRow]:
    """Return the rows of all leases that hold, in the order in which people are asked."""
    rows = connection.execute(LIVE, {"now": now, "until": now + LEASE_SECONDS})
    return cast(Sequence[LeaseRow], rows.all())


def close_leases(
    connection: Connection, entries: Iterable[Answer], now: float
) -> dict[tuple[str, str], bool]:
    """Mark the leases of answers as answered; return whether each of them was still held."""
    keys = {(entry.annotator, key_of(entry.question)) for entry in entries}
    held: dict[tuple[str, str], bool] = {}
    for part in chunks(keys):
        questions = [question for _, question in part]
        tokens = []
        for row in connection.execute(OPEN_LEASES, {"questions": questions}):
            at, is_held = (row.annotator, row.question), row.state == "held"
            if at in keys:
                tokens.append(row.token)
                is_on_time = is_held and now < row.expires <= now + LEASE_SECONDS
                held[at] = held.get(at, False) or is_on_time
        _set_state(connection, tokens, "answered")
    return held


def top_up(
    transaction: Transaction,
    annotator: str,
    n: int,
    *,
    kinds: Sequence[Kind],
    keep: Sequence[str],
    overlap: int,
    repeat_every: int,
    now: float,
) -> tuple[Lease, ...]:
    """Renew leases, exchange stale ones; more: those to be asked first, then the best."""
    connection = transaction.connection
    live = live_leases(connection, now)
    mine = [row for row in live if row.annotator == annotator]
    last = connection.execute(LAST_SEQ).scalar() or 0
    free = _free(transaction, annotator, max(n, len(mine)), kinds, overlap, live)
    held = [row for row in mine if row.token in keep] or mine[:1]
    others = [row for row in mine if row not in held]
    n_spare = len(free) - max(n - len(mine), 0)
    stale = [
        row
        for row in others
        if last - row.revision > STALE_AFTER
        and free
        and free[0].revision > row.revision
        and not question_from_json(row.body).repeat
    ][: max(n_spare, 0)]
    held += [row for row in others if row not in stale]
    _set_state(connection, [row.token for row in stale], "exchanged")
    if held:
        tokens = [row.token for row in held]
        connection.execute(RENEW, {"tokens": tokens, "until": now + LEASE_SECONDS})
    position = max((row.position for row in mine), default=0)
    leases = [replace(lease_of(row), expires=now + LEASE_SECONDS) for row in held]
    n_new = max(n - len(leases), 0)
    if n_new:
        n_given = connection.execute(N_GIVEN, {"name": annotator}).scalar_one()
        begun = {row.question for row in mine}
        wanted = [
            (question_from_json(row.body), last)
            for row in connection.execute(WANTED.where(LeaseRow.annotator == annotator))
            if row.question not in begun
        ]
        best = [(question_from_json(row.body), row.revision) for row in free[:n_new]]
        questions = wanted + best
        for at in range(min(n_new, len(questions) + 1)):
            n = n_given + len(leases) + at
            # In the middle between two checks, not among the first questions.
            if 0 < repeat_every < n and n % repeat_every == repeat_every // 2:
                again = _drawn_repeat(connection, annotator, kinds, n_given)
                if again is not None:
                    questions.insert(at, (again, last))
        for question, revision in questions[:n_new]:
            position += 1
            leases.append(
                hold(connection, annotator, question, revision, position=position, now=now)
            )
    return tuple(leases)


def _free(
    transaction: Transaction,
    annotator: str,
    n: int,
    kinds: Sequence[Kind],
    overlap: int,
    live: Sequence[LeaseRow],
) -> list[Row[Any]]:
    """Best `n` questions of the pool; those that were answered enough are taken out."""
    connection = transaction.connection
    holders: dict[str, set[str]] = defaultdict(set)
    for row in live:
        holders[row.question].add(row.annotator)
    open_to = [
        row
        for row in connection.execute(POOL)
        if row.kind in kinds
        and annotator not in holders[row.question]
        and len(holders[row.question]) < overlap
    ]
    free: list[Row[Any]] = []
    for part in chunks(open_to, n + 8):
        answered = _people(connection, [row.question for row in part], ())
        done = [row.rank for row in part if len(answered[row.question]) >= overlap]
        if done:
            connection.execute(sa.delete(PoolRow).where(PoolRow.rank.in_(done)))
        free += [
            row
            for row in part
            if annotator not in answered[row.question]
            and len(answered[row.question] | holders[row.question]) < overlap
        ]
        if len(free) >= n:
            break
    return free


def want(connection: Connection, annotator: str, question: Question, now: float) -> bool:
    """Have a person asked a question; False if they were, and have answered or have still to."""
    key = key_of(question)
    waiting = sa.select(LeaseRow.token).where(
        LeaseRow.question == key, LeaseRow.annotator == annotator, LeaseRow.state == "wanted"
    )
    if annotator in _people(connection, [key], ())[key] or connection.execute(waiting).first():
        return False
    hold(connection, annotator, question, 0, position=0, now=now - LEASE_SECONDS, state="wanted")
    return True


def hold(
    connection: Connection,
    annotator: str,
    question: Question,
    revision: int,
    *,
    position: int,
    now: float,
    state: Literal["held", "wanted"] = "held",
) -> Lease:
    """Hand a question to a person."""
    lease = Lease(secrets.token_hex(16), annotator, question, revision, now + LEASE_SECONDS, state)
    row = {
        "token": lease.token,
        "annotator": annotator,
        "question": key_of(question),
        "body": question_to_json(question),
        "revision": revision,
        "position": position,
        "expires": lease.expires,
        "state": state,
    }
    connection.execute(NEW_LEASE, row)
    return lease


def replace_pool(
    transaction: Transaction, suggestions: Iterable[Suggestion], *, overlap: int, now: float
) -> None:
    """Replace the pool, but for questions that are begun; `Store.replace_pool` says which."""
    connection = transaction.connection
    live = live_leases(connection, now)
    pool = connection.execute(POOL).all()
    new = {key_of(suggestion.question): suggestion for suggestion in suggestions}
    people = _people(connection, [*new, *(row.question for row in pool)], live)
    begun = connection.execute(
        sa.select(LeaseRow.question).where(
            LeaseRow.question.in_([row.question for row in pool if row.is_check])
        )
    )
    shown = set(begun.scalars())
    rows = {
        row.question: dict(row._mapping)
        for row in pool
        if 0 < len(people[row.question]) < overlap
        or (row.question in shown and not people[row.question])
    }
    aside = _set_aside_of(connection, new.values())
    for key, suggestion in new.items():
        names = {str(name) for name in suggestion.question.ids or ()}
        if key not in rows and len(people[key]) < overlap and aside.isdisjoint(names):
            rows[key] = {
                "question": key,
                "kind": suggestion.question.kind,
                "body": question_to_json(suggestion.question),
                "is_check": suggestion.is_check,
                "probability": suggestion.probability,
                "score": suggestion.score if math.isfinite(suggestion.score) else 0.0,
                "revision": suggestion.revision,
            }
    connection.execute(sa.delete(PoolRow))
    if rows:
        ranked = [row | {"rank": rank} for rank, row in enumerate(rows.values())]
        connection.execute(sa.insert(PoolRow), ranked)
    connection.execute(sa.delete(LeaseRow).where(LeaseRow.expires < now - FORGOTTEN_SECONDS))
    transaction.topics.add("pool")


def read_pool(connection: Connection) -> list[Suggestion]:
    """Return the pool, the best first."""
    return [
        Suggestion(
            question_from_json(row.body), row.is_check, row.probability, row.score, row.revision
        )
        for row in connection.execute(POOL)
    ]


def _set_state(connection: Connection, tokens: Sequence[str], state: str) -> None:
    if tokens:
        connection.execute(CLOSE, {"tokens": tokens, "new": state})


def _people(
    connection: Connection, questions: Sequence[str], live: Sequence[LeaseRow]
) -> dict[str, set[str]]:
    """Return for each question who holds it or has answered it."""
    people: dict[str, set[str]] = defaultdict(set)
    for row in live:
        people[row.question].add(row.annotator)
    for part in chunks(dict.fromkeys(questions)):
        for question, annotator in connection.execute(ANSWERED, {"questions": part}):
            people[cast(str, question)].add(annotator)
    return people


def _set_aside_of(connection: Connection, suggestions: Iterable[Suggestion]) -> set[str]:
    names = {str(name) for suggestion in suggestions for name in suggestion.question.ids or ()}
    found: set[str] = set()
    for part in chunks(names):
        statement = sa.select(ItemRow.id).where(
            ItemRow.id.in_(part), ItemRow.set_aside.is_not(None)
        )
        found |= set(connection.execute(statement).scalars())
    return found


def _drawn_repeat(
    connection: Connection, annotator: str, kinds: Sequence[Kind], n_given: int
) -> Question | None:
    """Draw one of a person's earlier answers, and ask its question again."""
    earlier = (
        sa.select(LogRow.line)
        .where(
            LogRow.annotator == annotator,
            LogRow.kind.in_([kind for kind in kinds if kind in ("pair", "triplet", "odd_one_out")]),
            LogRow.repeat == 0,
            IS_STANDING_ANSWER,
        )
        .order_by(LogRow.seq)
        .limit(max(n_given - STALE_AFTER, 0))
        .subquery()
    )
    lines = sa.select(earlier.c.line).order_by(sa.func.random()).limit(5)
    for line in connection.execute(lines).scalars():
        answer = entry_from_json(line)
        assert isinstance(answer, Answer)
        question = replace(answer.question, repeat=1, origin="asked", check=None)
        key = key_of(question)
        is_asked = sa.union_all(
            sa.select(LogRow.id).where(LogRow.question == key, LogRow.annotator == annotator),
            sa.select(LeaseRow.token).where(
                LeaseRow.question == key, LeaseRow.annotator == annotator
            ),
        ).limit(1)
        if connection.execute(is_asked).first() is None:
            return question
    return None
