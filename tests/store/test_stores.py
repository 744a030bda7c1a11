"""What every store promises, on each of them."""

import threading
from dataclasses import replace

import pytest
from tests.store.conftest import ITEMS, Clock, Pair, fill, ids_of, said

from clew.answers import (
    DIFFERENT,
    DONT_KNOW,
    SAME,
    Answer,
    Edit,
    Question,
    Retraction,
    entry_to_json,
    new_id,
    standing,
)
from clew.exceptions import (
    InvalidConstraintsError,
    InvalidParameterError,
    LeaseLostError,
    StoreError,
)
from clew.items import Item
from clew.store import Annotator, Store, open_store
from clew.store.base import SETTINGS, WORKER_SECONDS

# Items -------------------------------------------------------------------------------------


def test_items_come_back_whole_and_in_order(store: Store) -> None:
    face = Item(
        "face", "image", "photos/é.jpg", (40.0, 25.5, 96.0, 96.0), None,
        {"cost": 3, "name": "„x“"}, {"date": "2020-01-01", "place": [1, 2]}, "ab" * 32,
    )  # fmt: skip
    call = Item("call", "sound", "a.wav", (1.5, 2.25))
    assert store.add_items([face, call]) == (2, 0, 0)
    assert store.items() == [*ITEMS, face, call]
    assert store.item_ids() == [item.id for item in store.items()]
    assert store.items(after=19, limit=1) == [face]
    assert store.items_by_id(["call", "nobody"]) == {"call": call}


def test_the_same_items_again_change_nothing(store: Store) -> None:
    before = store.changes()
    assert store.add_items(ITEMS) == (0, 0, 20)
    assert store.changes() == before


def test_an_item_keeps_its_row_when_it_changes(store: Store) -> None:
    moved = replace(ITEMS[3], path="b/3.txt", hash="00")
    assert store.add_items([moved, Item("new", "text", text="x")]) == (1, 1, 0)
    assert store.items()[3] == moved
    assert store.item_ids()[-1] == "new"


# Log ---------------------------------------------------------------------------------------


def test_entries_come_back_as_they_were_given(store: Store, pair: Pair) -> None:
    answer = Answer(
        pair(0, 1, "random", check=0.25), "different", "ann", 0.5, "random", id=new_id(),
        at="2026-01-01T00:00:00.000Z", ms=1200, shown=("i1", "i0"), source="clew 1",
        note="blurred? “no”",
    )  # fmt: skip
    which = Question("which_of", (), "asked", ("i0", "i1", "i2", "i3"), (1, 2, 1))
    entries = [
        answer,
        Answer(which, 1, "bob", id=new_id(), at=answer.at),
        Answer(pair(2, 3), "bad_item", "bob", id=new_id(), at=answer.at, bad=("i3",)),
        Edit("merge", ("i4",), ("i5", "i6"), "ann", id=new_id(), at=answer.at),
        Retraction(answer.id, "ann", id=new_id(), at=answer.at),
    ]
    assert store.append(entries) == ("stored",) * 5
    found = store.log()
    assert [entry_to_json(each.entry) for each in found] == list(map(entry_to_json, entries))
    assert [each.is_standing for each in found] == [False, True, True, True, False]
    assert [each.entry.id for each in store.log(only_standing=True)] == [
        entry.id for entry in standing([each.entry for each in found])
    ]


def test_the_same_entry_is_kept_once_and_another_under_its_id_is_refused(
    store: Store, pair: Pair
) -> None:
    answer = replace(said(pair(0, 1)), id="a1")
    other = replace(answer, value=DIFFERENT)
    assert store.append([answer, answer]) == ("stored", "duplicate")
    assert store.append([answer, other]) == ("duplicate", "conflict")
    assert store.last_seq() == 1
    assert store.entry("a1").entry.value == SAME  # type: ignore[union-attr]


def test_nothing_of_a_call_with_unknown_items_is_kept(store: Store, pair: Pair) -> None:
    with pytest.raises(InvalidConstraintsError, match=r"no items 'i77', 'i78'.*nothing was stored"):
        store.append([said(pair(0, 1)), said(pair(77, 78))])
    with pytest.raises(InvalidConstraintsError, match="ids of the items"):
        store.append([said(Question("pair", (0, 1)))])
    assert store.log() == []


def test_entries_are_found_by_number_person_and_item(store: Store, pair: Pair) -> None:
    people = ["ann", "bob", "ann", "bob"]
    store.append([said(pair(at, at + 1), annotator=name) for at, name in enumerate(people)])
    assert [each.seq for each in store.log(annotator="bob")] == [2, 4]
    assert [each.seq for each in store.log(items=["i1"])] == [1, 2]
    assert [each.seq for each in store.log(after=1, before=4)] == [2, 3]
    assert [each.seq for each in store.log(newest_first=True, limit=2)] == [4, 3]
    assert [one.name for one in store.annotators()] == ["ann", "bob"]


def test_counts(store: Store, pair: Pair) -> None:
    first = replace(said(pair(0, 1)), id="a")
    store.append(
        [first, said(pair(1, 2), "different", "bob"), Edit("lock", ("i5", "i6"), (), "ann")]
    )
    store.append([Retraction("a", "ann"), said(pair(2, 3), "dont_know")])
    counts = store.counts()
    assert (counts.n_items, counts.n_entries, counts.n_answers, counts.n_edits) == (20, 5, 2, 1)
    assert counts.by_annotator == {"bob": 1, "ann": 1}
    assert counts.by_value == {f"pair {DIFFERENT}": 1, f"pair {DONT_KNOW}": 1}


def test_items_set_aside_are_asked_about_no_more_until_that_is_revoked(
    store: Store, pair: Pair
) -> None:
    fill(store, pair)
    held = store.lease("ann", 2)
    assert ids_of(held) == [("i0", "i1"), ("i1", "i2")]
    store.append([Edit("set_aside", ("i2", "i5"), (), "ann", id="e", note="blurred")])
    assert {name: item.set_aside for name, item in store.items_by_id(["i2", "i3"]).items()} == {
        "i2": "blurred",
        "i3": None,
    }
    assert store.counts().n_set_aside == 2
    named = {name for lease in store.lease("ann", 20) for name in lease.question.ids or ()}
    assert named.isdisjoint({"i2", "i5"})
    assert "i0" in named
    fill(store, pair)
    assert not any({"i2", "i5"} & set(each.question.ids or ()) for each in store.pool())
    store.append([Retraction("e", "ann")])
    assert store.counts().n_set_aside == 0


def test_items_that_two_edits_set_aside_stay_so_until_both_are_revoked(store: Store) -> None:
    store.append(
        [
            Edit("set_aside", ("i1", "i2"), (), "ann", id="first"),
            Edit("set_aside", ("i2", "i3"), (), "bob", id="second"),
            Retraction("first", "ann"),
        ]
    )
    assert [item.id for item in store.items() if item.set_aside] == ["i2", "i3"]
    store.append([Edit("set_aside", ("i3",), (), "bob", id="third", revokes="second")])
    assert [item.id for item in store.items() if item.set_aside] == ["i3"]


# Annotators --------------------------------------------------------------------------------


def test_annotators_are_kept_and_changed(store: Store) -> None:
    store.put_annotator(Annotator("ann", role="owner"))
    store.put_annotator(Annotator("same photo", kind="rule", note="different"))
    store.put_annotator(Annotator("ann", role="owner", code="P7", kinds=("pair", "triplet")))
    assert store.annotators() == [
        Annotator("ann", role="owner", code="P7", kinds=("pair", "triplet")),
        Annotator("same photo", kind="rule", note="different"),
    ]
    assert store.annotator("nobody") is None
    with pytest.raises(InvalidParameterError, match="needs a name"):
        store.put_annotator(Annotator(" "))


def test_only_the_hash_of_a_token_is_kept_and_it_can_be_revoked(
    address: str, store: Store, clock: Clock
) -> None:
    secret = store.make_token("invite", annotator="ann", seconds=60, scope={"code": "P7"})
    assert len(secret) == 22  # 128 bits in base 64
    token = store.check_token(secret, "invite")
    assert token is not None
    assert (token.annotator, token.role, token.scope) == ("ann", "annotator", {"code": "P7"})
    assert secret not in repr(store.tokens("ann"))
    assert store.check_token(secret, "session") is None
    assert store.check_token(secret[:-1] + "?", "invite") is None
    session = store.make_token("session", annotator="ann", parent=token.id)
    assert store.check_token(session, "session") is not None
    assert store.revoke_token(token.id)
    assert store.check_token(session, "session") is None
    assert not store.revoke_token("nobody")
    brief = store.make_token("api", annotator="bob", seconds=60)
    clock.now += 61
    assert store.check_token(brief, "api") is None


def test_who_left_has_no_valid_token(store: Store) -> None:
    store.put_annotator(Annotator("ann"))
    secret = store.make_token("session", annotator="ann")
    store.put_annotator(Annotator("ann", is_active=False))
    assert store.check_token(secret, "session") is None


# Groups and results ------------------------------------------------------------------------


def body(group_ids: list[int]) -> dict[str, object]:
    return {"ids": [f"i{row}" for row in range(len(group_ids))], "group_ids": group_ids}


def test_groups_keep_names_and_history(store: Store) -> None:
    assert store.result() is None
    store.publish(3, body([0, 0, 0, 1, 1, -1]))
    store.name_group(1, name="robins", note="red")
    store.publish(8, body([0, 2, 2, 1, 1, 1]))
    assert [(one.id, one.name, one.came_from) for one in store.groups()] == [
        (0, "", ()), (1, "robins", ()), (2, "", (0,)),
    ]  # fmt: skip
    store.publish(9, body([2, 2, 2, 1, 1, 1]))
    assert [one.id for one in store.groups()] == [1, 2]
    gone = store.groups(also_gone=True)[0]
    assert (gone.id, gone.last_revision, gone.merged_into) == (0, 8, 2)
    with pytest.raises(InvalidParameterError, match="no group 7"):
        store.name_group(7, name="x")


def test_results_are_kept_by_revision(store: Store) -> None:
    for revision in range(1, 15):
        store.publish(revision, body([0, 1]) | {"n_answers": revision})
    newest = store.result()
    assert newest is not None
    assert (newest.revision, newest.body["n_answers"]) == (14, 14)
    assert store.result_revision() == 14
    assert store.result(5) is not None
    assert store.result(4) is None


def test_artifacts(store: Store) -> None:
    assert store.artifact("map") is None
    for content in (b"old", bytes(range(256)) * 1000):
        store.put_artifact("map", 7, content)
    assert store.artifact("map") == (7, content)


# Jobs and the worker -----------------------------------------------------------------------


def test_one_worker_at_a_time_and_a_dead_one_is_replaced(store: Store, clock: Clock) -> None:
    assert store.worker() is None
    first = store.acquire_worker("first")
    assert first is not None
    assert store.acquire_worker("second") is None
    clock.now += WORKER_SECONDS - 1
    store.heartbeat(first, "learning", "learning 120 answers", revision=7)
    clock.now += WORKER_SECONDS - 1
    assert store.acquire_worker("second") is None
    state = store.worker()
    assert state is not None
    assert (state.is_alive, state.detail, state.revision) == (True, "learning 120 answers", 7)
    clock.now += 2
    state = store.worker()
    assert state is not None
    assert not state.is_alive
    second = store.acquire_worker("second")
    assert second is not None
    for write in (
        lambda: store.heartbeat(first, "ready"),
        lambda: store.replace_pool([], worker=first),
        lambda: store.publish(1, body([0]), worker=first),
        lambda: store.put_artifact("map", 1, b"", worker=first),
        lambda: store.take_job(first),
    ):
        with pytest.raises(LeaseLostError, match="nothing was written"):
            write()
    store.release_worker(second)
    assert store.acquire_worker("third") is not None


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_worker_is_replaced_after_the_clock_jumped(
    store: Store, clock: Clock, jump: float
) -> None:
    first = store.acquire_worker("first")
    clock.now += jump
    assert store.acquire_worker("second") is not None
    with pytest.raises(LeaseLostError):
        store.heartbeat(str(first), "ready")


def test_jobs_are_done_once_and_given_up_after_three_workers(store: Store, clock: Clock) -> None:
    number = store.add_job("preview", {"items": ["i1"]}, annotator="ann")
    later = store.add_job("map", {})
    assert later > number
    for attempt in range(3):
        worker = store.acquire_worker("w")
        assert worker is not None
        job = store.take_job(worker)
        assert job is not None
        assert (job.id, job.attempts, job.arguments) == (number, attempt, {"items": ["i1"]})
        store.release_worker(worker)  # it died
    worker = store.acquire_worker("w")
    assert worker is not None
    job = store.take_job(worker)
    assert job is not None
    assert job.id == later
    store.finish_job(later, worker=worker, result={"xy": [1, 2]})
    assert store.take_job(worker) is None
    lost, done = store.job(number), store.job(later)
    assert lost is not None
    assert lost.status == "failed"
    assert "ended 3 times" in str(lost.error)
    assert done is not None
    assert (done.status, done.result) == ("done", {"xy": [1, 2]})
    assert [each.id for each in store.jobs()] == [later, number]
    assert store.jobs(status="waiting") == []


# Settings, changes, whole stores -----------------------------------------------------------


def test_settings(store: Store) -> None:
    assert store.settings() == SETTINGS
    store.set_settings({"overlap": 3, "kinds": ["pair", "triplet"], "own": {"a": [1, None]}})
    store.set_settings({"overlap": 2})
    assert store.settings() == {
        **SETTINGS, "overlap": 2, "kinds": ["pair", "triplet"], "own": {"a": [1, None]},
    }  # fmt: skip
    for wrong in ({"overlap": 0}, {"overlap": True}, {"repeat_every": -1}, {"kinds": []}):
        with pytest.raises(InvalidParameterError, match="it must be"):
            store.set_settings(wrong)


@pytest.mark.slow
def test_each_change_is_counted_and_wakes_who_waits(store: Store, pair: Pair) -> None:
    seen = store.changes()
    assert store.wait(seen, timeout=0.01) == seen
    timer = threading.Timer(0.05, lambda: store.append([said(pair(0, 1))]))
    timer.start()
    now = store.wait(seen, timeout=30, topics=["log"])
    assert now["log"] == seen["log"] + 1
    assert now["annotators"] == seen["annotators"] + 1
    assert now["results"] == seen["results"]
    timer.join()


@pytest.mark.slow
def test_a_copy_holds_everything(store: Store, pair: Pair, tmp_path, postgres: str) -> None:
    fill(store, pair)
    (lease,) = store.lease("ann", 1)
    store.answer_and_lease("ann", [said(lease.question)], 2)
    secret = store.make_token("session", annotator="ann")
    store.publish(1, body([0, 1]))
    store.add_job("map", {})
    store.set_settings({"name": "birds"})
    assert store.acquire_worker("here") is not None
    for url in (str(tmp_path / "copy.db"), f"{postgres}&project=copy{abs(hash(str(tmp_path)))}"):
        store.copy_to(url)
        with open_store(url, clock=lambda: 1_800_000_000.0) as copy:
            for what in ("items", "log", "pool", "leases", "groups", "result", "settings", "jobs",
                         "counts", "changes", "annotators", "tokens"):  # fmt: skip
                assert getattr(copy, what)() == getattr(store, what)(), what
            assert copy.worker() is None  # nobody is at work on the copy
            assert copy.check_token(secret, "session") is not None
            assert copy.add_job("map", {}) > store.jobs()[0].id
        with pytest.raises(StoreError, match="is not empty"):
            store.copy_to(url)


def test_a_closed_store_says_so(store: Store, pair: Pair) -> None:
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.append([said(pair(0, 1))])


def test_what_was_written_is_there_after_opening_again(
    address: str, clock: Clock, pair: Pair
) -> None:
    if address == ":memory:":
        pytest.skip("a store in memory ends with its process")
    with open_store(address, clock=clock) as store:
        store.add_items(ITEMS)
        fill(store, pair)
        held = store.lease("ann", 4)
        store.append([said(pair(0, 9))])
    with open_store(address, create=False, clock=clock) as store:
        assert store.last_seq() == 1
        assert store.lease("ann", 4) == held
        assert store.answer_and_lease("ann", [said(held[0].question)]).statuses == ("stored",)
