"""The study of spaces: what other software is given, how it is scored, and the report."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.studies import spaces as s
from benchmarks.studies.spaces import METHODS, SpacesReport, SpacesStudy
from benchmarks.study.report import fill
from benchmarks.study.results import Results

from benchmarks import _harness as harness
from clew import Constraints


def test_each_odd_one_out_answer_becomes_two_triplets() -> None:
    known = Constraints(
        4, triplets=[(3, 1, 0, 1)], odd_one_out=[(0, 1, 2, 2), (2, 0, 1, 0), (0, 1, 2, -2)]
    )
    rows = sorted(s.as_triplets(known).tolist())
    assert rows == [[0, 1, 2], [0, 1, 2], [1, 0, 2], [1, 0, 2], [3, 0, 1]]


@pytest.mark.parametrize("name", s.FORMS)
def test_near_rows_are_probable_answers(name: str) -> None:
    space = np.array([[0.0], [0.2], [3.0]])
    held = Constraints(3, triplets=[(0, 1, 2, 0)], odd_one_out=[(0, 1, 2, 2)])
    pairs, triplets, odd = s.predicted(name, space, 1.0, held)
    assert pairs.shape == (0, 2)
    assert triplets[0, 0] > 0.6
    assert odd[0].argmax() == 2
    np.testing.assert_allclose([triplets.sum(), odd.sum()], 1)


def test_report_shows_what_the_log_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(SpacesStudy, "problem", lambda study, name: None)
    small = SpacesStudy(2, ("zappos85",), "test")
    for task in small.tasks():
        is_best = task.method == METHODS[0]
        row: dict[str, Any] = {"accuracy": 0.8 + 0.02 * task.trial + 0.1 * is_best}
        row |= {"log_loss": 0.5 - 0.1 * is_best, "fit_seconds": 1.5, "source": "x"}
        small.log.append(small.key(task) | row)
    text = fill(Results(small), SpacesReport, s.__file__)
    assert re.search(r"\| OrdinalEmbedding +\| +\*\*0\.910 ± 0\.010\*\*", text)
    assert re.search(r"\| GNMDS +\| +0\.500 ± 0\.000", text)
    assert "missing" not in text
