"""`clew demo`: its figures, and a report that loads no other file."""

import base64
import csv
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.cli.pages import Page, assert_needs_nothing_else

from clew import Constraints
from clew.cli import _demo, main
from clew.cli._demo import Outcome, Setting, ask
from clew.cli.report import png
from clew.datasets import Dataset, load
from clew.metrics import adjusted_rand_score

pytestmark = pytest.mark.usefixtures("small_search")

KEYS = ["ari_no_answers", "ari_ward", "ari", "answers", "wrong", "doubted", "doubted_wrong"]
SMALL = ("--seeds", "1", "--n-answers", "200")


#: The first images, enough for every test; `make demo` groups all 1,797.
N_IMAGES = 420


def few_images(name: str) -> Dataset:
    found = load(name)
    assert found.X is not None
    return replace(found, X=found.X[:N_IMAGES], y=found.y[:N_IMAGES])


@pytest.fixture(scope="module", autouse=True)
def one_experiment() -> Iterator[None]:
    """Run the experiment of each setting only once, as it takes seconds."""
    outcomes: dict[Setting, Outcome] = {}
    work = _demo.experiment

    def remembered(setting: Setting, advance: Callable[[int, int], None]) -> Outcome:
        if setting not in outcomes:
            outcomes[setting] = work(setting, advance)
        return outcomes[setting]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_demo, "experiment", remembered)
        patch.setattr(_demo, "load", few_images)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, float], Path]:
    folder = tmp_path_factory.mktemp("demo") / "deep" / "clew-demo"
    done = CliRunner().invoke(main, ["demo", "--json", "-o", str(folder), *SMALL])
    assert done.exit_code == 0, done.output
    assert f"wrote {folder / 'report.html'}" in done.stderr
    return json.loads(done.stdout), folder


@pytest.fixture(scope="module")
def page(made: tuple[dict[str, float], Path]) -> Page:
    return Page((made[1] / "report.html").read_text("utf-8"))


@pytest.mark.slow
def test_figures(made):
    figures, _ = made
    assert list(figures) == [*KEYS, "seconds"]
    few = few_images("digits")
    of_ward = adjusted_rand_score(few.y, _demo.ward_labels(few.X))
    assert figures["ari_ward"] == pytest.approx(of_ward, abs=5e-4)
    assert figures["answers"] == 200
    assert 0 < figures["wrong"] < 50
    assert figures["doubted_wrong"] <= min(figures["doubted"], figures["wrong"])


@pytest.mark.slow
def test_ward_on_all_images_is_as_published():
    digits = load("digits")
    found = adjusted_rand_score(digits.y, _demo.ward_labels(digits.X))
    assert found == pytest.approx(0.794, abs=5e-4)


def test_answers_are_about_different_pairs_and_wrong_at_the_rate():
    y = load("digits").y
    known = ask(y, Setting(n_answers=2000, error=0.1), seed=3)
    assert len(np.unique(known.pairs, axis=0)) == 2000
    wrong = (y[known.pairs[:, 0]] == y[known.pairs[:, 1]]) != known.pair_answers
    assert 150 < wrong.sum() < 250


@pytest.mark.slow
def test_page_is_well_formed_and_says_its_language(page):
    assert page.open == []
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == 1
    names = [attributes["id"] for _, attributes in page.tags if attributes.get("id")]
    assert len(set(names)) == len(names)


def test_page_loads_no_other_file(page):
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert_needs_nothing_else(page)


def test_page_has_all_sections_and_links_lead_there(page):
    sections = {attributes["id"] for attributes in page.all("section")}
    assert sections == {"figures", "result", "groups", "affinity", "rows", "doubted", "made"}
    assert {attributes["href"] for attributes in page.all("a")} == {f"#{s}" for s in sections}


def test_page_shows_the_images_of_each_group(page):
    assert len(page.all("article")) == 10
    digits = {attributes["alt"] for attributes in page.all("img") if ".png" in attributes["alt"]}
    assert len(digits) > 100


def test_what_was_grouped_is_in_the_folder(made):
    figures, folder = made
    names = sorted(path.name for path in (folder / "images").iterdir())
    assert len(names) == N_IMAGES
    y = np.array([int(name[5]) for name in names])
    np.testing.assert_array_equal(y, few_images("digits").y)
    answers = Constraints.read_csv(folder / "answers.csv", n_samples=N_IMAGES, ids=names)
    is_same = y[answers.pairs[:, 0]] == y[answers.pairs[:, 1]]
    assert (is_same != answers.pair_answers).sum() == figures["wrong"]


def test_pictures_have_alternative_texts(page):
    assert all(attributes.get("alt") for attributes in page.all("img"))


def test_page_says_the_figures(made, page):
    figures, _ = made
    for name in ("ari_no_answers", "ari_ward", "ari"):
        assert f"{figures[name]:.3f}" in page.words
    assert page.words.count("Wrong with probability") == min(60, figures["doubted"])
    assert "clew demo --seeds 1 --n-answers 200 --error 0.1" in page.words


def test_page_has_styles_for_dark_mode_and_for_print(made):
    text = (made[1] / "report.html").read_text("utf-8")
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert 'name="viewport"' in text


def _luminance(color: str) -> float:
    digits = color.lstrip("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    rgb = np.array([int(digits[at : at + 2], 16) for at in (0, 2, 4)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_of_words_satisfies_wcag(made, theme):
    text = (made[1] / "report.html").read_text("utf-8")
    # The palette is written twice, for light and for dark.
    colors = [dict(re.findall(r"--([a-z]+): (#\w+)", block)) for block in text.split("@media")]
    light, dark = (palette for palette in colors if "ink" in palette)
    palette = light if theme == "light" else dark
    for paper in ("paper", "card"):
        for ink in ("ink", "quiet", "thread", "right"):
            low, high = sorted([_luminance(palette[paper]), _luminance(palette[ink])])
            assert (high + 0.05) / (low + 0.05) >= 4.5, (paper, ink)


def test_table_in_the_folder_of_the_report(made):
    rows = list(csv.DictReader(io.StringIO((made[1] / "groups.csv").read_text())))
    assert len(rows) == N_IMAGES
    assert {row["group"] for row in rows} == set(map(str, range(10)))


def test_picture_is_wide_and_small(made):
    content = (made[1] / "demo.png").read_bytes()
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert width > 2 * height > 1000
    assert len(content) < 300_000


@pytest.mark.slow
def test_table_for_people_and_an_existing_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "report.html").write_text("old")
    done = CliRunner().invoke(main, ["demo", "-q", "-o", str(tmp_path), *SMALL])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    for words in ("no answers", "Ward linkage", "clew", "200 answers", "clew doubts"):
        assert words in done.stdout
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "report.html").read_text() != "old"


@pytest.mark.slow
def test_failure_leaves_no_folder(tmp_path, monkeypatch):
    import clew.cli._outputs as outputs

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs, "atomic_write", full)
    done = CliRunner().invoke(main, ["demo", "-o", str(tmp_path / "a" / "b"), *SMALL])
    assert done.exit_code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_holds_the_pixels(channels):
    pixels = np.random.RandomState(0).randint(256, size=(5, 7, channels)).astype(np.uint8)
    content = png(pixels)
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(content):
        length, kind = int.from_bytes(content[at : at + 4], "big"), content[at + 4 : at + 8]
        chunks[kind] = content[at + 8 : at + 8 + length]
        check = content[at + 8 + length : at + 12 + length]
        assert int.from_bytes(check, "big") == zlib.crc32(kind + chunks[kind])
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(5, -1)
    assert not lines[:, 0].any()
    np.testing.assert_array_equal(lines[:, 1:].reshape(pixels.shape), pixels)


def test_sprite_in_the_page_is_a_png(made):
    text = (made[1] / "report.html").read_text("utf-8")
    for encoded in re.findall(r"base64,([A-Za-z0-9+/=]+)", text):
        assert base64.b64decode(encoded, validate=True).startswith(b"\x89PNG")


@pytest.mark.slow
def test_asks_the_person_and_goes_on_where_they_stopped(here):
    ask = ["demo", "--ask", "--n-answers", "3", "-j", "1"]
    done = CliRunner().invoke(main, ask, input="different\n" * 3, prog_name="clew")
    assert done.exit_code == 0, done.output
    assert {path.name for path in (here / "clew-demo").iterdir()} == {
        "pictures", "report.html", "groups.csv",
    }  # fmt: skip
    done = CliRunner().invoke(main, [*ask, "--json"], input="same\nquit\n", prog_name="clew")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[-1])["answers"] == 4
    assert CliRunner().invoke(main, [*ask, "--error", "0.2"]).exit_code == 2
