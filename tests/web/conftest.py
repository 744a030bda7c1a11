"""A project with a real store, a server on loopback, and Debian's Chromium."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("sqlalchemy")
Image = pytest.importorskip("PIL.Image")
ImageDraw = pytest.importorskip("PIL.ImageDraw")

from clew.answers import Answer, Question, Retraction  # noqa: E402
from clew.items import Item  # noqa: E402
from clew.store import open_store  # noqa: E402
from clew.store.base import Annotator, Role, Store  # noqa: E402
from clew.web.serving.app import create_app  # noqa: E402
from clew.web.serving.server import listen  # noqa: E402
from clew.web.settings import WebSettings  # noqa: E402

SHAPES = ("disc", "square", "bar")
N_ITEMS = 24


def draw_shapes(folder: Path, n: int = N_ITEMS) -> list[str]:
    """Draw shapes of three kinds; the name of a file says which."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for i in range(n):
        kind = SHAPES[i % 3]
        image = Image.new("RGB", (90 + 10 * (i % 4), 80), (236, 233, 226))
        pen, r = ImageDraw.Draw(image), 14 + 2 * (i % 5)
        box = {"disc": (45 - r, 40 - r, 45 + r, 40 + r), "square": (45 - r, 40 - r, 45 + r, 40 + r),
               "bar": (12, 34, 78, 34 + r // 2)}[kind]  # fmt: skip
        (pen.ellipse if kind == "disc" else pen.rectangle)(box, fill=(70, 80 + 4 * i, 90))
        name = f"{kind}-{i:03}.png"
        image.save(folder / name)
        names.append(name)
    return names


def result_of(
    ids: list[str], *, revision: int, is_enough: bool = False, **more: Any
) -> dict[str, Any]:
    """Return a result as a worker publishes it: groups by the kind of shape."""
    labels = [SHAPES.index(one.split("-")[0]) if "-" in one else 0 for one in ids]
    exemplars = {
        str(g): [one for one, k in zip(ids, labels, strict=True) if k == g][:3] for g in range(3)
    }
    confidence = [(0.99, 0.97, 0.8, 0.5)[i % 4] for i in range(len(ids))]
    return {
        "revision": revision, "ids": ids, "labels": labels, "group_ids": labels,
        "confidence": confidence, "exemplars": exemplars, "doubtful": [],
        "quality": {"jaccard": [0.93, 0.82, 0.98], "precision": [0.95, 0.9, 0.99],
                    "recall": [0.92, 0.8, 0.97], "n_checks": 46,
                    "groups": {"0": {"precision": [0.9, 0.8, 1.0], "recall": [0.9, 0.7, 1.0]}}},
        "remaining": {"median": 140, "low": 90, "high": 220, "minutes": [6.0, 4.0, 11.0]},
        "stop": {"is_enough": is_enough, "reason": ""}, "n_violated": 0, "alternatives": [],
        "n_answers": 0, "annotators": [], "changes": [], **more,
    }  # fmt: skip


def places_of(body: dict[str, Any]) -> bytes:
    """Return a map as a worker draws it."""
    ids = body["ids"]
    x = [float(i % 7) + 3 * g for i, g in enumerate(body["labels"])]
    y = [float(i % 5) for i in range(len(ids))]
    return json.dumps({"ids": ids, "x": x, "y": y}).encode()


@dataclass
class Site:
    """A served project."""

    url: str
    store: Store
    settings: WebSettings
    ids: list[str]
    problems: list[str] = field(default_factory=list)

    def session(self, name: str, role: Role = "annotator") -> str:
        """Return the secret of a session of a person."""
        if self.store.annotator(name) is None:
            self.store.put_annotator(Annotator(name, role=role))
        return self.store.make_token("session", annotator=name, role=role, seconds=3600)

    def standing(self) -> list[Answer]:
        """Return the answers that stand."""
        logged = self.store.log(only_standing=True)
        return [one.entry for one in logged if isinstance(one.entry, Answer)]

    def entries(self) -> list[Answer | Retraction]:
        """Return the whole log."""
        return [one.entry for one in self.store.log()]  # type: ignore[misc]


class SharedServer:
    """One server of the whole run: each test has it serve a project of its own."""

    def __init__(self) -> None:
        self._sock = listen("127.0.0.1", 0, exact=True)
        self.port: int = self._sock.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._app: Any = None
        self._ended: list[Future[Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand a request to the project that is served now."""
        await self._app(scope, receive, send)

    @contextmanager
    def running(self) -> Iterator[SharedServer]:
        """Listen in a thread; at the end every project must have been closed without an error."""
        config = uvicorn.Config(
            self, log_level="warning", access_log=False, server_header=False,
            timeout_graceful_shutdown=1, lifespan="off",
        )  # fmt: skip
        uvicorn_server = uvicorn.Server(config)
        serve = uvicorn_server.serve(sockets=[self._sock])
        thread = Thread(target=self._loop.run_until_complete, args=(serve,), daemon=True)
        thread.start()
        try:
            yield self
            for one in self._ended:
                one.result(10)
        finally:
            uvicorn_server.should_exit = True
            thread.join()
            self._loop.close()

    @contextmanager
    def serving(self, settings: WebSettings, **options: Any) -> Iterator[None]:
        """Serve a project; it is closed while the next test begins."""
        assert self._app is None, "one project at a time"
        app = create_app(settings, **options)
        life = app.router.lifespan_context(app)
        self._run(life.__aenter__()).result(20)
        self._app = app
        try:
            yield
        finally:
            self._app = None
            self._ended.append(self._run(life.__aexit__(None, None, None)))

    def _run(self, coroutine: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)


@pytest.fixture(scope="session")
def server() -> Iterator[SharedServer]:
    """A server, started once."""
    with SharedServer().running() as shared:
        yield shared


MakeSite = Callable[..., Site]


@pytest.fixture
def make_site(tmp_path: Path, server: SharedServer) -> Iterator[MakeSite]:
    """Make served projects."""
    with ExitStack() as stack:

        def make(
            items: list[Item] | None = None,
            *,
            result: bool = False,
            settings: dict[str, Any] | None = None,
            clock: Callable[[], float] = time.monotonic,
            **options: Any,
        ) -> Site:
            folder = tmp_path / f"site-{len(list(tmp_path.iterdir()))}"
            root = folder / "photos"
            if items is None:
                items = [Item(name, "image", path=name) for name in draw_shapes(root)]
            root.mkdir(parents=True, exist_ok=True)
            store = stack.enter_context(open_store(folder / "clew.db"))
            store.add_items(items)
            store.set_settings({"name": "Shapes", **(settings or {})})
            ids = [item.id for item in items]
            if result:
                body = result_of(ids, revision=0)
                store.publish(0, body)
                store.put_artifact("map", 0, places_of(body))
            made = WebSettings(
                str(folder / "clew.db"), root, folder / "cache", port=server.port, **options
            )
            stack.enter_context(server.serving(made, clock=clock))
            return Site(f"http://127.0.0.1:{server.port}{made.base_path}", store, made, ids)

        yield make


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """A served project with a result."""
    return make_site(result=True)


@pytest.fixture
def draw() -> Callable[..., list[str]]:
    """Draw shapes into a folder."""
    return draw_shapes


@pytest.fixture
def site_of() -> Iterator[Callable[[Any], Site]]:
    """Look at a project that ``clew serve`` serves in another process."""
    with ExitStack() as stack:

        def look(served: Any) -> Site:
            project = served.project
            store = stack.enter_context(project.open_store())
            settings = WebSettings(project.url, project.root, project.cache)
            return Site(served.url, store, settings, store.item_ids())

        yield look


# ------------------------------------------------------------------ a browser


def chromium() -> str:
    """Return the path of Chromium, or why there is none."""
    for name in (
        os.environ.get("CLEW_CHROMIUM", ""),
        "chromium",
        "chromium-browser",
        "google-chrome",
    ):
        path = shutil.which(name) if name else None
        if path:
            return path
    return ""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once; without it the test is skipped, or fails where it has to be there."""
    path = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = ""
    if not path:
        words = "needs Chromium and playwright: apt-get install chromium; pip install playwright"
        if os.environ.get("CLEW_REQUIRE_BROWSER"):
            pytest.fail(words)
        pytest.skip(words)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    packed = Path(__file__).parent / "vendor" / "axe.min.js.gz"
    return gzip.decompress(packed.read_bytes()).decode()


@dataclass
class Visitor:
    """A person at a browser, who notices what must not happen."""

    page: Any
    site: Site
    noticed: list[str] = field(default_factory=list)
    _expected: list[str] = field(default_factory=list)

    def expects(self, *words: str) -> None:
        """Let pass what holds one of these words: what this test does on purpose."""
        self._expected += words

    @property
    def unexpected(self) -> list[str]:
        """What was noticed and not expected."""
        return [one for one in self.noticed if not any(word in one for word in self._expected)]

    def go(self, path: str) -> Any:
        """Open a page of the site."""
        self.page.goto(self.site.url + path)
        return self.page

    def shown(self) -> list[str]:
        """Return the ids of the pictures on the screen, in their order."""
        read = "all => all.map(one => /media\\/([^?]+)/.exec(one.currentSrc)[1])"
        return list(self.page.eval_on_selector_all(".shot img", read))

    def asked(self) -> None:
        """Wait until a question is painted and may be answered."""
        self.page.wait_for_selector(".set")
        self.page.wait_for_timeout(260)

    def press(self, key: str) -> None:
        """Answer by a key, when the question has been on the screen long enough."""
        self.asked()
        before = self.page.evaluate("document.getElementById('ask').measured.next.length")
        self.page.keyboard.press(key)
        self.page.wait_for_function(
            "n => document.getElementById('ask').measured.next.length > n || document.querySelector('.state')",  # noqa: E501
            arg=before,
        )

    def saved(self, n: int) -> None:
        """Wait until the store has so many answers that stand."""
        end = time.monotonic() + 10
        while len(self.site.standing()) != n and time.monotonic() < end:
            self.page.wait_for_timeout(30)
        assert len(self.site.standing()) == n


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    """Open browsers of people.

    At the end none has seen an error in the console or of the server, or a request elsewhere.
    """
    visitors: list[Visitor] = []
    contexts: list[Any] = []

    def open_page(
        site: Site, name: str = "Ann", role: Role = "owner", *, context: Any = None, **options: Any
    ) -> Visitor:
        if context is None:
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
            contexts.append(context)
            if name:
                base = urlsplit(site.url)
                context.add_cookies(
                    [{"name": "clew_session", "value": site.session(name, role),
                      "url": f"{base.scheme}://{base.netloc}"}]
                )  # fmt: skip
        page = context.new_page()
        page.set_default_timeout(8000)
        visitor = Visitor(page, site)
        page.on(
            "console",
            lambda m: (
                m.type == "error" and visitor.noticed.append(f"console: {m.text} {m.location}")
            ),
        )
        page.on("pageerror", lambda e: visitor.noticed.append(f"error: {page.url} {e}"))
        page.on(
            "request",
            lambda r: (
                not r.url.startswith(("blob:", "data:"))
                and urlsplit(r.url).netloc != urlsplit(site.url).netloc
                and visitor.noticed.append(f"request: {r.url}")
            ),
        )
        page.on(
            "response",
            lambda r: r.status >= 500 and visitor.noticed.append(f"status: {r.status} {r.url}"),
        )
        visitors.append(visitor)
        return visitor

    yield open_page
    for context in contexts:
        context.close()
    assert [one for visitor in visitors for one in visitor.unexpected] == []


def pair_of(ids: list[str], i: int, j: int) -> Question:
    """Return a question about a pair of items."""
    return Question("pair", ids=(ids[i], ids[j]))
