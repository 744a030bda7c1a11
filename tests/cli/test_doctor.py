"""A project that is copied, moved or damaged: backup, migrate, doctor."""

import json
import os
import sqlite3

import pytest
from PIL import Image
from tests.cli.projects import NAMES, clew, pair
from tests.programs import AS_OTHERS, run_program

from clew.collections import Project
from clew.store import open_store


@pytest.mark.slow
def test_backup_is_a_project(grouped, here):
    before = clew("export", "answers", "-p", "birds").stdout
    assert clew("backup", "-p", "birds", "-o", "copy").exit_code == 0
    with grouped.open_store() as store:
        store.append([pair(NAMES[7], NAMES[8], "same")])
    assert clew("export", "answers", "-p", "copy").stdout == before
    assert Project.open("copy").root == here / "birds"
    assert clew("backup", "-p", "birds", "-o", "copy").exit_code == 1
    done = clew("backup", "-p", "birds", "--json")
    assert json.loads(done.stdout)["folder"].startswith("birds-backup-")


def test_migrate(grouped, here):
    before = clew("export", "answers", "-p", "birds").stdout
    url = f"sqlite:///{here}/other.db"
    done = clew("migrate", "-p", "birds", "--to", url)
    assert done.exit_code == 0, done.output
    assert Project.open("birds").store == url
    assert clew("export", "answers", "-p", "birds").stdout == before
    with open_store(here / "birds" / ".clew" / "clew.db", create=False) as old:
        assert old.counts().n_answers == 3
    assert clew("migrate", "-p", "birds", "--to", url).exit_code == 1


@pytest.mark.slow
def test_migrate_to_what_is_no_store(grouped):
    done = clew("migrate", "-p", "birds", "--to", "postgresql://nobody@127.0.0.1:1/x")
    assert done.exit_code == 1
    assert "Traceback" not in done.output
    assert Project.open("birds").store == ""


def test_doctor(grouped, here):
    done = clew("doctor", "-p", "birds")
    assert done.exit_code == 0, done.output
    (here / "birds" / NAMES[0]).unlink()
    (here / "birds" / ".clew" / ".x.tmp").touch()
    os.utime(here / "birds" / ".clew" / ".x.tmp", (0, 0))
    done = clew("doctor", "-p", "birds", "--hashes")
    assert done.exit_code == 1
    assert "1 item has no file any more" in done.stdout
    assert "leftovers: 1 file" in done.stdout
    fixed = clew("doctor", "-p", "birds", "--fix")
    assert fixed.exit_code == 0, fixed.output
    assert clew("doctor", "-p", "birds").exit_code == 0
    with grouped.open_store() as store:
        assert store.counts().n_set_aside == 1


@pytest.mark.slow
def test_doctor_sees_changed_contents(grouped, here):
    Image.new("RGB", (9, 9)).save(here / "birds" / NAMES[0])
    assert clew("doctor", "-p", "birds").exit_code == 0
    done = clew("doctor", "-p", "birds", "--hashes", "--json")
    assert done.exit_code == 1
    (bad,) = [one for one in json.loads(done.stdout) if not one["is_well"]]
    assert "1 item changed" in bad["what"]


def test_doctor_of_a_damaged_database(grouped, here):
    path = here / "birds" / ".clew" / "clew.db"
    content = bytearray(path.read_bytes())
    content[4096:8192] = os.urandom(4096)
    path.write_bytes(content)
    for extra in ("-wal", "-shm"):
        path.with_name(path.name + extra).unlink(missing_ok=True)
    done = clew("doctor", "-p", "birds")
    assert done.exit_code == 1
    assert "restore a backup" in done.stdout
    assert "Traceback" not in done.output
    path.unlink()
    assert "is missing" in clew("doctor", "-p", "birds").stdout


AS_OTHERS_RUN = f"""{AS_OTHERS}
import runpy
runpy.run_module("clew.cli", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
def test_a_project_that_may_not_be_written_is_read(grouped, here):
    database = here / "birds" / ".clew" / "clew.db"
    paths = [database.parent, *database.parent.rglob("*")]
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        done = run_program("status", "-p", "birds", code=AS_OTHERS_RUN)
        assert done.returncode == 0, done.stderr
        assert "red/birds (3)" in done.stdout
        done = run_program("export", "groups", "-p", "birds", code=AS_OTHERS_RUN)
        assert done.stdout.startswith("id,group,name"), done.stderr
        done = run_program("review", "--no-preview", "-p", "birds", code=AS_OTHERS_RUN)
        assert "no answer looks wrong" in done.stderr
        done = run_program("doctor", "-p", "birds", code=AS_OTHERS_RUN)
        assert done.returncode == 0, done.stdout
        assert "which you may only read" in done.stdout
        done = run_program("ask", "-p", "birds", "--json", code=AS_OTHERS_RUN)
        assert "may not be written" in done.stderr
        assert "question" not in done.stdout
        database.chmod(0)
        done = run_program("doctor", "-p", "birds", code=AS_OTHERS_RUN)
        assert done.returncode == 1
        assert "give yourself the right to read it" in done.stdout
        assert "restore a backup" not in done.stdout
    finally:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)


@pytest.mark.slow
def test_doctor_prints_what_it_may_not_mend(grouped, here):
    folder = here / "birds" / ".clew"
    stray = folder / "torn.tmp"
    stray.write_bytes(b"?")
    os.utime(stray, (0, 0))
    (here / "birds" / NAMES[0]).unlink()
    paths = [folder, *folder.rglob("*")]
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        done = run_program("doctor", "-p", "birds", "--fix", code=AS_OTHERS_RUN)
    finally:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)
    assert done.returncode == 1
    for words in ("no file any more", "not set aside: ", "may not be written",
                  "leftovers: 1 file", "not removed: "):  # fmt: skip
        assert words in done.stdout, words
    assert stray.exists()


def test_a_newer_schema_is_refused(grouped, here):
    with sqlite3.connect(here / "birds" / ".clew" / "clew.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'zzzz'")
    connection.close()
    done = clew("status", "-p", "birds")
    assert done.exit_code == 1
    assert "newer" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert clew("doctor", "-p", "birds").exit_code == 1
