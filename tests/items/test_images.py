"""Folders of images: upright, in any mode, broken files left out, features without a download."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from clew.exceptions import FileFormatError, InvalidDataError, MissingDependencyError
from clew.items import image_features, images, open_image, read_images

#: EXIF orientations, each with the operation that undoes it.
ORIENTATIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def corner(width: int = 60, height: int = 40) -> Image.Image:
    """White, with a red corner at the top left."""
    image = Image.new("RGB", (width, height), "white")
    image.paste((200, 0, 0), (0, 0, width // 2, height // 2))
    return image


def blobs(folder: Path, n: int = 6) -> None:
    for at in range(n):
        Image.new("RGB", (30, 20), ("red", "navy")[at % 2]).save(folder / f"{at}.png")


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_exif_orientation_is_applied(tmp_path, orientation, ending):
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"photo.{ending}"
    corner().transpose(ORIENTATIONS[orientation]).save(path, exif=exif)
    image = open_image(path)
    assert image.size == (60, 40)
    red = np.asarray(image)[:, :, 1] < 100
    assert red[:18, :28].all()
    assert not red[22:].any()


@pytest.mark.parametrize(
    ("mode", "color", "expected"),
    [
        ("CMYK", (0, 255, 255, 0), (255, 0, 0)),
        ("L", 120, (120, 120, 120)),
        ("1", 1, (255, 255, 255)),
        ("RGBA", (0, 0, 0, 0), (255, 255, 255)),
        ("LA", (0, 0), (255, 255, 255)),
        ("P", 0, (0, 0, 0)),
    ],
)
def test_every_mode_becomes_rgb(tmp_path, mode, color, expected):
    path = tmp_path / ("image.tif" if mode == "CMYK" else "image.png")
    Image.new(mode, (9, 7), color).save(path)
    image = open_image(path)
    assert image.mode == "RGB"
    assert image.getpixel((4, 4)) == expected


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_deep_gray_is_scaled_from_its_smallest_to_its_largest_value(tmp_path, dtype):
    path = tmp_path / ("image.png" if dtype == np.uint16 else "image.tif")
    Image.fromarray(np.array([[3000, 3500], [4000, 3000]], dtype)).save(path)
    assert np.asarray(open_image(path))[:, :, 0].tolist() == [[0, 128], [255, 0]]


def test_first_frame_of_several_is_read(tmp_path):
    frames = [Image.new("RGB", (8, 8), (0, 80 * at, 0)) for at in range(3)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert open_image(tmp_path / "a.gif").getpixel((0, 0)) == (0, 0, 0)


@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_large_image_is_made_smaller(tmp_path, ending):
    path = tmp_path / f"large.{ending}"
    Image.new("RGB", (3000, 1500), "navy").save(path)
    assert open_image(path, 100).size == (100, 50)
    assert open_image(path, 5000).size == (3000, 1500)


def test_broken_files_are_left_out_with_reasons(tmp_path):
    blobs(tmp_path)
    whole = (tmp_path / "0.png").read_bytes()
    corner(400, 300).save(tmp_path / "cut.jpg")
    cut = (tmp_path / "cut.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(cut[: len(cut) // 2])
    (tmp_path / "cut.png").write_bytes(whole[:40])
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "phone.heic").write_bytes(b"x")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (tmp_path / "notes.txt").write_text("no image either")
    (tmp_path / ".hidden.png").write_bytes(whole)
    Image.new("1", (14000, 14000)).save(tmp_path / "bomb.png")
    images = read_images(tmp_path)
    assert images.ids == [f"{at}.png" for at in range(6)]
    reasons = dict(images.left_out)
    assert sorted(reasons) == [
        "bomb.png", "cut.jpg", "cut.png", "empty.jpg", "gone.png", "phone.heic", "text.png",
    ]  # fmt: skip
    assert reasons["empty.jpg"] == "the file is empty"
    assert "178 million pixels" in reasons["bomb.png"]
    assert "HEIC" in reasons["phone.heic"].upper()
    assert not any(str(tmp_path) in reason for reason in reasons.values())
    assert images.n_others == 1


def test_ids_are_sorted_paths_within_the_folder(tmp_path):
    for name in ("b/2.png", "a.png", "b/1.JPG", "b/c/ü 3.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        corner().save(tmp_path / name)
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    images = read_images(tmp_path)
    assert images.ids == ["a.png", "b/1.JPG", "b/2.png", "b/c/ü 3.png"]
    assert images.path(1) == tmp_path / "b/1.JPG"


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
    with pytest.raises(InvalidDataError, match=r"one image.*b\.png: the file is empty"):
        read_images(tmp_path)


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_images(tmp_path / "nowhere")


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
    X = image_features(images)
    distances = ((X[:, None] - X) ** 2).sum(-1) + 1e9 * np.eye(20)
    assert (distances.argmin(1) // 5 == np.arange(20) // 5).all()


def test_no_feature_stands_out():
    # Otherwise they would look like columns of different units, and estimators would scale up
    # noise.
    rng = np.random.RandomState(0)
    images = [Image.fromarray(rng.randint(0, 255, (12, 12, 3)).astype(np.uint8)) for _ in range(60)]
    deviations = image_features(images).std(axis=0)
    assert deviations.max() < 3 * np.median(deviations)


def test_equal_images_have_equal_features():
    assert image_features([corner(), corner(), corner()]).tolist() == [[0.0]] * 3
    X = image_features([corner(), Image.new("RGB", (8, 8)), corner()], n_components=5)
    assert np.array_equal(X[0], X[2])
    assert np.isfinite(X).all()


def test_damage_is_a_format_error(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    with pytest.raises(FileFormatError, match=r"a\.png"):
        open_image(tmp_path / "a.png")


@pytest.mark.parametrize("package", ["PIL", "skimage"])
def test_missing_package_is_named(tmp_path, monkeypatch, package):
    blobs(tmp_path)
    for name in [one for one in sys.modules if one.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=r"clew\[images\]"):
        read_images(tmp_path)


def test_described_images_are_read_from_the_cache(tmp_path, monkeypatch):
    folder, cache = tmp_path / "photos", tmp_path / "cache"
    folder.mkdir()
    blobs(folder)
    first = read_images(folder, cache=cache)
    read = []
    monkeypatch.setattr(images, "open_image", lambda path, n: read.append(path) or open_image(path))
    again = read_images(folder, cache=cache)
    assert read == []
    np.testing.assert_array_equal(again.X, first.X)
    Image.new("RGB", (31, 20), "green").save(folder / "2.png")
    (folder / "0.png").unlink()
    changed = read_images(folder, cache=cache)
    assert read == [folder / "2.png"]
    np.testing.assert_array_equal(changed.X, read_images(folder).X)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"no archive"])
def test_a_damaged_cache_is_ignored(tmp_path, content):
    blobs(tmp_path)
    expected = read_images(tmp_path, cache=tmp_path / ".cache").X
    (file,) = (tmp_path / ".cache").iterdir()
    file.write_bytes(content or file.read_bytes()[:-30])
    np.testing.assert_array_equal(read_images(tmp_path, cache=tmp_path / ".cache").X, expected)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    blobs(tmp_path)
    (tmp_path / "file").touch()
    assert len(read_images(tmp_path, cache=tmp_path / "file").ids) == 6


def test_reading_in_threads_leaves_the_warning_filters(tmp_path):
    blobs(tmp_path, 24)
    before = list(warnings.filters)
    read_images(tmp_path, n_jobs=4)
    assert list(warnings.filters) == before
