"""The benchmarks of speed: how cases are measured, and what the pages hold."""

import pickle
import string
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks._environments import PACKAGES, PackageError, called
from benchmarks._peers import TASKS
from benchmarks.kernels import _measure as measure
from benchmarks.kernels.__main__ import PAGES
from benchmarks.kernels._measure import Case, Run, agreement, fit, measured
from benchmarks.kernels._page import (
    PAGES as TEMPLATES,
    Page,
    Table,
    carry_out,
    failures_of,
    laid_out,
    markdown,
)
from benchmarks.kernels._problems import Problem, gaussian_mixture
from benchmarks.kernels.forest import grow_peer
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier

from benchmarks import _environments as environments, _harness as harness
from clew.cluster import COPKMeans

SMALL = Problem("mixture", 120, 3, 2, n_answers=40)
OURS = Run("clew", fit, {"kind": COPKMeans, "n_clusters": 2, "random_state": 0}, 2)


def pages() -> list[Page]:
    return list(PAGES.values())


def cases() -> list[Case]:
    return [case for page in pages() for table in page.tables.values() for case in table.cases]


def plain(problem: Problem, **options: Any) -> Any:
    X = problem.X
    return lambda: KMeans(2, n_init=1, random_state=0).fit_predict(X)


# Problems


def test_pseudo_rows_are_drawn_from_the_columns() -> None:
    both, is_twin = SMALL.two_classes
    assert both.shape == (240, 3)
    assert (both[:120] == SMALL.X).all()
    assert is_twin.tolist() == [0] * 120 + [1] * 120
    for column, twin in zip(SMALL.X.T, both[120:].T, strict=True):
        assert np.isin(twin, column).all()


def test_more_rows_than_a_set_has_are_drawn_again_with_noise() -> None:
    more = Problem("iris", 400, 4, 3)
    assert more.X.shape == (400, 4)
    assert len(np.unique(more.X, axis=0)) == 400
    assert Problem("iris", 150, 4, 3).X.shape == (150, 4)


def test_a_set_that_is_not_installed_is_replaced_and_named(
    monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.setattr("clew.datasets.load", lambda name: missing(name))
    problem = Problem("segment_full", 30, 2, 3)
    assert (gaussian_mixture(30, 2, n_clusters=3, seed=0)[0] == problem.X).all()
    assert problem.about()["data"] == "mixture (segment_full not found)"
    assert SMALL.about()["data"] == "mixture"


def missing(name: str) -> None:
    from clew.exceptions import DatasetNotFoundError

    raise DatasetNotFoundError(name)


def test_comparisons_name_the_nearer_pair_first() -> None:
    problem = Problem("mixture", 60, 2, 2, "triplets", 50)
    near, far = problem.comparisons
    y = problem.rows[1]
    assert len(near) == (problem.answers.triplet_answers >= 0).sum() > 10
    assert (y[near[:, 0]] == y[near[:, 1]]).all()
    assert (y[far[:, 0]] != y[far[:, 1]]).all()


def test_computed_data_is_not_sent_to_another_process() -> None:
    assert len(SMALL.X) == 120
    again = pickle.loads(pickle.dumps(SMALL))
    assert again == SMALL
    assert "rows" not in again.__dict__


# Measures


def test_peers_are_measured_in_the_same_run() -> None:
    peers = (Run("plain", plain, {}, 1, scale=100.0), Run("paper", 5.0))
    row = measured(Case("cop", SMALL, OURS, peers, judge=agreement), "wall_s")
    assert row["options"] == {"n_clusters": 2, "random_state": 0}
    assert len(row["ours"]["runs_wall_s"]) == 2
    assert row["ours"]["violated"] == 0
    assert row["peers"]["plain"]["groups"] == 2
    assert row["peers"]["plain"]["wall_s"] == row["peers"]["plain"]["runs_wall_s"][0]
    assert row["peers"]["paper"]["ratio"] == 5.0 / row["ours"]["wall_s"]


def test_a_peer_grows_the_trees_that_it_is_asked_for() -> None:
    model = grow_peer(SMALL, kind=RandomForestClassifier, n_trees=7)()
    assert len(model.estimators_) == 7


def hold(problem: Problem, *, mib: int) -> Any:
    return lambda: {"held": np.ones(mib << 17).size / (1 << 17)}


def held(problem: Problem, found: dict[str, float], ours: Any) -> dict[str, float]:
    return found


@pytest.mark.slow
def test_memory_is_that_of_the_run_alone_and_its_result_is_judged() -> None:
    run = Run("clew", hold, {"mib": 100}, 1)
    row = measured(Case("hold", SMALL, run, in_fresh_process=True, judge=held), "wall_s")["ours"]
    assert row["held"] == 100
    assert 95 < row["growth_mib"] < 130
    assert row["peak_mib"] > row["growth_mib"]
    assert len(row["runs_cpu_s"]) == 1


def test_memory_of_all_trees_is_extrapolated_from_two_parts(monkeypatch: Any) -> None:
    grown = lambda _, run, *__: {"growth_mib": 10.0 + 0.5 * run.options["n_trees"]}  # noqa: E731
    monkeypatch.setattr(measure, "apart", grown)
    run = Run("peer", plain, {"n_trees": 100}, scale=10.0)
    assert measure._growth(run, SMALL) == 10.0 + 0.5 * 1000
    assert measure._growth(run._replace(scale=1.0), SMALL) == 10.0 + 0.5 * 100


def test_a_package_that_fails_is_a_peer_with_its_reason(monkeypatch: Any) -> None:
    def run_in_environment(package: str, function: str, arrays: Any, **job: Any) -> Any:
        assert arrays["X"].shape == (120, 3)
        if package == "clustlib":
            raise PackageError("No matching distribution found")
        found = {"seconds": [2.0, 4.0], "failures": ["ValueError: dead end"]}
        return found, {"result": np.zeros(120, int)}

    monkeypatch.setattr(measure, "run_in_environment", run_in_environment)
    monkeypatch.setattr(measure, "_FOUND", {})
    packages = ("clumppy", "clustlib")
    peers = tuple(Run(p, f"{p} COPKMeans", {}, 3, package=p) for p in packages)
    row = measured(Case("cop", SMALL, OURS, peers, judge=agreement), "cpu_s")
    first, second = row["peers"].values()
    assert first["cpu_s"] == 3.0
    assert first["violated"] > 0
    assert first["reason"] == "1 of 3 runs failed: ValueError: dead end"
    assert second["reason"] == "No matching distribution found"
    assert "cpu_s" not in second


@pytest.mark.parametrize(
    ("code", "seconds", "reason"),
    [
        ("raise SystemExit('ERROR: no such thing')", 60, "no such thing"),
        ("raise ImportError('old numpy')", 60, "ImportError: old numpy"),
        ("import time; time.sleep(60)", 0.2, "not done after 0 s"),
    ],
)
def test_a_command_that_fails_says_why(code: str, seconds: float, reason: str) -> None:
    assert called(60, sys.executable, "-c", "print(7)") == "7\n"
    with pytest.raises(PackageError, match=reason):
        called(seconds, sys.executable, "-c", code)


def test_a_function_runs_in_an_environment(tmp_path: Path, monkeypatch: Any) -> None:
    python, stamp = tmp_path / "clumppy/bin/python", tmp_path / "clumppy/.installed"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    stamp.write_text("\n".join(PACKAGES["clumppy"]), encoding="utf-8")
    code = "def multiplied(data, by):\n    return {'by': by}, {'x': data['x'] * by}\n"
    (tmp_path / "own.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    packages = Path(np.__file__).parents[1]  # a link to the interpreter does not see them
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{packages}", prepend=":")
    ones = {"x": np.ones(2)}
    found, arrays = environments.run_in_environment("clumppy", "own:multiplied", ones, by=2)
    assert found == {"by": 2}
    assert arrays["x"].tolist() == [2, 2]


# Pages


@pytest.mark.parametrize("page", pages(), ids=PAGES)
def test_a_page_has_a_place_for_each_of_its_tables(page: Page) -> None:
    template = (TEMPLATES / f"{page.stem}.md").read_text(encoding="utf-8")
    places = {field for _, field, _, _ in string.Formatter().parse(template) if field}
    assert places - {"failures", "goals"} == {"about", *page.tables}
    has_goals = any(case.goals for table in page.tables.values() for case in table.cases)
    assert ("goals" in places) == has_goals


def test_every_package_has_its_task() -> None:
    packaged = [run for case in cases() for run in case.peers if run.package]
    # Studies compare with them, no case does.
    of_studies = {"cblearn", "cobras-ts", "dedupe", "scikit-query", "splink"}
    assert {run.package for run in packaged} == set(PACKAGES) - of_studies
    never = {"clustlib"}  # it has no file to install
    assert {run.task for run in packaged if run.package not in never} == set(TASKS)


def test_quick_cases_are_small_and_repeat_nothing() -> None:
    for case in (case.quick() for case in cases()):
        assert case.problem.n_samples <= 300
        assert case.problem.n_answers <= 60
        assert {run.repeats for run in (case.ours, *case.peers)} == {1}
        assert case.ours.options.get("n_trees", 0) <= 100
        assert not case.measures_growth


def test_goals_are_set_for_these_methods_and_sizes() -> None:
    goals = {
        (case.label.split(",")[0], case.problem.n_samples): tuple(case.goals.values())
        for case in cases()
        if case.goals and case.in_fresh_process
    }
    assert goals == {
        ("SKLR", 1_000): (2.0,), ("DCRC", 5_000): (2.0,), ("SKLR", 100_000): (30.0, 1024.0),
        ("DCRC", 10**6): (30.0,), ("GuidedClustering", 600): (2.0,),
        ("GuidedClustering", 2_000): (15.0,), ("GuidedClustering", 20_000): (180.0, 2048.0),
        ("GuidedClustering in two threads", 2_000): (5.0,),
        ("partial_fit with the last 20", 2_000): (0.3,),
        ("GuidedClustering", 100_000): (180.0, 2048.0, 0.89),
        ("GuidedClustering", 10**6): (480.0, 4096.0, 0.92), ("ClustRF", 100_000): (15.0, 2048.0),
        ("DistLQP", 1_000): (2.5,), ("DistLQP", 10_000): (60.0, 4096.0), ("auto", 10**6): (30.0,),
        ("auto", 51_418): (8.0, 1024.0), ("shared", 51_418): (8.0, 1024.0),
        ("thesis", 51_418): (8.0, 1024.0),
        # Half of the memory of the distances.
        ("square float32", 10_000): (4 * 10_000**2 / 2**21,),
        ("square float32", 20_000): (4 * 20_000**2 / 2**21,),
        ("square float64", 20_000): (8 * 20_000**2 / 2**21,),
    }  # fmt: skip


def test_guided_clustering_of_a_given_number_of_groups_has_a_goal_of_its_own() -> None:
    labels = {case.label: case for case in cases() if case.problem.n_samples == 2_000}
    assert labels["GuidedClustering, 10 groups"].goals == {"ours.cpu_s": 5.0}


def row_of(seconds: float, **peers: Any) -> dict[str, Any]:
    goals = {"ours.cpu_s": 2.0, "peers.other.ratio": 1.9}
    ours = {"cpu_s": seconds, "growth_mib": 99.6}
    return {"label": "COP", "problem": SMALL.about(), "goals": goals, "ours": ours, "peers": peers}


TABLE = Table(
    {"method": "label", "s": "ours.cpu_s", "MiB": "ours.growth_mib", "peer": "peer.name",
     "ratio": "peer.ratio"}, (), is_long=True,
)  # fmt: skip


def test_a_long_table_has_a_line_for_each_peer() -> None:
    row = row_of(1.5, a={"ratio": 14.26}, b={"ratio": 1.234}, c={"reason": "no"})
    lines = laid_out(TABLE, [row, row_of(1.0)]).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells == [
        ["COP", "1.500", "100", "a", "14.3×"], ["COP", "1.500", "100", "b", "1.23×"],
        ["COP", "1.500", "100", "c", "–"], ["COP", "1.000", "100", "–", "–"],
    ]  # fmt: skip


def test_a_row_without_peers_has_one_line_and_no_failures() -> None:
    row = row_of(1.5)
    del row["peers"]
    assert laid_out(TABLE, [row]) == laid_out(TABLE, [row_of(1.5)])
    assert failures_of({"rows": [row]}) == "None."


def test_a_page_says_what_was_reached_and_what_failed(
    about: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    template = "# T\n\n{about}\n\n{rows}\n\n{failures}\n\n{goals}\n"
    (tmp_path / "some.md").write_text(template, encoding="utf-8")
    monkeypatch.setattr("benchmarks.kernels._page.PAGES", tmp_path)
    good = row_of(1.5, other={"ratio": 2.0})
    bad = row_of(2.5, other={"ratio": 1.5, "reason": "1 of 3 runs failed: x"})
    unknown = row_of(0.5, other={})
    page = Page("some", {"rows": TABLE})
    text = markdown(page, {"rows": [good, bad, unknown]}, about, is_quick=True)
    what = "COP, mixture 120×3, 40 pairs"
    assert f"- reached: {what}: 1.5 s (at most 2)" in text
    assert f"- **missed**: {what}: 2.5 s (at most 2)" in text
    assert f"- reached: {what}, other: 2× (at least 1.9)" in text
    assert f"- **missed**: {what}, other: 1.5× (at least 1.9)" in text
    assert f"- not judged: {what}, other" in text
    assert f"- other, {what}: 1 of 3 runs failed: x" in text
    assert "Quick run" in text
    assert "Quick run" not in markdown(page, {"rows": []}, about, is_quick=False)


@pytest.mark.parametrize(("only", "files"), [("", {"relative_quick.json", "relative_quick.md"}),
                                             ("some", set())])  # fmt: skip
def test_a_part_of_the_cases_writes_no_files(
    only: str, files: set[str], monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    page = Page("relative", {"fits": TABLE._replace(cases=[Case("some", SMALL, OURS)])})
    carry_out(page, is_quick=True, only=only)
    assert {path.name for path in tmp_path.iterdir()} == files
