"""The study of the one model: its answers, what it measures, and its report."""

from __future__ import annotations

import re

import numpy as np
import pytest
from benchmarks.studies import one_model as s
from benchmarks.study.engine import Task
from benchmarks.study.report import fill
from benchmarks.study.results import Results

from clew.datasets import Dataset

pytestmark = pytest.mark.usefixtures("small_search")

ASKED, RANDOM = s.Cell("asked", 0.0, "N"), s.Cell("random", 0.15, "3N")


@pytest.fixture(autouse=True)
def made_sets(replaced):
    def made(name, scale=None):
        y = np.repeat(np.arange(3), 10)
        X = np.random.RandomState(0).normal(size=(30, 2)) + 8 * np.eye(3)[y][:, :2]
        return Dataset(name=name, X=X, y=y, class_names=("a", "b", "c"), source="made")

    replaced(made, s.rows, s.asked)


def test_fewer_answers_are_the_first_of_the_most():
    few, most = (s.answers("iris", 20, s.Cell("asked", 0.0, n), 0) for n in ("N/2", "N"))
    assert (len(few), len(most)) == (10, 20)
    assert (few.pairs == most.pairs[:10]).all()
    drawn = s.answers("iris", 20, RANDOM, 0)
    y = s.rows("iris", 20, 0).y
    is_wrong = (y[drawn.pairs[:, 0]] == y[drawn.pairs[:, 1]]) != drawn.is_must_link
    assert is_wrong.sum() == 9


@pytest.mark.parametrize(("method", "cell"), [(s.GIVEN, ASKED), (s.OPEN, RANDOM)])
def test_groups_and_doubts_are_scored(method, cell):
    found = s.OneModelStudy(n_rows=20).measure(Task("iris", method, cell, 0))
    assert found["ari"] > 0.5
    assert found["n_found"] <= min(found["n_wrong"], found["n_doubtful"])


def test_the_report_keeps_the_figures_of_before():
    study = s.OneModelStudy(1, ("iris", "wine"), "test")
    counts = {"n_groups": 4.0, "n_classes": 3.0, "n_violated": 2.0, "n_wrong": 4.0}
    for task in study.tasks():
        row = {"ari": 0.5 + 0.1 * (task.method == s.OPEN), "fit_seconds": 1.0, "source": "x"}
        study.log.append(study.key(task) | row | counts | {"n_doubtful": 4.0, "n_found": 3.0})
    text = fill(Results(study), s.OneModelReport, s.__file__)
    assert "| asked       |    0% |    N/2 |" in text
    assert "within a factor of 1.5 in 100% of the cells, 1.33 times" in text
    assert "| one model, number given, 30% wrong |" in text
    assert not re.search(r"\bnan\b", text)
