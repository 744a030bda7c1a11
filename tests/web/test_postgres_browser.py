"""Several server processes on one PostgreSQL store, seen from two browsers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.app._served import Served, wait_until
from click.testing import CliRunner
from sqlalchemy.engine import make_url

from clew.answers import Answer
from clew.cli import main
from clew.worker import WorkerProcess

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def servers(tmp_path: Path, draw: Any, postgres: str) -> Iterator[tuple[Served, Served]]:
    """Two processes of `clew serve` and one worker, on one database."""
    place = tmp_path / "photos"
    draw(place)
    url = make_url(postgres).update_query_dict({"project": "two-servers"})
    for words in (
        ["init", str(place)],
        ["migrate", "-p", str(place), "--to", url.render_as_string(hide_password=False)],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
    first, second = Served(place, ("--no-worker",)), Served(place, ("--no-worker",))
    first.start()
    second.start()
    with WorkerProcess(str(place)):
        yield first, second
        first.stop()
        second.stop()


def test_two_servers_share_one_project(
    servers: tuple[Served, Served], visit: Any, site_of: Any
) -> None:
    """Answers come through both, and through one when the other is killed; both show the groups."""
    people = [visit(site_of(servers[0])), visit(site_of(servers[1]), "Bo", "reviewer")]
    store = people[0].site.store
    assert store.url.startswith("postgresql")
    assert servers[0].url != servers[1].url
    n_pressed = 0
    for one in people:
        one.page.add_init_script("localStorage.setItem('clew-ahead', '8')")
        one.go("/ask")
    for key in "12k" * 4:
        for one in people:
            one.press(key)
            n_pressed += 1
    people[0].saved(n_pressed)

    people[1].expects("net::ERR_")
    servers[1].kill()
    for key in "12":
        for one in people:
            one.press(key)
            n_pressed += 1
    servers[1].start()
    people[1].page.evaluate("dispatchEvent(new Event('online'))")
    people[0].saved(n_pressed)

    answers = [one for one in people[0].site.entries() if isinstance(one, Answer)]
    assert len({one.id for one in answers}) == len(answers) == n_pressed
    by_name = {name: {one.question for one in answers if one.annotator == name} for name in
               ("Ann", "Bo")}  # fmt: skip
    assert len(by_name["Ann"]) == len(by_name["Bo"]) == n_pressed // 2
    assert not by_name["Ann"] & by_name["Bo"], "no question was asked of both"

    wait_until(lambda: store.result_revision() == store.last_seq(), 120, "learning")
    shelves = []
    for one in people:
        one.go("/groups")
        shelves.append(one.page.locator(".shelf-name h2").all_inner_texts())
    assert shelves[0] == shelves[1] != []
    name = people[1].page.get_by_role("button", name="Name it").first
    name.click()
    people[1].page.get_by_label("Name", exact=True).fill("Discs")
    people[1].page.get_by_role("button", name="Keep name").click()
    people[1].page.get_by_role("heading", name="Discs").wait_for()
    people[0].go("/groups").get_by_role("heading", name="Discs").wait_for()
    for one in people:
        one.page.close()
