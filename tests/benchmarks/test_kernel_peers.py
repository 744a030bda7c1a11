"""Other software that clew is compared with finds the same results; objectives of the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.kernels import _plain as plain
from benchmarks.kernels._measure import Case
from benchmarks.kernels._problems import Problem
from benchmarks.kernels.constrained import GROUPS, SIMILARITIES
from benchmarks.kernels.metrics import METHODS, _has_minimum, judged, learn
from scipy.sparse import issparse
from sklearn.metrics import adjusted_rand_score

from benchmarks import _peers as packages

SMALL = Problem("mixture", 120, n_answers=40)
#: On this one, replicator dynamics drop as large a share of the edges in a quarter of the time.
SMALLER = Problem("mixture", 60, n_clusters=4, n_answers=40)
DIGITS = {case.label: case for case in SIMILARITIES.cases if case.problem.data == "digits"}


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if issparse(matrix) else np.asarray(matrix)


def found(case: Case, run: Any) -> np.ndarray:
    problem = SMALLER if case.label.startswith("Dominant") else SMALL
    return dense(run.task(problem, **run.options)())


@pytest.mark.slow
@pytest.mark.parametrize(
    "label",
    ["E2CP, dense", "SpectralLearning, graph", "LinkedAffinity, dense", "AdaptiveKNN, dense",
     "ConsensusKNN, graph", "DominantNeighbors, graph"],
)  # fmt: skip
def test_implementations_without_clew_give_the_same_results(label: str) -> None:
    case = DIGITS[label]
    ours, theirs = found(case, case.ours), found(case, case.peers[0])
    differ = ~np.isclose(ours, theirs, atol=1e-5)
    # The plain versions leave some rows without neighbors, and drop others too slowly.
    allowed = 0.01 if label.startswith(("Dominant", "Consensus")) else 0.0
    assert differ.sum() <= allowed * (ours != 0).sum()


def test_scipy_s_linkage_finds_the_same_groups_without_answers() -> None:
    case = next(case for case in GROUPS.cases if case.problem.n_answers == 0)
    free = Problem("mixture", 120)
    ours = case.ours.task(free, **case.ours.options | {"n_clusters": 20})()  # type: ignore[operator]
    assert adjusted_rand_score(ours, plain.average_linkage(free)) == 1


def test_a_tree_is_cut_into_the_groups_of_its_last_merges() -> None:
    tree = np.array([(0, 1, 0.1, 2), (3, 4, 0.2, 2), (2, 5, 0.3, 3), (6, 7, 0.9, 5)])
    assert packages._cut(tree, 5, 2).tolist() in ([0, 0, 0, 1, 1], [1, 1, 1, 0, 0])


def test_runs_that_fail_are_counted(monkeypatch: Any) -> None:
    calls = []

    def task(module: Any, data: Any, **options: Any) -> Any:
        calls.append(options)
        if len(calls) == 2:
            raise ValueError("dead end")
        return data["X"][:, 0] > 0

    monkeypatch.setitem(packages.TASKS, "json mine", task)
    found, arrays = packages.timed_fits(SMALL.arrays(), "json mine", 3, {"tol": 1})
    assert calls == [{"tol": 1}] * 3
    assert len(found["seconds"]) == 2
    assert found["failures"] == ["ValueError: dead end"]
    assert (arrays["result"] == (SMALL.X[:, 0] > 0)).all()
    assert "numpy" in found["versions"]


def test_answers_reach_metric_learn_as_features() -> None:
    problem = Problem("iris", 150, 4, 3, n_answers=60, is_scaled=True)
    pairs, y = packages._answers("ITML", problem.arrays())
    assert pairs.shape == (60, 2, 4)
    assert (y == 1).sum() == len(problem.answers.must_link)


def metric_problem(name: str, n_answers: int = 60) -> Problem:
    kind = "triplets" if name == "LSML" else "pairs"
    return Problem("iris", 150, 4, 3, kind, n_answers, 0.1, is_scaled=True, drops_constant=True)


@pytest.mark.parametrize("name", METHODS)
def test_clew_s_metric_is_a_minimum_of_the_objective(name: str) -> None:
    problem, value = metric_problem(name), METHODS[name].value
    metric = learn(problem, **METHODS[name].options)()
    least, random = value(metric, problem), np.random.RandomState(0)
    assert np.isfinite(least)
    for _ in range(100):
        change = 1 + 0.1 * random.normal(size=len(metric))
        turn = np.eye(len(metric)) + 0.02 * random.normal(size=metric.shape)
        is_diagonal = name == "MMC diagonal"
        other = np.diag(metric.diagonal() * change) if is_diagonal else turn @ metric @ turn.T
        assert value(other, problem) >= least * (1 - 1e-4)


@pytest.mark.parametrize("name", METHODS)
def test_metrics_that_differ_by_a_factor_are_equal_only_for_mmc(name: str) -> None:
    problem = metric_problem(name)
    metric = learn(problem, **METHODS[name].options)()
    row = judged(name, problem, 2 * metric, metric)
    is_equal = name.startswith("MMC")
    assert (row["difference"] < 1e-12) == is_equal
    assert (abs(row["gain"]) < 1e-12) == is_equal


def test_problems_without_a_solution_are_not_judged() -> None:
    few, many = metric_problem("MMC full", 3), metric_problem("MMC full")
    assert not _has_minimum("MMC full", few)
    assert _has_minimum("MMC full", many)
    assert _has_minimum("MMC diagonal", many)
    assert _has_minimum("ITML", few)
    assert "gain" not in judged("MMC full", few, np.eye(4), np.eye(4))
    assert judged("MMC full", many, np.eye(4), np.eye(4))["gain"] == 0.0


def test_metrics_that_satisfy_all_answers_are_equal() -> None:
    easy = Problem("iris", 150, 4, 3, "triplets", 2)
    near, far = (easy.X[rows[:, 0]] - easy.X[rows[:, 1]] for rows in easy.comparisons)
    assert (np.linalg.norm(near, axis=1) < np.linalg.norm(far, axis=1)).all()
    assert judged("LSML", easy, np.eye(4), np.eye(4)) == {
        "objective": 0.0, "gain": 0.0, "difference": 0.0,
    }  # fmt: skip
