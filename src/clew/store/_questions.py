"""The pool of questions, and who holds which."""

from __future__ import annotations

import math
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from clew.answers import Answer, Kind, Question, entry_from_json
from clew.store._database import Transaction
from clew.store._log import chunks, key_of, standing_answers
from clew.store._models import ItemRow, LeaseRow, LogRow, PoolRow
from clew.store.base import LEASE_SECONDS, STALE_AFTER, Lease, Suggestion

#: Seconds after which a lease that nobody answered is forgotten.
FORGOTTEN_SECONDS = 7 * 24 * 3600


def question_to_dict(question: Question) -> dict[str, Any]:
    """Return a question as JSON."""
    return {
        "kind": question.kind,
        "items": [str(name) for name in question.ids or ()],
        "origin": question.origin,
        "parts": list(question.parts),
        "repeat": question.repeat,
        "check": question.check,
    }


def question_from_dict(body: Mapping[str, Any]) -> Question:
    """Make a question from its JSON."""
    return Question(
        body["kind"],
        (),
        body["origin"],
        tuple(body["items"]),
        tuple(body["parts"]),
        body["repeat"],
        body["check"],
    )


def lease_of(row: Row[Any] | LeaseRow) -> Lease:
    """Make the record of a row of leases."""
    return Lease(
        row.token, row.annotator, question_from_dict(row.body), row.revision, row.expires,
        cast(Any, row.state),
    )  # fmt: skip


def is_live(now: float) -> sa.ColumnElement[bool]:
    """Whether a lease holds: it was not given back, and runs for 0 to 120 seconds more.

    One that would run longer comes from before a clock that was set back.
    """
    until = now + LEASE_SECONDS
    return (LeaseRow.state == "held") & (LeaseRow.expires > now) & (LeaseRow.expires <= until)


def live_leases(connection: Connection, now: float) -> Sequence[LeaseRow]:
    """Return the rows of all leases that hold, in the order in which people are asked."""
    statement = sa.select(*LeaseRow.__table__.columns).where(is_live(now))
    order = statement.order_by(LeaseRow.annotator, LeaseRow.position)
    return cast(Sequence[LeaseRow], connection.execute(order).all())


def close_leases(
    connection: Connection, entries: Iterable[Answer], now: float
) -> dict[tuple[str, str], bool]:
    """Mark the leases of answers as answered; return whether each of them was still held."""
    keys = {(entry.annotator, key_of(entry.question)) for entry in entries}
    held: dict[tuple[str, str], bool] = {}
    for part in chunks(keys):
        questions = [question for _, question in part]
        statement = sa.select(
            LeaseRow.token, LeaseRow.annotator, LeaseRow.question, is_live(now).label("live")
        ).where(LeaseRow.question.in_(questions), LeaseRow.state != "answered")
        tokens = []
        for row in connection.execute(statement):
            at = row.annotator, row.question
            if at in keys:
                tokens.append(row.token)
                held[at] = held.get(at, False) or bool(row.live)
        change = sa.update(LeaseRow).where(LeaseRow.token.in_(tokens)).values(state="answered")
        connection.execute(change)
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
    """Renew a person's leases, exchange those that are stale, and take the best free questions."""
    connection = transaction.connection
    live = live_leases(connection, now)
    mine = [row for row in live if row.annotator == annotator]
    pool = connection.execute(sa.select(*PoolRow.__table__.columns).order_by(PoolRow.rank)).all()
    people = _people(connection, [row.question for row in pool], live)
    free = [
        row
        for row in pool
        if row.body["kind"] in kinds
        and annotator not in people[row.question]
        and len(people[row.question]) < overlap
    ]
    last = connection.execute(sa.select(sa.func.max(LogRow.seq))).scalar() or 0
    held = [row for row in mine if row.token in keep]
    others = [row for row in mine if row.token not in keep]
    n_spare = len(free) - max(n - len(mine), 0)
    stale = [
        row
        for row in others
        if last - row.revision > STALE_AFTER and not row.body["repeat"]
        and free and free[0].revision > row.revision
    ][: max(n_spare, 0)]  # fmt: skip
    held += [row for row in others if row not in stale]
    _set_state(connection, [row.token for row in stale], "exchanged")
    connection.execute(
        sa.update(LeaseRow)
        .where(LeaseRow.token.in_([row.token for row in held]))
        .values(expires=now + LEASE_SECONDS)
    )
    position = max((row.position for row in mine), default=0)
    leases = [replace(lease_of(row), expires=now + LEASE_SECONDS) for row in held]
    n_new = max(n - len(leases), 0)
    if n_new:
        n_given = connection.execute(
            sa.select(sa.func.count()).where(
                LogRow.annotator == annotator, LogRow.question.is_not(None)
            )
        ).scalar_one()
        questions = [(question_from_dict(row.body), row.revision) for row in free[:n_new]]
        for at in range(min(n_new, len(questions) + 1)):
            if _is_repeat_due(n_given + len(leases) + at, repeat_every):
                again = _drawn_repeat(connection, annotator, kinds, n_given)
                if again is not None:
                    questions.insert(at, (again, last))
        for question, revision in questions[:n_new]:
            position += 1
            leases.append(
                hold(connection, annotator, question, revision, position=position, now=now)
            )
    return tuple(leases)


def hold(
    connection: Connection,
    annotator: str,
    question: Question,
    revision: int,
    *,
    position: int,
    now: float,
) -> Lease:
    """Hand a question to a person."""
    lease = Lease(secrets.token_hex(16), annotator, question, revision, now + LEASE_SECONDS)
    connection.execute(
        sa.insert(LeaseRow).values(
            token=lease.token,
            annotator=annotator,
            question=key_of(question),
            body=question_to_dict(question),
            revision=revision,
            position=position,
            expires=lease.expires,
            state="held",
        )
    )
    return lease


def replace_pool(
    transaction: Transaction, suggestions: Iterable[Suggestion], *, overlap: int, now: float
) -> None:
    """Replace the pool, but for questions that are begun; `Store.replace_pool` says which."""
    connection = transaction.connection
    live = live_leases(connection, now)
    pool = connection.execute(sa.select(*PoolRow.__table__.columns).order_by(PoolRow.rank)).all()
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
                "body": question_to_dict(suggestion.question),
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
            question_from_dict(row.body), row.is_check, row.probability, row.score, row.revision
        )
        for row in connection.execute(
            sa.select(*PoolRow.__table__.columns).order_by(PoolRow.rank)
        )
    ]  # fmt: skip


def _set_state(connection: Connection, tokens: Sequence[str], state: str) -> None:
    if tokens:
        statement = sa.update(LeaseRow).where(LeaseRow.token.in_(tokens)).values(state=state)
        connection.execute(statement)


def _people(
    connection: Connection, questions: Sequence[str], live: Sequence[LeaseRow]
) -> dict[str, set[str]]:
    """Return for each question who holds it or has answered it."""
    people: dict[str, set[str]] = defaultdict(set)
    for row in live:
        people[row.question].add(row.annotator)
    for part in chunks(dict.fromkeys(questions)):
        statement = sa.select(LogRow.question, LogRow.annotator).where(
            LogRow.question.in_(part), standing_answers()
        )
        for question, annotator in connection.execute(statement):
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


def _is_repeat_due(n_asked: int, every: int) -> bool:
    """Whether the next question of a person is one that they have answered before.

    In the middle between two checks, and not among the first questions.
    """
    return every > 0 and n_asked > every and n_asked % every == every // 2


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
            standing_answers(),
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
