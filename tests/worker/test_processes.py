"""Workers in processes of their own that run out of memory, or are killed in a fit."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from clew.answers import Answer
from clew.collections import Project
from clew.items import Item
from clew.store import Store
from clew.worker import WorkerProcess

resource = pytest.importorskip("resource", reason="no limits of memory here")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="no limits of others here"),
]
N, N_MORE = 400, 1600


def until(is_done: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.05)


def size_of(pid: int) -> int:
    """Return the address space of a process in bytes."""
    (line,) = (
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmSize")
    )  # fmt: skip
    return int(line.split()[1]) * 1024


def said(store: Store) -> tuple[str, str]:
    worker = store.worker()
    return ("", "") if worker is None else (worker.state, worker.detail)


IDS = [f"i{row}" for row in range(N + N_MORE)]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with vectors of 2,000 items."""
    made = Project.create(tmp_path)
    X = np.random.RandomState(0).randn(len(IDS), 8) + 6 * np.eye(4, 8)[np.arange(len(IDS)) % 4]
    made.add_vectors(IDS, X)
    return made


def tell(store: Store, n: int) -> None:
    """Answer questions, as people who are asked whatever the worker does."""
    for _ in range(n):
        (lease,) = store.lease("ann", 1)
        answer = Answer(lease.question, "different", "ann", origin="asked")
        assert store.answer_and_lease("ann", [answer], 1).statuses == ("stored",)


def test_a_worker_without_memory_says_so_and_goes_on_when_there_is_some(project: Project) -> None:
    place = str(project.folder.parent)
    with project.open_store() as store:
        store.add_items(Item(name, "vector") for name in IDS[:N])
        with WorkerProcess(place) as process:
            until(lambda: store.result_revision() is not None)
            pid = process.pid
            assert pid is not None
            _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
            resource.prlimit(pid, resource.RLIMIT_AS, (size_of(pid) + 2**22, hard))
            store.add_items(Item(name, "vector") for name in IDS[N:])
            until(lambda: said(store)[0] == "failed")
            assert said(store)[1].startswith("there was not enough memory")
            assert said(store)[1].endswith("; it tries again")
            tell(store, 3)
            resource.prlimit(pid, resource.RLIMIT_AS, (hard, hard))
            until(lambda: store.result_revision() == store.last_seq() == 3, 300)
            result = store.result()
            assert result is not None
            assert list(result.body["ids"]) == IDS
            assert (process.pid, process.n_deaths) == (pid, 0)


def test_of_two_workers_one_is_killed_in_a_fit_and_nothing_is_lost(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    place = str(project.folder.parent)
    with project.open_store() as store:
        store.add_items(Item(name, "vector") for name in IDS)
        with WorkerProcess(place) as first:
            until(lambda: said(store)[0] == "warming up")
            with WorkerProcess(place) as second:
                until(lambda: said(store)[1].startswith("making the model"))
                tell(store, 5)
                killed = first.pid
                assert killed is not None
                os.kill(killed, signal.SIGKILL)
                tell(store, 5)
                until(lambda: store.result_revision() == store.last_seq() == 10, 300)
                worker = store.worker()
                assert worker is not None
                # The one that waited, or the first one's successor: whoever asked first.
                assert int(worker.name.split()[-1]) in {first.pid, second.pid} - {killed}
                assert (first.n_deaths, second.n_deaths) == (1, 0)
    assert "was ended by SIGKILL, perhaps because memory ran out; it is started" in caplog.text
