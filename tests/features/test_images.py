"""Folders of images: broken files left out, features without a download, kept by content."""

import os
import sys
import warnings
from gzip import compress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from clew.exceptions import FileFormatError, InvalidDataError, MissingDependencyError
from clew.features import extractor, read_images, read_texts
from clew.features._without_networks import Shapes, tf_idf

LINES = ["a small brown bird", "a large white bird", "ein kleiner Vogel", "ein großer Vogel"]


def corner(width: int = 60, height: int = 40) -> Image.Image:
    """White, with a red corner at the top left."""
    image = Image.new("RGB", (width, height), "white")
    image.paste((200, 0, 0), (0, 0, width // 2, height // 2))
    return image


def blobs(folder: Path, n: int = 6) -> None:
    for at in range(n):
        Image.new("RGB", (30, 20), ("red", "navy")[at % 2]).save(folder / f"{at}.png")


@pytest.mark.slow
def test_broken_files_are_left_out_with_reasons(tmp_path):
    blobs(tmp_path)
    whole = (tmp_path / "0.png").read_bytes()
    corner(400, 300).save(tmp_path / "cut.jpg")
    cut = (tmp_path / "cut.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(cut[: len(cut) // 2])
    (tmp_path / "cut.png").write_bytes(whole[:40])
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "drawing.svg").write_text("<svg/>")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (tmp_path / "notes.txt").write_text("no image either")
    (tmp_path / ".hidden.png").write_bytes(whole)
    Image.new("1", (14000, 14000)).save(tmp_path / "bomb.png")
    images = read_images(tmp_path)
    assert images.ids == [f"{at}.png" for at in range(6)]
    reasons = dict(images.left_out)
    assert sorted(reasons) == [
        "bomb.png", "cut.jpg", "cut.png", "drawing.svg", "empty.jpg", "gone.png", "text.png",
    ]  # fmt: skip
    assert reasons["empty.jpg"] == "the file is empty"
    assert reasons["cut.jpg"].startswith("damaged (")
    assert "178 million pixels" in reasons["bomb.png"]
    assert ".svg" in reasons["drawing.svg"]
    assert not any(str(tmp_path) in reason for reason in reasons.values())
    assert images.n_others == 1


@pytest.mark.slow
def test_ids_are_sorted_paths_within_the_folder(tmp_path):
    for name in ("b/2.png", "a.png", "b/1.JPG", "b/c/ü 3.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        corner().save(tmp_path / name)
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    images = read_images(tmp_path)
    assert images.ids == ["a.png", "b/1.JPG", "b/2.png", "b/c/ü 3.png"]
    assert images.path(1) == tmp_path / "b/1.JPG"


@pytest.mark.slow
def test_links_and_folders_that_are_not_read_are_said(tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    blobs(photos, 2)
    (photos / "sub").symlink_to(tmp_path)
    (photos / "out.png").symlink_to(tmp_path / "out.png")
    corner().save(tmp_path / "out.png")
    assert dict(read_images(photos).left_out) == {
        "sub": "is a link that leads out of the folder",
        "out.png": "is a link that leads out of the folder",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_name_that_is_not_valid_text_is_left_out(tmp_path):
    blobs(tmp_path, 2)
    with open(os.path.join(os.fsencode(tmp_path), b"bad\xff.png"), "wb") as file:
        file.write((tmp_path / "0.png").read_bytes())
    images = read_images(tmp_path)
    assert images.ids == ["0.png", "1.png"]
    assert images.left_out[0].id == "bad?.png"


def test_too_few_images(tmp_path):
    with pytest.raises(InvalidDataError, match="no images"):
        read_images(tmp_path)
    corner().save(tmp_path / "a.png")
    (tmp_path / "b.png").touch()
    with pytest.raises(InvalidDataError, match=r"1 of 2 items.*b\.png: the file is empty"):
        read_images(tmp_path)


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_images(tmp_path / "nowhere")


@pytest.mark.slow
def test_same_result_for_any_number_of_threads(tmp_path):
    rng = np.random.RandomState(0)
    for at in range(12):
        pixels = rng.randint(0, 255, (40, 30, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{at:02}.png")
    calls = []
    one = read_images(tmp_path, n_jobs=1, callback=lambda done, total: calls.append((done, total)))
    two = read_images(tmp_path, n_jobs=2)
    assert np.array_equal(one.X, two.X)
    assert calls[-1] == (12, 12)


def test_features_separate_colors_and_shapes():
    rng = np.random.RandomState(0)
    images = []
    for kind in range(4):
        for _ in range(5):
            across, color = kind // 2, ((210, 60, 40), (40, 90, 200))[kind % 2]
            stripes = np.arange(48) // 6 % 2 == 0
            mask = np.broadcast_to(stripes[:, None] if across else stripes, (48, 48))
            pixels = np.where(mask[..., None], color, (250, 250, 250)) + rng.normal(
                0, 9, (48, 48, 1)
            )
            images.append(Image.fromarray(pixels.clip(0, 255).astype(np.uint8)))
    X = shapes(images)
    distances = ((X[:, None] - X) ** 2).sum(-1) + 1e9 * np.eye(20)
    assert (distances.argmin(1) // 5 == np.arange(20) // 5).all()


def test_no_feature_stands_out():
    # Otherwise they would look like columns of different units, and estimators would scale up
    # noise.
    rng = np.random.RandomState(0)
    images = [Image.fromarray(rng.randint(0, 255, (12, 12, 3)).astype(np.uint8)) for _ in range(60)]
    deviations = shapes(images).std(axis=0)
    assert deviations.max() < 3 * np.median(deviations)


def test_equal_images_have_equal_features():
    assert shapes([corner(), corner(), corner()]).tolist() == [[0.0]] * 3
    X = shapes([corner(), Image.new("RGB", (8, 8)), corner()])
    assert np.array_equal(X[0], X[2])
    assert np.isfinite(X).all()


def shapes(images):
    by = extractor("shapes")
    return by.combine(by.extract(images))


@pytest.mark.parametrize(
    ("package", "model"),
    [("PIL", "auto"), ("skimage", "shapes"), ("onnxruntime", "efficientnet-lite0")],
)
def test_missing_package_is_named(tmp_path, monkeypatch, package, model):
    blobs(tmp_path)
    for name in [one for one in sys.modules if one.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=r"clew\[images\]"):
        read_images(tmp_path, model=model)


def test_only_what_is_new_is_computed(tmp_path, monkeypatch):
    folder, cache = tmp_path / "photos", tmp_path / "cache"
    folder.mkdir()
    blobs(folder)
    first = read_images(folder, model="shapes", cache=cache)
    loaded = []
    load = Shapes.load
    monkeypatch.setattr(
        Shapes, "load", lambda by, item, media: loaded.append(item.id) or load(by, item, media)
    )
    again = read_images(folder, model="shapes", cache=cache)
    assert loaded == []
    np.testing.assert_array_equal(again.X, first.X)
    (folder / "5.png").rename(folder / "moved.png")
    Image.new("RGB", (31, 20), "green").save(folder / "2.png")
    (folder / "0.png").unlink()
    changed = read_images(folder, model="shapes", cache=cache)
    assert loaded == ["2.png"]
    np.testing.assert_array_equal(changed.X, read_images(folder, model="shapes").X)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"no database", None])
def test_a_damaged_cache_is_ignored(tmp_path, content):
    blobs(tmp_path)
    expected = read_images(tmp_path, cache=tmp_path / ".cache").X
    (file,) = (tmp_path / ".cache").iterdir()
    stored = file.read_bytes()
    file.write_bytes(stored[: len(stored) // 2] if content is None else content)
    for _ in range(2):
        found = read_images(tmp_path, cache=tmp_path / ".cache").X
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    blobs(tmp_path)
    (tmp_path / "file").touch()
    assert len(read_images(tmp_path, cache=tmp_path / "file").ids) == 6


@pytest.mark.slow
def test_reading_in_threads_leaves_the_warning_filters(tmp_path):
    blobs(tmp_path, 24)
    before = list(warnings.filters)
    read_images(tmp_path, n_jobs=4)
    assert list(warnings.filters) == before


def write(folder, text, encoding="utf-8"):
    (folder / "texts.txt").write_bytes(text.encode(encoding))
    return folder / "texts.txt"


def test_a_text_is_its_own_id(tmp_path):
    texts = read_texts(write(tmp_path, "\n".join(LINES)), model="tf-idf")
    assert texts.ids == texts.texts == LINES
    assert texts.X.shape[0] == 4
    assert np.allclose((texts.X**2).sum(axis=1), 1)
    near = texts.X @ texts.X.T
    assert near[0, 1] > 0.1 > near[0, 2]


def test_texts_that_share_no_word_are_compared_by_their_letters(tmp_path):
    lines = ["Amsterdam", "Amstrdam", "Barcelona", "Barcellona", "Hamburg", "Hamburgh"]
    X = read_texts(write(tmp_path, "\n".join(lines)), model="tf-idf").X
    near = X @ X.T - np.eye(6)
    assert near.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]


def test_letters_are_compared_of_many_texts_and_beside_empty_ones():
    names = [f"{a}{b}{c}" for a in "abcdefghij" for b in "klmnopqrst" for c in "uvwxyzabcd"]
    assert tf_idf(names).shape[0] == 1000  # no two share a word
    assert tf_idf(["red fox", "red dog", "blue fox", "", "", ""]).shape[1] == 4


def test_ids_do_not_change_with_the_lines_around(tmp_path):
    before = read_texts(write(tmp_path, "\n".join(LINES))).ids
    after = read_texts(write(tmp_path, "\r\n".join(["new", "", *LINES[::-1], LINES[0]])))
    assert after.ids == ["new", *before[::-1]]
    assert after.n_repeated == 1


def test_long_texts_have_short_and_different_ids(tmp_path):
    long = "word " * 60
    texts = read_texts(write(tmp_path, f"{long}one\n{long}two\n"))
    assert len(set(texts.ids)) == 2
    assert max(map(len, texts.ids)) < 121
    assert texts.texts[1].endswith("two")


def test_encoding(tmp_path):
    path = write(tmp_path, "\n".join(LINES), "latin-1")
    with pytest.raises(FileFormatError, match="encoding"):
        read_texts(path)
    assert read_texts(path, "latin-1").ids == LINES
    with pytest.raises(FileFormatError, match="there is no encoding"):
        read_texts(path, "latin-99")


def test_packed_files_and_utf_16_are_read(tmp_path):
    content = "\n".join(LINES)
    for packed in (compress(content.encode()), content.encode("utf-16")):
        (tmp_path / "t.txt").write_bytes(packed)
        assert read_texts(tmp_path / "t.txt").ids == LINES


@pytest.mark.parametrize(
    ("text", "word"), [("", "no lines"), ("a\na\n", "one line"), ("!\n?", "no words")]
)
def test_too_little_text(tmp_path, text, word):
    with pytest.raises(InvalidDataError, match=word):
        read_texts(write(tmp_path, text), model="tf-idf")
