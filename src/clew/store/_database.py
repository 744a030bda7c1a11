"""Connections to a database: one writer, many readers, the schema, and what may go wrong."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import fields
from importlib import resources
from typing import Any, Final, NamedTuple, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from clew._files import needs, read_only_uri
from clew.exceptions import StoreError
from clew.store._models import ChangeRow
from clew.store._records import Topic
from clew.store.base import Store

#: Revision of the schema that this clew reads and writes.
SCHEMA: Final = "0001"
#: Writes that may join one transaction.
MAX_JOINED = 64
#: Seconds that SQLite waits for the writer of another process.
BUSY_SECONDS = 30
#: Seconds between two looks for changes: SQLite, where nothing tells of them; PostgreSQL, in case a
#: notification was lost.
POLL_SECONDS: Final = {"sqlite": 0.02, "postgresql": 1.0}
MAY_NOT_WRITE = "may not be written. Give yourself the right to, or copy the project elsewhere"

T = TypeVar("T")


class Transaction(NamedTuple):
    """An open transaction that writes, and the topics that it changes."""

    connection: Connection
    topics: set[Topic]


class Database:
    """A database with this version's tables; one thread joins all writes: one flush."""

    def __init__(self, url: URL, *, create: bool) -> None:
        self.schema = "" if url.query.get("project") is None else str(url.query["project"])
        self.url = url
        self.engine = _engine(url.difference_update_query(["project"]), self.schema)
        self.dialect = self.engine.dialect.name
        self.is_memory = self.dialect == "sqlite" and url.database in (None, "", ":memory:")
        self._connection_of_memory = threading.RLock()
        self._waiting: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        try:
            with errors_of(self.engine):
                self._prepare(create=create)
        except BaseException:
            self.engine.dispose()
            raise
        self._start(self._write_all)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Read in one transaction."""
        with errors_of(self.engine), self._exclusive(), self.engine.connect() as connection:
            return work(connection)

    def rows(self, statement: sa.Executable) -> Sequence[sa.Row[Any]]:
        """Return the rows of a statement."""
        return self.read(lambda connection: connection.execute(statement).all())

    def first(self, statement: sa.Executable) -> sa.Row[Any] | None:
        """Return the first row of a statement."""
        return self.read(lambda connection: connection.execute(statement).first())

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Write in one transaction, perhaps shared with others, and return when it is on disk."""
        future: Future[Any] = Future()
        if self._closing.is_set():
            raise StoreError(f"{self._name()} is closed; open the store again")
        self._waiting.put(_Work(work, future))
        return cast(T, future.result())

    def changes(self) -> dict[Topic, int]:
        """Read the counters."""
        rows = self.rows(sa.select(ChangeRow.topic, ChangeRow.number))
        return {cast(Topic, row.topic): row.number for row in rows}

    def wait(self, seconds: float) -> None:
        """Wait until this process or, on PostgreSQL, another one has written, or for a while."""
        if self.dialect == "postgresql" and len(self._threads) == 1:
            self._start(self._listen)
        with self._changed:
            self._changed.wait(min(seconds, POLL_SECONDS[self.dialect]))

    def close(self) -> None:
        """Write what waits, and close all connections."""
        if not self._closing.is_set():
            self._closing.set()
            self._waiting.put(None)
            for thread in self._threads:
                thread.join()
            self.engine.dispose()

    def _start(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=f"clew-store-{target.__name__}", daemon=True)
        thread.start()
        self._threads.append(thread)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Let one thread at a time use a database in memory: it has one connection."""
        if not self.is_memory:
            yield
            return
        with self._connection_of_memory:
            yield

    def _write_all(self) -> None:
        """Take works as they come, and commit those that wait together."""
        is_open = True
        while is_open:
            batch = [self._waiting.get()]
            while len(batch) < MAX_JOINED and batch[-1] is not None:
                try:
                    batch.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            is_open = batch[-1] is not None
            works = [work for work in batch if work is not None]
            if works:
                self._commit(works)

    def _commit(self, works: list[_Work]) -> None:
        outcomes: list[_Outcome] = []
        try:
            with errors_of(self.engine), self._exclusive(), self.transaction() as transaction:
                if len(works) == 1:
                    outcomes.append((works[0], works[0].call(transaction), None))
                else:
                    outcomes = [self._outcome(work, transaction) for work in works]
        except Exception as error:
            if len(works) > 1:  # find out whose error it is
                for work in works:
                    self._commit([work])
            else:
                works[0].future.set_exception(error)
            return
        for work, value, failure in outcomes:
            if failure is None:
                work.future.set_result(value)
            else:
                work.future.set_exception(failure)
        with self._changed:
            self._changed.notify_all()

    def _outcome(self, work: _Work, transaction: Transaction) -> _Outcome:
        """Do one of several works; an error of its own does not undo the others."""
        savepoint = transaction.connection.begin_nested()
        try:
            value = work.call(transaction)
        except SQLAlchemyError:
            raise
        except Exception as error:
            savepoint.rollback()
            return work, None, error
        savepoint.commit()
        return work, value, None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction that writes, and count what it changes."""
        if isinstance(self.engine.pool, sa.NullPool):  # SQLite would refuse the first change only
            raise StoreError(f"{self._name()} {MAY_NOT_WRITE}")
        with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            if self.dialect == "postgresql":
                # One writer at a time, as in SQLite: so `seq` grows in the order of commits.
                lock = sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(self._channel)))
                connection.execute(lock)
            transaction = Transaction(connection, set())
            yield transaction
            if transaction.topics:
                connection.execute(
                    sa.update(ChangeRow)
                    .where(ChangeRow.topic.in_(sorted(transaction.topics)))
                    .values(number=ChangeRow.number + 1)
                )
                if self.dialect == "postgresql":
                    connection.execute(sa.select(sa.func.pg_notify(self._channel, "")))

    @property
    def _channel(self) -> str:
        return f"clew_{self.schema}"

    def _listen(self) -> None:
        """Wake those who wait, when another process has written; connect again when that breaks."""
        import psycopg

        while not self._closing.is_set():
            try:
                with self.engine.connect().execution_options(
                    isolation_level="AUTOCOMMIT"
                ) as connection:
                    connection.exec_driver_sql(f'LISTEN "{self._channel}"')
                    driver = cast(
                        "psycopg.Connection[Any]", connection.connection.driver_connection
                    )
                    while not self._closing.is_set():
                        for _ in driver.notifies(timeout=POLL_SECONDS["postgresql"], stop_after=1):
                            with self._changed:
                                self._changed.notify_all()
                    connection.invalidate()
            except (SQLAlchemyError, psycopg.Error):
                self._closing.wait(POLL_SECONDS["postgresql"])

    def _prepare(self, *, create: bool) -> None:
        """Refuse a schema of another clew; make the tables where there are none."""
        with self._exclusive():
            found = self._schema_of_database()
            if found == SCHEMA:
                return
            if found is None and not create:
                raise StoreError(
                    f"{self._name()} holds no project; `clew init` makes one, or "
                    "open_store(…, create=True)"
                )
            if found is not None and (not found.isdigit() or found > SCHEMA):
                raise StoreError(
                    f"{self._name()} has the schema {found}, of a newer clew; this one knows "
                    f"schemas up to {SCHEMA}. Install the newer clew; nothing was changed"
                )
            from alembic import command
            from alembic.config import Config

            config = Config()
            folder = resources.files("clew.store") / "migrations"
            config.set_main_option("script_location", str(folder).replace("%", "%%"))
            with self.transaction() as transaction:
                if self._schema_of_database(transaction.connection) != SCHEMA:
                    config.attributes["connection"] = transaction.connection
                    command.upgrade(config, SCHEMA)

    def _schema_of_database(self, connection: Connection | None = None) -> str | None:
        if connection is None:
            with self.engine.connect() as opened:
                if self.schema:
                    is_there = sa.inspect(opened).has_schema(self.schema)
                    if not is_there:
                        opened.rollback()
                        with opened.begin():
                            opened.execute(sa.schema.CreateSchema(self.schema, if_not_exists=True))
                return self._schema_of_database(opened)
        if not sa.inspect(connection).has_table("alembic_version", schema=self.schema or None):
            return None
        return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()

    def _name(self) -> str:
        return name_of(self.engine)


class _Work(NamedTuple):
    call: Callable[[Transaction], Any]
    future: Future[Any]


_Outcome = tuple[_Work, Any, Exception | None]


def name_of(engine: Engine) -> str:
    """Name a database in a message: the file, or the address without its password."""
    if engine.dialect.name == "sqlite":
        return str(engine.url.database or "the store in memory")
    return engine.url.render_as_string(hide_password=True)


@contextmanager
def errors_of(engine: Engine) -> Iterator[None]:
    """Turn errors of the database into `StoreError`, with what to do."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"{name_of(engine)}: {_advice(str(error.orig), error)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"{name_of(engine)}: {error}") from error


def _advice(message: str, error: DBAPIError) -> str:
    text = message.strip().splitlines()[0] if message.strip() else type(error.orig).__name__
    for sign, advice in (
        ("disk is full", "nothing was written. Make room and try again"),
        ("disk I/O error", "nothing was written. Look at the disk, and try again"),
        ("No space left", "nothing was written. Make room and try again"),
        ("readonly", f"it {MAY_NOT_WRITE}"),
        ("read-only", f"it {MAY_NOT_WRITE}"),
        ("unable to open", "there is no such file or folder, or you may not read it"),
        ("locked", f"another program has kept it locked for {BUSY_SECONDS} seconds; try again"),
        ("malformed", "the file is damaged. Restore a backup, or import answers.jsonl anew"),
        ("not a database", "this is no SQLite file. Give the path of a project"),
    ):
        if sign in text:
            return f"{text}: {advice}"
    if error.connection_invalidated or "connect" in text.casefold():
        return f"{text}: the server is away. Send again when it is back; entries are kept once"
    return text


def _engine(url: URL, schema: str) -> Engine:
    if url.get_backend_name() == "sqlite":
        path = "" if url.database in (None, "", ":memory:") else str(url.database)
        options: dict[str, Any] = {"timeout": BUSY_SECONDS, "check_same_thread": False}
        if path and read_only_uri(path):

            def connect() -> sqlite3.Connection:
                # Looked at anew each time: somebody who may write it may have begun to.
                return sqlite3.connect(
                    read_only_uri(path) or path, BUSY_SECONDS, check_same_thread=False, uri=True
                )

            engine = sa.create_engine(url, creator=connect, poolclass=sa.NullPool)
            event.listen(engine, "connect", _begin_explicitly)
        else:
            pool = sa.QueuePool if path else sa.StaticPool
            engine = sa.create_engine(url, connect_args=options, poolclass=pool)
            event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
        return engine
    if url.get_backend_name() != "postgresql":
        raise StoreError(
            f"{url.render_as_string(hide_password=True)}: a store is SQLite or PostgreSQL"
        )
    with needs("PostgreSQL needs psycopg: pip install 'clew[postgres]'"):
        import psycopg  # noqa: F401
    options = {"options": f"-c search_path={schema}"} if schema else {}
    return sa.create_engine(
        url.set(drivername="postgresql+psycopg"), connect_args=options, pool_pre_ping=True
    )


def _begin_explicitly(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin in `_on_begin`


def _on_connect(connection: Any, record: object) -> None:
    _begin_explicitly(connection, record)
    connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _on_begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def record_of(cls: type[T], row: sa.Row[Any]) -> T:
    """Make a record of a row that has its fields as columns; lists become tuples."""
    found = {field.name: row._mapping[field.name] for field in fields(cast(Any, cls))}
    return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in found.items()})


def values_of(record: Any) -> dict[str, Any]:
    """Return the fields of a record as JSON has them."""
    found = {field.name: getattr(record, field.name) for field in fields(record)}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}


class SqlPart(Store):
    """A part of a store in a database; `SqlStore` has all of them."""

    _database: Database
    _now: Callable[[], float]
