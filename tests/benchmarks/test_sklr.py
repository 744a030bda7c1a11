"""The study of SKLR draws as the paper says, and its report says what its log holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers._relative import study as study_module
from benchmarks.papers._relative.methods import Method
from benchmarks.papers._relative.study import KEY, Results
from benchmarks.papers.sklr import pictures as picture_module
from benchmarks.papers.sklr import protocol
from benchmarks.papers.sklr.findings import findings
from benchmarks.papers.sklr.methods import KERNEL_KMEANS, METHODS, SOFT, paper_source
from benchmarks.papers.sklr.protocol import (
    ALL,
    DIGITS,
    FIRST_ANSWERS,
    LABELLED,
    NO_ANSWERS,
    SCENE,
    VEHICLE,
    WRONG,
    Cell,
    Problem,
)
from benchmarks.papers.sklr.report import report
from benchmarks.papers.sklr.study import SklrStudy
from sklearn.datasets import make_blobs

from benchmarks import _harness as harness
from clew import Constraints
from clew.answers import NONE_DIFFERS
from clew.constraints._truth import TRUTH
from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError
from clew.similarity import MMC

NAMES = {
    VEHICLE: ("bus", "opel", "saab", "van"),
    SCENE: (
        "coast", "forest", "highway", "insidecity", "mountain", "opencountry", "street",
        "tallbuilding",
    ),
    DIGITS: tuple("0123456789"),
}  # fmt: skip


def _made(name: str, scale: str | None = None) -> Dataset:
    """Blobs with the classes of the true sets, a few rows more than a trial takes."""
    if name not in NAMES:
        raise DatasetNotFoundError(f"no {name}")
    names = NAMES[name]
    X, y = make_blobs(110 * len(names), 3, centers=len(names), random_state=0)
    return Dataset(name=name, X=X, y=y.astype(np.int64), class_names=names, source="made")


@pytest.fixture(autouse=True)
def made_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(protocol.datasets, "load", _made)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    for cached in (study_module.missing, protocol.problem_named):
        cached.cache_clear()
    yield
    for cached in (study_module.missing, protocol.problem_named):
        cached.cache_clear()


@pytest.fixture
def small() -> SklrStudy:
    return SklrStudy(n_trials=2, sets=(SCENE, VEHICLE), stem="test", sizes=(5, 13))


def test_two_groups_are_the_papers() -> None:
    y = Problem(VEHICLE).y
    assert (y["binary"] == (y["multi"] == 3)).all()
    natural = np.unique(Problem(SCENE).y["multi"][Problem(SCENE).y["binary"] == 1])
    assert [NAMES[SCENE][c] for c in natural] == ["coast", "forest", "mountain", "opencountry"]


def test_a_trial_takes_a_hundred_rows_of_each_class() -> None:
    sample = Problem(SCENE).sample(0)
    assert np.bincount(sample.y["multi"]).tolist() == [100] * 8
    assert np.bincount(sample.unseen_y["multi"]).tolist() == [10] * 8
    assert sample.unseen.shape == (80, 3)
    assert (Problem(SCENE).sample(1).X != sample.X).any()
    assert len(Problem(VEHICLE).sample(0).unseen) == 0


def _drawn(name: str, cell: Cell) -> tuple[dict[str, np.ndarray], Constraints]:
    sample = Problem(name).sample(0)
    return sample.y, Problem(name).answers(sample, cell, 0)


@pytest.mark.parametrize("source", [LABELLED, ALL])
@pytest.mark.parametrize(
    ("name", "setting", "size", "count"),
    [
        (VEHICLE, "binary", 19, 684),
        (VEHICLE, "multi", 19, 1368),
        (DIGITS, "multi", 13, 1560),
        (DIGITS, "mixed", 13, 936),
    ],
)
def test_numbers_of_answers(name: str, setting: str, size: int, count: int, source: str) -> None:
    _, known = _drawn(name, Cell(setting, size, source))
    assert len(known.must_link) == len(known.cannot_link) == count // 2
    assert len(known.odd_one_out) == count


@pytest.mark.parametrize("setting", ["binary", "multi"])
def test_pairs_are_all_must_links_among_few_rows(setting: str) -> None:
    y, known = _drawn(SCENE, Cell(setting, 9, LABELLED))
    n_classes = len(np.unique(y[setting]))
    assert len(np.unique(known.must_link)) == 9 * n_classes
    assert len(np.unique(known.must_link, axis=0)) == n_classes * 9 * 8 // 2
    assert set(known.cannot_link.ravel()) <= set(known.must_link.ravel())
    assert set(known.odd_one_out.ravel()) <= set(known.must_link.ravel())


@pytest.mark.parametrize("source", [LABELLED, ALL])
@pytest.mark.parametrize("setting", ["binary", "multi"])
def test_answers_are_right(setting: str, source: str) -> None:
    y, known = _drawn(SCENE, Cell(setting, 9, source))
    assert (TRUTH["pair"](y[setting], known.pairs) == known.pair_answers).all()
    said = TRUTH["odd_one_out"](y[setting], known.odd_one_out)
    assert (said == known.odd_one_out_answers).all()


def test_answers_from_all_rows_are_about_more_of_them() -> None:
    few, many = (_drawn(SCENE, Cell("multi", 9, source))[1] for source in (LABELLED, ALL))
    for kind in ("pairs", "odd_one_out"):
        assert len(np.unique(getattr(few, kind))) == 9 * 8
        assert len(np.unique(getattr(many, kind))) > 4 * 9 * 8


def test_mixed_answers_are_half_of_either_setting() -> None:
    y, known = _drawn(SCENE, Cell("mixed", 9, LABELLED))
    n = {setting: classes * 9 * 8 // 2 for setting, classes in (("binary", 2), ("multi", 8))}
    half = n["binary"] // 2
    for setting, part in (("binary", slice(0, half)), ("multi", slice(half, None))):
        rows = known.must_link[part]
        assert len(rows) == n[setting] // 2
        assert (np.diff(y[setting][rows]) == 0).all()
    assert (np.diff(y["multi"][known.must_link[:half]]) != 0).any()


@pytest.mark.parametrize("share", WRONG)
def test_wrong_answers_are_an_exact_share_of_the_same(share: float) -> None:
    _, right = _drawn(SCENE, Cell("multi", 5, ALL))
    _, wrong = _drawn(SCENE, Cell("multi", 5, ALL, share))
    n = len(right.pairs)
    assert (right.pairs == wrong.pairs).all()
    assert (right.pair_answers != wrong.pair_answers).sum() == round(share * n)
    assert (right.odd_one_out == wrong.odd_one_out).all()
    assert (right.odd_one_out_answers != wrong.odd_one_out_answers).sum() == round(share * n)


@pytest.mark.parametrize("with_apart", [False, True])
def test_equalities_come_on_top_of_the_same_answers(with_apart: bool) -> None:
    cells = SklrStudy().equal_cells(with_apart=with_apart)
    assert [cell.n_equal for cell in cells] == [0, 50, 100, 200]
    none, some, most = (_drawn(SCENE, cell)[1] for cell in (cells[0], cells[1], cells[3]))
    assert len(none.odd_one_out) == FIRST_ANSWERS[SCENE] == 720
    assert (none.odd_one_out_answers != NONE_DIFFERS).all()
    assert (some.odd_one_out == most.odd_one_out[: 720 + 50]).all()
    assert (most.odd_one_out_answers[720:] == NONE_DIFFERS).all()


def test_every_curve_of_the_paper_is_measured(small: SklrStudy) -> None:
    keys = [
        small.key(SCENE, c, m, 0) for c in small.cells(SCENE) for m in small.methods_at(SCENE, c)
    ]
    assert len(set(keys)) == len(keys)
    for method in METHODS:
        if method.uses_answers:
            for setting in ("binary", "multi", "mixed"):
                for source in (LABELLED, ALL):
                    for cell in small.curve(setting, source):
                        assert small.key(SCENE, cell, method, 0) in keys
    assert small.key(SCENE, NO_ANSWERS, KERNEL_KMEANS, 0) in keys


def test_the_paper_draws_pairs_from_few_rows_and_comparisons_from_all() -> None:
    found = {method.name: paper_source(method) for method in METHODS if method.uses_answers}
    assert found["itml"] == found["skkm"] == LABELLED
    assert found["sklr"] == found["lsml"] == ALL


METRIC = Method("mmc", "MMC", "pairs", space=MMC, n_starts=2)


def test_rows_outside_the_sample_are_scored_where_the_paper_does(small: SklrStudy) -> None:
    mixed = small.scene(SCENE, Cell("mixed", 5, LABELLED), 0).run(METRIC)
    fields = {"binary", "multi", "new binary", "new multi"}
    assert fields <= set(mixed)
    assert all(-0.5 <= mixed[field] <= 1 for field in fields)
    other = small.scene(SCENE, Cell("multi", 5, ALL), 0).run(METRIC)
    assert "multi" in other
    assert not {"binary", "new multi"} & set(other)


def _fill(small: SklrStudy, lead: float = 0.0) -> None:
    """Write every result: the same everywhere, a little more in each trial, and a lead for SKLR."""
    for name in small.found_sets:
        for cell in small.cells(name):
            for method in small.methods_at(name, cell):
                for trial in range(small.n_trials):
                    key = dict(zip(KEY, small.key(name, cell, method, trial), strict=True))
                    ari = 0.5 + 0.02 * trial + lead * (method is SOFT)
                    scores = dict.fromkeys(("binary", "multi", "new binary", "new multi"), ari)
                    small.log.append(key | scores | {"source": "x"})


def test_findings_follow_the_differences(small: SklrStudy) -> None:
    _fill(small, lead=0.1)
    text = "\n".join(findings(Results(small)))
    assert "yes; least SKkm at 5 +0.100 ± 0.000" in text
    assert "SKLR above LSML" not in text
    assert "Soft SKLR above kernel k-means with 30% of the answers wrong: yes" in text
    assert "**no**" not in text
    assert "not complete" not in text


def test_report_shows_what_the_log_holds(small: SklrStudy) -> None:
    _fill(small, lead=0.1)
    text = report(Results(small), is_quick=False)
    assert "**0.610 ± 0.010**" in text
    assert "SKLR, all rows *" in text
    assert "SKkm, labelled rows *" in text
    assert "Not complete" not in text
    assert "`--fresh`" in text
    assert not re.search(r"\bnan\b", text)


def test_empty_log_gives_dashes(small: SklrStudy) -> None:
    text = report(Results(small), is_quick=True)
    assert not re.search(r"\bnan\b", text)
    assert "not complete" in text


def test_pictures_are_drawn(small: SklrStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    _fill(small)
    names: list[str] = []
    monkeypatch.setattr(picture_module, "saved", lambda figure, study, name: names.append(name))
    picture_module.draw(Results(small))
    assert names == ["curves", "curves_labelled", "curves_all", "equalities", "wrong"]
