"""The study of active subclustering: every method improves, and the report shows the log."""

import numpy as np
import pytest
from benchmarks.papers import active_subclustering as s
from benchmarks.papers.active_subclustering import ActiveSubclusteringReport, __file__ as page
from benchmarks.study.engine import run
from benchmarks.study.problems import Problem
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from sklearn.datasets import make_blobs

from benchmarks import _harness as harness
from clew.metrics import subclustering_jaccard
from clew.oracles import SimulatedOracle

X, y = make_blobs(150, 4, centers=6, cluster_std=1.6, random_state=0)
NAME = "face_like_40"


@pytest.mark.parametrize("method", [s.OURS, s.THESIS, s.RANDOM], ids=lambda method: method.name)
def test_questions_improve_the_score(method):
    oracle, scores, n_asked = SimulatedOracle(y, origin="asked", random_state=0), [], 0
    for n, exemplars in method.run(X, 6, 5, 0, oracle):
        scores.append(subclustering_jaccard(y, exemplars()))
        n_asked += n
        if n_asked >= 150:
            break
    assert scores[-1] > scores[0] or scores[-1] == 1.0


@pytest.mark.slow
def test_report(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setitem(s.SETS, NAME, (5, 40))
    monkeypatch.setattr(s, "problem", lambda name: Problem(name, X, y.astype(np.int64)))
    study = s.ActiveSubclusteringStudy(1, (NAME,), "test")
    run(study, 1, ((), (s.OURS.name, s.THESIS.name), ("0% wrong",)))
    text = fill(Results(study), ActiveSubclusteringReport, page)
    assert "ActiveSubclustering" in text
    assert (tmp_path / "test_figure_6.png").exists()
