"""The study of subclustering measures every method, and its report shows what its log holds."""

import numpy as np
import pytest
from benchmarks.papers import subclustering as m
from benchmarks.papers.subclustering import SubclusteringReport, __file__ as page
from benchmarks.study.engine import run
from benchmarks.study.problems import Problem
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from sklearn.datasets import make_blobs

from benchmarks import _harness as harness
from clew.metrics import subclustering_jaccard

X, y = make_blobs(120, 5, centers=4, cluster_std=0.5, random_state=0)
NAME = "olivetti_64x64"


@pytest.mark.parametrize("method", [*m.OURS, *m.OTHERS], ids=lambda method: method.name)
def test_every_method_finds_clear_groups(method):
    found = method.find(X, 4, 5, 0)
    assert found.shape == (4, 5)
    assert subclustering_jaccard(y, found) >= 0.5
    if method.name == "Subclustering":
        assert subclustering_jaccard(y, found) == 1


@pytest.mark.slow
def test_report(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(m, "problem", lambda name: Problem(name, X, y.astype(np.int64)))
    study = m.SubclusteringStudy(1, (NAME, m.MEDOIDS), "test", medoid_classes=(2,))
    run(study, 1, ((), ("Subclustering", "rule", "BBC-S", "CLARANS"), ()))
    run(study, 1, ((), ("BBC-S",), ()))  # measured already
    results = Results(study)
    assert results.values(NAME, m.Cell(5), m.AUTO, "sjc").tolist() == [1.0]
    assert results.values(m.MEDOIDS, m.Cell(1, 0, 2), m.MEDOID_METHODS[2], "jcc").iloc[0] > 0.5
    text = fill(results, SubclusteringReport, page)
    assert "1.000" in text
    assert (tmp_path / "test_figure_4.png").exists()
