"""Killed with -9 while people answer: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SERVE = """
import sys
from pathlib import Path
from clew.web.server import listen, run
from clew.web.settings import WebSettings
folder, port = Path(sys.argv[1]), int(sys.argv[2])
settings = WebSettings(str(folder / "clew.db"), folder / "photos", folder / "cache", port=port)
run(settings, listen("127.0.0.1", port, exact=True), lambda: None)
"""


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start a server in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(folder), str(port)])
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1).close()
            return process
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


def test_a_killed_server_loses_nothing(make_site: Any, visit: Any) -> None:
    """Two people answer while the server is killed three times; each answer is there once."""
    from clew.web.server import listen

    site = make_site()
    folder = site.settings.root.parent
    sock = listen("127.0.0.1", 0, exact=True)
    port = sock.getsockname()[1]
    sock.close()
    site.url = f"http://127.0.0.1:{port}"
    process = start(folder, port)
    try:
        ann, bo = visit(site), visit(site, "Bo", "annotator")
        for one in (ann, bo):
            one.page.add_init_script("localStorage.setItem('clew-ahead', '12')")
            one.go("/ask")
            one.asked()
        pressed = 0
        for round_ in range(3):
            for one in (ann, bo):
                for key in ("1", "2"):
                    one.press(key)
                    pressed += 1
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            for one in (ann, bo):
                one.press("k")
                pressed += 1
            process = start(folder, port)
            for one in (ann, bo):
                one.page.evaluate("dispatchEvent(new Event('online'))")
            assert round_ < 3
        ann.saved(pressed)
        entries = site.entries()
        assert len(entries) == len({entry.id for entry in entries}) == pressed
        assert {entry.annotator for entry in entries} == {"Ann", "Bo"}
        for one in (ann, bo):
            one.page.close()  # before the server ends: a page that is open would miss it
            one.noticed.clear()
    finally:
        process.kill()
        process.wait()


def test_no_request_of_the_schema_is_a_server_error(make_site: Any) -> None:
    """Schemathesis finds no 500 in what the API says of itself."""
    schemathesis = Path(sys.executable).parent / "schemathesis"
    if not schemathesis.exists():
        pytest.skip("needs schemathesis")
    site = make_site(result=True, requests_per_minute=1_000_000)
    site.session("Ann", "owner")
    token = site.store.make_token("api", annotator="Ann", role="owner")
    done = subprocess.run(
        [
            str(schemathesis), "run", f"{site.url}/api/v1/openapi.json",
            "-H", f"Authorization: Bearer {token}", "--checks", "not_a_server_error",
            "--max-examples", "5", "--exclude-path-regex", "events|sign-out",
        ],
        capture_output=True, text=True, check=False, timeout=300, cwd=site.settings.root,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
