"""The study of ClustRF follows the paper's protocol, goes on where it stopped, and counts right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers._scores import difference
from benchmarks.papers.clustrf import pictures as picture_module
from benchmarks.papers.clustrf import protocol, report, study
from benchmarks.papers.clustrf.areas import Areas, percent
from benchmarks.papers.clustrf.findings import findings, reading_table
from benchmarks.papers.clustrf.methods import EUCLIDEAN, FORESTS, MAIN, READINGS, WAYS, way
from benchmarks.papers.clustrf.protocol import FACES, Problem
from benchmarks.papers.clustrf.published import PUBLISHED
from benchmarks.papers.clustrf.study import KEY, Study, affinity_of, run
from sklearn.datasets import make_blobs

from clew.cluster import SpectralClustering
from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError

N_PERSONS = 3


def _faces(name: str) -> Dataset:
    """More rows a person than the study takes, more pixels than components."""
    if name != FACES:
        raise DatasetNotFoundError(f"no {name}")
    X, y = make_blobs(360, 40, centers=N_PERSONS, cluster_std=8.0, random_state=0)
    return Dataset(name=name, X=X, y=y.astype(np.int64), class_names=tuple("abc"), source="made")


@pytest.fixture(autouse=True)
def made_faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(protocol.datasets, "load", _faces)
    monkeypatch.setattr(study, "RESULTS", tmp_path)
    study.missing.cache_clear()
    yield
    study.missing.cache_clear()


@pytest.fixture
def small() -> Study:
    return Study(n_trials=2, n_trees=3, sets=(FACES, "segment_full"), stem="test", k=(5, 10, 20))


def _fill(small: Study, lead: float = 0.0) -> None:
    """Write every result: .5 for each way, a little more in each trial, and `lead` for forests."""
    problem = Problem(FACES)
    for task in small.tasks(problem):
        key = dict(zip(KEY, small.key(problem, task), strict=True))
        ari = 0.5 + 0.02 * task.trial + lead * task.way.is_forest
        small.log.append(key | {"ari": ari, "seconds": 0.0, "seed": 0, "source": "x"})


def test_faces_are_scaled_pixels_then_components() -> None:
    problem = Problem(FACES)
    assert problem.X.shape == (100 * N_PERSONS, 30)
    assert np.bincount(problem.y).tolist() == [100] * N_PERSONS
    width = np.ptp(problem.X, axis=0)
    assert (np.diff(problem.X.std(axis=0)) <= 0).all()  # the first component counts most
    assert width.max() > 1.5 * width.min()
    stretched = Problem(protocol.STRETCHED).X
    np.testing.assert_allclose(stretched.min(axis=0), -1)
    np.testing.assert_allclose(stretched.max(axis=0), 1)


def test_table_has_the_papers_ways() -> None:
    main = [one for one in WAYS if one.is_main]
    assert len(main) == 3 * 5 + 3
    assert len({(one.method, one.setting) for one in WAYS}) == 18 + 3 * (len(READINGS) - 1)
    assert len({one.version(10) for one in WAYS}) == len(WAYS)
    for row in PUBLISHED.values():
        assert [len(row[method]) for method in (*EUCLIDEAN, *FORESTS)] == [5, 5, 5, 1, 1, 1]


def test_version_follows_the_parameters() -> None:
    forest, knn = way("leaf", MAIN), way("knn", 20)
    assert forest.version(5) != forest.version(10)
    assert knn.version(5) == knn.version(10)


def test_readings_set_what_they_say() -> None:
    forest = way("leaf", "2 N draws").similarity(300, 10)
    assert forest.get_params()["max_samples"] == 600
    smallest = way("leaf", "smallest child 5").similarity(300, 10)
    assert smallest.get_params()["min_samples_leaf"] == 5


@pytest.mark.parametrize("method", ["knn", "leaf"])
def test_a_graph_is_that_of_spectral_clustering(method: str, small: Study) -> None:
    one = way(method, 20 if method == "knn" else MAIN)
    affinity = affinity_of(small, Problem(FACES), one, 0)
    graph = SpectralClustering(N_PERSONS, n_neighbors=9, random_state=0).fit(affinity).graph_
    assert (one.graph(affinity, 9) != graph).nnz == 0


def test_selections_are_part_of_the_plain_graph(small: Study) -> None:
    affinity = affinity_of(small, Problem(FACES), way("knn", 20), 0)
    plain = way("knn", 20).graph(affinity, 9)
    for method in EUCLIDEAN[1:]:
        kept = way(method, 20).graph(affinity, 9)
        assert kept.nnz < plain.nnz
        assert (kept.multiply(plain > 0) != kept).nnz == 0


def test_run_goes_on_where_it_stopped(
    small: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = (way("knn", 20), way("dominant", 20), way("leaf", MAIN), way("leaf", "2 N draws"))
    monkeypatch.setattr(study, "WAYS", few)
    run(small, n_jobs=1)
    complete = small.log.read()
    assert len(complete) == 4 * 3 * 2
    assert "left out: no segment_full" in capsys.readouterr().out
    lost = [key for key in complete if key[1] == "leaf" and key[2] == MAIN and key[4] == 1]
    small.log.keep(lambda record: small.log.key(record) not in lost)
    before = small.log.path.read_text(encoding="utf-8")
    run(small, n_jobs=1)
    after = small.log.path.read_text(encoding="utf-8")
    assert after.startswith(before)
    assert len(after.splitlines()) == len(before.splitlines()) + len(lost)
    assert all(small.log.read()[key]["ari"] == complete[key]["ari"] for key in lost)
    assert "1 parts to run" in capsys.readouterr().out


def test_height_is_the_area_divided_by_the_range(small: Study) -> None:
    problem = Problem(FACES)
    one = way("knn", 20)
    for k, ari in zip(small.k, (0.2, 0.8, 0.4), strict=True):
        key = dict(zip(KEY, small.key(problem, study.Task(one, k, 0)), strict=True))
        small.log.append(key | {"ari": ari, "source": "x"})
    heights = Areas(small, (problem,)).heights(problem, one)
    assert heights == {0: pytest.approx((0.5 + 0.6) / 2)}


def test_findings_follow_the_differences(small: Study) -> None:
    _fill(small, lead=0.1)
    areas = Areas(small, (Problem(FACES),))
    text = "\n".join(findings(areas))
    assert "Strct-Unfm above ClustRF-Bi: level (+0.0 ± 0.0)" in text
    assert text.count("kNN yes (+10.0 ± 0.0); DN yes (+10.0 ± 0.0)") == 3
    assert "DN above kNN, each at its best M: level" in text
    assert reading_table(areas, Problem(FACES)).count("61.0 ± 1.0") == 3 * len(READINGS)


def test_report_sets_the_paper_beside_ours(small: Study) -> None:
    _fill(small)
    areas = Areas(small, (Problem(FACES),))
    text = report.report(areas, is_quick=False)
    assert "51.0 ± 1.0" in text
    assert re.search(r"the paper +\| +22\.9 \|", text)
    assert "`--fresh`" in text
    assert "Not complete" not in text
    assert not re.search(r"\bnan\b", text)
    summary = report.summary(areas)["mean_ari"][FACES]
    assert summary["leaf"][MAIN] == {
        "mean": pytest.approx(0.51),
        "error": pytest.approx(0.01),
        "trials": 2,
    }


def test_empty_log_gives_dashes(small: Study) -> None:
    areas = Areas(small, (Problem(FACES),))
    text = report.report(areas, is_quick=True)
    assert not re.search(r"\bnan\b", text)
    assert "not complete" in text
    assert percent(difference({}, {})) == "–"


def test_sums_of_one_person_count_no_image_with_itself(small: Study) -> None:
    found = picture_module.of_one_person(small, Problem(FACES))
    for first, total, share in found.values():
        assert not first.diagonal().any()
        assert first.sum() < total <= 100 * 99
        assert 1 / N_PERSONS < share <= 1


def test_pictures_are_drawn(small: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    _fill(small)
    names = []
    monkeypatch.setattr(picture_module, "saved", lambda figure, study, name: names.append(name))
    picture_module.draw(Areas(small, (Problem(FACES),)))
    assert names == ["curves", f"affinity_{FACES}", "faces"]
