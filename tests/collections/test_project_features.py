"""A project keeps what describes its items: additions change neither the choice nor the numbers."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from clew.cli import main
from clew.collections import Project
from clew.items import Item
from clew.worker._rows import rows_of

Image = pytest.importorskip("PIL.Image")


def photos(folder: Path, names: range, color: bool) -> list[Item]:
    rng = np.random.RandomState(names.start)
    for at in names:
        pixels = rng.randint(0, 255, (20, 20, 3) if color else (20, 20)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{at}.png")
    return [Item(f"{at}", "image", path=f"{at}.png") for at in names]


def test_the_choice_is_kept_when_items_of_another_look_are_added(tmp_path):
    project = Project.create(tmp_path)
    gray = photos(tmp_path, range(3), color=False)
    rows_of(project)(gray)
    assert Project.open(tmp_path).features == "shapes"
    colorful = photos(tmp_path, range(3, 20), color=True)
    for each in (project, Project.open(tmp_path)):
        find = rows_of(each)
        find(gray)
        assert find([*gray, *colorful]).ids == [f"{at}" for at in range(20)]
        assert Project.open(tmp_path).features == "shapes"


def test_init_takes_features_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    photos(Path("photos"), range(3), color=True)
    wrong = CliRunner().invoke(main, ["init", "photos", "--features", "clip"])
    assert wrong.exit_code == 1
    assert "there are no features named 'clip'" in wrong.output
    done = CliRunner().invoke(main, ["init", "photos", "--features", "shapes"])
    assert done.exit_code == 0, done.output
    assert Project.open("photos").features == "shapes"
