"""The tables of a project."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Index, Integer, LargeBinary, MetaData, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

#: SQLite counts up by itself only in columns of the type INTEGER.
Serial = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {str: Text, dict[str, Any]: JSON, list[Any]: JSON, Any: JSON}  # noqa: RUF012


class ItemRow(Base):
    __tablename__ = "items"

    row: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    id: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    path: Mapped[str | None]
    region: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))
    text: Mapped[str | None]
    columns: Mapped[dict[str, Any]]
    meta: Mapped[dict[str, Any]]
    hash: Mapped[str | None] = mapped_column(index=True)
    set_aside: Mapped[str | None]


class LogRow(Base):
    """An entry: its line of answers.jsonl, and the fields that are searched."""

    __tablename__ = "log"
    __table_args__ = (Index("ix_log_annotator_seq", "annotator", "seq"),)

    seq: Mapped[int] = mapped_column(Serial, primary_key=True, autoincrement=False)
    id: Mapped[str] = mapped_column(unique=True)
    line: Mapped[str]
    kind: Mapped[str]
    question: Mapped[str | None] = mapped_column(index=True)
    """Key of the question, of answers only."""
    repeat: Mapped[int]
    value: Mapped[int | None] = mapped_column(BigInteger)
    annotator: Mapped[str]
    revokes: Mapped[str | None] = mapped_column(index=True)


class AboutRow(Base):
    """An item that an entry is about."""

    __tablename__ = "about"
    __table_args__ = ({"sqlite_with_rowid": False},)

    item: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    seq: Mapped[int] = mapped_column(Serial, primary_key=True, autoincrement=False)


class PoolRow(Base):
    __tablename__ = "pool"

    rank: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    question: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    body: Mapped[str]
    """The question, as JSON."""
    is_check: Mapped[bool]
    probability: Mapped[float | None]
    score: Mapped[float]
    revision: Mapped[int] = mapped_column(BigInteger)


class LeaseRow(Base):
    __tablename__ = "leases"
    __table_args__ = (Index("ix_leases_state_expires", "state", "expires"),)

    token: Mapped[str] = mapped_column(primary_key=True)
    annotator: Mapped[str] = mapped_column(index=True)
    question: Mapped[str] = mapped_column(index=True)
    body: Mapped[str]
    """The question, as JSON."""
    revision: Mapped[int] = mapped_column(BigInteger)
    position: Mapped[int]
    """Order in which one person is asked."""
    expires: Mapped[float]
    state: Mapped[str]


class AnnotatorRow(Base):
    __tablename__ = "annotators"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    role: Mapped[str]
    is_active: Mapped[bool]
    code: Mapped[str]
    note: Mapped[str]
    kinds: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))


class TokenRow(Base):
    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(primary_key=True)
    secret: Mapped[str] = mapped_column(unique=True)
    """SHA-256 of the secret."""
    kind: Mapped[str]
    annotator: Mapped[str | None] = mapped_column(index=True)
    role: Mapped[str]
    created: Mapped[float]
    expires: Mapped[float | None]
    is_revoked: Mapped[bool]
    parent: Mapped[str | None] = mapped_column(index=True)
    scope: Mapped[dict[str, Any]]


class GroupRow(Base):
    __tablename__ = "groups"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    note: Mapped[str]
    first_revision: Mapped[int] = mapped_column(BigInteger)
    last_revision: Mapped[int] = mapped_column(BigInteger)
    came_from: Mapped[list[Any]]
    merged_into: Mapped[int | None]


class ResultRow(Base):
    """A result: the JSON of `SessionResult.to_dict()`, compressed by zlib."""

    __tablename__ = "results"

    revision: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[float]
    body: Mapped[bytes] = mapped_column(LargeBinary)


class ArtifactRow(Base):
    __tablename__ = "artifacts"

    name: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    content: Mapped[bytes] = mapped_column(LargeBinary)


class JobRow(Base):
    __tablename__ = "jobs"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    kind: Mapped[str]
    arguments: Mapped[dict[str, Any]]
    status: Mapped[str] = mapped_column(index=True)
    annotator: Mapped[str]
    created: Mapped[float]
    finished: Mapped[float | None]
    result: Mapped[Any | None] = mapped_column(JSON(none_as_null=True))
    error: Mapped[str | None]
    attempts: Mapped[int]
    worker: Mapped[str | None]


class WorkerRow(Base):
    """The one row says who is the worker."""

    __tablename__ = "worker"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token: Mapped[str | None]
    name: Mapped[str]
    heartbeat: Mapped[float]
    state: Mapped[str]
    detail: Mapped[str]
    revision: Mapped[int] = mapped_column(BigInteger)


class SettingRow(Base):
    __tablename__ = "settings"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class ChangeRow(Base):
    __tablename__ = "changes"

    topic: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
