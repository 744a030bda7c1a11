"""Projects served by ``clew serve`` in a process of its own, and people at Chromium."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from clew.collections import Project
from clew.datasets import load_pictures
from clew.store.base import Annotator, Role

#: Milliseconds of work on the page after which nothing is painted for that long.
LONG_TASKS = "window.longTasks = []; new PerformanceObserver(list => list.getEntries().forEach(one => window.longTasks.push(one.duration))).observe({type: 'longtask'})"  # noqa: E501


@dataclass
class Served:
    """A project that ``clew serve`` serves; its processes may be killed and started again."""

    place: Path
    options: tuple[str, ...] = ()
    command: tuple[str, ...] = (sys.executable, "-m", "clew.cli")
    link: str = ""
    said: list[str] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None
    reader: threading.Thread | None = None

    @property
    def url(self) -> str:
        return self.link.split("/a/")[0]

    @property
    def project(self) -> Project:
        return Project.open(self.place)

    def start(self, seconds: float = 120.0) -> None:
        """Start, and wait until a link is printed; again on the same port."""
        port = self.url.rpartition(":")[2] or "0"
        serve = ["serve", str(self.place), "--no-browser", "--port", port]
        self.process = subprocess.Popen(
            [*self.command, *serve, *self.options],
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.link, is_up = "", threading.Event()

        def read(lines: Any) -> None:
            with lines:
                for line in lines:
                    self.said.append(line)
                    found = re.search(r"Open (http\S+)", line)
                    if found:
                        self.link = found[1]
                        is_up.set()
            is_up.set()

        self.reader = threading.Thread(target=read, args=(self.process.stderr,), daemon=True)
        self.reader.start()
        is_up.wait(seconds)
        if not self.link:
            raise RuntimeError(f"clew serve did not start: {''.join(self.said)}")

    def worker_pid(self) -> int | None:
        """Return the number of the worker's process."""
        assert self.process is not None
        return next(iter(children_of(self.process.pid)), None)

    def kill(self, *, worker: bool = False) -> None:
        """Kill the process that serves, or its worker, with -9."""
        assert self.process is not None
        pid = self.worker_pid() if worker else self.process.pid
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        if not worker:
            self.process.wait()

    def stop(self) -> None:
        """End it as Ctrl-C does, and read all that it said."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(120)
        if self.reader is not None:
            self.reader.join()

    def memory(self) -> float:
        """Return the resident memory of the process that serves, in MB (10⁶ bytes)."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024 / 1e6  # type: ignore[index]

    def secret(self, name: str, role: Role = "annotator") -> str:
        """Return the secret of a session of a person."""
        with self.project.open_store() as store:
            if store.annotator(name) is None:
                store.put_annotator(Annotator(name, role=role))
            return store.make_token("session", annotator=name, role=role, seconds=86400)


def children_of(pid: int) -> list[int]:
    """Return the numbers of the processes that a process has started."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(one) for one in found.stdout.split()]


@contextlib.contextmanager
def serving(place: Path, *options: str, command: Sequence[str] | None = None) -> Iterator[Served]:
    """Serve a project, or a folder that becomes one, within a ``with`` block."""
    served = Served(place, tuple(options), *([tuple(command)] if command else ()))
    served.start()
    try:
        yield served
    finally:
        served.stop()


def pictures_in(folder: Path) -> Path:
    """Copy the collection of pictures that clew ships into a folder."""
    pictures = load_pictures()
    folder.mkdir(parents=True)
    for name in pictures.ids:
        shutil.copy(pictures.folder / name, folder / name)
    return folder


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CLEW_CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def page_of(
    browser: Any, served: Served, name: str = "Ann", role: Role = "owner", **options: Any
) -> Any:
    """Open an empty page of a person who is signed in; options are those of a browser context."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    cookie = {"name": "clew_session", "value": served.secret(name, role), "url": served.url}
    context.add_cookies([cookie])
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.add_init_script(LONG_TASKS)
    return page


def wait_until(condition: Any, seconds: float, what: str) -> None:
    end, pause = monotonic() + seconds, threading.Event()
    while not condition():
        if monotonic() > end:
            raise TimeoutError(f"{what} took more than {seconds:g} s")
        pause.wait(0.02)
