"""Hostile names, texts and files: shown as what they are, or not at all."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from clew.items import Item

pytestmark = pytest.mark.browser
MARKUP = "<img src=x onerror=document.title=1><script>document.title=1</script>\"'&"
NAMES = (
    "<img src=x onerror=document.title=1>.png", "<script>document.title=1<script>.png",
    "%2e%2e%2fsecret.png", "a?size=full#x.png", "javascript:alert(1).png",
    "'\";--.png", "\u202egnp.exe", "line\nbreak.png", "=1+1.png", "日本語 🦉.png", "-rf *.png",
)  # fmt: skip
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><script>document.title=1</script></svg>"


def bomb() -> bytes:
    """Return a PNG of 900 million pixels in a hundred kilobytes."""
    side = 30_000
    packer, row = zlib.compressobj(1), bytes(1 + side // 8)
    packed = b"".join([*(packer.compress(row) for _ in range(side)), packer.flush()])

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
    )


def published(site: Any, name: str) -> None:
    """Put all items into one group."""
    n = len(site.ids)
    body = {
        "revision": 0, "ids": site.ids, "group_ids": [1] * n, "labels": [0] * n,
        "confidence": [0.5] * n, "exemplars": {"1": site.ids[:1]}, "doubtful": [], "quality": {},
        "remaining": {}, "stop": {"is_enough": False, "reason": ""}, "n_violated": 0,
        "alternatives": [], "n_answers": 0, "annotators": [], "changes": [],
    }  # fmt: skip
    site.store.publish(0, body)
    site.store.name_group(1, name=name)


def test_names_and_texts_stay_text(make_site: Any, visit: Any) -> None:
    """Markup in names, texts, rows, guidelines, notes and groups is shown, not run."""
    items = [Item(f"{i}{MARKUP}", "row", columns={MARKUP: MARKUP, "b": "1"}) for i in range(2)]
    items += [Item(f"t{i}{MARKUP}", "text", text=f"{MARKUP}{i}") for i in range(2)]
    words = {"name": MARKUP, "question": MARKUP, "guideline": MARKUP, "show_names": True}
    site = make_site(items, settings=words)
    published(site, MARKUP)
    ann = visit(site, MARKUP[:60], "owner")
    ann.go("/ask")
    ann.asked()
    assert "onerror" in ann.page.locator("h1").inner_text()
    ann.page.keyboard.press("n")
    ann.page.keyboard.type(MARKUP)
    ann.page.get_by_role("button", name="Keep note").click()
    ann.press("1")
    ann.saved(1)
    assert site.standing()[0].note == MARKUP
    ann.page.close()
    for path in ("/groups", "/groups/1", "/history", "/people", "/ask"):
        page = httpx.get(
            site.url + path, cookies={"clew_session": site.session(MARKUP[:60], "owner")}
        )
        assert "onerror" in page.text, path
        assert "<img src=x" not in page.text, path
        assert "<script>document" not in page.text, path


@pytest.mark.slow
def test_pages_with_markup_run_none_of_it(make_site: Any, visit: Any) -> None:
    """The same in the browser, on every page that shows what others wrote."""
    items = [Item(f"{i}{MARKUP}", "row", columns={MARKUP: MARKUP}) for i in range(4)]
    site = make_site(items, settings={"name": MARKUP, "guideline": MARKUP, "show_names": True})
    published(site, MARKUP)
    ann = visit(site)
    for path in ("/ask", "/groups", "/groups/1", "/history", "/settings", "/people", "/export"):
        ann.go(path)
        ann.page.wait_for_timeout(200)
        assert ann.page.locator("img[src=x]").count() == 0, path
        assert ann.page.title() != "1", path


@pytest.mark.slow
def test_hostile_names_of_files(make_site: Any, visit: Any) -> None:
    """Pictures with such names are shown and answered, and their names come out unchanged."""
    site = make_site(
        [Item(name, "image", path=name) for name in NAMES], settings={"show_names": True}
    )
    for name in NAMES:
        Image.new("RGB", (60, 60), (90, 140, 90)).save(site.settings.root / name, "PNG")
    published(site, "All")
    ann = visit(site)
    ann.go("/ask")
    seen: set[str] = set()
    for n in range(1, 15):
        ann.asked()
        assert ann.page.locator(".is-broken").count() == 0
        assert ann.page.title() != "1"
        ann.press("1")
        ann.saved(n)
        seen |= set(map(str, site.standing()[-1].question.ids))
    assert len(seen) >= 8
    assert seen <= set(NAMES)
    ann.go("/groups/1")
    loaded = "all => all.filter(one => one.complete && one.naturalWidth).length"
    ann.page.wait_for_function(
        f"n => ({loaded})([...document.querySelectorAll('.pick img')]) >= n", arg=len(NAMES)
    )
    shown = ann.page.eval_on_selector_all(".pick", "all => all.map(one => one.dataset.id)")
    assert set(shown) == set(NAMES)


@pytest.mark.slow
def test_files_that_are_no_pictures_never_reach_the_browser(make_site: Any, visit: Any) -> None:
    """SVG, under any name, what is broken, and pictures that would fill the memory: not shown."""
    files = {
        "a.svg": SVG.encode(), "b.png": SVG.encode(), "c.png": b"not a picture", "d.png": bomb(),
        "e.zip": b"PK\x03\x04" + bytes(200),
    }  # fmt: skip
    site = make_site([Item(name, "image", path=name) for name in files])
    for name, content in files.items():
        (site.settings.root / name).write_bytes(content)
    ann = visit(site)
    ann.expects("status of 404")  # the pictures
    cookies = {"clew_session": site.session("Ann", "owner")}
    for name in files:
        for size in ("160", "1024", "full"):
            reply = httpx.get(
                f"{site.url}/api/v1/media/{name}?size={size}", cookies=cookies, timeout=20
            )
            assert reply.status_code == 404, (name, size)
            assert reply.headers["content-type"] == "application/problem+json"
    ann.go("/ask")
    for n in range(1, 4):
        ann.asked()
        assert ann.page.locator(".is-broken").count() == 2
        ann.press("1")
        ann.saved(n)


def test_the_names_in_an_archive_are_clews(make_site: Any) -> None:
    """Whatever items and people are called: an archive holds plain names in its own folder."""
    items = [Item(name, "text", text=name) for name in ("../../up", "/etc/passwd", "C:\\x", MARKUP)]
    site = make_site(items)
    published(site, "../../evil")
    cookies = {"clew_session": site.session("../../Ann", "owner")}
    reply = httpx.get(f"{site.url}/api/v1/export/all", cookies=cookies, timeout=20)
    with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
        names = archive.namelist()
    assert "groups.csv" in {Path(name).name for name in names}
    assert all(name.replace("_", "").replace(".", "").isalnum() for name in names), names
