"""A store in SQLite or PostgreSQL."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, make_url

from clew.answers import Answer, Entry, Kind, Question, Retraction
from clew.exceptions import InvalidArgumentError, InvalidParameterError, StoreError
from clew.items import Item
from clew.store import _log as log, _questions as questions
from clew.store._database import Database, Transaction, errors_of, record_of, values_of
from clew.store._models import (
    AnnotatorRow,
    Base,
    ChangeRow,
    ItemRow,
    LeaseRow,
    LogRow,
    SettingRow,
    WorkerRow,
)
from clew.store._people import SqlPeople
from clew.store._work import SqlResults, SqlWork, check_worker
from clew.store.base import (
    SETTINGS,
    Counts,
    ItemChanges,
    Lease,
    Logged,
    Served,
    Status,
    Suggestion,
    Topic,
)

ALL_SETTINGS = sa.select(SettingRow.name, SettingRow.value)
PERSON = sa.select(AnnotatorRow.kinds, AnnotatorRow.is_active).where(
    AnnotatorRow.name == sa.bindparam("name")
)


class SqlStore(SqlPeople, SqlResults, SqlWork):
    """A store in a database; ``?project=NAME`` in `url` names a schema of PostgreSQL."""

    def __init__(
        self, url: str, *, create: bool = True, clock: Callable[[], float] = time.time
    ) -> None:
        address = make_url(url)
        self._database = Database(address, create=create)
        self._now = clock
        self.url = address.render_as_string(hide_password=True)

    # Items ---------------------------------------------------------------------------------

    def add_items(self, items: Iterable[Item]) -> ItemChanges:
        given = list(items)

        def work(transaction: Transaction) -> ItemChanges:
            connection = transaction.connection
            row = connection.execute(sa.select(sa.func.max(ItemRow.row))).scalar()
            n, added, updated = -1 if row is None else row, 0, 0
            for part in log.chunks(given):
                before = _items_by_id(connection, [item.id for item in part])
                new, changed = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
                for item in part:
                    values = values_of(item)
                    if item.id in before:
                        old = before[item.id]
                        values["set_aside"] = old.set_aside
                        if values != values_of(old):
                            changed[item.id] = values
                    elif item.id in new:
                        new[item.id] |= values
                    else:
                        n += 1
                        new[item.id] = {"row": n, **values}
                if new:
                    connection.execute(sa.insert(ItemRow), list(new.values()))
                for name, values in changed.items():
                    statement = sa.update(ItemRow).where(ItemRow.id == name).values(values)
                    connection.execute(statement)
                added, updated = added + len(new), updated + len(changed)
            if added or updated:
                transaction.topics.add("items")
            return ItemChanges(added, updated, len(given) - added - updated)

        return self._database.write(work)

    def items(self, *, after: int = -1, limit: int | None = None) -> list[Item]:
        statement = (
            sa.select(*ItemRow.__table__.columns)
            .where(ItemRow.row > after)
            .order_by(ItemRow.row)
            .limit(limit)
        )
        return [record_of(Item, row) for row in self._database.rows(statement)]

    def items_by_id(self, ids: Iterable[str]) -> dict[str, Item]:
        names = list(ids)
        return self._database.read(lambda connection: _items_by_id(connection, names))

    def item_ids(self) -> list[str]:
        return [row.id for row in self._database.rows(sa.select(ItemRow.id).order_by(ItemRow.row))]

    # Log -----------------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry]) -> tuple[Status, ...]:
        return self._database.write(lambda transaction: tuple(log.append(transaction, entries)))

    def log(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        annotator: str | None = None,
        items: Iterable[str] | None = None,
        only_standing: bool = False,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[Logged]:
        read = partial(
            log.read_log, after=after, before=before, annotator=annotator, items=items,
            only_standing=only_standing, newest_first=newest_first, limit=limit,
        )  # fmt: skip
        return self._database.read(read)

    def entries_by_id(self, ids: Iterable[str]) -> dict[str, Logged]:
        names = list(ids)
        return self._database.read(lambda connection: log.read_entries(connection, names))

    def last_seq(self) -> int:
        statement = sa.select(sa.func.max(LogRow.seq))
        return self._database.read(lambda connection: connection.execute(statement).scalar() or 0)

    def undo(self, annotator: str, *, source: str = "") -> Answer | None:
        def work(transaction: Transaction) -> Answer | None:
            found = log.last_answer(transaction.connection, annotator)
            if found is None:
                return None
            answer = cast(Answer, found.entry)
            log.append(transaction, [Retraction(answer.id, annotator, source=source)])
            first = transaction.connection.execute(
                sa.select(sa.func.min(LeaseRow.position)).where(LeaseRow.annotator == annotator)
            ).scalar()
            questions.hold(
                transaction.connection,
                annotator,
                answer.question,
                found.seq,
                position=(first or 0) - 1,
                now=self._now(),
            )
            return answer

        return self._database.write(work)

    def counts(self) -> Counts:
        def work(connection: Connection) -> Counts:
            def number(*conditions: sa.ColumnElement[bool], column: Any = LogRow.seq) -> int:
                statement = sa.select(sa.func.count(column)).where(*conditions)
                return connection.execute(statement).scalar_one()

            by_annotator, by_value = Counter[str](), Counter[str]()
            statement = (
                sa.select(LogRow.annotator, LogRow.kind, LogRow.value, sa.func.count())
                .where(log.IS_STANDING_ANSWER)
                .group_by(LogRow.annotator, LogRow.kind, LogRow.value)
            )
            for annotator, kind, value, n in connection.execute(statement):
                by_annotator[annotator] += n
                by_value[f"{kind} {value}"] += n
            return Counts(
                n_items=number(column=ItemRow.row),
                n_set_aside=number(ItemRow.set_aside.is_not(None), column=ItemRow.row),
                n_entries=number(),
                n_answers=by_annotator.total(),
                n_edits=number(LogRow.kind == "edit"),
                last_seq=connection.execute(sa.select(sa.func.max(LogRow.seq))).scalar() or 0,
                by_annotator=dict(by_annotator),
                by_value=dict(by_value),
            )

        return self._database.read(work)

    # Questions -----------------------------------------------------------------------------

    def lease(
        self,
        annotator: str,
        n: int = 4,
        *,
        kinds: Sequence[Kind] | None = None,
        keep: Sequence[str] = (),
    ) -> tuple[Lease, ...]:
        return self.answer_and_lease(annotator, (), n, kinds, keep).leases

    def answer_and_lease(
        self,
        annotator: str,
        entries: Sequence[Entry],
        n_held: int = 4,
        kinds: Sequence[Kind] | None = None,
        keep: Sequence[str] = (),
    ) -> Served:
        strangers = {entry.annotator for entry in entries} - {annotator}
        if strangers:
            raise InvalidArgumentError(
                f"answer_and_lease takes entries of {annotator!r}, got some of "
                f"{', '.join(map(repr, sorted(strangers)))}; append takes entries of anybody"
            )

        def work(transaction: Transaction) -> Served:
            connection, now = transaction.connection, self._now()
            statuses = log.append(transaction, entries, is_live=True)
            answers = [entry for entry in entries if isinstance(entry, Answer)]
            held = questions.close_leases(connection, answers, now)
            for at, entry in enumerate(entries):
                if (
                    isinstance(entry, Answer)
                    and statuses[at] == "stored"
                    and not held.get((annotator, log.key_of(entry.question)), True)
                ):
                    statuses[at] = "expired"
            settings = _settings(connection)
            person = connection.execute(PERSON, {"name": annotator}).first()
            may_ask = person is None or person.is_active
            wanted = kinds or (person and person.kinds) or settings["kinds"]
            leases = questions.top_up(
                transaction,
                annotator,
                n_held if may_ask else 0,
                kinds=wanted,
                keep=keep,
                overlap=settings["overlap"],
                repeat_every=settings["repeat_every"] or 0,
                now=now,
            )
            return Served(tuple(statuses), leases)

        return self._database.write(work)

    def find_lease(self, token: str) -> Lease | None:
        statement = sa.select(*LeaseRow.__table__.columns).where(LeaseRow.token == token)
        row = self._database.first(statement)
        return None if row is None else questions.lease_of(row)

    def release(self, annotator: str, tokens: Sequence[str] | None = None) -> int:
        def work(transaction: Transaction) -> int:
            is_held = questions.is_live(self._now()) & (LeaseRow.annotator == annotator)
            if tokens is not None:
                is_held &= LeaseRow.token.in_(tokens)
            statement = sa.update(LeaseRow).where(is_held).values(state="released")
            transaction.topics.add("pool")
            return transaction.connection.execute(statement).rowcount

        return self._database.write(work)

    def ask_of(self, annotator: str, question: Question) -> bool:
        if self.annotator(annotator) is None:
            raise InvalidParameterError(f"there is no annotator {annotator!r}; put_annotator first")
        return self._database.write(
            lambda transaction: questions.want(
                transaction.connection, annotator, question, self._now()
            )
        )

    def wanted(self) -> list[Lease]:
        return list(map(questions.lease_of, self._database.rows(questions.WANTED)))

    def leases(self) -> list[Lease]:
        live = self._database.read(
            lambda connection: questions.live_leases(connection, self._now())
        )
        return list(map(questions.lease_of, live))

    def pool(self) -> list[Suggestion]:
        return self._database.read(questions.read_pool)

    def replace_pool(self, suggestions: Iterable[Suggestion], *, worker: str | None = None) -> None:
        new = list(suggestions)

        def work(transaction: Transaction) -> None:
            check_worker(transaction.connection, worker)
            overlap = _settings(transaction.connection)["overlap"]
            questions.replace_pool(transaction, new, overlap=overlap, now=self._now())

        self._database.write(work)

    # Settings and changes ------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        return self._database.read(_settings)

    def set_settings(self, settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            _check_setting(name, value)

        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            connection.execute(sa.delete(SettingRow).where(SettingRow.name.in_(list(settings))))
            if settings:
                connection.execute(
                    sa.insert(SettingRow),
                    [{"name": name, "value": value} for name, value in settings.items()],
                )
            transaction.topics.add("settings")

        self._database.write(work)

    def changes(self) -> dict[Topic, int]:
        return self._database.changes()

    def wait(
        self, seen: Mapping[Topic, int], *, timeout: float, topics: Sequence[Topic] = ()
    ) -> dict[Topic, int]:
        end = time.monotonic() + timeout
        while True:
            now = self.changes()
            left = end - time.monotonic()
            if left <= 0 or any(now[topic] != seen.get(topic) for topic in topics or now):
                return now
            self._database.wait(left)

    # Whole stores --------------------------------------------------------------------------

    def copy_to(self, url: str) -> None:
        from clew.store import open_store

        with open_store(url) as other:
            assert isinstance(other, SqlStore)
            target = other._database
            if other.last_seq() or other.item_ids() or other.annotators():
                raise StoreError(f"{other.url} is not empty; name another place")

            def copy(source: Connection) -> None:
                with errors_of(target.engine), target.transaction() as transaction:
                    transaction.connection.execute(sa.delete(ChangeRow))
                    for table in Base.metadata.sorted_tables:
                        if table is WorkerRow.__table__:
                            continue  # nobody is at work on the copy
                        rows = source.execution_options(stream_results=True).execute(
                            sa.select(table)
                        )
                        for part in rows.mappings().partitions(log.CHUNK):
                            transaction.connection.execute(
                                sa.insert(table), [dict(row) for row in part]
                            )
                    # PostgreSQL numbers further jobs after those that were copied.
                    if transaction.connection.dialect.name == "postgresql":
                        transaction.connection.execute(
                            sa.text(
                                "SELECT setval(pg_get_serial_sequence('jobs', 'id'), "
                                "greatest((SELECT max(id) FROM jobs), 1))"
                            )
                        )

            self._database.read(copy)

    def close(self) -> None:
        self._database.close()


def _check_setting(name: str, value: Any) -> None:
    number = value if isinstance(value, int) and not isinstance(value, bool) else -1
    allowed = {
        "overlap": (number > 0, "a whole number of 1 or more"),
        "repeat_every": (number >= 0, "0, or a whole number"),
        "kinds": (
            isinstance(value, list | tuple) and len(value) > 0,
            "a list of kinds of questions that is not empty",
        ),
    }
    is_right, what = allowed.get(name, (True, ""))
    if not is_right:
        raise InvalidParameterError(f"setting {name}={value!r}: it must be {what}")


def _settings(connection: Connection) -> dict[str, Any]:
    rows = connection.execute(ALL_SETTINGS)
    return {**SETTINGS, **{row.name: row.value for row in rows}}


def _items_by_id(connection: Connection, ids: Sequence[str]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for part in log.chunks(ids):
        statement = sa.select(*ItemRow.__table__.columns).where(ItemRow.id.in_(part))
        rows = connection.execute(statement)
        found |= {row.id: record_of(Item, row) for row in rows}
    return found
