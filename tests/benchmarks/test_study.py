"""Studies: the log keeps every result, none is measured twice, and reports count correctly."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from benchmarks.study import problems
from benchmarks.study.command import compared, study_command
from benchmarks.study.engine import Study, Task, run
from benchmarks.study.log import ResultLog
from benchmarks.study.methods import Method, noted, selected
from benchmarks.study.problems import Problem
from benchmarks.study.report import (
    Claim,
    Curves,
    Line,
    Page,
    Panel,
    Table,
    claims_table,
    counted,
    fill,
)
from benchmarks.study.results import (
    Results,
    Score,
    averaged,
    difference,
    in_order,
    paired,
    standing,
    verdict,
)
from click.testing import CliRunner

from clew import Constraints
from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError, InconsistentConstraintsError


def _made(name: str, scale: str | None = None) -> Dataset:
    if name == "far":
        D = np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))
        return Dataset(name=name, D=D, y=np.array([0, 0, 1]), class_names=("a", "b"), source="made")
    if name not in ("near", "other"):
        raise DatasetNotFoundError(f"no {name}")
    X = np.arange(24.0).reshape(8, 3) ** 2
    X[:, 2] = 7.0
    return Dataset(name=name, X=X, y=np.arange(8) % 2, class_names=("a", "b"), source="made")


@pytest.fixture(autouse=True)
def made_sets(replaced: Any) -> None:
    replaced(_made)


PLAIN = Method("plain", "Plain", "k-means", answers="nothing")
LEARNED = Method("learned", "Learned", "k-means")


@dataclass(frozen=True)
class Point:
    name: str


FIRST, SECOND, NOTHING = Point("first"), Point("second"), Point("nothing")


@dataclass(frozen=True)
class Small(Study):
    """Two points on two sets; a method without answers, and one that refuses the second point."""

    n_trials: int = 2
    sets: tuple[str, ...] = ("near", "other", "absent")
    stem: str = "small"
    tag: str = "a"

    def problem(self, name: str) -> Problem:
        return problems.load(name)

    def points(self, name: str) -> list[tuple[Method, Point]]:
        return [(m, cell) for cell in (FIRST, SECOND) for m in (PLAIN, LEARNED)]

    def base(self, method: Method, cell: Point) -> Point:
        return cell if method.uses_answers else NOTHING

    def version(self, method: Method) -> str:
        return self.tag

    def measure(self, task: Task) -> dict[str, Any]:
        if task.method is LEARNED and task.cell == SECOND:
            return {"failure": "InconsistentConstraintsError"}
        return {"ari": 0.5 + 0.1 * task.trial + 0.2 * task.method.uses_answers}


def _lines(study: Study) -> list[str]:
    return study.log.path.read_text(encoding="utf-8").splitlines()


def test_results_come_back_by_their_key_and_the_later_one_counts(tmp_path: Path) -> None:
    log = ResultLog(tmp_path / "log.jsonl", ["set", "trial"])
    assert log.read() == {}
    for ari in (0.1, 0.2):
        log.append({"set": "iris", "trial": 0, "ari": ari})
    assert log.read() == {("iris", 0): {"set": "iris", "trial": 0, "ari": 0.2}}


def test_a_line_that_was_cut_short_is_the_only_loss(tmp_path: Path) -> None:
    log = ResultLog(tmp_path / "log.jsonl", ["set", "trial"])
    log.append({"set": "iris", "trial": 0})
    with log.path.open("a", encoding="utf-8") as file:
        file.write('{"set": "iris", "trial": 1, "a')
    log.append({"set": "iris", "trial": 2})
    assert set(log.read()) == {("iris", 0), ("iris", 2)}


def test_every_result_is_measured_once(capsys: pytest.CaptureFixture[str]) -> None:
    run(Small(), 1)
    # On two sets and in two trials: without answers once, with answers at both points.
    assert len(_lines(Small())) == 2 * 2 * 3
    assert "left out: no absent" in capsys.readouterr().out
    run(Small(), 1)
    assert len(_lines(Small())) == 12
    assert "0 results to measure, 12 found" in capsys.readouterr().out


def test_an_interrupted_run_is_resumed() -> None:
    run(Small(), 1)
    kept = [line for line in _lines(Small()) if '"trial": 0' in line or '"plain"' in line]
    Small().log.path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    run(Small(), 1)
    assert _lines(Small())[: len(kept)] == kept
    assert len(_lines(Small())) == 12


def test_only_wanted_sets_and_methods_are_measured() -> None:
    run(Small(), 1, (["near"], ["plain"], []))
    assert len(_lines(Small())) == 2
    run(Small(), 1, (["near"], ["plain"], []), is_fresh=True)
    assert len(_lines(Small())) == 4
    assert Results(Small()).n_missing == 10


def test_other_parameters_are_measured_again_and_old_results_used_until_then() -> None:
    run(Small(), 1)
    old = Results(Small())
    changed = Results(Small(tag="b"))
    assert changed.outdated == ["learned", "plain"]
    pd.testing.assert_frame_equal(changed.frame, old.frame)
    run(Small(tag="b"), 1)
    assert Results(Small(tag="b")).outdated == []
    assert len(_lines(Small())) == 24


def test_frame_repeats_what_uses_no_answers_and_counts_refusals() -> None:
    run(Small(), 1)
    results = Results(Small())
    for cell in (FIRST, SECOND):
        assert results.values("near", cell, PLAIN).to_dict() == {0: 0.5, 1: 0.6}
    assert results.values("near", FIRST, LEARNED).to_dict() == {0: 0.7, 1: pytest.approx(0.8)}
    assert results.values("near", SECOND, LEARNED).empty
    assert str(results.score("near", SECOND, LEARNED)) == "– (2 refused)"
    both = results.mean(["near", "other"], [FIRST, SECOND], PLAIN, [LEARNED])
    assert both.to_dict() == {0: 0.5, 1: 0.6}
    curve = results.curve("near", [FIRST, SECOND], PLAIN, x=[1, 2])
    assert curve.to_dict("list") == {1: [0.5, 0.6], 2: [0.5, 0.6]}


def _parts(results: Results[Any]) -> SimpleNamespace:
    row = ["Learned", *(results.score("near", cell, LEARNED) for cell in (FIRST, SECOND))]
    lines = [Line("Plain", results.curve("near", [FIRST, SECOND], PLAIN), {"color": "black"})]
    curves = Curves("curves", "Curves", [[Panel("near", [1, 2], lines)]], "answers")
    table = Table(["", "first", "second"], [row], is_marked=True)
    return SimpleNamespace(blocks=lambda: [curves, Page("page", [table])])


@pytest.fixture
def command(tmp_path: Path) -> click.Command:
    page = tmp_path / "template.md"
    page.write_text("# Small\n\n{about}\n\n{blocks}\n", encoding="utf-8")
    quick = Small(stem="quick", is_quick=True)
    return study_command(Small(), _parts, page, quick, "As small as it is")


@pytest.mark.slow
def test_command_measures_and_writes(command: click.Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = CliRunner().invoke(command, ["--jobs", "1"], catch_exceptions=False)
    text = (tmp_path / "small.md").read_text(encoding="utf-8")
    assert text in done.output
    assert "![Curves](small_curves.png)" in text
    assert "**0.750 ± 0.050**" in text
    assert "– (2 refused)" in text
    assert "Not available, and left out: absent." in text
    assert (tmp_path / "small_curves.png").stat().st_size > 1_000
    assert (tmp_path / "small_page.md").read_text(encoding="utf-8") in text
    assert "there are learned, plain" in CliRunner().invoke(command, ["--methods", "none"]).output


@pytest.mark.parametrize("options", [[], ["--fresh"], ["--sets", "near", "--fresh"], ["--quick"]])
def test_a_report_deletes_nothing(command: click.Command, options: list[str]) -> None:
    pytest.importorskip("matplotlib")
    run(Small(), 1)
    before = Small().log.path.read_bytes()
    done = CliRunner().invoke(command, ["--report-only", *options])
    assert done.exit_code == (2 if "--fresh" in options else 0)
    assert Small().log.path.read_bytes() == before


def test_a_check_compares_only_results() -> None:
    same = {"ari": 0.5, "auc": 0.7}
    assert compared(same, same | {"seconds": 3.0}, 0.0) == [("ari", 0.5, 0.5, 0.0)]
    assert compared(same | {"seconds": 1.0}, same, 0.0)[0][-1] == 0
    both = compared(same, {"ari": 0.25, "failure": "ValueError"}, 0.1)
    assert [(row[0], row[-1]) for row in both] == [
        ("auc", np.inf), ("failure", np.inf), ("ari", 0.25)
    ]  # fmt: skip


def test_a_check_measures_logged_results_again_and_fails_where_they_differ(
    command: click.Command,
) -> None:
    run(Small(), 1)
    same = CliRunner().invoke(command, ["--check", "5", "--cells", "first"], catch_exceptions=False)
    assert same.exit_code == 0
    assert "0 of 4 results differ" in same.output
    before = Small().log.path.read_text(encoding="utf-8")
    Small().log.path.write_text(before.replace("0.8", "0.9"), encoding="utf-8")
    changed = CliRunner().invoke(command, ["--check", "20"], catch_exceptions=False)
    assert changed.exit_code == 1
    assert "2 of 12 results differ" in changed.output
    assert "| near, first, learned, trial 1 " in changed.output
    assert len(_lines(Small())) == 12
    assert CliRunner().invoke(command, ["--check", "20", "--tolerance", "0.2"]).exit_code == 0


class _Parts:
    scale = "Two trials"

    def words(self) -> str:
        return "Some words."

    def tables(self) -> Iterator[Table]:
        yield from (Table(["", name], [["row", 1.5]]) for name in ("a", "b"))


def test_a_page_is_filled_with_parts(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(
        "# Small\n\n{words}\n\n{scale} of {study.stem}.\n\n{about}\n\n{tables}\n"
    )
    text = fill(Results(Small()), lambda _: _Parts(), tmp_path / "report.py")
    assert text.startswith("# Small\n\nSome words.\n\nTwo trials of small.\n")
    assert "Not complete: 12 results are missing." in text
    tables = ["|     |     a |", "| :-- | ----: |", "| row | 1.500 |"]
    assert "\n".join([*tables, "", tables[0].replace("a", "b"), *tables[1:]]) in text
    assert (tmp_path / "small.md").read_text() == text


def test_an_empty_log_gives_dashes(command: click.Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    CliRunner().invoke(command, ["--report-only"], catch_exceptions=False)
    text = (tmp_path / "small.md").read_text(encoding="utf-8")
    assert "nan" not in text
    assert "Not complete: 12 results are missing." in text


def test_scores_are_means_with_errors() -> None:
    values = pd.Series([1.0, 2.0, 3.0])
    assert str(Score.of(values)) == "2.000 ± 0.577"
    # Deviations -2, -1, 0, 3: variance 14/3 with one degree lost, over four values.
    assert Score.of(pd.Series([1.0, 2.0, 3.0, 6.0])).error == pytest.approx(np.sqrt(14 / 3 / 4))
    # Three values of standard deviation 1; Student's t with two degrees of freedom is 4.303.
    assert Score.with_interval(values).error == pytest.approx(4.303 / np.sqrt(3), rel=1e-3)
    assert str(Score.of(values[:1])) == "1.000"
    assert str(Score.of(values[:0])) == "–"
    assert str(difference(values, pd.Series([0.5, 1.5]))) == "+0.500 ± 0.000"


def test_averages_are_over_common_trials() -> None:
    parts = [pd.Series({0: 1.0, 1: 2.0}), pd.Series({1: 4.0, 2: 5.0})]
    assert averaged(parts).to_dict() == {1: 3.0}
    assert averaged([]).empty


@pytest.mark.parametrize(
    ("mean", "error", "word"),
    [
        (0.2, 0.01, "yes"),
        (-0.2, 0.01, "**no**"),
        (0.2, 0.2, "level"),
        (0.004, 0.0, "level"),
        (float("nan"), float("nan"), "not complete"),
    ],
)
def test_verdicts_allow_for_the_standard_error(mean: float, error: float, word: str) -> None:
    assert verdict(Score(mean, error)) == word
    opposite = {"yes": "**no**", "**no**": "yes"}.get(word, word)
    assert verdict(Score(mean, error), is_below=True) == opposite


def test_claims_name_the_least_favorable_comparison() -> None:
    ours = pd.DataFrame({5: [0.7, 0.7], 9: [0.8, 0.8]})
    others = {"A": ours - 0.2, "B": ours - [0.1, -0.1]}
    theirs = {name: lambda _, at=at: at for name, at in others.items()}
    claim = Claim("we win", lambda _: ours, theirs, {"here": 1})
    row = ["we win", "here", "-0.100 ± 0.000 (B at 9)", "**no**: 3 in favor, 1 against"]
    assert claim.rows() == [row]
    assert "| we win | here | -0.100 ± 0.000 (B at 9) |" in claims_table([claim]).markdown()
    assert counted([claim]) == "above in 3 of 4 comparisons, level in 0, below in 1"
    below = Claim("B wins", lambda place: ours[9], lambda place: others["B"][9], ["here"], True)
    assert below.rows()[0][2:] == ["-0.100 ± 0.000", "yes"]
    missing = Claim("?", lambda place: ours[5], lambda place: pd.Series(dtype=float), ["here"])
    assert missing.rows()[0][2:] == ["–", "not complete"]


def test_standing_and_order() -> None:
    scores = {"A": Score(0.2, 0.01), "B": Score(-0.1, 0.02), "C": Score()}
    assert in_order(scores) == "A 0.20 > B -0.10"
    assert standing(scores) == "not complete"
    assert standing({"A": scores["A"]}) == "yes"
    level = paired(pd.Series([0.5, 0.5]), {"": pd.Series([0.5, 0.5])})
    assert standing({"A": scores["A"], **level}) == "level: 1 in favor, 1 level"


def test_features_are_scaled_and_reduced() -> None:
    X = problems.load("near", "range").X
    np.testing.assert_allclose(X[:, :2].min(axis=0), -1)
    np.testing.assert_allclose(X[:, :2].max(axis=0), 1)
    assert not X[:, 2].any()  # a constant feature
    assert problems.load("near", "largest").X.max() == 1
    assert problems.load("near", n_components=1).X.shape == (8, 1)
    assert problems.load("near", per_class=2).y.tolist() == [0, 0, 1, 1]


def test_distances_become_coordinates() -> None:
    far = problems.load("far", n_coordinates=2)
    between = np.linalg.norm(far.X[:, None] - far.X, axis=2)
    np.testing.assert_allclose(between, far.distances, atol=1e-6)
    squared = problems.load("far", is_squared=True)
    np.testing.assert_allclose(squared.distances**2, far.distances)


def test_refusals_and_warnings_are_noted() -> None:
    notes: dict[str, Any] = {}
    with noted(notes):
        np.log(np.zeros(1))
        raise InconsistentConstraintsError("no")
    assert notes == {"failure": "InconsistentConstraintsError", "warnings": ["RuntimeWarning"]}


def test_methods_get_the_answers_that_they_can_use() -> None:
    y = np.repeat(np.arange(3), [8, 10, 12])
    known = Constraints.from_labels(y, 7, n_triplets=40, n_odd_one_out=9, random_state=0)

    def sizes(answers: Any) -> list[int]:
        of = selected(known, answers)
        return [len(of.pairs), len(of.triplets), len(of.odd_one_out)]

    n_decided = int((known.triplet_answers >= 0).sum())
    assert 0 < n_decided < 40
    assert sizes("all") == [7, 40, 9]
    assert sizes("pairs") == [7, 0, 0]
    assert sizes("odd_one_out") == [0, 0, 9]
    assert sizes("triplets") == [0, 40, 0]
    assert sizes("yes_no") == [0, n_decided, 0]
    assert sizes("comparisons")[:2] == [0, 40]
    assert sizes("as_pairs")[0] > 7
