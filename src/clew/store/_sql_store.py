"""A store in SQLite or PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import secrets
import socket
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, make_url

from clew.answers import Answer, Entry, Kind, Question, Retraction
from clew.exceptions import InvalidArgumentError, InvalidParameterError, LeaseLostError, StoreError
from clew.items import Item
from clew.store import _log as log, _questions as questions
from clew.store._database import Database, Transaction, errors_of
from clew.store._models import (
    AnnotatorRow,
    ArtifactRow,
    Base,
    ChangeRow,
    GroupRow,
    ItemRow,
    JobRow,
    LeaseRow,
    LogRow,
    ResultRow,
    SettingRow,
    TokenRow,
    WorkerRow,
)
from clew.store.base import (
    SETTINGS,
    WORKER_SECONDS,
    Annotator,
    Counts,
    Group,
    ItemChanges,
    Job,
    JobStatus,
    Lease,
    Logged,
    Role,
    Served,
    Status,
    Store,
    StoredResult,
    Suggestion,
    Token,
    TokenKind,
    Topic,
    WorkerState,
)

#: Results that are kept.
N_RESULTS = 10
ALL_SETTINGS = sa.select(SettingRow.name, SettingRow.value)
PERSON = sa.select(AnnotatorRow.kinds, AnnotatorRow.is_active).where(
    AnnotatorRow.name == sa.bindparam("name")
)
#: A job that has taken down this number of workers has failed.
MAX_ATTEMPTS = 3


class SqlStore(Store):
    """A store in a database; `clew.store.base` says what it promises.

    Parameters
    ----------
    url : str
        SQLAlchemy's address of the database. ``?project=NAME`` names a schema of PostgreSQL, so
        that one database holds several projects.
    create : bool, default=True
        Whether to make the tables if there are none.
    clock : callable, default=time.time
        Returns seconds since 1970.

    Raises
    ------
    StoreError
        If it cannot be opened, or a newer clew has made it.
    MissingDependencyError
        If PostgreSQL is wanted, and psycopg is not installed.
    """

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
                    values = _values_of(item)
                    if item.id in before:
                        old = before[item.id]
                        values["set_aside"] = old.set_aside
                        if values != _values_of(old):
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
        return self._database.read(
            lambda connection: [_item_of(row) for row in connection.execute(statement)]
        )

    def items_by_id(self, ids: Iterable[str]) -> dict[str, Item]:
        names = list(ids)
        return self._database.read(lambda connection: _items_by_id(connection, names))

    def item_ids(self) -> list[str]:
        statement = sa.select(ItemRow.id).order_by(ItemRow.row)
        return self._database.read(lambda connection: list(connection.execute(statement).scalars()))

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
        return self._database.read(
            lambda connection: log.read_log(
                connection,
                after=after,
                before=before,
                annotator=annotator,
                items=items,
                only_standing=only_standing,
                newest_first=newest_first,
                limit=limit,
            )
        )

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
                .where(log.standing_answers())
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
        row = self._database.read(lambda connection: connection.execute(statement).first())
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
        return self._database.read(
            lambda connection: list(map(questions.lease_of, connection.execute(questions.WANTED)))
        )

    def leases(self) -> list[Lease]:
        return self._database.read(
            lambda connection: [
                questions.lease_of(row) for row in questions.live_leases(connection, self._now())
            ]
        )

    def pool(self) -> list[Suggestion]:
        return self._database.read(questions.read_pool)

    def replace_pool(self, suggestions: Iterable[Suggestion], *, worker: str | None = None) -> None:
        new = list(suggestions)

        def work(transaction: Transaction) -> None:
            _check_worker(transaction.connection, worker)
            overlap = _settings(transaction.connection)["overlap"]
            questions.replace_pool(transaction, new, overlap=overlap, now=self._now())

        self._database.write(work)

    # Annotators ----------------------------------------------------------------------------

    def put_annotator(self, annotator: Annotator) -> None:
        if not annotator.name.strip():
            raise InvalidParameterError("an annotator needs a name")
        values = asdict(annotator)
        values["kinds"] = None if annotator.kinds is None else list(annotator.kinds)

        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            change = sa.update(AnnotatorRow).where(AnnotatorRow.name == annotator.name)
            if not connection.execute(change.values(values)).rowcount:
                last = connection.execute(sa.select(sa.func.max(AnnotatorRow.number))).scalar()
                connection.execute(sa.insert(AnnotatorRow).values(number=(last or 0) + 1, **values))
            transaction.topics.add("annotators")

        self._database.write(work)

    def annotators(self) -> list[Annotator]:
        statement = sa.select(*AnnotatorRow.__table__.columns).order_by(AnnotatorRow.number)
        return self._database.read(
            lambda connection: [_annotator_of(row) for row in connection.execute(statement)]
        )

    def annotator(self, name: str) -> Annotator | None:
        statement = sa.select(*AnnotatorRow.__table__.columns).where(AnnotatorRow.name == name)
        row = self._database.read(lambda connection: connection.execute(statement).first())
        return None if row is None else _annotator_of(row)

    def make_token(
        self,
        kind: TokenKind,
        *,
        annotator: str | None = None,
        role: Role = "annotator",
        seconds: float | None = None,
        parent: str | None = None,
        scope: Mapping[str, Any] | None = None,
    ) -> str:
        secret, now = secrets.token_urlsafe(16), self._now()
        values = {
            "id": secrets.token_hex(6),
            "secret": _hash(secret.encode()),
            "kind": kind,
            "annotator": annotator,
            "role": role,
            "created": now,
            "expires": None if seconds is None else now + seconds,
            "is_revoked": False,
            "parent": parent,
            "scope": dict(scope or {}),
        }

        def work(transaction: Transaction) -> str:
            transaction.connection.execute(sa.insert(TokenRow).values(values))
            transaction.topics.add("annotators")
            return secret

        return self._database.write(work)

    def check_token(self, secret: str, kind: TokenKind) -> Token | None:
        def work(connection: Connection) -> Token | None:
            columns = sa.select(*TokenRow.__table__.columns)
            row = connection.execute(
                columns.where(TokenRow.secret == _hash(secret.encode()), TokenRow.kind == kind)
            ).first()
            token = None if row is None else _token_of(row)
            if token is None or token.is_revoked:
                return None
            if token.expires is not None and token.expires < self._now():
                return None
            if token.parent is not None:
                statement = sa.select(TokenRow.is_revoked).where(TokenRow.id == token.parent)
                if connection.execute(statement).scalar():
                    return None
            if token.annotator is not None:
                is_active = connection.execute(
                    sa.select(AnnotatorRow.is_active).where(AnnotatorRow.name == token.annotator)
                ).scalar()
                if is_active is False:
                    return None
            return token

        return self._database.read(work)

    def tokens(self, annotator: str | None = None) -> list[Token]:
        statement = sa.select(*TokenRow.__table__.columns).order_by(TokenRow.created.desc())
        if annotator is not None:
            statement = statement.where(TokenRow.annotator == annotator)
        return self._database.read(
            lambda connection: [_token_of(row) for row in connection.execute(statement)]
        )

    def revoke_token(self, id: str) -> bool:
        def work(transaction: Transaction) -> bool:
            statement = (
                sa.update(TokenRow)
                .where((TokenRow.id == id) | (TokenRow.parent == id))
                .values(is_revoked=True)
            )
            transaction.topics.add("annotators")
            return transaction.connection.execute(statement).rowcount > 0

        return self._database.write(work)

    # Groups and results --------------------------------------------------------------------

    def groups(self, *, also_gone: bool = False) -> list[Group]:
        statement = sa.select(*GroupRow.__table__.columns).order_by(GroupRow.id)
        if not also_gone:
            newest = sa.select(sa.func.max(ResultRow.revision)).scalar_subquery()
            statement = statement.where(GroupRow.last_revision == newest)
        return self._database.read(
            lambda connection: [_group_of(row) for row in connection.execute(statement)]
        )

    def name_group(
        self,
        id: int,
        *,
        name: str | None = None,
        note: str | None = None,
    ) -> Group:
        values = {"name": name, "note": note}
        values = {key: value for key, value in values.items() if value is not None}

        def work(transaction: Transaction) -> Group:
            connection = transaction.connection
            if values:
                connection.execute(sa.update(GroupRow).where(GroupRow.id == id).values(values))
            statement = sa.select(*GroupRow.__table__.columns).where(GroupRow.id == id)
            row = connection.execute(statement).first()
            if row is None:
                raise InvalidParameterError(f"there is no group {id}; groups() lists them")
            transaction.topics.add("groups")
            return _group_of(row)

        return self._database.write(work)

    def put_groups(self, groups: Iterable[Group]) -> None:
        rows = [asdict(group) | {"came_from": list(group.came_from)} for group in groups]

        def work(transaction: Transaction) -> None:
            for part in log.chunks(rows):
                ids = [row["id"] for row in part]
                transaction.connection.execute(sa.delete(GroupRow).where(GroupRow.id.in_(ids)))
                transaction.connection.execute(sa.insert(GroupRow), part)
            transaction.topics.add("groups")

        self._database.write(work)

    def publish(self, revision: int, body: Mapping[str, Any], *, worker: str | None = None) -> None:
        content = zlib.compress(json.dumps(body, separators=(",", ":")).encode(), level=3)

        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            _check_worker(connection, worker)
            before = _newest_result(connection)
            _update_groups(connection, revision, body, None if before is None else before.body)
            connection.execute(sa.delete(ResultRow).where(ResultRow.revision >= revision))
            row = {"revision": revision, "at": self._now(), "body": content}
            connection.execute(sa.insert(ResultRow).values(row))
            revisions = connection.execute(
                sa.select(ResultRow.revision).order_by(ResultRow.revision.desc())
            ).scalars()
            old = list(revisions)[N_RESULTS:]
            connection.execute(sa.delete(ResultRow).where(ResultRow.revision.in_(old)))
            transaction.topics.update(("results", "groups"))

        self._database.write(work)

    def result(self, revision: int | None = None) -> StoredResult | None:
        return self._database.read(lambda connection: _newest_result(connection, revision))

    def result_revision(self) -> int | None:
        statement = sa.select(sa.func.max(ResultRow.revision))
        return self._database.read(lambda connection: connection.execute(statement).scalar())

    def put_artifact(
        self, name: str, revision: int, content: bytes, *, worker: str | None = None
    ) -> None:
        row = {"name": name, "revision": revision, "sha256": _hash(content), "content": content}

        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            _check_worker(connection, worker)
            connection.execute(sa.delete(ArtifactRow).where(ArtifactRow.name == name))
            connection.execute(sa.insert(ArtifactRow).values(row))
            transaction.topics.add("results")

        self._database.write(work)

    def artifact(self, name: str) -> tuple[int, bytes] | None:
        statement = sa.select(*ArtifactRow.__table__.columns).where(ArtifactRow.name == name)
        row = self._database.read(lambda connection: connection.execute(statement).first())
        if row is None or _hash(row.content) != row.sha256:
            return None
        return row.revision, row.content

    # Jobs and the worker -------------------------------------------------------------------

    def add_job(self, kind: str, arguments: Mapping[str, Any], *, annotator: str = "") -> int:
        values = {
            "kind": kind, "arguments": dict(arguments), "status": "waiting",
            "annotator": annotator, "created": self._now(), "attempts": 0,
        }  # fmt: skip

        def work(transaction: Transaction) -> int:
            statement = sa.insert(JobRow).values(values).returning(JobRow.id)
            transaction.topics.add("jobs")
            return transaction.connection.execute(statement).scalar_one()

        return self._database.write(work)

    def job(self, id: int) -> Job | None:
        statement = sa.select(*JobRow.__table__.columns).where(JobRow.id == id)
        row = self._database.read(lambda connection: connection.execute(statement).first())
        return None if row is None else _job_of(row)

    def jobs(self, *, status: JobStatus | None = None, limit: int = 100) -> list[Job]:
        statement = sa.select(*JobRow.__table__.columns).order_by(JobRow.id.desc()).limit(limit)
        if status is not None:
            statement = statement.where(JobRow.status == status)
        return self._database.read(
            lambda connection: [_job_of(row) for row in connection.execute(statement)]
        )

    def take_job(self, worker: str) -> Job | None:
        def work(transaction: Transaction) -> Job | None:
            connection = transaction.connection
            _check_worker(connection, worker)
            is_left = (JobRow.status == "running") & (JobRow.worker != worker)
            failed = connection.execute(
                sa.update(JobRow)
                .where(is_left, JobRow.attempts >= MAX_ATTEMPTS)
                .values(
                    status="failed",
                    finished=self._now(),
                    error=f"the worker ended {MAX_ATTEMPTS} times while it did this",
                )
            )
            statement = (
                sa.select(*JobRow.__table__.columns)
                .where((JobRow.status == "waiting") | is_left)
                .order_by(JobRow.id)
                .limit(1)
            )
            row = connection.execute(statement).first()
            if row is None:
                if failed.rowcount:
                    transaction.topics.add("jobs")
                return None
            change = sa.update(JobRow).where(JobRow.id == row.id)
            connection.execute(
                change.values(status="running", worker=worker, attempts=row.attempts + 1)
            )
            transaction.topics.add("jobs")
            return _job_of(row)

        return self._database.write(work)

    def finish_job(
        self,
        id: int,
        *,
        worker: str,
        result: Any = None,
        error: str | None = None,
    ) -> None:
        def work(transaction: Transaction) -> None:
            _check_worker(transaction.connection, worker)
            statement = (
                sa.update(JobRow)
                .where(JobRow.id == id)
                .values(
                    status="done" if error is None else "failed",
                    finished=self._now(),
                    result=result,
                    error=error,
                )
            )
            transaction.connection.execute(statement)
            transaction.topics.add("jobs")

        self._database.write(work)

    def acquire_worker(self, name: str) -> str | None:
        def work(transaction: Transaction) -> str | None:
            connection, now = transaction.connection, self._now()
            row = connection.execute(sa.select(*WorkerRow.__table__.columns)).first()
            if row is not None and row.token is not None and _is_alive(row.heartbeat, now):
                return None
            token = secrets.token_hex(16)
            connection.execute(sa.delete(WorkerRow))
            connection.execute(
                sa.insert(WorkerRow).values(
                    number=1, token=token, name=name or socket.gethostname(), heartbeat=now,
                    state="starting", detail="", revision=0,
                )
            )  # fmt: skip
            transaction.topics.add("worker")
            return token

        return self._database.write(work)

    def heartbeat(self, worker: str, state: str, detail: str = "", revision: int = 0) -> None:
        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            _check_worker(connection, worker)
            row = connection.execute(sa.select(*WorkerRow.__table__.columns)).one()
            said = {"state": state, "detail": detail, "revision": revision}
            connection.execute(sa.update(WorkerRow).values(heartbeat=self._now(), **said))
            if said != {name: getattr(row, name) for name in said}:
                transaction.topics.add("worker")

        self._database.write(work)

    def release_worker(self, worker: str) -> None:
        def work(transaction: Transaction) -> None:
            statement = sa.update(WorkerRow).where(WorkerRow.token == worker).values(token=None)
            transaction.connection.execute(statement)
            transaction.topics.add("worker")

        self._database.write(work)

    def worker(self) -> WorkerState | None:
        statement = sa.select(*WorkerRow.__table__.columns)
        row = self._database.read(lambda connection: connection.execute(statement).first())
        if row is None:
            return None
        is_alive = row.token is not None and _is_alive(row.heartbeat, self._now())
        return WorkerState(
            row.name, row.heartbeat, is_alive, row.state, row.detail, row.revision
        )  # fmt: skip

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
                        rows = source.execution_options(stream_results=True).execute(
                            sa.select(table)
                        )
                        for part in rows.mappings().partitions(log.CHUNK):
                            transaction.connection.execute(
                                sa.insert(table), [dict(row) for row in part]
                            )
                    _set_serial(transaction.connection)

            self._database.read(copy)

    def close(self) -> None:
        self._database.close()


def _set_serial(connection: Connection) -> None:
    """Let PostgreSQL number further jobs after those that were copied."""
    if connection.dialect.name == "postgresql":
        connection.execute(
            sa.text(
                "SELECT setval(pg_get_serial_sequence('jobs', 'id'), "
                "greatest((SELECT max(id) FROM jobs), 1))"
            )
        )


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_alive(heartbeat: float, now: float) -> bool:
    """Whether a heartbeat is recent; one from the future is from before the clock was set back."""
    return abs(now - heartbeat) < WORKER_SECONDS


def _check_worker(connection: Connection, worker: str | None) -> None:
    if worker is None:
        return
    holder = connection.execute(sa.select(WorkerRow.token)).scalar()
    if holder != worker:
        raise LeaseLostError(
            "another worker has taken the project over, because this one was silent for "
            f"{WORKER_SECONDS:g} seconds; nothing was written"
        )


def _check_setting(name: str, value: Any) -> None:
    allowed = {
        "overlap": "a whole number of 1 or more",
        "repeat_every": "0, or a whole number",
        "kinds": "a list of kinds of questions that is not empty",
    }
    is_right = {
        "overlap": lambda: isinstance(value, int) and not isinstance(value, bool) and value > 0,
        "repeat_every": lambda: (
            isinstance(value, int) and not isinstance(value, bool) and value >= 0
        ),
        "kinds": lambda: isinstance(value, list | tuple) and len(value) > 0,
    }
    if name in allowed and not is_right[name]():
        raise InvalidParameterError(f"setting {name}={value!r}: it must be {allowed[name]}")


def _settings(connection: Connection) -> dict[str, Any]:
    rows = connection.execute(ALL_SETTINGS)
    return {**SETTINGS, **{row.name: row.value for row in rows}}


def _values_of(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "kind": item.kind,
        "path": item.path,
        "region": None if item.region is None else list(item.region),
        "text": item.text,
        "columns": dict(item.columns),
        "meta": dict(item.meta),
        "hash": item.hash,
        "set_aside": item.set_aside,
    }


def _item_of(row: Any) -> Item:
    return Item(
        row.id, row.kind, row.path, None if row.region is None else tuple(row.region), row.text,
        row.columns, row.meta, row.hash, row.set_aside,
    )  # fmt: skip


def _items_by_id(connection: Connection, ids: Sequence[str]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for part in log.chunks(ids):
        statement = sa.select(*ItemRow.__table__.columns).where(ItemRow.id.in_(part))
        found |= {row.id: _item_of(row) for row in connection.execute(statement)}
    return found


def _annotator_of(row: Any) -> Annotator:
    kinds = None if row.kinds is None else tuple(row.kinds)
    return Annotator(row.name, row.kind, row.role, row.is_active, row.code, row.note, kinds)


def _token_of(row: Any) -> Token:
    return Token(
        row.id, row.kind, row.annotator, row.role, row.created, row.expires, row.is_revoked,
        row.parent, row.scope,
    )  # fmt: skip


def _group_of(row: Any) -> Group:
    return Group(
        row.id, row.name, row.note, row.first_revision, row.last_revision, tuple(row.came_from),
        row.merged_into,
    )  # fmt: skip


def _job_of(row: Any) -> Job:
    return Job(
        row.id, row.kind, row.arguments, row.status, row.annotator, row.created, row.finished,
        row.result, row.error, row.attempts,
    )  # fmt: skip


def _newest_result(connection: Connection, revision: int | None = None) -> StoredResult | None:
    statement = sa.select(*ResultRow.__table__.columns)
    if revision is not None:
        statement = statement.where(ResultRow.revision == revision)
    row = connection.execute(statement.order_by(ResultRow.revision.desc()).limit(1)).first()
    if row is None:
        return None
    return StoredResult(row.revision, row.at, json.loads(zlib.decompress(row.body)))


def _update_groups(
    connection: Connection,
    revision: int,
    body: Mapping[str, Any],
    before: Mapping[str, Any] | None,
) -> None:
    """Add new groups, and record from which groups they split and where lost ones went."""
    now_of = dict(zip(body["ids"], _group_of_each(body), strict=True))
    then_of = (
        {} if before is None else dict(zip(before["ids"], _group_of_each(before), strict=True))
    )
    ids = sorted({group for group in now_of.values() if group is not None})
    stored = connection.execute(sa.select(GroupRow.id, GroupRow.last_revision)).all()
    known = {row.id for row in stored}
    moves = Counter((then_of.get(name), group) for name, group in now_of.items())
    rows = [
        {
            "id": group,
            "name": "",
            "note": "",
            "first_revision": revision,
            "last_revision": revision,
            "came_from": sorted(
                then
                for (then, now), n in moves.items()
                if now == group and then is not None and 2 * n > sum(
                    m for (_, other), m in moves.items() if other == group
                )
            ),
            "merged_into": None,
        }
        for group in ids
        if group not in known
    ]  # fmt: skip
    if rows:
        connection.execute(sa.insert(GroupRow), rows)
    for part in log.chunks(ids):
        connection.execute(
            sa.update(GroupRow)
            .where(GroupRow.id.in_(part))
            .values(last_revision=revision, merged_into=None)
        )
    for group in sorted({then for then in then_of.values() if then is not None} - set(ids)):
        to = Counter(now_of.get(name) for name, then in then_of.items() if then == group)
        heir, _ = to.most_common(1)[0]
        connection.execute(sa.update(GroupRow).where(GroupRow.id == group).values(merged_into=heir))


def _group_of_each(body: Mapping[str, Any]) -> list[int | None]:
    """Return the lasting id of the group of each item, None for an item in no group."""
    return [group if group >= 0 else None for group in body["group_ids"]]
