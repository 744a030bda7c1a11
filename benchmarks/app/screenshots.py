"""Take the pictures of the documentation: ``python -m benchmarks.app.screenshots``."""

import io
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from PIL import Image

from benchmarks.app._served import chromium, page_of, pictures_in, serving, wait_until
from clew.answers import entry_from_json
from clew.collections import Project
from clew.datasets import load_pictures

FOLDER = Path(__file__).parents[2] / "docs" / "_static" / "app"
SETTINGS = {
    "name": "Pictures",
    "question": "Same kind of thing?",
    "guideline": "Same kind counts as same. Ignore color and style.",
}
NAMES = {"apple": "Fruit", "bus": "Vehicles", "bank": "Buildings", "tulip": "Flowers"}
KINDS = {
    "closer": "kind=triplet", "odd": "kind=odd_one_out", "which": "kind=which_of",
    "group": "state=group", "closer_group": "state=group&kind=triplet", "confirm": "kind=confirm",
    "rows": "kind=pair&media=row", "sound": "kind=pair&media=sound",
}  # fmt: skip
#: Questions that are answered before the pictures are taken.
N_ANSWERS = 10


def keep(page: Any, name: str, width: int, *, whole: bool = False) -> None:
    """Keep what a page shows, as wide as it is in the documentation."""
    picture = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    size = width, round(width * picture.height / picture.width)
    picture.resize(size, Image.Resampling.LANCZOS).save(FOLDER / f"{name}.webp", quality=78)


def answer(page: Any, kind_of: dict[str, str]) -> None:
    """Answer the pair on the screen as somebody who knows."""
    page.wait_for_selector(".set")
    page.wait_for_timeout(400)
    sources = page.eval_on_selector_all(".shot img", "all => all.map(img => img.src)")
    kinds = {kind_of[unquote(one).split("/media/")[1].split("?")[0]] for one in sources}
    page.keyboard.press("1" if len(kinds) == 1 else "2")
    page.wait_for_timeout(600)


def prepared(project: Project) -> None:
    """Give a project its words and the answers that come with the pictures; wait until learned."""
    with project.open_store() as store:
        store.set_settings(SETTINGS)
        lines = load_pictures().answers.read_text(encoding="utf-8").splitlines()
        store.append([entry_from_json(line) for line in lines])
        wait_until(lambda: store.result_revision() == store.last_seq(), 120, "learning")


def name_groups(project: Project) -> None:
    """Wait for groups, and name some of them."""
    with project.open_store() as store:
        wait_until(lambda: store.result_revision() == store.last_seq(), 120, "learning")
        result = store.result()
        assert result is not None
        body = result.body
        group_of = dict(zip(body["ids"], body["group_ids"], strict=True))
        for item, name in NAMES.items():
            store.name_group(group_of[f"{item}.webp"], name=name)


def edit(page: Any, url: str) -> None:
    """Choose two items, and see what moving them would do."""
    page.goto(f"{url}/groups")
    picks = page.locator(".shelf .pick")
    picks.nth(1).click()
    picks.nth(3).click()
    page.keyboard.press("m")
    page.locator("dialog .main:enabled").wait_for()


def several(browser: Any, first: Path, second: Path) -> None:
    """Serve two projects, and look at their list."""
    with serving(first, str(pictures_in(second)), "--no-worker") as served:
        page = browser.new_page(viewport={"width": 1280, "height": 350})
        page.goto(served.link)
        page.get_by_role("link", name=second.name, exact=True).wait_for()
        keep(page, "projects", 1080)


def main() -> None:
    """Serve the pictures that clew ships, and look at every page."""
    known = load_pictures()
    kind_of = {name: known.class_names[k] for name, k in zip(known.ids, known.y, strict=True)}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        place = pictures_in(Path(folder) / "Pictures")
        with serving(place) as served:
            prepared(served.project)
            page = page_of(browser, served, viewport={"width": 1440, "height": 900})
            page.goto(f"{served.url}/ask")
            for _ in range(N_ANSWERS):
                answer(page, kind_of)
            keep(page, "ask", 1080)
            name_groups(served.project)
            for name in ("groups", "groups/0", "review", "history", "people", "settings", "export",
                         "help"):  # fmt: skip
                page.goto(f"{served.url}/{name}")
                page.wait_for_timeout(800)
                keep(page, name.replace("groups/0", "group"), 1080)
            page.goto(f"{served.url}/progress")
            keep(page, "progress", 1080, whole=True)
            edit(page, served.url)
            keep(page, "edit", 1080)
            page.goto(f"{served.url}/map")
            page.locator("canvas[data-drawn]").wait_for()
            keep(page, "map", 1080)
            for name, query in KINDS.items():
                page.goto(f"{served.url}/patterns/ask?{query}")
                page.wait_for_selector("body[data-ready]")
                keep(page, f"ask_{name}", 640)
            small = {"width": 320, "height": 640}
            page = page_of(browser, served, viewport=small, device_scale_factor=2)
            page.goto(f"{served.url}/ask")
            page.wait_for_selector(".set")
            page.wait_for_timeout(400)
            keep(page, "ask_320", 640)
        several(browser, place, Path(folder) / "Holidays")


if __name__ == "__main__":
    main()
