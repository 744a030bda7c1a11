"""The tables of a project."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import JSON, BigInteger, Boolean, Column, Double, Integer, LargeBinary, Text

revision = "0001"
down_revision = None

TOPICS = (
    "items", "log", "pool", "annotators", "groups", "results", "jobs", "settings", "worker",
)  # fmt: skip
#: SQLite counts up by itself only in columns of the type INTEGER.
SERIAL = BigInteger().with_variant(Integer, "sqlite")
OPTIONAL_JSON = JSON(none_as_null=True)
#: The tables of this revision; those of `clew.store._models` are of the newest one.
TABLES = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
sa.Table(
    "about",
    TABLES,
    Column("item", Integer, primary_key=True, autoincrement=False),
    Column("seq", SERIAL, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
sa.Table(
    "annotators",
    TABLES,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("is_active", Boolean, nullable=False),
    Column("code", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("kinds", OPTIONAL_JSON),
)
sa.Table(
    "artifacts",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
sa.Table(
    "changes",
    TABLES,
    Column("topic", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
)
sa.Table(
    "groups",
    TABLES,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("first_revision", BigInteger, nullable=False),
    Column("last_revision", BigInteger, nullable=False),
    Column("came_from", JSON, nullable=False),
    Column("merged_into", Integer),
)
sa.Table(
    "items",
    TABLES,
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("path", Text),
    Column("region", OPTIONAL_JSON),
    Column("text", Text),
    Column("columns", JSON, nullable=False),
    Column("meta", JSON, nullable=False),
    Column("hash", Text, index=True),
    Column("set_aside", Text),
)
sa.Table(
    "jobs",
    TABLES,
    Column("id", SERIAL, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("status", Text, nullable=False, index=True),
    Column("annotator", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("finished", Double),
    Column("result", OPTIONAL_JSON),
    Column("error", Text),
    Column("attempts", Integer, nullable=False),
    Column("worker", Text),
    sqlite_autoincrement=True,
)
sa.Table(
    "leases",
    TABLES,
    Column("token", Text, primary_key=True),
    Column("annotator", Text, nullable=False, index=True),
    Column("question", Text, nullable=False, index=True),
    Column("body", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("expires", Double, nullable=False),
    Column("state", Text, nullable=False),
    sa.Index("ix_leases_state_expires", "state", "expires"),
)
sa.Table(
    "log",
    TABLES,
    Column("seq", SERIAL, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("line", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("question", Text, index=True),
    Column("repeat", Integer, nullable=False),
    Column("value", BigInteger),
    Column("annotator", Text, nullable=False),
    Column("revokes", Text, index=True),
    sa.Index("ix_log_annotator_seq", "annotator", "seq"),
)
sa.Table(
    "pool",
    TABLES,
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("question", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("is_check", Boolean, nullable=False),
    Column("probability", Double),
    Column("score", Double, nullable=False),
    Column("revision", BigInteger, nullable=False),
)
sa.Table(
    "results",
    TABLES,
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
sa.Table(
    "settings",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("value", JSON, nullable=False),
)
sa.Table(
    "tokens",
    TABLES,
    Column("id", Text, primary_key=True),
    Column("secret", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("annotator", Text, index=True),
    Column("role", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double),
    Column("is_revoked", Boolean, nullable=False),
    Column("parent", Text, index=True),
    Column("scope", JSON, nullable=False),
)
sa.Table(
    "worker",
    TABLES,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("token", Text),
    Column("name", Text, nullable=False),
    Column("heartbeat", Double, nullable=False),
    Column("state", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
)


def upgrade() -> None:
    """Make all tables."""
    TABLES.create_all(op.get_bind(), checkfirst=False)
    changes = [{"topic": topic, "number": 0} for topic in TOPICS]
    op.bulk_insert(TABLES.tables["changes"], changes)
