"""Vectors of one's own with the media shown, and features by name."""

import json
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.spatial.distance import pdist

from clew.cli import main
from clew.cli._reading import RowsJob, read_rows, with_media
from clew.cli._rows import Rows, read_items
from clew.cli._words import Words
from clew.exceptions import FileFormatError, InvalidDataError
from clew.items import open_image

Image = pytest.importorskip("PIL.Image")
COLORS = ((200, 0, 0), (0, 0, 200))


@pytest.fixture
def photos(here: Path) -> Path:
    """Eight photos in a folder, red and blue by turns, and a file of vectors of them."""
    folder = here / "photos"
    folder.mkdir()
    for at in range(8):
        Image.new("RGB", (40, 30), COLORS[at % 2]).save(folder / f"{at}.png")
    rng = np.random.RandomState(0)
    np.save("X.npy", np.arange(8)[:, None] % 2 * 5 + rng.normal(size=(8, 3)))
    return folder


def ask(*arguments: object, reply: str = "s\nd\n") -> Result:
    return CliRunner().invoke(main, ["ask", *map(str, arguments)], input=reply)


def rows_of(name: str) -> Rows:
    options = dict.fromkeys(field.name for field in fields(RowsJob))
    given = {"items": Path(name), "quiet": True, "model": "auto", "standardize": "auto"}
    return read_rows(RowsJob(**options | given), Words(quiet=True))  # type: ignore[arg-type]


def color_of(path: Path) -> tuple[int, ...]:
    return tuple(np.asarray(open_image(path)).reshape(-1, 3).mean(axis=0).round(-2).astype(int))


def test_vectors_without_ids_are_the_images_in_order(photos):
    rows = with_media(read_items(Path("X.npy")), photos, None, Path("cache"))
    assert rows.ids == [f"{at}.png" for at in range(8)]
    assert [rows.path(row).name for row in range(8)] == rows.ids
    assert rows.noun == "image"


def test_ask_shows_the_media_and_keeps_answers_by_path(photos):
    done = ask("X.npy", "--media", photos, "-n", 2)
    assert done.exit_code == 0, done.output
    lines = Path("answers.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 2
    assert {name[1:] for line in lines for name in json.loads(line)["items"]} == {".png"}


def test_regions_of_a_table_are_cut_out(photos):
    both = Image.new("RGB", (80, 30), COLORS[0])
    both.paste(COLORS[1], (40, 0, 80, 30))
    both.save(photos / "both.png")
    np.save("X.npy", np.random.RandomState(0).normal(size=(3, 2)))
    Path("ids.csv").write_text(
        "id,path,x,y,width,height\nright,both.png,45,5,30,20\nleft,both.png,5,5,30,20\n"
        "small,1.png,0,0,10,10\n"
    )
    given = read_items(Path("X.npy"))._replace(ids=["right", "left", "small"], has_ids=True)
    rows = with_media(given, photos, Path("ids.csv"), Path("cache"))
    assert rows.ids == ["right", "left", "small"]
    shown = [open_image(rows.path(row)) for row in range(3)]
    assert [image.size for image in shown] == [(30, 20), (30, 20), (10, 10)]
    assert [color_of(rows.path(row)) for row in range(3)] == [(0, 0, 200), (200, 0, 0), (0, 0, 200)]
    done = ask("X.npy", "--media", photos, "--ids", "ids.csv", "-n", 1)
    assert done.exit_code == 0, done.output
    command = done.stderr.rpartition("group by them: clew ")[2].split()
    grouped = CliRunner().invoke(main, command)
    assert grouped.exit_code == 0, grouped.output
    assert "data:image/jpeg" in Path("report.html").read_text("utf-8")


@pytest.mark.slow
def test_a_table_that_names_files_or_parts_of_them_is_of_these(photos):
    sheet = Image.new("RGB", (320, 30))
    for at in range(8):
        sheet.paste(COLORS[at % 2], (40 * at, 0, 40 * at + 40, 30))
    sheet.save("sheet.png")
    parts = [f"part {at},sheet.png,{40 * at},0,40,30" for at in range(8)]
    Path("parts.csv").write_text("\n".join(["id,File,x,y,w,h", *parts]), "utf-8")
    rows = rows_of("parts.csv")
    assert rows.ids == [f"part {at}" for at in range(8)]
    assert [color_of(rows.path(at)) for at in range(8)] == [*COLORS] * 4
    distance = pdist(rows.X).reshape(-1)
    is_same = pdist(np.arange(8)[:, None] % 2, "hamming") == 0
    assert distance[is_same].max() < distance[~is_same].min()
    assert "8 images" in ask("parts.csv", "-n", 2).output
    # Numbers of one's own are features, as before.
    Path("own.csv").write_text("id,path,a\np,photos/0.png,1\nq,photos/1.png,2\n", "utf-8")
    assert rows_of("own.csv").X.shape == (2, 1)
    Path("xy.csv").write_text("id,path,x,y\np,photos/0.png,1,3\nq,photos/1.png,2,5\n", "utf-8")
    assert rows_of("xy.csv").X.shape == (2, 2)
    Path("out.csv").write_text("id,path,x,y,width,height\np,sheet.png,0,0,-5,3\n", "utf-8")
    refused = ask("out.csv")
    assert refused.exit_code == 1
    assert "none of 1 items can be used; p: " in refused.output


def test_sounds_are_shown_as_spectrograms_and_texts_as_they_are(here):
    soundfile = pytest.importorskip("soundfile")
    Path("media").mkdir()
    for at in range(3):
        soundfile.write(f"media/{at}.wav", np.sin(np.arange(8000) * (at + 1) / 9), 8000)
        Path(f"media/{at}.txt").write_text(f"text {at}")
    np.save("X.npy", np.random.RandomState(0).normal(size=(3, 2)))
    for ending in ("wav", "txt"):
        names = [f"{at}.{ending}" for at in range(3)]
        given = read_items(Path("X.npy"))._replace(ids=names, has_ids=True)
        rows = with_media(given, Path("media"), None, Path("cache"))
        if ending == "wav":
            assert open_image(rows.path(1)).height == 128
        else:
            assert rows.texts == ["text 0", "text 1", "text 2"]


@pytest.mark.parametrize(
    ("names", "table", "message"),
    [
        (["gone.png", "1.png"], None, "'gone.png' is no image, sound or text in"),
        (["../X.npy", "1.png"], None, "is no image, sound or text"),
        (["a", "b"], "id,path\na,0.png\nb,gone.png\n", "1 of 2 items have no file .*; .*gone.png"),
        (None, None, r"has 8 images for 2 vectors; name them with --ids"),
    ],
)
def test_media_that_do_not_fit_are_refused(photos, names, table, message):
    np.save("X.npy", np.eye(2))
    rows = read_items(Path("X.npy"))
    if names is not None:
        rows = rows._replace(ids=names, has_ids=True)
    ids = None
    if table is not None:
        ids = Path("ids.csv")
        ids.write_text(table)
    with pytest.raises((InvalidDataError, FileFormatError), match=message):
        with_media(rows, photos, ids, Path("cache"))


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_link_out_of_the_folder_is_refused(photos):
    (photos / "0.png").rename("outside.png")
    (photos / "0.png").symlink_to(Path("outside.png").resolve())
    with pytest.raises(InvalidDataError, match="link that leads out of the folder"):
        with_media(read_items(Path("X.npy")), photos, None, Path("cache"))


def test_features_by_name(photos, run):
    done = run(photos, "--features", "shapes", "-k", 2, "-o", "g.csv")
    assert done.exit_code == 0, done.output
    assert "feature: by shapes" in done.stderr
    groups = Path("g.csv").read_text().splitlines()[1:]
    assert len({line.split(",")[1] for line in groups[::2]}) == 1


@pytest.mark.parametrize(
    ("items", "model", "message"),
    [
        ("photos", "clip", "there are no features named 'clip'"),
        ("photos", "timm:resnet18", "pip install timm"),
        ("photos", "onnx:gone.onnx", "the network gone.onnx cannot be read"),
        ("photos", "tf-idf", "describes text items, not image items"),
        ("X.npy", "shapes", "are features themselves"),
    ],
)
def test_features_that_cannot_be_had_are_refused_in_words(
    photos, run, monkeypatch, items, model, message
):
    monkeypatch.setitem(sys.modules, "timm", None)
    done = run(items, "--features", model, "-k", 2, "-o", "g.csv")
    assert done.exit_code == 1
    assert message in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sound", "text"])
def test_folders_of_sounds_and_of_texts_are_grouped(run, here, kind):
    Path("media").mkdir()
    for at in range(8):
        if kind == "sound":
            soundfile = pytest.importorskip("soundfile")
            tone = np.sin(np.arange(8000) * (0.2, 2.0)[at % 2] + at)
            soundfile.write(f"media/{at}.wav", tone, 8000)
        else:
            words = ("bird wing beak", "car wheel road")[at % 2]
            Path(f"media/{at}.txt").write_text(f"{words} {at}")
    Path("media/broken.wav").write_bytes(b"no sound")
    options = ["--features", "tf-idf"] if kind == "text" else []
    outputs = ("-o", "g.csv", "--report", "report.html")
    done = run("media", *options, "-k", 2, *outputs, "--method", "linkage", fast=False)
    assert done.exit_code == 0, done.output
    assert f"media: 8 {kind}s; " in done.stderr
    groups = [line.split(",")[1] for line in Path("g.csv").read_text().splitlines()[1:]]
    assert len(set(groups[::2])) == len(set(groups[1::2])) == 1
    assert groups[0] != groups[1]
    assert Path("report.html").read_text("utf-8").count("data:image/jpeg") == 8 * (kind == "sound")
    assert ask("media", *options, "-n", 1).exit_code == 0
