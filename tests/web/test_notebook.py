"""`clew.widget` in a real JupyterLab, in Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.web.serving.server import listen

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = (
    """\
import numpy as np
import clew
rng = np.random.default_rng(0)
X = np.r_[rng.normal(0, 1, (10, 2)), rng.normal(8, 1, (10, 2))]
session = clew.Session(X, random_state=0)
images = {i: rng.random((8, 8)) for i in range(20)}
clew.widget(session, images, annotator="ann")""",
    "print('values:', [one.value for one in session.answers], len(session.log))",
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """A JupyterLab with a notebook, and its address."""
    command = shutil.which("jupyter-lab", path=Path(sys.executable).parent)
    if command is None:
        pytest.skip("needs JupyterLab beside Python: pip install jupyterlab")
    cells = [
        {"cell_type": "code", "id": f"c{at}", "source": text, "metadata": {}, "outputs": [],
         "execution_count": None}
        for at, text in enumerate(CELLS)
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {
        "cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    (tmp_path / "ask.ipynb").write_text(json.dumps(notebook))
    sock = listen("127.0.0.1", 0, exact=True)
    port = sock.getsockname()[1]
    sock.close()
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR",
               "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")  # fmt: skip
    environment = {**os.environ, **{name: str(tmp_path / name) for name in folders}}
    with (tmp_path / "lab.log").open("w") as log:
        process = subprocess.Popen(
            [
                command, "--no-browser", "--allow-root", "--IdentityProvider.token=",
                "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
                f"--notebook-dir={tmp_path}",
                "--LabApp.news_url=", "--LabApp.extension_manager=readonly",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            ],
            env=environment, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    url, end = f"http://127.0.0.1:{port}", time.monotonic() + 120
    try:
        while True:
            try:
                urllib.request.urlopen(f"{url}/api/status", timeout=2).close()
                break
            except OSError:
                assert process.poll() is None, (tmp_path / "lab.log").read_text()[-3000:]
                assert time.monotonic() < end, (tmp_path / "lab.log").read_text()[-3000:]
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def test_a_widget_asks_in_jupyterlab(lab: str, browser: Any, axe: str) -> None:
    """By key and by pointer, with undo: the session has the answers; nothing leaves the machine."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(30_000)
    errors: list[str] = []
    hosts: set[str | None] = set()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda one: hosts.add(urlsplit(one.url).hostname))
    page.goto(f"{lab}/lab/tree/ask.ipynb")
    page.locator(".jp-Notebook .jp-CodeCell").nth(1).wait_for()
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()  # cells run before are dropped
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    root = page.locator(".clew-widget")
    root.locator(".set").wait_for(timeout=120_000)

    def answered(n: int) -> None:
        root.locator(".done", has_text=f"{n} answered").wait_for()
        page.wait_for_timeout(300)  # long enough on the screen to be answered

    answered(0)
    assert page.get_by_role("heading", name="Same thing?").count() == 1
    assert root.get_by_role("img", name="Photo A").count() == 1
    root.focus()
    page.keyboard.press("1")
    answered(1)
    root.get_by_role("button", name="Different").click()
    answered(2)
    root.get_by_role("button", name="Undo last answer").click()
    answered(1)
    root.get_by_role("button", name="Don’t know").click()
    answered(2)

    page.evaluate(axe + "; undefined")
    checked, found = page.evaluate(
        "axe.run('.jp-OutputArea-output', {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']})"
        ".then(r => [r.passes, r.violations].map(all => all.flatMap(v => v.nodes.filter("
        "n => Array.isArray(n.target[0])).map(n => v.id + ' ' + n.html))))"
    )  # of nodes within the widget alone: JupyterLab has violations of its own
    assert len(checked) > 10
    assert found == []

    page.locator(".jp-CodeCell").nth(1).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    said = page.locator(".jp-CodeCell").nth(1).locator(".jp-OutputArea-output")
    said.get_by_text("values: [1, -2] 4").wait_for()
    page.close()
    assert hosts <= {"127.0.0.1", None}
    assert errors == []
