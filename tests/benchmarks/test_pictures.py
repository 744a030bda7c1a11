"""The study of pictures: what is gray, which sets are there, and its report."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.studies import pictures as s
from benchmarks.study.engine import Task
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from PIL import Image

from benchmarks import _harness as harness

PAGE = Path(harness.__file__).parent / "studies" / "pictures.py"


@pytest.fixture(autouse=True)
def _empty(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "RESULTS", tmp_path / "results")
    (tmp_path / "results").mkdir()
    monkeypatch.setenv("CLEW_DATA", str(tmp_path))
    s.problem.cache_clear()
    yield
    s.problem.cache_clear()


@pytest.mark.slow
def test_sets_are_arrays_folders_and_the_pictures_that_clew_ships(tmp_path):
    study = s.PicturesStudy(sets=("digits", "pictures", "stamps"))
    assert study.found_sets == ["digits", "pictures"]
    rng = np.random.RandomState(0)
    for at in range(4):
        folder = tmp_path / "pictures" / "stamps" / str(at % 2)
        folder.mkdir(parents=True, exist_ok=True)
        pixels = rng.randint(0, 255, (9, 9, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{at}.png")
    s.problem.cache_clear()
    assert s.PicturesStudy(sets=study.sets).found_sets == ["digits", "pictures", "stamps"]
    assert sorted(s.problem("stamps").y) == [0, 0, 1, 1]
    assert s.problem("digits").is_gray
    assert not s.problem("pictures").is_gray


@pytest.mark.slow
def test_report_names_the_default_and_how_it_compares():
    pytest.importorskip("skimage")
    study = s.PicturesStudy(1, ("digits", "pictures"), amounts=(5,))
    for name, scores in {"digits": (0.2, 0.6), "pictures": (0.9, 0.5)}.items():
        for way, score in zip(s.WAYS, scores, strict=True):
            task = Task(name, way, s.CELL, 0)
            study.log.append(study.key(task) | {"kmeans": score, "after_5": score, "source": "x"})
    text = fill(Results(study), s.PicturesReport, PAGE)
    assert "the better of the two on 2 of 2 sets" in text
    assert "+0.40 on average" in text
    assert "0.20 / 0.60" in text
