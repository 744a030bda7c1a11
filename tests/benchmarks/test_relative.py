"""What the studies of answers about three rows share: draws, methods, statements, one loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.papers._relative import draws
from benchmarks.papers._relative import study as study_module
from benchmarks.papers._relative.methods import Method, heard, run_method, scores
from benchmarks.papers._relative.study import Results, Study, run
from benchmarks.papers._relative.tables import in_order, score_table, standing
from benchmarks.papers._scores import Score, difference
from numpy.random import RandomState

from benchmarks import _harness as harness
from clew import Constraints
from clew.answers import DIFFERENT, NONE_DIFFERS, SAME
from clew.constraints._truth import TRUTH
from clew.similarity import LSML, MMC

Y = np.repeat(np.arange(3), [8, 10, 12])
EVERYWHERE = np.arange(len(Y))


def test_labelled_rows_are_as_many_of_each_class() -> None:
    rows = draws.labelled_rows(Y, 5, RandomState(0))
    assert np.bincount(Y[rows]).tolist() == [5, 5, 5]
    assert len(np.unique(rows)) == 15


def test_all_must_links_among_rows() -> None:
    rows = np.array([0, 1, 2, 9, 10, 29])
    pairs = draws.all_must_links(Y, rows)
    assert {tuple(pair) for pair in pairs[:, :2].tolist()} == {(0, 1), (0, 2), (1, 2), (9, 10)}
    assert (pairs[:, 2] == SAME).all()


@pytest.mark.parametrize(("draw", "answer"), [("must_links", SAME), ("cannot_links", DIFFERENT)])
def test_pairs_are_right_and_different(draw: str, answer: int) -> None:
    rows = np.arange(4, 26)
    pairs = getattr(draws, draw)(Y, rows, 40, RandomState(1))
    assert (TRUTH["pair"](Y, pairs[:, :2]) == answer).all()
    assert (pairs[:, 2] == answer).all()
    assert len(np.unique(pairs, axis=0)) == 40
    assert np.isin(pairs[:, :2], rows).all()
    assert (pairs[:, 0] < pairs[:, 1]).all()


def test_odd_ones_out_are_of_another_class_and_stand_anywhere() -> None:
    answers = draws.odd_ones_out(Y, EVERYWHERE, 300, RandomState(2))
    rows, said = answers[:, :3], answers[:, 3]
    assert (TRUTH["odd_one_out"](Y, rows) == said).all()
    assert np.bincount(said, minlength=3).min() > 60
    alike = np.take_along_axis(rows, ((said[:, None] + 1) % 3), axis=1)[:, 0]
    assert np.bincount(Y[alike]).min() > 60  # each class gives the two rows as often as others
    first = np.sort(rows, axis=1)
    assert len(np.unique(np.column_stack([first, rows[np.arange(300), said]]), axis=0)) == 300


def test_more_than_there_are_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="hardly 30"):
        draws.must_links(Y, np.arange(8), 30, RandomState(0))


@pytest.mark.parametrize("with_apart", [False, True])
def test_equalities_are_of_one_class_or_of_three(with_apart: bool) -> None:
    answers = draws.equalities(Y, 200, RandomState(3), with_apart=with_apart)
    n_classes = np.array([len(np.unique(classes)) for classes in Y[answers[:, :3]]])
    assert (answers[:, 3] == NONE_DIFFERS).all()
    assert all(len(set(rows)) == 3 for rows in answers[:, :3].tolist())
    if with_apart:
        assert set(n_classes) == {1, 3}
        assert 60 < (n_classes == 3).sum() < 140
    else:
        assert set(n_classes) == {1}


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_an_exact_share_is_wrong_and_more_are_the_same_and_others(share: float) -> None:
    right = draws.odd_ones_out(Y, EVERYWHERE, 50, RandomState(4))
    wrong, worse = (draws.with_wrong(right, s, draws.ODD_CODES, 5) for s in (share, share + 0.2))
    differs = wrong[:, 3] != right[:, 3]
    assert differs.sum() == round(share * 50)
    assert (wrong[:, :3] == right[:, :3]).all()
    assert (worse[differs] == wrong[differs]).all()
    assert np.isin(wrong[:, 3], draws.ODD_CODES).all()


def test_methods_hear_what_they_can_use() -> None:
    known = Constraints.from_labels(Y, 7, n_triplets=40, n_odd_one_out=9, random_state=0)
    sizes = {h: [len(of) for of in _kinds(heard(known, h))] for h in ("pairs", "odd_one_out")}
    assert sizes == {"pairs": [7, 0, 0], "odd_one_out": [0, 0, 9]}
    only = known.select(pairs=[], odd_one_out=[])
    n_told = int((only.triplet_answers >= 0).sum())
    assert 0 < n_told < 40
    assert len(heard(only, "triplets").triplets) == 40
    assert len(heard(only, "yes_no").triplets) == n_told
    pairs = heard(only, "as_pairs")
    assert len(pairs.must_link) == len(pairs.cannot_link) == n_told


def _kinds(known: Constraints) -> tuple[Any, Any, Any]:
    return known.pairs, known.triplets, known.odd_one_out


def test_scores_by_hand() -> None:
    found = scores(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    # Together in truth 3 pairs, in groups 2, in both 1.
    assert found["f"] == pytest.approx(2 * 1 / (3 + 2))
    assert found["ari"] == pytest.approx(0.0)
    assert scores(Y, Y) == {"f": 1.0, "ari": 1.0, "nmi": pytest.approx(1.0)}


def _problem() -> tuple[Any, Constraints]:
    """A feature that tells the classes, and one that is large and says nothing."""
    random = RandomState(0)
    X = np.column_stack([Y + 0.1 * random.standard_normal(30), 3 * random.standard_normal(30)])
    return X, Constraints.from_labels(Y, n_triplets=120, random_state=1)


METRIC = Method("mmc", "MMC", "as_pairs", space=lambda: MMC(diagonal=True, ridge=0.01), n_starts=3)
PLAIN = Method("kmeans", "k-means", "nothing", n_starts=3)


def test_answers_make_the_space_in_which_groups_are_found() -> None:
    X, known = _problem()
    learned, plain = (run_method(m, X, known, (3,), 0) for m in (METRIC, PLAIN))
    assert scores(Y, learned.labels[3])["ari"] > 0.9
    assert scores(Y, plain.labels[3])["ari"] < 0.5
    assert learned.notes["fit_seconds"] >= 0
    assert plain.notes == {}


def test_held_out_answers_choose_the_parameter() -> None:
    X, known = _problem()
    many = Method(
        "lsml", "LSML", "yes_no", space=LSML, tried=("weight", (0.01, 1000.0)), n_starts=3
    )
    assert run_method(many, X, known, (3,), 0).notes["weight"] == 1000.0
    assert "weight" not in run_method(many, X, known.select(triplets=[0]), (3,), 0).notes


def test_version_follows_the_parameters() -> None:
    others = [
        Method("mmc", "MMC", "as_pairs", space=lambda: MMC(diagonal=False), n_starts=3),
        Method("mmc", "MMC", "pairs", space=METRIC.space, n_starts=3),
        Method("mmc", "MMC", "as_pairs", space=METRIC.space, n_starts=4),
    ]
    assert len({method.version for method in [METRIC, *others]}) == 4
    assert METRIC.version == Method("mmc", "M", "as_pairs", space=METRIC.space, n_starts=3).version


def test_interval_is_students() -> None:
    # Three values of standard deviation 1; Student's t with two degrees of freedom is 4.303.
    score = Score.with_interval({0: 1.0, 1: 2.0, 2: 3.0})
    assert (score.mean, score.error) == (2.0, pytest.approx(4.303 / np.sqrt(3), rel=1e-3))
    assert np.isnan(Score.with_interval({0: 1.0}).error)


def test_standing_names_what_is_lost() -> None:
    ahead, behind, even = Score(0.2, 0.01), Score(-0.1, 0.02), Score(0.001, 0.01)
    assert standing({"A": ahead}) == "yes; least A +0.200 ± 0.010"
    lost = "**no**: 1 above, 1 behind; least B -0.100 ± 0.020"
    assert standing({"A": ahead, "B": behind}) == lost
    assert standing({"A": ahead, "B": even}) == "level: 1 above, 1 level; least B +0.001 ± 0.010"
    assert standing({"A": ahead, "B": difference({}, {})}) == "not complete"
    assert in_order({"A": behind, "B": ahead, "C": Score.of({})}) == "B 0.20 > A -0.10"


@dataclass(frozen=True)
class Point:
    name: str


@dataclass(frozen=True)
class Small(Study):
    """Two points; a method that refuses the second."""

    def cells(self, name: str) -> list[Point]:
        return [Point("first"), Point("second")]

    def methods_at(self, name: str, cell: Point) -> tuple[Method, ...]:
        return (PLAIN, METRIC)

    def scene(self, name: str, cell: Point, trial: int) -> Any:
        return Given(cell, trial)


@dataclass(frozen=True)
class Given:
    cell: Point
    trial: int

    def run(self, method: Method) -> dict[str, Any]:
        if method is METRIC and self.cell.name == "second":
            return {"failure": "InconsistentConstraintsError"}
        return {"ari": 0.5 + 0.1 * self.trial}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(harness, "source_tag", lambda: "now")
    study_module.missing.cache_clear()
    yield Small(2, ("iris", "wine", "no_such_set"), "test")
    study_module.missing.cache_clear()


def test_run_goes_on_where_it_stopped(small: Small, capsys: pytest.CaptureFixture[str]) -> None:
    run(small, n_jobs=1)
    complete = small.log.read()
    assert len(complete) == 2 * 2 * 2 * 2
    said = capsys.readouterr().out
    assert "left out" in said
    assert "no_such_set" in said
    small.log.keep(lambda record: record["trial"] == 0 or record["method"] == "mmc")
    before = small.log.path.read_text(encoding="utf-8")
    run(small, n_jobs=1)
    after = small.log.path.read_text(encoding="utf-8")
    assert after.startswith(before)
    assert len(after.splitlines()) == len(before.splitlines()) + 4
    assert "4 parts to run" in capsys.readouterr().out


def test_results_count_refusals_and_what_is_missing(small: Small) -> None:
    results = Results(small)
    assert results.n_missing() == 16
    run(small, n_jobs=1)
    results = Results(small)
    assert results.n_missing() == 0
    assert results.sources() == {"now"}
    first, second = small.cells("iris")
    assert results.values("iris", first, METRIC, "ari") == {0: 0.5, 1: 0.6}
    assert results.n_refused("iris", second, METRIC) == 2
    row = ("MMC", [(METRIC, first), (METRIC, second)])
    table = score_table(results, "iris", ["", "1", "2"], [row], "ari")
    assert "**0.550 ± 0.050**" in table
    assert "– (2 refused)" in table
