"""The worker: it learns what the log says, and dies without harm."""

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.manifold import trustworthiness
from tests.programs import run_program

from clew.answers import DIFFERENT, SAME, Answer, Edit, Question
from clew.exceptions import LeaseLostError
from clew.items import Item
from clew.session import Session
from clew.store import Store, open_store
from clew.worker import Rows, Worker, _worker as module
from clew.worker._jobs import places, preview

pytestmark = pytest.mark.usefixtures("fair_search")

N, N_GROUPS = 48, 4
LABELS = np.arange(N) % N_GROUPS
X = np.random.RandomState(0).randn(N, 5) * 0.6 + 4 * np.eye(N_GROUPS, 5)[LABELS]
ITEMS = [Item(f"i{row}", "text", text=str(row)) for row in range(N)]


def rows(items: Sequence[Item]) -> Rows:
    ids = [item.id for item in items]
    return Rows(ids, {"X": X[[int(name[1:]) for name in ids]]})


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if "learned" in request.fixturenames:
        shutil.copytree(request.getfixturevalue("twelve_learned"), tmp_path, dirs_exist_ok=True)
    with open_store(tmp_path / "clew.db") as opened:
        if "learned" not in request.fixturenames:
            opened.add_items(ITEMS[:40])
        yield opened


def answer(question: Question, annotator: str = "ann") -> Answer:
    i, j = (int(str(name)[1:]) for name in question.ids or ())
    value = SAME if LABELS[i] == LABELS[j] else DIFFERENT
    return Answer(question, value, annotator, origin=question.origin)


def answer_some(store: Store, n: int) -> None:
    leases = store.lease("ann", 2)
    for _ in range(n):
        leases = store.answer_and_lease("ann", [answer(leases[0].question)], 2).leases


@pytest.fixture(scope="module")
def twelve_learned(fair_search: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and the cache of a worker that has learned twelve answers."""
    folder = tmp_path_factory.mktemp("learned")
    with open_store(folder / "clew.db") as opened:
        opened.add_items(ITEMS[:40])
        worker = Worker(opened, rows, cache=folder / "cache")
        worker.run(until_rest=True)
        answer_some(opened, 12)
        worker.run(until_rest=True)
    return folder


@pytest.fixture
def learned(store: Store, tmp_path: Path) -> Worker:
    """A worker that continues from there."""
    worker = Worker(store, rows, cache=tmp_path / "cache")
    worker.run(until_rest=True)
    return worker


@pytest.mark.slow
def test_people_are_asked_before_there_is_a_model_and_their_answers_are_no_checks(
    store: Store,
) -> None:
    begun = threading.Event()

    def slow(items: Sequence[Item]) -> Rows:
        begun.set()
        while not stop.is_set() and len(asked) < 30:
            time.sleep(0.01)
        return rows(items)

    stop, asked = threading.Event(), list[Question]()
    thread = threading.Thread(target=Worker(store, slow).run, args=(stop,), daemon=True)
    thread.start()
    assert begun.wait(30)
    end = time.monotonic() + 60
    while len(asked) < 30 and time.monotonic() < end:
        for lease in store.lease("ann", 4):
            asked.append(lease.question)
            store.answer_and_lease("ann", [answer(lease.question)], 0)
    assert len(asked) >= 30
    assert {question.origin for question in asked if not question.repeat} == {"imported"}
    assert len(set(asked)) == len(asked)
    while store.result_revision() is None and time.monotonic() < end:
        time.sleep(0.05)
    stop.set()
    thread.join()
    result = store.result()
    assert result is not None
    assert result.body["n_answers"] >= 30
    assert {each.question.origin for each in store.pool()} <= {"asked", "random"}


@pytest.mark.slow
def test_results_say_what_the_session_says_and_keep_the_ids_of_groups(
    store: Store, learned: Worker
) -> None:
    result = store.result()
    assert result is not None
    assert result.revision == store.last_seq() == 12
    session = Session(**rows(ITEMS[:40]).arguments, random_state=0)
    session.apply([each.entry for each in store.log()])
    assert result.body["labels"] == session.result().labels_.tolist()
    by_group = dict(zip(result.body["ids"], result.body["group_ids"], strict=True))
    assert {group.id for group in store.groups()} == set(by_group.values())
    store.name_group(by_group["i0"], name="first")
    answer_some(store, 6)
    learned.run(until_rest=True)
    newest = store.result()
    assert newest is not None
    assert newest.body["group_ids"] == result.body["group_ids"]
    assert {group.name for group in store.groups()} == {"first", ""}


@pytest.mark.slow
def test_a_worker_that_starts_again_continues_from_its_snapshot(
    store: Store, learned: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored: list[int] = []
    restore = Session.restore.__func__  # type: ignore[attr-defined]

    def spy(cls: type[Session], X: object, snapshot: bytes, *a: object, **k: object) -> Session:
        restored.append(len(snapshot))
        session: Session = restore(cls, X, snapshot, *a, **k)
        return session

    monkeypatch.setattr(Session, "restore", classmethod(spy))
    pool = [each.question for each in store.pool()]
    again = Worker(store, rows, cache=tmp_path / "cache")
    again.run(until_rest=True)
    assert len(restored) == 1
    assert [each.question for each in store.pool()] == pool
    assert again.revision == 12


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "changed", "foreign", "gone"])
def test_a_damaged_snapshot_is_made_anew_from_the_log(
    store: Store, learned: Worker, tmp_path: Path, damage: str
) -> None:
    before = store.result()
    path = tmp_path / "cache" / "session.snapshot"
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        changed = bytearray(content)
        changed[-100] ^= 1
        path.write_bytes(
            {"cut": content[:1000], "changed": bytes(changed), "foreign": b"{}\nx"}[damage]
        )
    Worker(store, rows, cache=tmp_path / "cache").run(until_rest=True)
    after = store.result()
    assert before is not None
    assert after is not None
    assert after.body["group_ids"] == before.body["group_ids"]
    assert json.loads(path.read_bytes().partition(b"\n")[0])


@pytest.mark.slow
def test_items_that_come_later_are_placed_and_groups_stay(store: Store, learned: Worker) -> None:
    before = store.result()
    store.add_items(ITEMS)
    learned.run(until_rest=True)
    after = store.result()
    assert before is not None
    assert after is not None
    assert after.body["ids"] == [item.id for item in ITEMS]
    assert after.body["group_ids"][:40] == before.body["group_ids"]


class Impatient(threading.Event):
    """A worker that waits for this waits a tenth of the time."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(None if timeout is None else timeout / 10)


@pytest.mark.slow
def test_an_error_is_told_and_tried_again_while_people_are_asked(store: Store) -> None:
    n_failures = [2]

    def failing(items: Sequence[Item]) -> Rows:
        if n_failures[0]:
            n_failures[0] -= 1
            raise MemoryError
        return rows(items)

    stop = Impatient()
    thread = threading.Thread(target=Worker(store, failing).run, args=(stop,), daemon=True)
    thread.start()
    states, end = set(), time.monotonic() + 60
    while store.result_revision() is None and time.monotonic() < end:
        worker = store.worker()
        if worker is not None:
            states.add((worker.state, worker.detail))
        time.sleep(0.02)
    assert ("failed", "there was not enough memory; it tries again") in states
    assert store.result_revision() is not None
    assert len(store.lease("ann", 4)) == 4
    stop.set()
    thread.join()


def test_a_worker_waits_for_two_items() -> None:
    with open_store(":memory:") as few:
        few.add_items([Item("a", "text", text="a")])
        worker = Worker(few)
        worker.run(until_rest=True)
        state = few.worker()
        assert state is not None
        assert state.state == "waiting"
        assert few.result_revision() is None
        few.add_items([Item("b", "text", text="b")])
        worker.run(until_rest=True)
        assert few.result_revision() == 0


@pytest.mark.slow
def test_a_second_worker_waits_and_takes_over(store: Store) -> None:
    first = store.acquire_worker("first")
    with pytest.raises(LeaseLostError, match="another worker has this project"):
        Worker(store, rows).run(until_rest=True)
    stop = threading.Event()
    thread = threading.Thread(
        target=Worker(store, rows, name="second").run, args=(stop,), daemon=True
    )
    thread.start()
    time.sleep(0.2)
    assert store.result_revision() is None
    store.release_worker(str(first))
    end = time.monotonic() + 60
    while store.result_revision() is None and time.monotonic() < end:
        time.sleep(0.02)
    stop.set()
    thread.join()
    state = store.worker()
    assert state is not None
    assert (state.name, state.is_alive) == ("second", False)
    assert store.result_revision() is not None


@pytest.mark.slow
def test_a_preview_is_about_the_edit_of_the_person(
    learned: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How much an edit counts depends on who makes it: without a name it may move nothing."""
    seen = []
    monkeypatch.setattr(
        learned.session, "preview", lambda entry, previous: seen.append(entry) or {}
    )
    said = {"kind": "merge", "items": ["i0"], "target": ["i1"], "annotator": "ann"}
    preview(learned, said)
    assert seen == [Edit("merge", ["i0"], ["i1"], "ann")]


def test_jobs(store: Store, learned: Worker) -> None:
    def done(kind_of_job: str, /, **arguments: object) -> dict[str, object]:
        number = store.add_job(kind_of_job, arguments, annotator="ann")
        learned.run(until_rest=True)
        job = store.job(number)
        assert job is not None
        assert job.status == "done", job.error
        result: dict[str, object] = job.result
        return result

    seen = done("preview", kind="merge", items=["i0"], target=["i1"])
    assert seen["revision"] == 12
    assert store.last_seq() == 12  # nothing was changed
    group = store.groups()[0].id
    parts = done("resplit", group=group, n=2)["parts"]
    result = store.result()
    assert result is not None
    members = {
        name for name, of in zip(result.body["ids"], result.body["group_ids"], strict=True)
        if of == group
    }  # fmt: skip
    assert isinstance(parts, list)
    assert len(parts) == 2
    assert {name for part in parts for name in part} == members
    assert done("leave_out", annotator="nobody")["n_moved"] == 0
    done("recluster")
    done("map")
    found = store.artifact("map")
    assert found is not None
    drawn = json.loads(found[1])
    assert drawn["ids"] == result.body["ids"]
    assert len(drawn["x"]) == len(drawn["y"]) == 40
    affinity = store.artifact("affinity")
    assert affinity is not None
    number = store.add_job("nonsense", {})
    learned.run(until_rest=True)
    job = store.job(number)
    assert job is not None
    assert "unknown job 'nonsense'; there are preview" in str(job.error)


@pytest.mark.slow
def test_an_edit_is_learned_and_survives(store: Store, learned: Worker) -> None:
    answered = {str(name) for one in store.log() for name in (one.entry.question.ids or ())}  # type: ignore[union-attr]
    moved = next(f"i{row}" for row in range(0, 40, N_GROUPS) if f"i{row}" not in answered)
    store.append([Edit("move", (moved,), ("i1", "i5", "i9"), "ann")])
    learned.run(until_rest=True)
    result = store.result()
    assert result is not None
    groups = dict(zip(result.body["ids"], result.body["group_ids"], strict=True))
    assert groups[moved] == groups["i1"]


@pytest.mark.slow
def test_the_map_keeps_neighbors_together_and_groups_apart() -> None:
    random = np.random.RandomState(1)
    labels = np.arange(600) % 6
    wide = random.randn(600, 20) + 6 * np.eye(6, 20)[labels]
    xy = places(wide, labels, np.ones(600))
    some = random.permutation(600)[:300]
    assert trustworthiness(wide[some], xy[some], n_neighbors=12) > 0.8
    centers = np.array([np.median(xy[labels == group], axis=0) for group in range(6)])
    nearest = ((xy[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.98
    for n in (2, 3, 5):
        assert np.isfinite(places(wide[:n], labels[:n], np.ones(n))).all()


def test_items_of_sure_groups_are_not_drawn_on_one_dot() -> None:
    labels = np.repeat(np.arange(4), 30)
    xy = places(np.eye(4)[labels], labels, np.ones(120))
    places_of_pixels = np.unique(np.round(200 * xy / np.ptp(xy, axis=0).min()), axis=0)
    assert len(places_of_pixels) > 110
    centers = np.array([np.median(xy[labels == group], axis=0) for group in range(4)])
    assert (((xy[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1) == labels).all()


@pytest.mark.slow
def test_no_answer_is_lost_when_workers_are_killed(tmp_path: Path) -> None:
    from clew.collections import Project
    from clew.worker import WorkerProcess

    project = Project.create(tmp_path)
    project.add_vectors([item.id for item in ITEMS], X)
    with project.open_store() as store:
        store.add_items(ITEMS)
        with WorkerProcess(str(tmp_path)) as process:
            for number in range(90):
                end = time.monotonic() + 120
                while not (leases := store.lease("ann", 1)):
                    assert time.monotonic() < end, store.worker()
                    time.sleep(0.02)
                assert store.answer_and_lease("ann", [answer(leases[0].question)], 1).statuses
                if number % 30 == 29 and process.pid:
                    os.kill(process.pid, signal.SIGKILL)
            end = time.monotonic() + 240
            while store.result_revision() != store.last_seq() and time.monotonic() < end:
                time.sleep(0.1)
            assert process.n_deaths == 3
        assert store.counts().n_answers == store.result_revision() == 90
        assert module.PULSE < 5


@pytest.mark.slow
def test_the_command_learns_once_and_says_so(tmp_path: Path) -> None:
    from clew.collections import Project

    project = Project.create(tmp_path)
    project.add_vectors([item.id for item in ITEMS], X)
    with project.open_store() as store:
        store.add_items(ITEMS)
    done = run_program("worker", "--project", tmp_path, "--once")
    assert done.returncode == 0, done.stderr
    assert "everything is learned, up to entry 0" in done.stderr
    with project.open_store() as store:
        assert store.result_revision() == 0
        drawn = store.artifact("map")
        assert drawn is not None
        assert json.loads(drawn[1])["ids"] == [item.id for item in ITEMS]
        assert len(store.lease("ann", 4)) == 4
