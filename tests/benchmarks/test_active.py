"""The study of questions measures every strategy, and its report shows what its log holds."""

import numpy as np
import pytest
from benchmarks.papers import _active_methods as m, active as s
from benchmarks.papers.active import ActiveReport, __file__ as page, limit, unknown_bits
from benchmarks.study.engine import run
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_blobs

from benchmarks import _harness as harness
from clew import Question

X, y = make_blobs(30, 4, centers=3, cluster_std=0.6, random_state=0)
PART = m.Part(squareform(pdist(X)), y.astype(np.int64))
TINY = m.Part(squareform(pdist(X[:18])), y[:18].astype(np.int64))


@pytest.mark.parametrize("method", m.STRATEGIES, ids=lambda method: method.name)
def test_every_strategy_finds_clear_groups_from_right_answers(method):
    part = TINY if method.budget == s.BUDGET else PART  # of fewer answers a row, 18 are too few
    points, seconds = s.curve(method, part, s.Cell().oracle(part.y, 0), 0)
    found = s.summary(points, part.y, method.budget)
    assert seconds >= 0
    assert found["curve"][0] == pytest.approx(found["at 0N"], abs=1e-3)
    assert len(found["curve"]) == 10 * method.budget + 1
    assert found["curve"][-1] >= 0.9


def test_summary_holds_the_answers_to_a_level_and_the_largest_fall():
    right, wrong = PART.y, np.zeros_like(PART.y)
    half = np.where(right == 0, 1, right)
    found = s.summary([(0, wrong), (30, right), (60, half), (90, right)], PART.y)
    assert found["to 0.8"] == found["to 1.0"] == 30
    assert found["fall"] == pytest.approx(1 - s.scores(right, half)["jcc"])
    assert found["curve"][9:11] == [pytest.approx(1 / 3, abs=0.03), 1.0]


@pytest.mark.slow
def test_the_limit_is_the_entropy_of_groups_divided_by_the_capacity_of_an_answer():
    assert max(unknown_bits(*PART)) < 0.05
    leaves = m.part("leaf_like", 0)
    shuffled = np.random.RandomState(0).permutation(leaves.y)
    assert min(unknown_bits(leaves.D, shuffled)) > 0.95 * np.log2(leaves.n_classes)
    assert limit(1.0, 0.0) == 1
    assert limit(1.0, 0.1) == pytest.approx(1 / (1 - 0.468996), rel=1e-5)


@pytest.mark.slow
def test_people_confuse_pairs_as_often_as_in_the_table():
    cell = next(cell for cell in s.MORE_CELLS if cell.who == "human confusion")
    oracle = cell.oracle(np.array([0, 0, 1]), 0)
    same = np.mean([oracle.answer(Question("pair", (0, 1))).value for _ in range(2000)])
    different = np.mean([oracle.answer(Question("pair", (0, 2))).value for _ in range(2000)])
    assert same == pytest.approx(42.5 / 52.17, abs=0.04)
    assert different == pytest.approx(10.83 / 172.83, abs=0.03)


def test_parts_keep_whole_groups_and_are_drawn_by_trial():
    rows = m.rows_of(np.repeat(np.arange(10), 8), 20, 5, np.random.RandomState(0))
    assert sorted(np.bincount(rows // 8)[np.unique(rows // 8)]) == [5] * 4
    one, other = m.part("leaf_like", 0), m.part("leaf_like", 1)
    assert one.D.shape == (200, 200)
    assert not np.array_equal(one.D, other.D)


def test_packages_get_the_answers_of_the_oracle(monkeypatch):
    def fake(package, function, arrays, /, **job):
        assert arrays["X"].shape[0] == len(PART.y)
        np.testing.assert_array_equal(arrays["same"], PART.y[:, None] == PART.y)
        groups = np.stack([PART.y * 0, PART.y])
        return {"seconds": 0.5}, {"n": np.array([0, 9]), "labels": groups}

    monkeypatch.setattr(m, "run_in_environment", fake)
    oracle = s.Cell().oracle(PART.y, 0)
    points, seconds = m.curve_of_package("cobras-ts COBRAS", PART, oracle, 90, 0)
    assert s.summary(points, PART.y)["to 1.0"] == 9
    assert seconds == 0.5


@pytest.mark.slow
def test_report(tmp_path, monkeypatch, pictured):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(m, "part", lambda name, trial: PART)
    monkeypatch.setattr(m, "people", lambda name, trial: (PART, s.Cell().oracle))
    study = s.ActiveStudy(1, ("iris", "marks", "face_like_500"), "test")
    methods = ("MostProbable", "RandomPairs", "Ward", "information limit")
    run(study, 1, ((), methods, ("no errors", "replay", "start")))
    results = Results(study)
    assert results.values("iris", s.CELLS[0], m.MOST_PROBABLE, "at 3N").tolist() == [1.0]
    text = fill(results, ActiveReport, page)
    assert "MostProbable" in text
    assert {f"test_{stem}" for stem in ("clean", "wrong", "worse", "large")} <= set(pictured)
