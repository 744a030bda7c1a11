"""Jobs in a database, the one worker that does them, its results, and groups that last."""

from __future__ import annotations

import json
import secrets
import socket
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from clew.exceptions import InvalidParameterError, LeaseLostError
from clew.store import _log as log
from clew.store._database import SqlPart, Transaction, record_of
from clew.store._models import ArtifactRow, GroupRow, JobRow, ResultRow, WorkerRow
from clew.store._people import hashed
from clew.store._records import WORKER_SECONDS, Group, Job, JobStatus, StoredResult, WorkerState

#: A job that has taken down this number of workers has failed.
MAX_ATTEMPTS = 3
#: Results that are kept.
N_RESULTS = 10


class SqlResults(SqlPart):
    """Groups, results and artifacts; `Store` says what each method promises."""

    def groups(self, *, also_gone: bool = False) -> list[Group]:
        statement = sa.select(*GroupRow.__table__.columns).order_by(GroupRow.id)
        if not also_gone:
            newest = sa.select(sa.func.max(ResultRow.revision)).scalar_subquery()
            statement = statement.where(GroupRow.last_revision == newest)
        return [record_of(Group, row) for row in self._database.rows(statement)]

    def name_group(self, id: int, *, name: str | None = None, note: str | None = None) -> Group:
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
            return record_of(Group, row)

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
            check_worker(connection, worker)
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
        row = {"name": name, "revision": revision, "sha256": hashed(content), "content": content}

        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            check_worker(connection, worker)
            connection.execute(sa.delete(ArtifactRow).where(ArtifactRow.name == name))
            connection.execute(sa.insert(ArtifactRow).values(row))
            transaction.topics.add("results")

        self._database.write(work)

    def artifact(self, name: str) -> tuple[int, bytes] | None:
        statement = sa.select(*ArtifactRow.__table__.columns).where(ArtifactRow.name == name)
        row = self._database.first(statement)
        if row is None or hashed(row.content) != row.sha256:
            return None
        return row.revision, row.content


class SqlWork(SqlPart):
    """Jobs and the worker; `Store` says what each method promises."""

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
        row = self._database.first(statement)
        return None if row is None else _job_of(row)

    def jobs(self, *, status: JobStatus | None = None, limit: int = 100) -> list[Job]:
        statement = sa.select(*JobRow.__table__.columns).order_by(JobRow.id.desc()).limit(limit)
        if status is not None:
            statement = statement.where(JobRow.status == status)
        return [_job_of(row) for row in self._database.rows(statement)]

    def take_job(self, worker: str) -> Job | None:
        def work(transaction: Transaction) -> Job | None:
            connection = transaction.connection
            check_worker(connection, worker)
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
        self, id: int, *, worker: str, result: Any = None, error: str | None = None
    ) -> None:
        def work(transaction: Transaction) -> None:
            check_worker(transaction.connection, worker)
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
            check_worker(connection, worker)
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
        row = self._database.first(sa.select(*WorkerRow.__table__.columns))
        if row is None:
            return None
        is_alive = row.token is not None and _is_alive(row.heartbeat, self._now())
        return WorkerState(row.name, row.heartbeat, is_alive, row.state, row.detail, row.revision)


def _is_alive(heartbeat: float, now: float) -> bool:
    """Whether a heartbeat is recent; one from the future is from before the clock was set back."""
    return abs(now - heartbeat) < WORKER_SECONDS


def check_worker(connection: Connection, worker: str | None) -> None:
    if worker is None:
        return
    holder = connection.execute(sa.select(WorkerRow.token)).scalar()
    if holder != worker:
        raise LeaseLostError(
            "another worker has taken the project over, because this one was silent for "
            f"{WORKER_SECONDS:g} seconds; nothing was written"
        )


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
    connection: Connection, revision: int, body: Mapping[str, Any], before: Mapping[str, Any] | None
) -> None:
    """Add new groups, and record from which groups they split and where lost ones went."""
    now_of, then_of = _group_of_each(body), {} if before is None else _group_of_each(before)
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


def _group_of_each(body: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the lasting id of the group of each item, None for an item in no group."""
    groups = (group if group >= 0 else None for group in body["group_ids"])
    return dict(zip(body["ids"], groups, strict=True))
