"""The benchmark of methods under answers: equal problems, equal results, and nothing dropped."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.kernels import _constrained_measures as measures
from benchmarks.kernels import _constrained_peer as script
from benchmarks.kernels import constrained
from benchmarks.kernels._constrained_cases import CASES, CLEW, Case
from benchmarks.kernels._constrained_measures import Options
from benchmarks.kernels._constrained_plain import PLAIN
from benchmarks.kernels._constrained_problems import Inputs, Problem, save
from benchmarks.kernels._peers import PEERS, PeerMissingError, run_peer
from scipy.sparse import issparse
from sklearn.metrics import adjusted_rand_score

SMALL = Problem(120, 40)


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return SMALL.inputs()


def dense(matrix: object) -> np.ndarray:
    return matrix.toarray() if issparse(matrix) else np.asarray(matrix)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("clew", "plain"),
    [
        ("E2CP, dense", "numpy, dense inverse"),
        ("SpectralLearning, graph", "scipy, lil_array"),
        ("LinkedAffinity, dense", "numpy"),
        ("AdaptiveKNN, dense", "scikit-learn distances, numpy"),
        ("ConsensusKNN, graph", "scipy, one product"),
        ("DominantNeighbors, graph", "numpy, replicator dynamics"),
    ],
)
def test_plain_peers_do_the_same_work(inputs: Inputs, clew: str, plain: str) -> None:
    ours, theirs = dense(CLEW[clew](inputs)), dense(PLAIN[plain](inputs))
    differ = ~np.isclose(ours, theirs, atol=1e-5)
    # The plain forms leave some rows without neighbours, or drop others too slowly to be seen.
    allowed = 0.01 if clew.startswith(("Dominant", "Consensus")) else 0.0
    assert differ.sum() <= allowed * (ours != 0).sum()


def test_scipy_s_linkage_gives_the_same_groups_where_there_are_no_answers() -> None:
    free = Problem(120, 0).inputs()
    ours, theirs = CLEW["ConstrainedLinkage, average"](free), PLAIN["scipy linkage"](free)
    assert adjusted_rand_score(ours, theirs) == 1


def test_every_case_and_every_peer_can_be_run() -> None:
    for case in CASES:
        assert case.name in CLEW
        assert case.plain is None or case.plain in PLAIN
        assert set(case.peers) <= set(PEERS)
        never = {"clustlib"}  # it has no file to install
        assert all(f"{peer} {case.method}" in script.TASKS for peer in set(case.peers) - never)


def test_the_quick_form_is_small_and_repeats_nothing() -> None:
    cases = Options(is_quick=True).cases()
    assert {case.method for case in cases} == {case.method for case in CASES}
    assert max(case.problem.n_samples for case in cases) <= 300
    assert len(set(cases)) == len(cases)
    assert not any(case.is_weighed for case in cases)


CASE = Case("COPKMeans", "1 start", SMALL, peers=("clumppy", "clustlib"), repeats=1)


def test_a_peer_that_cannot_be_installed_is_a_row_with_its_reason(monkeypatch) -> None:
    def environment_of(peer):
        if peer.name == "clustlib":
            raise PeerMissingError("No matching distribution found")
        return Path(sys.executable)

    found = {
        "seconds": [2.0, 4.0], "failures": ["ValueError: dead end"], "labels": [0] * 120,
        "growth_mib": 1.0, "versions": {},
    }  # fmt: skip
    monkeypatch.setattr(measures, "CASES", (CASE,))
    monkeypatch.setattr(measures, "environment_of", environment_of)
    monkeypatch.setattr(measures, "run_peer", lambda *_: found)
    rows = list(measures.rows(Options()))
    assert [row["peer"] for row in rows] == ["clumppy", "clustlib"]
    assert rows[0]["peer_s"] == 3.0
    assert rows[0]["ratio"] == 3.0 / rows[0]["clew_s"]
    assert rows[0]["peer_violated"] > 0
    assert "peer_s" not in rows[1]
    assert rows[0]["clew_violated"] == 0
    said = "\n".join(constrained.reasons(rows))
    assert "1 of 3 runs failed: ValueError: dead end" in said
    assert "clustlib, COPKMeans: No matching distribution found" in said
    page = constrained.markdown(rows, _about(), Options())
    assert page.count("| COPKMeans, 1 start |") == 2
    assert "## Similarities" not in page


def test_without_peers_a_case_is_one_row(monkeypatch) -> None:
    monkeypatch.setattr(measures, "CASES", (CASE,))
    (row,) = measures.rows(Options(has_peers=False))
    assert row["peer"] is None
    assert list(measures.rows(Options(), ["E2CP"])) == []


def test_a_peer_s_script_counts_runs_that_fail(tmp_path: Path, monkeypatch, inputs) -> None:
    calls = []

    def task(module, data):
        calls.append(data["X"].shape)
        if len(calls) == 2:
            raise ValueError("dead end")
        return data["X"][:, 0] > 0

    monkeypatch.setitem(script.TASKS, "mine", ("json", task))
    save(inputs, tmp_path / "inputs.npz")
    job = {"task": "mine", "data": str(tmp_path / "inputs.npz"), "n_runs": 3}
    found = script.measured(job)
    assert calls == [inputs.X.shape] * 3
    assert len(found["seconds"]) == 2
    assert found["failures"] == ["ValueError: dead end"]
    assert found["labels"] == (inputs.X[:, 0] > 0).astype(int).tolist()
    assert "numpy" in found["versions"]


def test_a_tree_is_cut_into_the_groups_of_its_last_merges() -> None:
    tree = np.array([(0, 1, 0.1, 2), (3, 4, 0.2, 2), (2, 5, 0.3, 3), (6, 7, 0.9, 5)])
    assert script._cut(tree, 5, 2).tolist() in ([0, 0, 0, 1, 1], [1, 1, 1, 0, 0])


@pytest.mark.parametrize(
    ("code", "seconds", "reason"),
    [
        ("raise SystemExit('ERROR: no such thing')", 60, "no such thing"),
        ("raise ImportError('old numpy')", 60, "ImportError: old numpy"),
        ("import time; time.sleep(60)", 0.2, "not done after 0 s"),
    ],
)
def test_a_peer_that_fails_says_why(tmp_path: Path, code: str, seconds: float, reason: str) -> None:
    path = tmp_path / "peer.py"
    path.write_text(code, encoding="utf-8")
    with pytest.raises(PeerMissingError, match=reason):
        run_peer(Path(sys.executable), path, {}, seconds)


def test_a_peer_s_last_line_is_its_result(tmp_path: Path) -> None:
    path = tmp_path / "peer.py"
    path.write_text("import sys\nprint('hello')\nprint(sys.argv[1])", encoding="utf-8")
    assert run_peer(Path(sys.executable), path, {"a": 1}, 60) == {"a": 1}


def test_targets_are_judged() -> None:
    def row(seconds: float) -> dict[str, object]:
        return {
            "method": "COPKMeans", "variant": "10 starts", "problem": "digits 1,797, 200 answers",
            "clew_s": seconds, "peer": "somebody",
        }  # fmt: skip

    assert constrained.targets([row(0.1), row(0.1)]) == [
        "- reached: COPKMeans, 10 starts, digits 1,797, 200 answers: 0.1 s (at most 0.2)"
    ]
    assert "**missed**" in constrained.targets([row(0.3)])[0]


def _about() -> dict[str, object]:
    machine = {"processor": "P", "cores": 2, "memory_gib": 8}
    return {"date": "-", "machine": machine, "load": 0.0, "versions": {}, "source": "-"}
