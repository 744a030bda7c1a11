"""Killed with -9 while people answer: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.app import hour
from benchmarks.app._served import Served, wait_until

from clew.answers import Answer

pytestmark = pytest.mark.slow
KEYS = "12k"


def workers_of(place: Path) -> list[int]:
    """Return the numbers of the workers of a project, whoever started them."""
    words = f"worker --project {place}"
    found = subprocess.run(["pgrep", "-f", words], capture_output=True, text=True, check=False)
    return [int(one) for one in found.stdout.split()]


@pytest.fixture
def served(tmp_path: Path, draw: Any) -> Iterator[Served]:
    """``clew serve ./photos`` with its worker; at the end no process of it is left."""
    draw(tmp_path / "photos")
    one = Served(tmp_path / "photos")
    one.start()
    yield one
    one.stop()
    wait_until(lambda: not workers_of(one.place), 60, "the end of the workers")


@pytest.fixture
def two(served: Served, visit: Any, site_of: Any) -> Iterator[Any]:
    """Two people in front of a question, who hold some more."""
    site = site_of(served)
    people = [visit(site), visit(site, "Bo", "annotator")]
    for one in people:
        one.page.add_init_script("localStorage.setItem('clew-ahead', '8')")
        one.go("/ask")
        one.asked()
    yield people
    for one in people:
        one.page.close()  # before the server ends: a page that is open would miss it


def check_log(people: Any, n_pressed: int) -> None:
    """Each answer is in the log once; but for repeats, nobody was asked anything twice."""
    people[0].saved(n_pressed)
    entries = [one for one in people[0].site.entries() if isinstance(one, Answer)]
    assert len(entries) == len({entry.id for entry in entries}) == n_pressed
    assert {entry.annotator for entry in entries} == {"Ann", "Bo"}
    asked = [
        frozenset(map(str, entry.question.ids or ()))
        for entry in entries
        if not entry.question.repeat
    ]
    assert len(asked) == len(set(asked))


@pytest.mark.browser
def test_a_killed_server_loses_nothing(served: Served, two: Any) -> None:
    """Two people answer while the server is killed three times; its workers end with it."""
    n_pressed = 0
    for _ in range(3):
        for one in two:
            one.expects("net::ERR_")
            for key in KEYS:
                one.press(key)
                n_pressed += 1
        served.kill()
        for one in two:
            one.press("k")
            n_pressed += 1
        served.start()
        for one in two:
            one.page.evaluate("dispatchEvent(new Event('online'))")
        two[0].saved(n_pressed)
    check_log(two, n_pressed)
    wait_until(lambda: len(workers_of(served.place)) == 1, 60, "the end of old workers")


@pytest.mark.browser
def test_a_killed_worker_is_not_noticed(served: Served, two: Any) -> None:
    """Two people answer while the worker is killed twice; another one learns everything."""
    store, n_pressed = two[0].site.store, 0
    wait_until(lambda: store.result_revision() is not None, 120, "the first result")
    for _ in range(2):
        for one in two:
            one.press("1")
        killed = served.worker_pid()
        served.kill(worker=True)
        for key in KEYS:
            for one in two:
                one.press(key)
        n_pressed += 2 + 2 * len(KEYS)
        wait_until(lambda: served.worker_pid() not in (None, killed), 60, "another worker")  # noqa: B023
    check_log(two, n_pressed)
    wait_until(lambda: store.result_revision() == store.last_seq(), 120, "learning")
    assert store.worker().is_alive
    for one in two:
        assert one.page.locator(".note-strip:visible").count() == 0


def test_minutes_of_people_who_err_while_the_app_is_killed(tmp_path: Path) -> None:
    """Twelve minutes of two people: every answer is in the export, once, as given."""
    found = hour.label(tmp_path / "photos", minutes=12, faster=30, life=40, seed=1)
    assert min(found.n_kills.values()) >= 1
    assert found.n_wrong > 0
    assert found.n_given > 150
    assert (found.n_exported, found.n_lost, found.n_twice) == (found.n_given, 0, 0)


def test_no_request_of_the_schema_is_a_server_error(make_site: Any) -> None:
    """Schemathesis finds no 500 in what the API says of itself.

    Only the endless stream of events and the end of the session are called once, by hand.
    """
    import httpx

    schemathesis = Path(sys.executable).parent / "schemathesis"
    if not schemathesis.exists():
        pytest.skip("needs schemathesis: pip install schemathesis")
    site = make_site(result=True, requests_per_minute=1_000_000)
    site.session("Ann", "owner")
    token = site.store.make_token("api", annotator="Ann", role="owner")
    done = subprocess.run(
        [
            str(schemathesis), "run", f"{site.url}/api/v1/openapi.json",
            "-H", f"Authorization: Bearer {token}", "--checks", "not_a_server_error",
            "--max-examples", "5", "--exclude-path-regex", "events$|sign-out$", "--seed", "1",
        ],
        capture_output=True, text=True, check=False, timeout=300, cwd=site.settings.root,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    with httpx.Client(
        base_url=f"{site.url}/api/v1", headers={"Authorization": f"Bearer {token}"}
    ) as ann:
        with ann.stream("GET", "/events") as stream:
            assert stream.status_code == 200
        assert ann.post("/sign-out").status_code == 204
        assert ann.get("/me").status_code == 401
