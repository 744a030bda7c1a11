"""The figures of the COP-RF study show what they say they show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers.cop_rf import study as study_module
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.block_figures import block_report, draw_blocks
from benchmarks.papers.cop_rf.blocks import BLOCKS, Block, share_within
from benchmarks.papers.cop_rf.curves import draw_curves
from benchmarks.papers.cop_rf.doubt_figures import doubt_report, draw_doubts
from benchmarks.papers.cop_rf.doubts import DOUBTS, Doubt
from benchmarks.papers.cop_rf.face_figures import draw_faces, face_report
from benchmarks.papers.cop_rf.faces import (
    EXEMPLARS,
    REFERENCES,
    Exemplars,
    coordinates,
    propagated,
    with_n_groups,
)
from benchmarks.papers.cop_rf.improvement import draw_improvement, improvement_report
from benchmarks.papers.cop_rf.measures import Inputs, Measure
from benchmarks.papers.cop_rf.methods import METHODS
from benchmarks.papers.cop_rf.parts import Part
from benchmarks.papers.cop_rf.protocol import Cell, Problem
from benchmarks.papers.cop_rf.study import NO_ANSWERS, Study, run
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from benchmarks import _harness as harness

IRIS = Problem("iris")
BLOBS: NDArray[np.float64] = np.concatenate(
    [np.random.RandomState(0).normal(center, 0.1, (20, 2)) for center in (0, 3, 6)]
)


def _one_point(problem: Problem, measure: Measure) -> list[Cell]:
    return [Cell(34, 0.15)]


def test_share_within_ignores_scale_and_sizes_of_classes() -> None:
    y = np.array([0] * 5 + [1] * 2)
    same = (y[:, None] == y).astype(float)
    assert share_within(same, y) == 1
    assert share_within(np.ones((7, 7)), y) == 0.5
    assert share_within(7 * (same + 1), y) == pytest.approx(2 / 3)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_answers_raise_the_auc_of_affinities(block: Block) -> None:
    inputs = Inputs(IRIS, 50, 0)
    found = block.run(inputs, 50, IRIS.answers(Cell(34, 0.0), 0), 0)
    assert 0.5 < found["auc"] <= 1
    assert 0.5 < found["within"] <= 1
    affinity = block.affinity(inputs, 50, None, 0)
    assert affinity.shape == (150, 150)
    assert not np.diagonal(affinity).any()


@pytest.mark.parametrize("doubt", DOUBTS, ids=lambda doubt: doubt.name)
def test_wrong_answers_are_doubted_more_than_right_ones(doubt: Doubt) -> None:
    answers = IRIS.answers(Cell(200, 0.15), 0)
    found = doubt.run(Inputs(IRIS, 100, 0), 100, answers, 0)
    assert found["auc"] > 0.7
    assert sorted(found["right"]) == found["right"]
    assert found["wrong"][2] > found["right"][2]


def test_coordinates_lie_at_the_given_distances() -> None:
    distances = pairwise_distances(BLOBS)
    found = coordinates(distances, 2)
    assert np.allclose(pairwise_distances(found), distances)
    assert found[:, 0].var() > found[:, 1].var()


@pytest.mark.parametrize("n_groups", [3, 9, 12])
def test_preference_is_found_that_gives_so_many_groups(n_groups: int) -> None:
    similarity = -(pairwise_distances(BLOBS) ** 2)
    found = with_n_groups(similarity, n_groups, seed=0)
    assert found.n_groups == len(np.unique(found.labels)) == n_groups
    assert propagated(similarity, seed=0).n_groups >= 3


@pytest.mark.parametrize("measure", [*EXEMPLARS, *REFERENCES], ids=lambda measure: measure.name)
def test_everything_on_faces_finds_groups(measure: Exemplars) -> None:
    answers = IRIS.answers(Cell(34, 0.0), 0) if measure.uses_answers else None
    found = measure.run(Inputs(IRIS, 20, 0), 20, answers, 0)
    assert found["ari"] > 0
    if isinstance(measure, Exemplars):
        assert {"ari_at_k", "n_groups", "is_converged_at_k"} < found.keys()


@pytest.fixture
def study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Study:
    """All parts on iris, at few points."""
    parts = (
        Part("tables", ("iris",), METHODS[:1], _one_point),
        Part("blocks", ("iris",), BLOCKS, _one_point),
        Part("faces", ("iris",), EXEMPLARS[:2], _one_point),
        Part("doubts", ("iris",), DOUBTS, _one_point),
    )
    monkeypatch.setattr(study_module, "PARTS", parts)
    monkeypatch.setattr(study_module, "ALL_SETS", ("iris",))
    monkeypatch.setattr(study_module, "RESULTS", tmp_path)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    found = Study(n_trials=2, n_trees=5, sets=("iris",), stem="test")
    run(found, n_jobs=1)
    return found


def test_every_part_is_run_and_read_back(study: Study) -> None:
    areas = Areas(study, (IRIS,))
    assert len(areas.records) == 2 * (1 + len(BLOCKS) + 2 + len(DOUBTS))
    for measure in (BLOCKS[0], DOUBTS[0]):
        assert len(areas.values(IRIS, measure, Cell(34, 0.15), "auc")) == 2
    assert set(areas.values(IRIS, EXEMPLARS[0], NO_ANSWERS, "ari_at_k")) == {0, 1}


def test_figures_of_an_incomplete_study_are_drawn_and_told(study: Study, tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    areas = Areas(study, (IRIS,))
    pictures = [*draw_curves(areas), *draw_improvement(areas), *draw_blocks(areas, [IRIS])]
    pictures += [*draw_faces(areas, [IRIS]), *draw_doubts(areas, [IRIS])]
    assert {path.parent for path in pictures} == {tmp_path}
    assert all(path.stat().st_size > 5_000 for path in pictures)
    lines = [*block_report(areas, [IRIS]), *doubt_report(areas, [IRIS])]
    lines += [*face_report(areas, [IRIS]), *improvement_report(areas)]
    text = "\n".join(lines)
    assert "nan" not in text
    assert all(f"]({path.name})" in text for path in pictures[3:])


def test_no_sets_no_pictures(study: Study) -> None:
    areas = Areas(study, ())
    assert not [*draw_curves(areas), *draw_improvement(areas), *draw_blocks(areas, [])]
    assert not [*draw_faces(areas, []), *draw_doubts(areas, [])]
