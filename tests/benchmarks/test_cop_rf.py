"""The study of COP-RF follows the paper's protocol, goes on where it stopped, and counts right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers.cop_rf import study as study_module
from benchmarks.papers.cop_rf.areas import Areas, Score, method_named
from benchmarks.papers.cop_rf.findings import findings, reproduction
from benchmarks.papers.cop_rf.methods import METHODS, gaussian_affinity
from benchmarks.papers.cop_rf.protocol import TABLES, Cell, Problem, cells
from benchmarks.papers.cop_rf.published import PUBLISHED
from benchmarks.papers.cop_rf.report import report, summary
from benchmarks.papers.cop_rf.study import KEY, Study, run

IRIS = Problem("iris")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(study_module, "RESULTS", tmp_path)
    return Study(n_trials=2, n_trees=5, sets=("iris",), stem="test")


def _fill(study: Study, score: float = 0.5) -> None:
    """Write every result of the study: the same score everywhere, but .1 more for the default."""
    for trial in range(study.n_trials):
        for task in study.tasks(IRIS):
            key = dict(zip(KEY, study.key(IRIS, trial, task), strict=True))
            ari = score + 0.1 * (task[0].name == "coprf") + 0.02 * trial
            study.log.append(key | {"ari": ari, "seconds": 0.0, "source": "x"})


def test_features_lie_between_minus_one_and_one() -> None:
    assert np.allclose(IRIS.X.min(axis=0), -1)
    assert np.allclose(IRIS.X.max(axis=0), 1)


def test_amounts_are_shares_of_all_pairs() -> None:
    # 150 rows have 11,175 pairs.
    assert IRIS.amounts == (11, 22, 34, 45, 56)
    assert Problem("digits").amounts == (250, 500, 1000, 1500, 2000)


def test_tables_have_the_papers_points_and_share_one() -> None:
    sizes = [len(table.cells(IRIS.amounts)) for table in TABLES]
    assert sizes == [5, 5, 6]
    assert len(cells(IRIS.amounts)) == 15


@pytest.mark.parametrize("error", [0.0, 0.15, 0.3])
def test_an_exact_share_of_the_answers_is_wrong(error: float) -> None:
    answers = IRIS.answers(Cell(100, error), trial=0)
    i, j = answers.pairs.T
    is_same = IRIS.y[i] == IRIS.y[j]
    assert (answers.is_must_link != is_same).sum() == round(100 * error)


def test_error_flips_answers_of_the_same_pairs() -> None:
    clean, noisy = (IRIS.answers(Cell(50, error), trial=1) for error in (0.0, 0.3))
    assert (clean.pairs == noisy.pairs).all()
    assert (IRIS.answers(Cell(50, 0.0), trial=2).pairs != clean.pairs).any()


def test_published_averages_are_those_of_the_paper() -> None:
    # With Parkinsons and ERCe, Table II averages to 2.661 and Table III to 2.387 for COP-RF.
    for name, others, average in (("II", 1.403 + 3.947, 2.661), ("III", 1.102 + 3.705, 2.387)):
        total = sum(row[-1] for row in PUBLISHED[name].values()) + others
        assert total / 6 == pytest.approx(average, abs=1e-3)


def test_gaussian_affinity_is_symmetric_and_scale_free() -> None:
    affinity = gaussian_affinity(IRIS.X)
    assert (affinity == affinity.T).all()
    assert affinity.min() >= 0
    assert affinity.max() <= 1
    assert np.allclose(affinity, gaussian_affinity(10 * IRIS.X))


def test_area_is_the_trapezoid_with_unit_spacing(study: Study) -> None:
    _fill(study)
    areas = Areas(study, (IRIS,))
    default, forest = method_named("coprf"), method_named("clustrf")
    for table, n_gaps in zip(TABLES, (4, 4, 5), strict=True):
        assert areas.areas(IRIS, default, table)[0] == pytest.approx(0.6 * n_gaps)
        # What sees no answers was run once, and its curve is level.
        assert areas.areas(IRIS, forest, table)[1] == pytest.approx(0.52 * n_gaps)


def test_incomplete_trials_are_left_out_and_told(study: Study) -> None:
    _fill(study)
    study.log.keep(lambda r: not (r["method"] == "coprf" and r["trial"] == 1 and r["error"] == 0))
    areas = Areas(study, (IRIS,))
    default = method_named("coprf")
    assert set(areas.areas(IRIS, default, TABLES[0])) == {0}
    assert set(areas.areas(IRIS, default, TABLES[1])) == {0, 1}
    assert "Not complete" in report(areas, is_quick=False)


def test_report_says_when_the_program_changed(study: Study) -> None:
    _fill(study)
    assert "--redo" in report(Areas(study, (IRIS,)), is_quick=False)


def test_findings_follow_the_differences(study: Study) -> None:
    _fill(study)
    text = "\n".join(findings(Areas(study, (IRIS,))))
    assert "Table II, all 1 sets: yes" in text
    assert "iris: yes; area 0.400" in text


def test_reproduction_allows_a_tenth_of_the_published_figure(study: Study) -> None:
    _fill(study, 0.82)
    lines = reproduction(Areas(study, (IRIS,))).splitlines()[2:]
    assert [line.split("|")[-2].strip() for line in lines] == ["yes"] * 5 + ["no, ours is higher"]


def test_empty_log_gives_dashes(study: Study) -> None:
    text = report(Areas(study, (IRIS,)), is_quick=True)
    assert "nan" not in text
    assert str(Score.of({})) == "–"


def test_summary_holds_mean_error_and_trials(study: Study) -> None:
    _fill(study)
    found = summary(Areas(study, (IRIS,)))["areas"]["II"]["iris"]["coprf"]
    assert found["trials"] == 2
    assert found["mean"] == pytest.approx(4 * 0.61)
    # Two trials .02 apart at each of five points, so .08 apart in area.
    assert found["error"] == pytest.approx(0.04)


def test_version_follows_the_parameters() -> None:
    tags = {(method.version(n), n) for method in METHODS for n in (5, 10)}
    # Ward and spectral clustering have no trees, so theirs stay.
    assert len({tag for tag, _ in tags}) == 2 * len(METHODS) - 3


def test_run_goes_on_where_it_stopped(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    run(study, n_jobs=1)
    complete = study.log.read()
    assert len(complete) == 2 * len(study.tasks(IRIS))
    lost = [key for key in complete if key[1] == "ward" and key[4] == 1]
    study.log.keep(lambda record: study.log.key(record) not in lost)
    before = study.log.path.read_text(encoding="utf-8")
    run(study, n_jobs=1)
    after = study.log.path.read_text(encoding="utf-8")
    assert after.startswith(before)
    assert len(after.splitlines()) == len(before.splitlines()) + len(lost)
    assert study.log.read()[lost[0]]["ari"] == complete[lost[0]]["ari"]
    assert "1 (set, trial) to run" in capsys.readouterr().out
