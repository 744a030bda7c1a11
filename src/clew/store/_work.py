"""Jobs in a database, and the one worker that does them."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from clew.exceptions import LeaseLostError
from clew.store._database import SqlPart, Transaction
from clew.store._models import JobRow, WorkerRow
from clew.store.base import WORKER_SECONDS, Job, JobStatus, WorkerState

#: A job that has taken down this number of workers has failed.
MAX_ATTEMPTS = 3


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
        statement = sa.select(*WorkerRow.__table__.columns)
        row = self._database.read(lambda connection: connection.execute(statement).first())
        if row is None:
            return None
        is_alive = row.token is not None and _is_alive(row.heartbeat, self._now())
        return WorkerState(
            row.name, row.heartbeat, is_alive, row.state, row.detail, row.revision
        )  # fmt: skip


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
