"""What people are shown: upright and whole, made once, and nothing hostile comes through."""

import io
import os
import pickle
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from clew.exceptions import ClewError, FileFormatError, InvalidDataError, InvalidParameterError
from clew.items import Item, Media, _media, open_sound


def photo(path: Path, size: tuple[int, int] = (60, 40), **options: object) -> Item:
    """Write a white image with a red quarter at the upper left, and return its item."""
    image = Image.new("RGB", size, "white")
    image.paste((200, 0, 0), (0, 0, size[0] // 2, size[1] // 2))
    image.save(path, **options)
    return Item(path.name, "image", path=path.name)


def decoded(content: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(content))
    assert image.format == "WEBP"
    return image.convert("RGB")


def png(width: int, height: int, body: bytes = b"") -> bytes:
    """A PNG file that says to have a size."""

    def chunk(name: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + checksum

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def test_thumbnails_are_upright_and_within_their_size(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    exif[0x010E] = "taken at home"
    item = photo(tmp_path / "a.jpg", (600, 400), exif=exif)
    content = Media(tmp_path).thumbnail(item, 100)
    image = decoded(content)
    assert image.size == (67, 100)
    red = np.asarray(image)[:, :, 1] < 100
    assert red[:45, 40:].mean() > 0.9
    assert not red[55:].any()
    assert b"taken at home" not in content


@pytest.mark.parametrize("ending", ["jpg", "png"])
@pytest.mark.parametrize("orientation", [1, 6])
def test_a_region_is_cut_from_the_upright_image(tmp_path, ending, orientation):
    # In the upright image, a blue square at (700, 100) of 80 × 80.
    image = Image.new("RGB", (1200, 800), "white")
    image.paste((0, 0, 200), (700, 100, 780, 180))
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = image if orientation == 1 else image.transpose(Image.Transpose.ROTATE_90)
    stored.save(tmp_path / f"a.{ending}", exif=exif)
    item = Item("a", "image", path=f"a.{ending}", region=(700, 100, 80, 80))
    for shown in (decoded(Media(tmp_path).full(item)), Media(tmp_path).image(item, longest=20)):
        blue = np.asarray(shown)[2:-2, 2:-2]
        assert shown.width == shown.height
        assert (blue[..., 2] > 150).all()
        assert (blue[..., 0] < 60).all()


def test_a_region_is_cut_off_at_the_edge_and_refused_outside(tmp_path):
    photo(tmp_path / "a.png", (60, 40))
    media = Media(tmp_path)
    edge = Item("e", "image", path="a.png", region=(50, 30, 100, 100))
    assert media.image(edge).size == (10, 10)
    with pytest.raises(InvalidDataError, match=r"^a\.png: .* lies outside .* 60 × 40 pixels"):
        media.image(Item("o", "image", path="a.png", region=(80, 0, 10, 10)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("wide.png", png(40_000, 100), "pixels are more than 178 million, or a side"),
        ("bomb.png", png(30_000, 30_000, zlib.compress(bytes(10_000))), "178 million"),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "SVG"),
        ("b.png", b"<?xml version='1.0'?><svg><script/></svg>", "SVG"),
        ("cut.png", png(50, 50, zlib.compress(bytes(100))), "cut.png: "),
        ("empty.jpg", b"", "empty"),
        ("page.jpg", b"<html><script>alert(1)</script></html>", "not an image"),
        ("a.eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image"),
    ],
)
def test_hostile_files_are_refused_with_clear_words(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    for show in (Media(tmp_path).thumbnail, Media(tmp_path).full):
        with pytest.raises(FileFormatError, match=message) as caught:
            show(Item("x", "image", path=name))
        assert str(tmp_path) not in str(caught.value)


def test_a_truncated_photo_is_refused(tmp_path):
    item = photo(tmp_path / "a.jpg", (400, 300))
    content = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(content[: len(content) // 2])
    with pytest.raises(FileFormatError, match="truncated"):
        Media(tmp_path).thumbnail(item)


@pytest.mark.parametrize(
    "path",
    ["../secret.png", "/etc/passwd", "a/../../secret.png", "..", "a\\..\\b", "a\0b", "link.png"],
)
def test_no_path_leads_out_of_the_root(tmp_path, path):
    photo(tmp_path / "secret.png")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(InvalidDataError, match="leads out of the folder"):
        Media(root).thumbnail(Item("x", "image", path=path))


def test_links_within_the_root_are_followed(tmp_path):
    photo(tmp_path / "a.png")
    (tmp_path / "b.png").symlink_to(tmp_path / "a.png")
    (tmp_path / "other").symlink_to(tmp_path)
    assert Media(tmp_path / "other").thumbnail(Item("b", "image", path="b.png"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_or_a_folder_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    (tmp_path / "b.png").mkdir()
    for name in ("a.png", "b.png"):
        with pytest.raises(FileFormatError, match="is not a file"):
            Media(tmp_path).thumbnail(Item("x", "image", path=name))


def test_what_an_item_is_not_is_refused(tmp_path):
    media = Media(tmp_path)
    for show in (media.thumbnail, media.full, media.spectrogram, media.text):
        with pytest.raises(InvalidDataError, match="is of kind vector"):
            show(Item("x", "vector"))
    for size in (0, 5000):
        with pytest.raises(InvalidParameterError, match="from 16 to 1024"):
            media.thumbnail(Item("x", "image", path="a.png"), size)


def test_a_thumbnail_is_made_once_until_the_file_changes(tmp_path, monkeypatch):
    (tmp_path / "root").mkdir()
    item = photo(tmp_path / "root" / "a.png")
    media = Media(tmp_path / "root", cache=tmp_path / "cache")
    drawn = []
    draw = _media.open_image
    monkeypatch.setattr(
        _media, "open_image", lambda *args, **options: drawn.append(1) or draw(*args, **options)
    )
    threads = [threading.Thread(target=media.thumbnail, args=(item,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 1
    (file,) = (tmp_path / "cache").glob("??/*")
    before = media.thumbnail(item)
    file.write_bytes(file.read_bytes()[:-5])  # damaged: drawn again
    assert media.thumbnail(item) == before
    assert len(drawn) == 2
    photo(tmp_path / "root" / "a.png", (80, 40))
    assert decoded(media.thumbnail(item)).size == (80, 40)


def test_the_cache_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(_media, "SWEEP_EVERY", 5)
    items = [photo(tmp_path / f"{at}.png", (300 + at, 200)) for at in range(20)]
    media = Media(tmp_path, cache=tmp_path / "cache", most_bytes=2000)
    for item in items:
        media.thumbnail(item)
    kept = [path.stat().st_size for path in (tmp_path / "cache").glob("??/*")]
    assert 0 < sum(kept) <= 2000 + 5 * max(kept)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    item = photo(tmp_path / "a.png")
    assert Media(tmp_path, cache=tmp_path / "a.png" / "x").thumbnail(item)


def test_texts_are_bounded_and_must_be_text(tmp_path):
    (tmp_path / "long.txt").write_text("ä" * 900_000, encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00\xff\x81")
    (tmp_path / "utf16.txt").write_bytes("hello".encode("utf-16"))
    (tmp_path / "long16.txt").write_bytes(("ä" * 900_000).encode("utf-16"))
    (tmp_path / "windows.txt").write_bytes(("ä" * 900_000).encode("cp1252"))
    media = Media(tmp_path)
    assert media.text(Item("a", "text", text="<b>as it is</b>")) == "<b>as it is</b>"
    assert media.text(Item("l", "text", path="long.txt")) == "ä" * 100_000
    assert media.text(Item("u", "text", path="utf16.txt")) == "hello"
    assert media.text(Item("v", "text", path="long16.txt")) == "ä" * 100_000
    with pytest.raises(ClewError, match=r"windows\.txt: line 1: .*; save the file as UTF-8$"):
        media.text(Item("w", "text", path="windows.txt"))
    with pytest.raises(ClewError, match=r"bad\.txt"):
        media.text(Item("b", "text", path="bad.txt"))


def test_heic_is_read(tmp_path):
    heif = pytest.importorskip("pillow_heif")
    photo(tmp_path / "a.png", (128, 96))
    heif.from_pillow(Image.open(tmp_path / "a.png")).save(tmp_path / "a.heic")
    image = decoded(Media(tmp_path).thumbnail(Item("a", "image", path="a.heic"), 64))
    assert image.size == (64, 48)
    assert image.getpixel((5, 5))[1] < 60 < 200 < image.getpixel((60, 40))[1]


def tone(path: Path, hertz: float = 1000, seconds: float = 1.0, rate: int = 16_000) -> Item:
    """Write a tone, and return its item."""
    soundfile = pytest.importorskip("soundfile")
    time = np.arange(round(seconds * rate)) / rate
    soundfile.write(path, 0.5 * np.sin(2 * np.pi * hertz * time), rate)
    return Item(path.name, "sound", path=path.name)


def brightest(content: bytes) -> float:
    """Where the brightest row of a spectrogram is, from 0 (top) to 1."""
    rows = np.asarray(decoded(content).convert("L"), float).mean(axis=1)
    return float(rows.argmax() / len(rows))


def test_a_spectrogram_shows_pitch_from_bottom_to_top(tmp_path):
    low, high = tone(tmp_path / "low.wav", 200), tone(tmp_path / "high.wav", 4000)
    media = Media(tmp_path)
    assert brightest(media.spectrogram(low)) > 0.8
    assert brightest(media.thumbnail(high)) < 0.3


def test_a_sound_is_cut_at_a_minute_and_at_its_region(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    item = tone(tmp_path / "long.wav", seconds=61.5, rate=8000)
    media = Media(tmp_path)
    whole, rate = soundfile.read(io.BytesIO(media.full(item)))
    assert len(whole) / rate == pytest.approx(60)
    assert media.sound(item).is_cut
    part = media.sound(Item("p", "sound", path="long.wav", region=(60.5, 99)))
    assert len(part.samples) == 8000
    assert not part.is_cut
    with pytest.raises(InvalidDataError, match=r"long\.wav: has 61\.5 seconds"):
        media.sound(Item("o", "sound", path="long.wav", region=(70, 80)))


def test_a_sound_of_a_high_rate_is_made_playable(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    item = tone(tmp_path / "bat.wav", 45_000, 0.5, 192_000)
    samples, rate = soundfile.read(io.BytesIO(Media(tmp_path).full(item)))
    assert (rate, len(samples)) == (48_000, 24_000)


@pytest.mark.parametrize(
    "content", [b"", b"RIFF1234WAVEjunk", b"no sound at all", b"OggS" + bytes(60)]
)
def test_damaged_sounds_are_refused(tmp_path, content):
    pytest.importorskip("soundfile")
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"^a\.wav: .*(empty|not a sound)"):
        Media(tmp_path).spectrogram(Item("a", "sound", path="a.wav"))
    with pytest.raises(FileFormatError):
        open_sound(tmp_path / "a.wav")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_process_that_shows_media_stays_small(tmp_path):
    photo(tmp_path / "a.jpg", (3000, 2000))
    tone(tmp_path / "a.wav")
    code = """
import re, sys
from pathlib import Path
from clew.items import Item, Media
media = Media(sys.argv[1])
media.thumbnail(Item("a", "image", path="a.jpg"))
media.spectrogram(Item("b", "sound", path="a.wav"))
heavy = {"numba", "sklearn", "scipy", "pandas", "skimage"} & set(sys.modules)
most = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())
print(sorted(heavy), int(most[1]) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    heavy, megabytes = done.stdout.rsplit(None, 1)
    assert heavy == "[]", done.stderr
    assert int(megabytes) < 120


def test_items_with_the_same_content_are_equal_and_survive_pickling() -> None:
    item = Item("a", "row", columns={"size": 3}, meta={"date": "2024-05-01"})
    assert item == Item("a", "row", columns={"size": 3}, meta={"date": "2024-05-01"})
    assert item != Item("a", "row", columns={"size": 4}, meta={"date": "2024-05-01"})
    assert pickle.loads(pickle.dumps(item)) == item
    assert len({item, Item("a", "row", columns={"size": 3}, meta={"date": "2024-05-01"})}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "", "kind": "image"}, "needs an id"),
        ({"id": 3, "kind": "image"}, "needs an id"),
        (
            {"id": "a", "kind": "audio"},
            "kind 'audio' is not one of image, sound, text, row, vector",
        ),
        ({"id": "a", "kind": "text", "path": "t", "region": (0, 1)}, "a text has no region"),
        ({"id": "a", "kind": "image", "region": (0, 0, 5, 5)}, "needs the path"),
        ({"id": "a", "kind": "image", "path": "p", "region": (0, 5)}, "is x, y, width, height"),
        ({"id": "a", "kind": "image", "path": "p", "region": (0, 0, 0, 5)}, "is empty"),
        ({"id": "a", "kind": "image", "path": "p", "region": (0, 0, 5, float("nan"))}, "is x, y"),
        ({"id": "a", "kind": "sound", "path": "p", "region": (3.0, 2.0)}, "is empty"),
        ({"id": "a", "kind": "sound", "path": "p", "region": (-1.0, 2.0)}, "is empty"),
    ],
)
def test_wrong_items_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        Item(**arguments)  # type: ignore[arg-type]


def test_items_are_imported_without_models() -> None:
    heavy = ("sklearn", "numba", "scipy", "pandas", "PIL", "skimage")
    code = f"""
import sys
import clew.exceptions
before = set(sys.modules)
from clew.items import Item
print(sorted({{name.partition(".")[0] for name in set(sys.modules) - before}} & {{*{heavy!r}}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
