"""``clew group`` on folders of images and on files of texts."""

import csv
import io
from types import SimpleNamespace

import pytest
from PIL import Image

from clew.cli._reading import seems_texts
from clew.cli._words import printable
from clew.tables._read import Columns, Format


@pytest.fixture
def photos(here):
    (here / "photos" / "sea").mkdir(parents=True)
    for at in range(8):
        name = f"sea/{at}.jpg" if at % 2 else f"{at}.png"
        Image.new("RGB", (40, 30), ("firebrick", "navy")[at % 2]).save(here / "photos" / name)
    (here / "photos" / "broken\x1b[31m.png").touch()
    return here / "photos"


def labels(text):
    return {row["id"]: row["group"] for row in csv.DictReader(io.StringIO(text))}


@pytest.mark.slow
def test_folder_of_images(run, photos):
    done = run(photos, "-k", 2, "--method", "linkage", fast=False)
    assert done.exit_code == 0, done.output
    found = labels(done.stdout)
    assert list(found) == sorted(found)
    assert {found[name] for name in found if name.startswith("sea/")} == {"1"}
    assert {found[name] for name in found if not name.startswith("sea/")} == {"0"}
    assert "8 images" in done.stderr
    assert "1 file cannot be read and is left out" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("option", "word"),
    [
        (("--distances",), "not a file of distances"),
        (("--columns", "a"), "are for tables"),
        (("--ids", "ids.txt"), "leave --ids out"),
    ],
)
def test_options_without_effect_on_images_are_refused(run, photos, here, option, word):
    (here / "ids.txt").write_text("a\nb\n")
    done = run(photos, "-k", 2, *option, "--method", "linkage", fast=False)
    assert done.exit_code == 1
    assert word in done.stderr


def test_file_of_texts(run, here):
    (here / "birds.txt").write_text("brown wren\nsmall wren, brown\nblue car\nfast car, blue\n")
    done = run("birds.txt", "-k", 2, "--method", "linkage", fast=False)
    assert done.exit_code == 0, done.output
    assert labels(done.stdout) == {
        "brown wren": "0", "small wren, brown": "0", "blue car": "1", "fast car, blue": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a small bird\na large bird\n", True),
        ("wren\nrobin\n", True),
        ("Yes, a bird.\nNo, no, no.\nWell\n", True),
        ("1 2 3\n4 5 6\n", False),
        ("a b\n1 2\n3 4\n", False),
        ("id;weight\nwren;3\nrobin;4\n", False),
        ("id\tnote\nwren\tsmall, brown\n", False),
        ("1\n2\n3\n", False),
    ],
)
def test_tables_are_not_read_as_texts(here, text, expected):
    (here / "x.txt").write_text(text)

    def source(**given):
        return SimpleNamespace(
            **{"items": here / "x.txt", "format": Format(), "columns_wanted": Columns()} | given
        )

    assert seems_texts(source()) is expected
    assert not seems_texts(source(format=Format(sep=";")))
    assert not seems_texts(source(columns_wanted=Columns(id_column="id")))


def test_printable():
    assert printable("ü ok") == "ü ok"
    assert printable("a\x1b[2Jb\n") == "a\\x1b[2Jb\\n"


def test_report_shows_images(run, photos, here):
    (here / "a.csv").write_text("kind,id_i,id_j,answer\npair,0.png,2.png,same\n")
    done = run(photos, "-k", 2, "-c", "a.csv", "--report", "r.html", "-o", "g.csv", "--method",
               "linkage", fast=False)  # fmt: skip
    assert done.exit_code == 0, done.output
    page = (here / "r.html").read_text()
    assert page.count('src="data:image/jpeg;base64,') == 8
    assert 'alt="sea/1.jpg"' in page
    assert "8 images in 2 groups" in page
    assert "\x1b" not in page


@pytest.mark.slow
def test_report_shows_an_image_that_is_gone_by_its_name(run, photos, here, monkeypatch):
    monkeypatch.setattr("clew.cli._report.open_image", _fails)
    run(photos, "-k", 2, "--report", "r.html", "-o", "g.csv", "--method", "linkage", fast=False)
    assert "cannot be shown: gone" in (here / "r.html").read_text()


def _fails(*_):
    raise OSError("gone")


@pytest.mark.slow
def test_report_shows_texts(run, here):
    lines = ["brown wren", "small <b>wren</b>", "blue car", "fast car"]
    (here / "birds.txt").write_text("\n".join(lines))
    run("birds.txt", "-k", 2, "--report", "r.html", "-o", "g.csv", "--method", "linkage",
        fast=False)  # fmt: skip
    page = (here / "r.html").read_text()
    assert "small &lt;b&gt;wren&lt;/b&gt;" in page
    assert "4 texts in 2 groups" in page
