"""The schema: what migrations make is what the models say, and an old project is brought up."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from clew.store import open_store
from clew.store._models import Base
from clew.store._sql_store import SqlStore


def test_migrations_make_what_the_models_say(address: str) -> None:
    with open_store(address) as store:
        assert isinstance(store, SqlStore)

        def differences(connection: sa.Connection) -> list[object]:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            return list(compare_metadata(context, Base.metadata))

        assert store._database.read(differences) == []


#: A migration that a later clew may have.
NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    with op.batch_alter_table("items") as table:
        table.add_column(sa.Column("color", sa.Text(), nullable=True))
"""


@pytest.mark.slow
def test_a_built_wheel_brings_an_old_project_up(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    build = f"import hatchling.build; print(hatchling.build.build_wheel({str(tmp_path)!r}))"
    name = subprocess.check_output([sys.executable, "-c", build], cwd=root, text=True).split()[-1]
    site = tmp_path / "site"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        wheel.extractall(site)

    def clew(*arguments: str) -> str:
        return subprocess.check_output(
            [sys.executable, "-m", "clew.cli", *arguments], cwd=tmp_path, text=True,
            env=os.environ | {"PYTHONPATH": str(site)},
        )  # fmt: skip

    (tmp_path / "words.csv").write_text("id,text\na,wren\nb,owl\n")
    (tmp_path / "answers.csv").write_text("kind,id_i,id_j,answer\npair,a,b,different\n")
    clew("init", "p", "--from", "words.csv")
    clew("import", "answers", "answers.csv", "-p", "p")
    before = clew("status", "-p", "p")
    # The same wheel, with a further migration: what was made above is now an old schema.
    versions = site / "clew" / "store" / "migrations" / "versions"
    (versions / "0002_color.py").write_text(NEXT)
    database = site / "clew" / "store" / "_database.py"
    text = database.read_text()
    assert 'SCHEMA: Final = "0001"' in text
    database.write_text(text.replace('SCHEMA: Final = "0001"', 'SCHEMA: Final = "0002"'))
    assert clew("status", "-p", "p") == before
    clew("migrate", "-p", "p", "--to", f"sqlite:///{tmp_path / 'other.db'}")
    assert clew("status", "-p", "p") == before
    for path in (tmp_path / "p" / ".clew" / "clew.db", tmp_path / "other.db"):
        engine = sa.create_engine(f"sqlite:///{path}")
        with engine.connect() as connection:
            version = connection.execute(sa.text("SELECT version_num FROM alembic_version"))
            assert version.scalar() == "0002"
            assert "color" in {column["name"] for column in sa.inspect(engine).get_columns("items")}
        engine.dispose()
