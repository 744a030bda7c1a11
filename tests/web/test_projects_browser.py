"""Several projects that one process serves, and their list."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.app._served import Served

from clew.answers import Answer, Question
from clew.items import Item
from clew.store import open_store
from clew.store.base import Annotator, Role, Store
from clew.web import WebSettings
from clew.web.serving.projects import Projects, paths_of
from clew.web.serving.server import listen, owner_invite, served


def test_paths_of_projects() -> None:
    """Made of their names, and each once."""
    names = ["Leaves & Co", "leaves co", "Blätter", "群", "..", "leaves-co"]
    assert paths_of(names) == [
        "/p/leaves-co", "/p/leaves-co-2", "/p/blatter", "/p/project", "/p/project-2",
        "/p/leaves-co-3",
    ]  # fmt: skip


def test_no_part_of_a_reply_waits_for_the_acknowledgment_of_another() -> None:
    """Else each reply on an open connection takes 40 ms more."""

    async def no_delay() -> int:
        found = asyncio.get_running_loop().create_future()

        def answer(_: Any, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            found.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        sock = listen("127.0.0.1", 0, exact=True)
        async with await asyncio.start_server(answer, sock=sock):
            _, writer = await asyncio.open_connection(*sock.getsockname())
            writer.close()
            return int(await found)

    with ThreadPoolExecutor(1) as pool:  # in this thread Playwright's loop may run
        assert pool.submit(asyncio.run, no_delay()).result()


class Two:
    """Two projects, served at `url`."""

    def __init__(self, folder: Path, draw: Any, home: str) -> None:
        self.stores: list[Store] = []
        settings = []
        for name in ("Leaves", "Birds <b>"):
            root = folder / name[:5]
            draw(root, 6)
            store = open_store(root / "clew.db")
            store.add_items([Item(one.name, "image", path=one.name) for one in root.glob("*.png")])
            store.set_settings({"name": name})
            self.stores.append(store)
            path = home + paths_of([name])[0]
            made = WebSettings(str(root / "clew.db"), root, root / "cache", base_path=path)
            settings.append(replace(made, home=home))
        self.paths = [one.base_path for one in settings]
        self.app = Projects(settings, [owner_invite(store, "Ann") for store in self.stores])
        self.home, self.url = home, ""

    def cookie(self, at: int, name: str, role: Role) -> dict[str, str]:
        """Return the cookie of a person in one of the projects."""
        self.stores[at].put_annotator(Annotator(name, role=role))
        secret = self.stores[at].make_token("session", annotator=name, role=role, seconds=99)
        return {f"clew_session_{self.paths[at].rpartition('/')[2]}": secret}


@pytest.fixture(params=["", "/lab"])
def two(request: Any, tmp_path: Path, draw: Any) -> Iterator[Two]:
    """Two projects, at the root or behind a proxy."""
    made = Two(tmp_path, draw, request.param)
    sock = listen("127.0.0.1", 0, exact=True)
    with served(made.app, sock):
        made.url = f"http://127.0.0.1:{sock.getsockname()[1]}{request.param}"
        yield made
    for store in made.stores:
        store.close()


@pytest.mark.slow
def test_who_sees_which_project(two: Two) -> None:
    """The list has the projects of a visitor; of one they go there; the other one stays closed."""

    def get(path: str, **cookies: str) -> httpx.Response:
        return httpx.get(two.url + path, cookies=cookies)

    assert get("/").status_code == 401
    assert get("/p/nothing/ask").status_code == 404
    bo, (mine, other) = two.cookie(0, "Bo", "viewer"), ("/p/leaves", "/p/birds-b")
    reply = get("/", **bo)
    assert (reply.status_code, reply.headers["location"]) == (303, f"{two.paths[0]}/")
    assert get(f"{mine}/groups", **bo).is_success
    assert get(f"{other}/groups", **bo).status_code == 401
    assert get(f"{other}/groups", **{"clew_session_birds-b": next(iter(bo.values()))}).is_error
    if two.home:  # a proxy may have cut the path off
        direct = two.url.removesuffix(two.home) + mine
        assert "/lab/p/leaves/static/" in httpx.get(f"{direct}/groups", cookies=bo).text


@pytest.mark.slow
def test_the_link_opens_all_projects_once(two: Two) -> None:
    """One sign-in, a session in each project; the link is used up."""
    body = {"token": two.app.secret}
    with httpx.Client(base_url=two.url) as client:
        assert client.post("/api/v1/sign-in", json={"token": "x"}).status_code == 404
        assert client.get(f"/a/{two.app.secret}").status_code == 200
        assert client.post("/api/v1/sign-in", json=body).json() == {"n_projects": 2}
        assert client.post("/api/v1/sign-in", json=body).status_code == 404
        text = client.get("/").text
        assert "Leaves" in text
        assert "Birds &lt;b&gt;" in text
        assert client.get(f"/a/{two.app.secret}").text == text
        first = two.paths[0].removeprefix(two.home)
        assert client.get(f"{first}/api/v1/me").json() == {"name": "Ann", "role": "owner"}
        assert client.post(f"{first}/api/v1/sign-out").status_code == 204
        assert client.get("/").headers["location"] == f"{two.paths[1]}/"
    with httpx.Client(base_url=two.url) as client:
        assert client.get(f"/a/{two.app.secret}").status_code == 404


@pytest.mark.slow
@pytest.mark.browser
def test_a_list_of_projects(tmp_path: Path, draw: Any, visit: Any, site_of: Any, axe: str) -> None:
    """`clew serve leaves birds`: the link leads to the list, which says how far each is."""
    places = tmp_path / "leaves", tmp_path / "birds"
    for place in places:
        draw(place)
    both = Served(places[0], (str(places[1]), "--no-worker"))
    both.start()
    site = site_of(both)
    site.store.publish(0, {
        "ids": site.ids, "group_ids": [0] * len(site.ids), "n_answers": 0, "doubtful": [],
        "remaining": {"median": 140, "low": 90, "high": 220},
    })  # fmt: skip
    pair = Question("pair", ids=tuple(site.ids[:2]))
    site.store.append([Answer(pair, "same", "Bo", at="2026-11-02T09:30:00.000Z")])
    ann = visit(site, "", viewport={"width": 1280, "height": 700})
    page = ann.page
    page.goto(both.link)
    page.get_by_role("heading", name="Projects").wait_for()
    assert page.url == f"{both.url}/"
    cards = [" ".join(one.split()) for one in page.locator(".figures > li").all_inner_texts()]
    assert "leaves 24 items · 1 answered · about 140 more (90 to 220)" in cards[0]
    assert "2 Nov" in cards[0]
    assert "birds 24 items · 0 answered · too early to say" in cards[1]
    assert "Nobody has answered yet" in cards[1]
    page.evaluate(axe + "; undefined")
    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("axe.run().then(r => r.violations.map(v => v.id))") == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="birds: Answer questions").click()
    ann.press("1")
    page.locator(".brand").click()
    page.get_by_text("24 items · 1 answered · too early to say").wait_for()
    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 700})
        cut = page.locator(".plot").evaluate(
            """plot => {
                const [all, knot] = [plot, plot.querySelector("circle")].map(
                    one => one.getBoundingClientRect());
                return all.left - parseFloat(getComputedStyle(plot).overflowClipMargin) - knot.left;
            }"""
        )
        assert cut <= 0, "the knot is drawn whole"
    page.get_by_role("link", name="leaves", exact=True).click()
    ann.press("2")
    ann.page.locator(".nav a", has_text="History").wait_for(state="attached")
    assert page.url == f"{both.url}/p/leaves/ask"
    page.close()
    both.stop()
    assert [line for line in both.said if "Error" in line or "ERROR" in line] == []
