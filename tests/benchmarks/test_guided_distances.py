"""The study of distances: the same rows and answers for features and distances, and its report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.studies import guided_distances as s
from benchmarks.studies.guided_distances import DistancesReport
from benchmarks.study import problems
from benchmarks.study.engine import Task
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from scipy.spatial.distance import pdist, squareform

from benchmarks import _harness as harness
from clew.datasets import Dataset

REPORT = Path(harness.__file__).parent / "studies" / "guided_distances.py"


def _made(name: str, scale: str | None = None) -> Dataset:
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 2)) + 6 * np.eye(3)[y][:, :2]
    names, D = ("a", "b", "c"), squareform(pdist(X))
    if name == s.OF_DISTANCES:
        return Dataset(name=name, X=None, D=D, y=y, class_names=names, source="made")
    return Dataset(name=name, X=X, y=y, class_names=names, source="made")


@pytest.fixture(autouse=True)
def made_sets(tmp_path, monkeypatch):
    monkeypatch.setattr("clew.datasets.load", _made)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    for cached in (problems.load, s.permuted):
        cached.cache_clear()
    yield
    for cached in (problems.load, s.permuted):
        cached.cache_clear()


def test_distances_are_those_of_the_features_in_the_order_of_the_trial():
    X, D, y = s.permuted("uci_leaf", 1)
    assert np.allclose(squareform(pdist(X)), D)
    assert not np.array_equal(y, s.permuted("uci_leaf", 2)[2])


def test_a_set_of_distances_has_no_features():
    assert s.permuted(s.OF_DISTANCES, 0)[0] is None
    study = s.DistancesStudy(1, (s.OF_DISTANCES,))
    assert s.ON_FEATURES not in {method for method, _ in study.points(s.OF_DISTANCES)}


def test_the_report_compares_both_inputs():
    study = s.DistancesStudy(1, ("uci_leaf",))
    for task in study.tasks():
        below = 0.1 * (task.method is s.ON_DISTANCES)
        study.log.append(study.key(task) | {"ari": 0.5 - below, "fit_seconds": 1.0, "source": "x"})
    text = fill(Results(study), DistancesReport, REPORT)
    assert "The goal is met on 0 of 1 sets; the lowest difference is -0.100, on uci_leaf" in text


def test_a_method_is_scored():
    study = s.DistancesStudy(1, ("uci_leaf",))
    found = study.measure(Task("uci_leaf", s.E2CP, s.CELLS[0], 0))
    assert found["ari"] > 0.5
