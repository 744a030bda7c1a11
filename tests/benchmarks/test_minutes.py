"""The study of minutes: sorting by hand, merge lists, sessions by kinds, and the report."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.studies import minutes as s
from benchmarks.study.engine import Task
from benchmarks.study.report import fill
from benchmarks.study.results import Results

from benchmarks import _harness as harness
from clew.datasets import Dataset

REPORT = Path(harness.__file__).parent / "studies" / "minutes.py"


def _made(name: str, scale: str | None = None) -> Dataset:
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(8), 20)
    X = rng.normal(size=(8, 5))[y] * 2 + rng.normal(size=(160, 5))
    names = tuple(map(str, range(8)))
    return Dataset(name=name, X=X, D=None, y=y, class_names=names, source="made")


@pytest.fixture(autouse=True)
def made_sets(replaced):
    replaced(_made, s.rows)


def test_sorting_without_mistakes_is_right_and_takes_its_time() -> None:
    X, y = s.rows("letters_ijlt", 0)
    clock = s.Clock(y)
    s.sorted_by_hand(X, y, 0.0, 0, clock)
    assert clock.jaccard == 1.0
    assert len(y) * (s.ITEM + s.PLACE) < clock.seconds
    hasty = s.Clock(y)
    s.sorted_by_hand(X, y, 0.1, 0, hasty)
    assert hasty.jaccard < 1.0


@pytest.mark.slow
def test_the_report_is_made_of_what_is_measured(tmp_path) -> None:
    study = s.MinutesStudy(1, ("letters_ijlt", "digits"), "minutes_test", True)
    for name in study.sets:
        for method, cell in (
            (s.AUTO, s.PEOPLE[0]),
            (s.SORT, s.SORTERS[0]),
            (s.MERGES, s.Cell(0.0)),
        ):
            task = Task(name, method, cell, 0)
            found = study.measure(task)
            assert 0 < found["end"] <= 60
            study.log.append(study.key(task) | found | {"seconds": 1.0, "source": "test"})
    text = fill(Results(study), s.MinutesReport, REPORT.with_suffix(".md"))
    assert "| letters_ijlt |" in text
