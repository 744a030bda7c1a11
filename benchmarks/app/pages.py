"""Pages of large collections: script, a gallery that scrolls, a map, and the first start."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from benchmarks.app._served import page_of, pictures_in, serving
from clew.collections import Project
from clew.datasets import load_pictures
from clew.items import Item


def script_bytes(browser: Any, folder: Path) -> tuple[int, int]:
    """Return bytes of script of the first page: as written, and as sent."""
    with serving(pictures_in(folder), "--no-worker") as served:
        page = page_of(browser, served)
        done: list[Any] = []
        page.on("requestfinished", lambda one: done.append(one))
        page.goto(f"{served.url}/ask")
        page.wait_for_selector(".set")
        scripts = [one for one in done if ".js" in one.url]
        written = sum(len(one.response().body()) for one in scripts)
        sent = sum(one.sizes()["responseBodySize"] for one in scripts)
        page.context.close()
    return written, sent


def published(folder: Path, items: list[Item], groups: list[int]) -> Project:
    """Make a project of items with a result."""
    project = Project.create(folder)
    ids = [item.id for item in items]
    rng = np.random.default_rng(0)
    examples = {
        str(group): [one for one, g in zip(ids, groups, strict=True) if g == group][:3]
        for group in set(groups)
    }
    with project.open_store() as store:
        store.add_items(items)
        body = {
            "revision": 0, "ids": ids, "labels": groups, "group_ids": groups, "doubtful": [],
            "confidence": rng.beta(6, 1, len(ids)).round(4).tolist(), "exemplars": examples,
            "quality": None, "remaining": None, "stop": {"is_enough": False, "reason": ""},
            "n_violated": 0, "alternatives": [], "n_answers": 0, "annotators": [], "changes": [],
        }  # fmt: skip
        store.publish(0, body)
        centers = rng.normal(0, 4, (max(groups) + 1, 2))
        places = centers[groups] + rng.normal(0, 1, (len(ids), 2))
        x, y = places.T.round(4).tolist()
        store.put_artifact("map", 0, json.dumps({"ids": ids, "x": x, "y": y}).encode())
    return project


class Scrolled(NamedTuple):
    """Long tasks while a gallery scrolled, in milliseconds, and how far it went."""

    tasks: list[float]
    n_shown: int
    seconds: float


def gallery(browser: Any, folder: Path, *, n: int) -> Scrolled:
    """Scroll through one group of `n` pictures to its end, as its items come."""
    folder.mkdir()
    items = []
    for at in range(n):
        name, side = f"{at:05}.jpg", 64
        hue = Image.new("HSV", (side, side), (at * 37 % 256, 90 + at % 120, 200))
        hue.convert("RGB").save(folder / name, quality=70)
        items.append(Item(name, "image", path=name))
    published(folder, items, [0] * n)
    with serving(folder, "--no-worker") as served:
        page = page_of(browser, served)
        page.goto(f"{served.url}/groups/0")
        page.wait_for_selector("#more")
        page.wait_for_timeout(1000)
        page.evaluate("window.longTasks.length = 0")
        began = time.perf_counter()
        page.click("#more")
        page.mouse.move(640, 400)
        while not page.evaluate("document.getElementById('more').hidden"):
            page.mouse.wheel(0, 1600)
            page.wait_for_timeout(40)
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(300)
        seconds = time.perf_counter() - began
        tasks = page.evaluate("window.longTasks")
        n_shown = page.locator("main .pick").count()
        page.context.close()
    return Scrolled(tasks, n_shown, seconds)


class Drawn(NamedTuple):
    fetched: float
    drawn: float
    whole: float
    redrawn: float
    memory: float


def map_page(browser: Any, folder: Path, *, n: int) -> Drawn:
    """Open the map of `n` items; then zoom."""
    folder.mkdir()
    items = [Item(f"i{at}", "text", text=str(at)) for at in range(n)]
    published(folder, items, [at % 40 for at in range(n)])
    with serving(folder, "--no-worker") as served:
        page = page_of(browser, served)
        page.goto(f"{served.url}/groups")  # the server reads the result, the browser the scripts
        page.goto(f"{served.url}/map")
        page.wait_for_selector("canvas[data-drawn]")
        whole = page.evaluate("performance.now()")
        drawn, fetched = page.evaluate(
            "(d => [Number(d.drawn), Number(d.loaded)])(document.getElementById('map-canvas').dataset)"  # noqa: E501
        )
        redrawn = page.evaluate(
            """async () => {
                const canvas = document.getElementById('map-canvas'), frame = () => new Promise(requestAnimationFrame);
                let most = 0;
                for (let i = 0; i < 12; i++) {
                    await frame();
                    const began = performance.now();
                    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i < 6 ? -120 : 120, cancelable: true, bubbles: true }));
                    await frame(); await frame();
                    most = Math.max(most, performance.now() - began);
                }
                return most;
            }"""  # noqa: E501
        )
        memory = served.memory()
        page.context.close()
    return Drawn(fetched, drawn, whole, redrawn, memory)


# ------------------------------------------------------------------ a fresh install


def photos_in(folder: Path, n: int) -> Path:
    """Make photos of six million pixels of the pictures that clew ships."""
    pictures, rng = load_pictures(), np.random.default_rng(0)
    folder.mkdir(parents=True)
    grain = rng.normal(0, 6, (2000, 3000, 3)).astype(np.int16)
    for name in pictures.ids[:n]:
        with Image.open(pictures.folder / name) as small:
            large = small.convert("RGB").resize((2000, 2000))
        photo = np.full((2000, 3000, 3), 240, np.int16)
        photo[:, 500:2500] = np.asarray(large)
        noisy = np.clip(photo + grain, 0, 255).astype(np.uint8)
        Image.fromarray(noisy).save((folder / name).with_suffix(".jpg"), quality=88)
    return folder


def installed(folder: Path) -> Path:
    """Install clew's wheel into a new environment, as ``pip install 'clew[web,images]'`` does."""
    root = Path(__file__).parents[2]
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    run = {"check": True, "capture_output": True, "env": environment}
    subprocess.run([uv, "build", "--wheel", "--out-dir", str(folder / "dist"), str(root)], **run)  # type: ignore[call-overload]
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([uv, "venv", "--python", sys.executable, str(folder / "venv")], **run)  # type: ignore[call-overload]
    python = folder / "venv" / "bin" / "python"
    install = [uv, "pip", "install", "--compile-bytecode", "--python", str(python)]
    subprocess.run([*install, f"clew[web,images] @ {wheel.as_uri()}"], **run)  # type: ignore[call-overload]
    return python


class FirstStart(NamedTuple):
    """Seconds from the command on."""

    link: float
    painted: float
    model: float


def first_start(browser: Any, photos: Path, python: Path) -> FirstStart:
    """Time ``clew serve ./photos`` where nothing was ever compiled, until a question is painted."""
    shutil.rmtree(photos / ".clew", ignore_errors=True)
    for kernel in (python.parent.parent / "lib").rglob("*.nb[ic]"):
        kernel.unlink()
    began = time.perf_counter()
    with serving(photos, command=(str(python), "-m", "clew.cli")) as served:
        link = time.perf_counter() - began
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(served.link)
        page.wait_for_selector(".set")
        page.wait_for_function(
            "document.querySelectorAll('.shot img').length === 2 && [...document.querySelectorAll('.shot img')].every(one => one.complete && one.naturalWidth)"  # noqa: E501
        )
        painted = time.perf_counter() - began
        with served.project.open_store() as store:
            while store.result() is None:
                time.sleep(0.1)
        model = time.perf_counter() - began
        context.close()
    return FirstStart(link, painted, model)
