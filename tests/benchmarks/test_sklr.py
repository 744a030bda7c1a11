"""The study of SKLR follows the paper's protocol, and its report shows what its log holds."""

import re
from typing import Any

import numpy as np
import pytest
from benchmarks.papers import sklr as s
from benchmarks.study.engine import Task
from benchmarks.study.methods import Method
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from numpy.random import RandomState
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.answers import ALL_ALIKE, DIFFERENT, SAME
from clew.constraints._meanings import TRUTH
from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError

Y = np.repeat(np.arange(3), [8, 10, 12])
NAMES = {
    s.VEHICLE: ("bus", "opel", "saab", "van"),
    s.SCENE: (
        "coast", "forest", "highway", "insidecity", "mountain", "opencountry", "street",
        "tallbuilding",
    ),
    s.DIGITS: tuple("0123456789"),
}  # fmt: skip


def _made(name: str, scale: str | None = None) -> Dataset:
    """Blobs with the classes of the true sets, a few rows more than a trial takes."""
    if name not in NAMES:
        raise DatasetNotFoundError(f"no {name}")
    names = NAMES[name]
    X, y = make_blobs(110 * len(names), 3, centers=len(names), random_state=0)
    return Dataset(name=name, X=X, y=y.astype(np.int64), class_names=names, source="made")


@pytest.fixture(autouse=True)
def made_sets(replaced: Any) -> None:
    replaced(_made, s.sample, s.answers)


@pytest.fixture
def small() -> s.SklrStudy:
    return s.SklrStudy(n_trials=2, sets=(s.SCENE, s.VEHICLE), stem="test", sizes=(5, 13))


def test_each_class_has_the_same_number_of_labeled_rows() -> None:
    rows = s.labeled_rows(Y, 5, RandomState(0))
    assert np.bincount(Y[rows]).tolist() == [5, 5, 5]
    assert len(np.unique(rows)) == 15


def test_all_must_links_among_rows() -> None:
    rows = np.array([0, 1, 2, 9, 10, 29])
    pairs = s.all_must_links(Y, rows)
    assert {tuple(pair) for pair in pairs[:, :2].tolist()} == {(0, 1), (0, 2), (1, 2), (9, 10)}
    assert (pairs[:, 2] == SAME).all()


@pytest.mark.parametrize(("draw", "answer"), [("must_links", SAME), ("cannot_links", DIFFERENT)])
def test_drawn_pairs_are_right_and_distinct(draw: str, answer: int) -> None:
    rows = np.arange(4, 26)
    pairs = getattr(s, draw)(Y, rows, 40, RandomState(1))
    assert (TRUTH["pair"](Y, pairs[:, :2]) == answer).all()
    assert (pairs[:, 2] == answer).all()
    assert len(np.unique(pairs, axis=0)) == 40
    assert np.isin(pairs[:, :2], rows).all()
    assert (pairs[:, 0] < pairs[:, 1]).all()


def test_odd_ones_out_are_of_another_class_and_at_any_position() -> None:
    answers = s.odd_ones_out(Y, np.arange(len(Y)), 300, RandomState(2))
    rows, given = answers[:, :3], answers[:, 3]
    assert (TRUTH["odd_one_out"](Y, rows) == given).all()
    assert np.bincount(given, minlength=3).min() > 60
    alike = np.take_along_axis(rows, ((given[:, None] + 1) % 3), axis=1)[:, 0]
    assert np.bincount(Y[alike]).min() > 60  # all classes are equally frequent
    first = np.sort(rows, axis=1)
    assert len(np.unique(np.column_stack([first, rows[np.arange(300), given]]), axis=0)) == 300


def test_more_answers_than_exist_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="fewer than 30"):
        s.must_links(Y, np.arange(8), 30, RandomState(0))


@pytest.mark.parametrize("with_apart", [False, True])
def test_equalities_are_of_one_class_or_of_three(with_apart: bool) -> None:
    answers = s.equalities(Y, 200, RandomState(3), with_apart=with_apart)
    n_classes = np.array([len(np.unique(classes)) for classes in Y[answers[:, :3]]])
    assert (answers[:, 3] == ALL_ALIKE).all()
    assert all(len(set(rows)) == 3 for rows in answers[:, :3].tolist())
    assert set(n_classes) == ({1, 3} if with_apart else {1})
    assert not with_apart or 60 < (n_classes == 3).sum() < 140


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_larger_share_of_wrong_answers_contains_a_smaller_one(share: float) -> None:
    right = s.odd_ones_out(Y, np.arange(len(Y)), 50, RandomState(4))
    wrong, worse = (s.with_wrong(right, x, s.ODD_CODES, 5) for x in (share, share + 0.2))
    differs = wrong[:, 3] != right[:, 3]
    assert differs.sum() == round(share * 50)
    assert (wrong[:, :3] == right[:, :3]).all()
    assert (worse[differs] == wrong[differs]).all()
    assert np.isin(wrong[:, 3], s.ODD_CODES).all()


def test_two_groups_are_the_papers() -> None:
    y = s.classes(s.VEHICLE)
    assert (y["binary"] == (y["multi"] == 3)).all()
    y = s.classes(s.SCENE)
    natural = np.unique(y["multi"][y["binary"] == 1])
    assert [NAMES[s.SCENE][c] for c in natural] == ["coast", "forest", "mountain", "opencountry"]


def test_a_trial_takes_a_hundred_rows_of_each_class() -> None:
    sample = s.sample(s.SCENE, 0)
    assert np.bincount(sample.y["multi"]).tolist() == [100] * 8
    assert np.bincount(sample.unseen_y["multi"]).tolist() == [10] * 8
    assert sample.unseen.shape == (80, 3)
    assert (s.sample(s.SCENE, 1).X != sample.X).any()
    assert len(s.sample(s.VEHICLE, 0).unseen) == 0


def _drawn(name: str, cell: s.Cell) -> tuple[dict[str, np.ndarray], Constraints]:
    return s.sample(name, 0).y, s.answers(name, cell, 0)


@pytest.mark.parametrize("source", [s.LABELED, s.ALL])
@pytest.mark.parametrize(
    ("name", "setting", "size", "count"),
    [
        (s.VEHICLE, "binary", 19, 684),
        (s.VEHICLE, "multi", 19, 1368),
        (s.DIGITS, "multi", 13, 1560),
        (s.DIGITS, "mixed", 13, 936),
    ],
)
def test_numbers_of_answers(name: str, setting: str, size: int, count: int, source: str) -> None:
    _, known = _drawn(name, s.Cell(setting, size, source))
    assert len(known.must_link) == len(known.cannot_link) == count // 2
    assert len(known.odd_one_out) == count


@pytest.mark.parametrize("setting", ["binary", "multi"])
def test_pairs_are_all_must_links_among_few_rows(setting: str) -> None:
    y, known = _drawn(s.SCENE, s.Cell(setting, 9, s.LABELED))
    n_classes = len(np.unique(y[setting]))
    assert len(np.unique(known.must_link)) == 9 * n_classes
    assert len(np.unique(known.must_link, axis=0)) == n_classes * 9 * 8 // 2
    assert set(known.cannot_link.ravel()) <= set(known.must_link.ravel())
    assert set(known.odd_one_out.ravel()) <= set(known.must_link.ravel())


@pytest.mark.parametrize("source", [s.LABELED, s.ALL])
@pytest.mark.parametrize("setting", ["binary", "multi"])
def test_answers_are_right(setting: str, source: str) -> None:
    y, known = _drawn(s.SCENE, s.Cell(setting, 9, source))
    assert (TRUTH["pair"](y[setting], known.pairs) == known.pair_answers).all()
    said = TRUTH["odd_one_out"](y[setting], known.odd_one_out)
    assert (said == known.odd_one_out_answers).all()


def test_answers_from_all_rows_are_about_more_of_them() -> None:
    few, many = (_drawn(s.SCENE, s.Cell("multi", 9, source))[1] for source in (s.LABELED, s.ALL))
    for kind in ("pairs", "odd_one_out"):
        assert len(np.unique(getattr(few, kind))) == 9 * 8
        assert len(np.unique(getattr(many, kind))) > 4 * 9 * 8


def test_mixed_answers_are_half_of_either_setting() -> None:
    y, known = _drawn(s.SCENE, s.Cell("mixed", 9, s.LABELED))
    n = {setting: classes * 9 * 8 // 2 for setting, classes in (("binary", 2), ("multi", 8))}
    half = n["binary"] // 2
    for setting, part in (("binary", slice(0, half)), ("multi", slice(half, None))):
        rows = known.must_link[part]
        assert len(rows) == n[setting] // 2
        assert (np.diff(y[setting][rows]) == 0).all()
    assert (np.diff(y["multi"][known.must_link[:half]]) != 0).any()


@pytest.mark.parametrize("share", s.WRONG)
def test_wrong_answers_are_an_exact_share_of_the_same(share: float) -> None:
    _, right = _drawn(s.SCENE, s.Cell("multi", 5, s.ALL))
    _, wrong = _drawn(s.SCENE, s.Cell("multi", 5, s.ALL, share))
    n = len(right.pairs)
    assert (right.pairs == wrong.pairs).all()
    assert (right.pair_answers != wrong.pair_answers).sum() == round(share * n)
    assert (right.odd_one_out == wrong.odd_one_out).all()
    assert (right.odd_one_out_answers != wrong.odd_one_out_answers).sum() == round(share * n)


@pytest.mark.parametrize("with_apart", [False, True])
def test_equalities_come_on_top_of_the_same_answers(with_apart: bool) -> None:
    cells = s.SklrStudy().equal_cells(with_apart=with_apart)
    assert [cell.n_equal for cell in cells] == [0, 50, 100, 200]
    none, some, most = (_drawn(s.SCENE, cell)[1] for cell in (cells[0], cells[1], cells[3]))
    assert len(none.odd_one_out) == s.FIRST_ANSWERS[s.SCENE] == 720
    assert (none.odd_one_out_answers != ALL_ALIKE).all()
    assert (some.odd_one_out == most.odd_one_out[: 720 + 50]).all()
    assert (most.odd_one_out_answers[720:] == ALL_ALIKE).all()


def test_every_curve_of_the_paper_is_measured(small: s.SklrStudy) -> None:
    keys = [tuple(small.key(task).values()) for task in small.tasks()]
    assert len(set(keys)) == len(keys)
    points = small.points(s.SCENE)
    for method in s.METHODS:
        for setting in ("binary", "multi", "mixed"):
            for source in (s.LABELED, s.ALL):
                assert {(method, cell) for cell in small.curve(setting, source)} <= set(points)
    silent = [task for task in small.tasks() if task.method == s.KERNEL_KMEANS]
    assert [(task.cell, task.trial) for task in silent] == [(s.NO_ANSWERS, t) for t in (0, 0, 1, 1)]


def test_the_paper_draws_pairs_from_few_rows_and_comparisons_from_all() -> None:
    found = {m.name: s.paper_source(m) for m in s.METHODS if m.uses_answers}
    assert found["itml"] == found["skkm"] == s.LABELED
    assert found["sklr"] == found["lsml"] == s.ALL


def test_rows_outside_the_sample_are_scored_where_the_paper_does(small: s.SklrStudy) -> None:
    metric = Method("mmc", "MMC", "", "MMC", "pairs", n_starts=2)

    def measured(*cell: Any) -> dict[str, Any]:
        return small.measure(Task(s.SCENE, metric, s.Cell(*cell), 0))

    mixed, fields = (
        measured("mixed", 5, s.LABELED),
        {"binary", "multi", "new binary", "new multi"},
    )
    assert fields <= set(mixed)
    assert all(-0.5 <= mixed[field] <= 1 for field in fields)
    other = measured("multi", 5, s.ALL)
    assert "multi" in other
    assert not {"binary", "new multi"} & set(other)


@pytest.mark.slow
def test_report_shows_what_the_log_holds(
    small: s.SklrStudy, pictured: list[str], fill_log: Any
) -> None:
    fill_log(small, 0.1, [s.SOFT], ("binary", "multi", "new binary", "new multi"))
    text = fill(Results(small), s.SklrReport, s.__file__)
    assert "**0.610 ± 0.010**" in text
    assert "| SKLR, all rows *" in text
    assert "| SKkm, labelled rows *" in text
    assert "+0.100 ± 0.000 (SKkm at 5)" in text
    assert "- SKLR, all from all rows, compared with the comparators: above in 48 of 48" in text
    assert re.search(r"\| SKLR above kernel k-means with 30% of the .*\+0\.100 .* yes \|", text)
    assert "Not complete" not in text
    assert not re.search(r"\bnan\b", text)
    names = ["curves", "curves_labelled", "curves_all", "equalities", "wrong"]
    assert pictured == [f"test_{name}" for name in names]


@pytest.mark.slow
def test_empty_log_gives_dashes(small: s.SklrStudy, pictured: list[str]) -> None:
    text = fill(Results(small), s.SklrReport, s.__file__)
    assert not re.search(r"\bnan\b", text)
    assert "not complete" in text
