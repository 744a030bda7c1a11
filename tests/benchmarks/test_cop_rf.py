"""The study of COP-RF follows the paper's protocol, and its report shows what its log holds."""

import json
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.papers import _cop_rf_study as s, cop_rf as report_module
from benchmarks.papers.cop_rf import (
    COLUMNS,
    PUBLISHED,
    CopRfReport,
    command,
    relative_gain,
    reproduced,
)
from benchmarks.study.command import measured_again
from benchmarks.study.engine import Task, run
from benchmarks.study.methods import Method
from benchmarks.study.report import fill
from benchmarks.study.results import Results, Score
from click.testing import CliRunner
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from benchmarks import _harness as harness
from clew import Constraints

CLEAN, NOISY, RATES = s.TABLES
BLOBS: NDArray[np.float64] = np.concatenate(
    [np.random.RandomState(0).normal(center, 0.1, (20, 2)) for center in (0, 3, 6)]
)
ALL = (s.METHODS, s.BLOCKS, s.EXEMPLARS, s.REFERENCES, s.DOUBTS)


def _method(name: str) -> Method:
    return next(method for method in chain(*ALL) if method.name == name)


DEFAULT, FOREST = _method("coprf"), _method("clustrf")


@pytest.fixture(autouse=True)
def results_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)


@pytest.fixture
def study() -> s.CopRfStudy:
    return s.CopRfStudy(n_trials=2, sets=("iris",), stem="test", n_trees=5)


def _fill(study: s.CopRfStudy, score: float = 0.5) -> None:
    """Write the same score everywhere, .1 more for the default and .02 more in each trial."""
    for task in study.tasks():
        ari = score + 0.1 * (task.method == DEFAULT) + 0.02 * task.trial
        study.log.append(study.key(task) | {"ari": ari, "source": "x"})


def _drop(study: s.CopRfStudy, is_dropped: Callable[[dict[str, Any]], bool]) -> None:
    lines = study.log.path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not is_dropped(json.loads(line))]
    study.log.path.write_text("".join(kept), encoding="utf-8")


def _parts(study: s.CopRfStudy) -> CopRfReport:
    return CopRfReport(Results(study))


def _rows(text: str) -> list[str]:
    return [re.sub(" +", " ", line) for line in text.splitlines()]


def test_features_and_numbers_of_answers_are_the_papers() -> None:
    X = s.problem("iris").X
    assert np.allclose(X.min(axis=0), -1)
    assert np.allclose(X.max(axis=0), 1)
    # 150 rows have 11,175 pairs.
    assert s.amounts("iris") == (11, 22, 34, 45, 56)
    assert [len(table.cells("iris")) for table in s.TABLES] == [5, 5, 6]
    # Tables III and IV share a point.
    assert len({cell for table in s.TABLES for cell in table.cells("iris")}) == 15


@pytest.mark.parametrize("error", [0.0, 0.15, 0.3])
def test_an_exact_share_of_answers_about_the_same_pairs_is_wrong(error: float) -> None:
    y, known = s.problem("iris").y, s.answers("iris", s.Cell(100, error), 1)
    i, j = known.pairs.T
    assert (known.is_must_link != (y[i] == y[j])).sum() == round(100 * error)
    assert (s.answers("iris", s.Cell(100), 1).pairs == known.pairs).all()
    assert (s.answers("iris", s.Cell(100), 2).pairs != known.pairs).any()


ERCE = {
    "II": (2.647, 0.292, 3.681, 3.447, 3.840, 3.947),
    "III": (2.647, 0.328, 0.368, 0.832, 3.119, 3.705),
    "IV": (3.160, 0.000, 0.159, 1.320, 3.682, 4.331),
}
AVERAGES = {
    "II": (1.692, 0.526, 1.865, 1.854, 2.529, 2.661),
    "III": (1.692, None, 1.299, 1.396, 2.192, 2.387),
    "IV": (2.150, 0.579, 1.573, 1.791, 2.588, 2.896),
}


@pytest.mark.parametrize("table", ["II", "III", "IV"])
def test_published_figures_add_up_to_the_papers_averages(table: str) -> None:
    rows = [*PUBLISHED.loc[table].to_numpy(), ERCE[table]]
    for ours, paper in zip(np.mean(rows, axis=0), AVERAGES[table], strict=True):
        # The paper's own sum of COP-Kmeans in Table III is off by a tenth of the six.
        assert paper is None or ours == pytest.approx(paper, abs=1e-3)


@pytest.mark.parametrize(
    ("mean", "error", "paper", "expected"),
    [
        (2.0, 0.0, 2.2, "yes"),  # within a tenth
        (2.0, 0.01, 2.3, "**lower**"),
        (2.0, 0.2, 2.3, "yes"),  # within two standard errors
        (0.04, 0.0, 0.0, "yes"),  # a difference of less than .05
        (0.5, float("nan"), 0.06, "higher"),
    ],
)
def test_reproduction_allows_for_the_standard_error(
    mean: float, error: float, paper: float, expected: str
) -> None:
    assert reproduced(Score(mean, error), paper) == expected


def test_methods_have_names_and_versions_of_their_own() -> None:
    methods = list(chain(*ALL))
    assert len({m.name for m in methods}) == len(methods)
    tags = {s.CopRfStudy(n_trees=n).version(m) for m in s.METHODS for n in (5, 10)}
    # The number of trees is a parameter of forests alone.
    n_forests = sum("COP-RF" in m.similarity or m.input == "forest" for m in s.METHODS)
    assert len(tags) == len(s.METHODS) + n_forests


@pytest.mark.parametrize("method", s.METHODS, ids=lambda method: method.name)
def test_every_method_finds_the_same_groups_in_iris_again(method: Method) -> None:
    study = s.CopRfStudy(n_trees=50)
    task = Task("iris", method, study.base(method, s.Cell(34)), 0)
    found = study.measure(task)
    assert found.get("failure") or found["ari"] > 0.3
    again = study.measure(task)
    assert [again.get(k) for k in ("ari", "failure")] == [found.get(k) for k in ("ari", "failure")]


def test_only_hard_methods_refuse_contradictions(
    study: s.CopRfStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 1)], n_samples=150)
    monkeypatch.setattr(s, "answers", lambda name, cell, trial: known)
    for method in (m for m in s.METHODS if m.uses_answers and not m.similarity):
        failure = study.measure(Task("iris", method, s.Cell(2), 0)).get("failure")
        assert failure == ("InconsistentConstraintsError" if method in s.HARD else None)


@pytest.mark.parametrize("block", s.BLOCKS, ids=lambda block: block.name)
def test_affinities_are_larger_within_classes(block: Method) -> None:
    found = s.CopRfStudy(n_trees=50).measure(Task("iris", block, s.Cell(34), 0))
    assert 0.5 < found["auc"] <= 1
    assert 0.5 < found["within"] <= 1


def test_share_within_ignores_scale_and_sizes_of_classes() -> None:
    y = np.array([0] * 5 + [1] * 2)
    same = (y[:, None] == y).astype(float)
    assert s.share_within(same, y) == 1
    assert s.share_within(np.ones((7, 7)), y) == 0.5
    assert s.share_within(7 * (same + 1), y) == pytest.approx(2 / 3)


@pytest.mark.parametrize("doubt", s.DOUBTS, ids=lambda doubt: doubt.name)
def test_wrong_answers_score_higher_than_right_ones(doubt: Method) -> None:
    found = s.CopRfStudy(n_trees=100).measure(Task("iris", doubt, s.Cell(200, s.NOISE), 0))
    assert found["auc"] > 0.7
    assert sorted(found["right"]) == found["right"]
    assert found["wrong"][2] > found["right"][2]


@pytest.mark.parametrize("n_groups", [3, 9, 12])
def test_a_preference_is_found_for_a_number_of_groups(n_groups: int) -> None:
    similarity = -(pairwise_distances(BLOBS) ** 2)
    found = s.with_n_groups(similarity, n_groups, seed=0)
    assert found.n_groups == len(np.unique(found.labels)) == n_groups
    assert s.propagated(similarity, seed=0).n_groups >= 3


@pytest.mark.parametrize("method", [*s.EXEMPLARS, *s.REFERENCES], ids=lambda method: method.name)
def test_every_method_on_faces_finds_groups(method: Method) -> None:
    found = s.CopRfStudy(n_trees=20).measure(Task("iris", method, s.Cell(34), 0))
    assert found["ari"] > 0
    assert method in s.REFERENCES or {"ari_at_k", "n_groups", "is_converged_at_k"} < set(found)


def test_area_is_the_trapezoid_with_unit_spacing(study: s.CopRfStudy) -> None:
    _fill(study)
    parts = _parts(study)
    for table, n_gaps in zip(s.TABLES, (4, 4, 5), strict=True):
        assert parts.area(["iris"], DEFAULT, table)[0] == pytest.approx(0.6 * n_gaps)
        # Without answers there is one result a trial, and the curve is level.
        assert parts.area(["iris"], FOREST, table)[1] == pytest.approx(0.52 * n_gaps)


@pytest.mark.slow
def test_incomplete_trials_are_left_out(study: s.CopRfStudy, pictured: list[str]) -> None:
    _fill(study)
    _drop(study, lambda r: r["method"] == "coprf" and r["trial"] == 1 and r["error"] == 0)
    parts = _parts(study)
    assert list(parts.area(["iris"], DEFAULT, CLEAN).index) == [0]
    assert list(parts.area(["iris"], DEFAULT, NOISY).index) == [0, 1]
    assert "Not complete: 5 results are missing." in fill(
        Results(study), report_module.CopRfReport, report_module.__file__
    )


def test_refusal_counts_as_zero(study: s.CopRfStudy) -> None:
    _fill(study)
    method = _method("cop_kmeans")
    key = study.key(Task("iris", method, CLEAN.cells("iris")[0], 1))
    study.log.append(key | {"failure": "InfeasibleConstraintsError", "source": "x"})
    parts = _parts(study)
    assert parts.at(["iris"], method, CLEAN, 0).to_dict() == {0: 0.5, 1: 0.0}
    # One of ten points, and half of a gap of the curve.
    assert parts.share_refused(["iris"], method, CLEAN) == "10%"
    assert parts.area(["iris"], method, CLEAN)[1] == pytest.approx(3.5 * 0.52)


@pytest.mark.slow
def test_report_compares_methods_and_the_paper(study: s.CopRfStudy, pictured: list[str]) -> None:
    _fill(study, 0.82)
    text = fill(Results(study), report_module.CopRfReport, report_module.__file__)
    rows = _rows(text)
    claim = "COP-RF default above E2CP, Table II"
    assert f"| {claim} | all 1 sets | +0.400 ± 0.000 | yes |" in rows
    assert "| COP-RF default above ClustRF with 20% wrong | iris | +0.100 ± 0.000 | yes |" in rows
    best = next(row for row in rows if row.startswith("| COP-RF default | **"))
    assert best == "| COP-RF default |" + " **0.930 ± 0.010** | 1 |" * 3
    # 4 x .83 is within a tenth of 3.385 and 3.067, but 5 x .83 is above 3.684.
    assert "- COP-RF: 2 of 3 are reproduced, ours is higher in 1, lower in 0." in rows
    cells = [cell for row in rows for cell in row.split("|")]
    assert sum(cell.count("± 0.0") and cell.count("; ") == 2 for cell in cells) == 3 * len(COLUMNS)
    page = (harness.RESULTS / "test_which.md").read_text(encoding="utf-8")
    assert page in text
    assert pictured == ["test_clean", "test_noisy", "test_error_rates", "test_improvement"]


@pytest.mark.slow
def test_figures_are_made_of_measured_results(
    study: s.CopRfStudy, monkeypatch: pytest.MonkeyPatch, pictured: list[str]
) -> None:
    monkeypatch.setattr(s, "SHOWN_SETS", ("iris",))
    monkeypatch.setattr(s, "FACE_SETS", ("iris",))
    wanted = [*s.BLOCKS[:2], *s.EXEMPLARS[:2], s.DOUBTS[0]]
    run(study, 1, ([], [m.name for m in wanted], ["11 ", "34 ", "no answers"]))
    assert all(row[-1] == 0 for row in measured_again(Results(study), 3, 0))
    text = fill(Results(study), report_module.CopRfReport, report_module.__file__)
    assert "nan" not in text
    assert {"test_blocks_iris", "test_faces", "test_doubts"} < set(pictured)
    assert "### iris: 150 images of 3 people" in text
    eucl = [row for row in _rows(text) if row.startswith("| Eucl |")]
    assert len(eucl) == 2
    assert eucl[1].endswith("| 3 | 0% |")


def test_relative_gain_compares_means_over_trials() -> None:
    theirs = pd.Series({0: 0.5, 1: 0.7, 2: 0.3, 3: 9.0})
    gain = relative_gain(pd.Series([0.6, 0.8, 0.9]), theirs)
    ratios = [1.7 / 1.0, 1.5 / 0.8, 1.4 / 1.2]
    assert gain.mean == pytest.approx(100 * (2.3 / 1.5 - 1))
    assert gain.error == pytest.approx(100 * np.sqrt(2 * np.var(ratios)))
    assert not relative_gain(pd.Series([0.5]), pd.Series([0.0])).is_known


@pytest.mark.slow
def test_empty_log_gives_dashes(study: s.CopRfStudy, pictured: list[str]) -> None:
    assert "nan" not in fill(Results(study), report_module.CopRfReport, report_module.__file__)


@pytest.mark.parametrize("options", [["--fresh"], ["--fresh", "--sets", "iris"], ["--sets", "x"]])
def test_a_report_alone_deletes_nothing(options: list[str]) -> None:
    log = harness.RESULTS / "cop_rf.jsonl"
    log.write_text('{"set": "iris", "ari": 0.5}\n', encoding="utf-8")
    assert CliRunner().invoke(command, ["--report-only", *options]).exit_code == 2
    assert log.read_text(encoding="utf-8") == '{"set": "iris", "ari": 0.5}\n'
