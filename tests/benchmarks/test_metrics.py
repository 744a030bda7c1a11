"""The benchmark of learned metrics: objectives are the papers', and nothing is left out."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.kernels import _metrics_peer as script
from benchmarks.kernels import metrics
from benchmarks.kernels._metrics_problems import METHODS, PROBLEMS, QUICK, Problem, save
from benchmarks.kernels._peers import PEERS, PeerMissingError

SMALL = Problem("iris", 60, 0.1)
INPUTS = SMALL.inputs()


@pytest.mark.parametrize("name", METHODS)
def test_clew_s_metric_is_a_minimum_of_the_objective(name):
    method = METHODS[name]
    metric = method.fitted(INPUTS)
    least, random = method.value(metric, INPUTS), np.random.RandomState(0)
    assert np.isfinite(least)
    for _ in range(100):
        change = 1 + 0.1 * random.normal(size=len(metric))
        if name == "MMC diagonal":
            other = np.diag(metric.diagonal() * change)
        else:
            turn = np.eye(len(metric)) + 0.02 * random.normal(size=metric.shape)
            other = turn @ metric @ turn.T
        assert method.value(other, INPUTS) >= least * (1 - 1e-4)


def test_scale_matters_or_not():
    for method in METHODS.values():
        metric = method.fitted(INPUTS)
        assert method.difference(metric, metric) == 0
        assert (method.difference(metric, 2 * metric) > 0.5) == method.has_scale
        changed = method.value(2 * metric, INPUTS) != pytest.approx(method.value(metric, INPUTS))
        assert changed == method.has_scale


def test_every_method_has_its_peer():
    assert set(script.TASKS) == set(METHODS) == set(metrics.CLOSER)
    assert metrics.PEER in PEERS
    assert max(problem.n_answers for problem in QUICK) <= 100 < max(p.n_answers for p in PROBLEMS)


def test_a_peer_s_script_gives_metric_and_times(tmp_path: Path, monkeypatch):
    class Model:
        n_iter_ = 7

        def get_mahalanobis_matrix(self):
            return np.eye(4)

    asked = []
    monkeypatch.setitem(script.TASKS, "mine", lambda data, o: asked.append(o) or Model())
    save(INPUTS, tmp_path / "inputs.npz")
    job = {"task": "mine", "data": str(tmp_path / "inputs.npz"), "n_runs": 2, "options": {}}
    found = script.measured(job)
    assert len(found["seconds"]) == 2
    assert asked == [{"max_iter": 1}, {}, {}]  # imports are no part of the times
    assert found["metric"] == np.eye(4).tolist()
    assert (found["n_iter"], found["warnings"]) == (7, [])
    pairs, y = script._pairs(dict(np.load(tmp_path / "inputs.npz")))
    assert pairs.shape == (60, 2, 4)
    assert (y == 1).sum() == len(INPUTS.pairs.must_link)


def test_what_does_not_run_is_said(about, monkeypatch):
    def run_peer(python, path, job, seconds):
        if job["options"]:
            raise PeerMissingError("not done after 300 s")
        return {"seconds": [1.0, 3.0, 2.0], "metric": np.eye(4).tolist(), "n_iter": 1}

    monkeypatch.setattr(metrics, "run_peer", run_peer)
    rows = list(metrics.measured(METHODS["LSML"], SMALL, Path(sys.executable)))
    assert [row["peer"] for row in rows] == ["defaults", "to the end"]
    assert rows[0]["peer_s"] == 2.0
    assert rows[0]["peer_objective"] >= rows[0]["clew_objective"]
    page = metrics.markdown(rows, about, is_quick=True)
    assert "not done after 300 s" in page
    assert "no worse in 1 comparisons" in page
    better = rows[0] | {"peer_objective": rows[0]["clew_objective"] * 0.9}
    assert "**worse**" in metrics.verdicts([better])[0]


def test_problems_without_a_solution_are_not_judged():
    few = INPUTS._replace(pairs=INPUTS.pairs.select(pairs=INPUTS.pairs.is_must_link.cumsum() <= 2))
    assert not METHODS["MMC full"].has_minimum(few)
    assert METHODS["MMC full"].has_minimum(INPUTS)
    assert METHODS["MMC diagonal"].has_minimum(INPUTS)
    assert METHODS["ITML"].has_minimum(few)
    row = {
        "method": "MMC full", "problem": "p", "has_minimum": False, "peer": "defaults",
        "clew_objective": 1e-6, "peer_objective": 1.0, "difference": 1.0,
    }  # fmt: skip
    assert metrics.verdicts([row]) == []
    assert "Not judged: MMC full on p." in metrics.unbounded([row])[0]
    assert metrics.unbounded([row | {"has_minimum": True}]) == []
