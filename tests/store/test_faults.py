"""Crashes, full disks and restarts: nothing that was acknowledged is lost, nothing is twice."""

import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.programs import AS_OTHERS, Program
from tests.store.numbered import N_ITEMS, PAIRS, answer_of

from clew.answers import Question
from clew.exceptions import ClewError, StoreError
from clew.items import Item
from clew.store import Store, Suggestion, open_store


def make(address: str) -> None:
    with open_store(address) as store:
        store.add_items([Item(f"i{row}", "text", text=str(row)) for row in range(N_ITEMS)])


#: Tells answers from a number on, and prints each number when it is acknowledged.
TELL = """
import sys
from tests.store.numbered import answer_of
from clew.store import open_store

address, annotator, first, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open_store(address, create=False) as store:
    for number in range(first, end):
        (status,), _ = store.answer_and_lease(annotator, [answer_of(number, annotator)], 4)
        print(number, status, flush=True)
"""


class Started(Program):
    """Python code that prints to a pipe."""

    def __init__(self, code: str, *arguments: object) -> None:
        end, start = os.pipe()
        super().__init__(*arguments, code=code, stdout=start)
        os.close(start)
        self.stdout = open(end)  # noqa: SIM115

    def output(self) -> str:
        """Return what it printed until its end."""
        with self.stdout:
            return self.stdout.read()


def tell_with_kills(address: str, n: int, n_kills: int) -> list[tuple[int, str]]:
    """Tell `n` answers through processes that are killed at random moments.

    Return the number and the status of each that was acknowledged.
    """
    draw, acknowledged, kills = random.Random(0), list[tuple[int, str]](), 0
    while len(acknowledged) < n:
        process = Started(TELL, address, "ann", len(acknowledged), n)
        left = draw.randint(1, n // n_kills) if kills < n_kills else n
        for line in process.stdout:
            number, status = line.split()
            acknowledged.append((int(number), status))
            left -= 1
            if left == 0:
                time.sleep(draw.random() * 0.01)  # in the middle of the next one
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                break
        process.stdout.close()
        process.wait()
    return acknowledged


def ids_in_log(address: str) -> list[str]:
    with open_store(address, create=False) as store:
        return [each.entry.id for each in store.log()]


#: Merges eight items with a first one, by as many edits, and says so; again and again.
MERGE = """
import sys
from clew.answers import Edit
from clew.store import open_store

with open_store(sys.argv[1], create=False) as store:
    for number in range(int(sys.argv[2]), 10_000):
        edits = [
            Edit("merge", ["i0"], [f"i{other}"], "ann", id=f"merge{number:06}-{other}")
            for other in range(1, 9)
        ]
        store.append(edits)
        print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("address", ["sqlite", "postgres"], indirect=True)
def test_a_merge_of_several_groups_is_there_whole_or_not_at_all(address: str) -> None:
    make(address)
    draw, begun = random.Random(1), 0
    for _ in range(4):
        process = Started(MERGE, address, begun)
        for number in map(int, process.stdout):
            if number == begun + 4:
                time.sleep(draw.random() * 0.01)  # in the middle of one of the next
                os.kill(process.pid, signal.SIGKILL)
                break
        process.stdout.close()
        process.wait()
        merges: dict[str, int] = {}
        for name in ids_in_log(address):
            merge, _, _ = name.partition("-")
            merges[merge] = merges.get(merge, 0) + 1
        assert set(merges.values()) == {8}
        assert len(merges) >= begun + 5  # those that were acknowledged, in order
        assert sorted(merges) == [f"merge{number:06}" for number in range(len(merges))]
        begun = len(merges)


@pytest.mark.parametrize(
    ("n", "n_kills"), [(60, 2), pytest.param(1000, 25, marks=pytest.mark.slow)]
)
def test_no_answer_is_lost_or_twice_when_the_server_is_killed(
    tmp_path: Path, n: int, n_kills: int
) -> None:
    address = str(tmp_path / "clew.db")
    make(address)
    acknowledged = tell_with_kills(address, n, n_kills)
    assert [number for number, _ in acknowledged] == list(range(n))
    # A duplicate was written, but its process was killed before it could say so.
    assert {status for _, status in acknowledged} <= {"stored", "duplicate"}
    assert ids_in_log(address) == [answer_of(number).id for number in range(n)]
    with sqlite3.connect(address) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
def test_no_answer_is_lost_on_postgres_when_clients_are_killed(postgres: str) -> None:
    address = f"{postgres}&project=killed"
    make(address)
    acknowledged = tell_with_kills(address, 1000, 25)
    assert [number for number, _ in acknowledged] == list(range(1000))
    assert {status for _, status in acknowledged} <= {"stored", "duplicate"}
    assert ids_in_log(address) == [answer_of(number).id for number in range(1000)]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_two_servers_write_at_once(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = str(tmp_path / "clew.db")
    if where == "postgres":
        address = f"{request.getfixturevalue('postgres')}&project=two"
    make(address)
    with open_store(address) as store:
        store.replace_pool(
            Suggestion(Question("pair", (), "asked", (f"i{i}", f"i{j}"))) for i, j in PAIRS[200:300]
        )
    seen: list[int] = []
    processes = [Started(TELL, address, name, 0, 60) for name in ("ann", "bob")]
    with open_store(address) as store:  # a reader that never misses an entry
        while any(process.poll() is None for process in processes):
            seen += [each.seq for each in store.log(after=seen[-1] if seen else 0)]
            time.sleep(0.02)
        seen += [each.seq for each in store.log(after=seen[-1] if seen else 0)]
        outputs = [process.output() for process in processes]
        assert all(output.count("stored") == 60 for output in outputs)
        assert seen == [each.seq for each in store.log()] == list(range(1, 121))
        held = [lease.question for lease in store.leases()]
        assert len(held) == 8
        assert len(set(held)) == 8


@pytest.mark.slow
def test_twenty_people_at_once_share_commits(tmp_path: Path) -> None:
    address = str(tmp_path / "clew.db")
    make(address)
    with open_store(address) as store:

        def tell(name: str) -> None:
            for number in range(10):
                (status,), _ = store.answer_and_lease(name, [answer_of(number, name)], 0)
                assert status == "stored"

        people = [threading.Thread(target=tell, args=(f"p{k}",), daemon=True) for k in range(20)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        assert store.counts().n_answers == 200
        assert store.changes()["log"] < 200  # many answers joined one transaction


FULL = """
import resource, signal, sys
from tests.store.numbered import answer_of
from clew.exceptions import StoreError
from clew.store import open_store

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
number = 0
with open_store(sys.argv[1], create=False) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    try:
        while True:
            store.append([answer_of(number)])
            number += 1
    except StoreError as error:
        assert "nothing was written" in str(error), error
    assert store.last_seq() == number, (store.last_seq(), number)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    store.append([answer_of(number)])  # there is room again
print(number + 1)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit of file sizes here")
def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    address = str(tmp_path / "clew.db")
    make(address)
    process = Started(FULL, address, 400_000)
    n = int(process.output())
    assert process.wait() == 0
    assert n > 3
    with open_store(address, create=False) as store:
        assert [each.entry.id for each in store.log()] == [answer_of(at).id for at in range(n)]


READ_ONLY = f"""{AS_OTHERS}
import sys
from tests.store.numbered import answer_of
from clew.exceptions import StoreError
from clew.store import open_store

try:
    with open_store(sys.argv[1], create=False) as store:
        print("read", store.counts().n_answers)
        store.append([answer_of(9)])
except StoreError as error:
    print(error)
"""


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[tuple[Path, Callable[[], str]]]:
    """A store, and what somebody reads and is told who may write neither file nor folder."""
    folder = tmp_path / "sealed"
    folder.mkdir()
    make(str(folder / "clew.db"))
    yield folder / "clew.db", lambda: read_as_others(folder)
    folder.chmod(0o755)


def read_as_others(folder: Path) -> str:
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    names = sorted(path.name for path in folder.iterdir())
    process = Started(READ_ONLY, folder / "clew.db")
    output = process.output()
    assert process.wait() == 0
    assert sorted(path.name for path in folder.iterdir()) == names
    return output


def test_a_store_that_may_not_be_written_is_read(sealed: tuple[Path, Callable[[], str]]) -> None:
    _, read = sealed
    read_first, refused = read().splitlines()
    assert read_first == "read 0"
    assert "may not be written" in refused


@pytest.mark.slow
def test_of_a_store_that_is_open_elsewhere_the_last_entries_are_read(
    sealed: tuple[Path, Callable[[], str]],
) -> None:
    path, read = sealed
    with open_store(path) as store:
        store.append([answer_of(0)])
        assert "read 1\n" in read()
        path.parent.chmod(0o755)
        left = path.with_name("clew.db-wal").read_bytes()
    # as after a kill, copied without the file that is shared between processes
    path.with_name("clew.db-wal").write_bytes(left)
    (told,) = read().splitlines()
    assert "clew.db-wal holds the last entries" in told
    assert "Copy both files" in told


@pytest.mark.slow
def test_a_schema_of_a_newer_clew_is_refused(address: str) -> None:
    if address == ":memory:":
        pytest.skip("a store in memory has no file")
    make(address)
    import sqlalchemy as sa

    from clew.store._sql_store import SqlStore

    with open_store(address) as store:
        assert isinstance(store, SqlStore)
        store._database.write(
            lambda transaction: transaction.connection.execute(
                sa.text("UPDATE alembic_version SET version_num = '9999'")
            )
        )
    for _ in range(2):
        with pytest.raises(StoreError, match=r"schema 9999, of a newer clew.*nothing was changed"):
            open_store(address)


def test_what_is_no_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="clew init"):
        open_store(tmp_path / "clew.db", create=False)
    assert not (tmp_path / "clew.db").exists()
    with pytest.raises(StoreError, match="is a folder"):
        open_store(tmp_path)
    other = tmp_path / "photo.jpg"
    other.write_bytes(b"\xff\xd8" + bytes(10_000))
    with pytest.raises(StoreError, match="no SQLite file"):
        open_store(other)
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE mine (a)")
    with pytest.raises(StoreError, match="holds no project"):
        open_store(tmp_path / "other.db", create=False)
    with pytest.raises(StoreError, match="SQLite or PostgreSQL"):
        open_store("mysql+pymysql://host/db")
    with pytest.raises(StoreError, match="no such file or folder"):
        open_store(tmp_path / "nowhere" / "clew.db")
    with pytest.raises(StoreError, match="the server is away"):
        open_store("postgresql://nobody@localhost:1/none")


def test_a_password_is_never_shown(postgres: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://nobody:hunter2@localhost:1/none")
    assert "hunter2" not in str(caught.value)


def test_damaged_artifacts_are_not_returned(tmp_path: Path) -> None:
    address = str(tmp_path / "clew.db")
    with open_store(address) as store:
        store.put_artifact("map", 3, b"content")
    with sqlite3.connect(address) as connection:
        connection.execute("UPDATE artifacts SET content = ?", (b"kontent",))
    with open_store(address) as store:
        assert store.artifact("map") is None


@pytest.mark.slow
def test_postgres_is_restarted_under_load(own_postgres: Any) -> None:
    import psutil

    address = own_postgres.get_uri()
    make(address)
    n_failed = [0]
    stores = [open_store(address), open_store(address)]

    def tell(store: Store, name: str) -> None:
        number = 0
        while number < 150:
            try:
                (status,), _ = store.answer_and_lease(name, [answer_of(number, name)], 0)
            except ClewError:
                n_failed[0] += 1
                time.sleep(0.05)  # as an outbox does: the same entry again
            else:
                assert status in ("stored", "duplicate")
                number += 1
                time.sleep(0.01)

    people = [
        threading.Thread(target=tell, args=(stores[k % 2], f"p{k}"), daemon=True) for k in range(4)
    ]
    for person in people:
        person.start()
    time.sleep(0.7)
    own_postgres.stop()
    time.sleep(0.3)
    own_postgres.start()
    time.sleep(0.7)
    # One of its processes is killed: it ends all others, and recovers from its own log.
    psutil.Process(own_postgres.get_pid()).children()[-1].kill()
    for person in people:
        person.join(60)
        assert not person.is_alive()
    assert n_failed[0] > 0
    ids = [each.entry.id for each in stores[0].log()]
    assert sorted(ids) == sorted(
        answer_of(number, f"p{k}").id for k in range(4) for number in range(150)
    )
    for store in stores:
        store.close()
