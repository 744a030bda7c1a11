"""The tables of a project."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

#: SQLite counts up by itself only in columns of the type INTEGER.
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TOPICS = (
    "items", "log", "pool", "annotators", "groups", "results", "jobs", "settings", "worker",
)  # fmt: skip


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "about",
        sa.Column("item", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", SERIAL, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("item", "seq", name="pk_about"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "annotators",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("kinds", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_annotators"),
        sa.UniqueConstraint("name", name="uq_annotators_name"),
    )
    op.create_table(
        "artifacts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_artifacts"),
    )
    op.create_table(
        "changes",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("topic", name="pk_changes"),
    )
    op.create_table(
        "groups",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("first_revision", sa.BigInteger(), nullable=False),
        sa.Column("last_revision", sa.BigInteger(), nullable=False),
        sa.Column("came_from", sa.JSON(), nullable=False),
        sa.Column("merged_into", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_groups"),
    )
    op.create_table(
        "items",
        sa.Column("row", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("region", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("meta", sa.JSON(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=True),
        sa.Column("set_aside", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("row", name="pk_items"),
        sa.UniqueConstraint("id", name="uq_items_id"),
    )
    op.create_index("ix_items_hash", "items", ["hash"])
    op.create_table(
        "jobs",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("finished", sa.Double(), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_status", "jobs", ["status"])
    op.create_table(
        "leases",
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("token", name="pk_leases"),
    )
    op.create_index("ix_leases_annotator", "leases", ["annotator"])
    op.create_index("ix_leases_question", "leases", ["question"])
    op.create_index("ix_leases_state_expires", "leases", ["state", "expires"])
    op.create_table(
        "log",
        sa.Column("seq", SERIAL, autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=True),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=True),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("revokes", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name="pk_log"),
        sa.UniqueConstraint("id", name="uq_log_id"),
    )
    op.create_index("ix_log_annotator_seq", "log", ["annotator", "seq"])
    op.create_index("ix_log_question", "log", ["question"])
    op.create_index("ix_log_revokes", "log", ["revokes"])
    op.create_table(
        "pool",
        sa.Column("rank", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("is_check", sa.Boolean(), nullable=False),
        sa.Column("probability", sa.Double(), nullable=True),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("rank", name="pk_pool"),
        sa.UniqueConstraint("question", name="uq_pool_question"),
    )
    op.create_table(
        "results",
        sa.Column("revision", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("revision", name="pk_results"),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_settings"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=True),
        sa.Column("is_revoked", sa.Boolean(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=True),
        sa.Column("scope", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("secret", name="uq_tokens_secret"),
    )
    op.create_index("ix_tokens_annotator", "tokens", ["annotator"])
    op.create_index("ix_tokens_parent", "tokens", ["parent"])
    op.create_table(
        "worker",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("token", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("heartbeat", sa.Double(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_worker"),
    )
    op.bulk_insert(
        sa.table("changes", sa.column("topic", sa.Text), sa.column("number", sa.BigInteger)),
        [{"topic": topic, "number": 0} for topic in TOPICS],
    )
