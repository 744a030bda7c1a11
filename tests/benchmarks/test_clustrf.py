"""The study of ClustRF follows the paper's protocol, and its report shows what its log holds."""

import re
from typing import Any

import numpy as np
import pytest
from benchmarks.papers import clustrf as s
from benchmarks.papers.clustrf import command
from benchmarks.study.engine import run
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from click.testing import CliRunner
from sklearn.datasets import make_blobs

from benchmarks import _harness as harness
from clew.cluster import SpectralClustering
from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError

N_PERSONS = 3
LEAF = s.Variant("leaf", s.MAIN)


def _faces(name: str, scale: str | None = None) -> Dataset:
    """More rows a person than the study takes, more pixels than components."""
    if name != s.FACES:
        raise DatasetNotFoundError(f"no {name}")
    X, y = make_blobs(360, 40, centers=N_PERSONS, cluster_std=8.0, random_state=0)
    return Dataset(name=name, X=X, y=y.astype(np.int64), class_names=tuple("abc"), source="made")


@pytest.fixture(autouse=True)
def made_faces(replaced: Any) -> None:
    replaced(_faces, s.problem, s.affinity, s.graph)


@pytest.fixture
def small() -> s.ClustrfStudy:
    return s.ClustrfStudy(2, (s.FACES, s.SEGMENTS), "test", n_trees=3, k=(5, 10, 20))


def test_faces_are_scaled_pixels_then_components() -> None:
    faces = s.problem(s.FACES)
    assert faces.X.shape == (100 * N_PERSONS, 30)
    assert np.bincount(faces.y).tolist() == [100] * N_PERSONS
    assert (np.diff(faces.X.std(axis=0)) <= 0).all()  # the first component varies most
    stretched = s.problem(s.STRETCHED).X
    np.testing.assert_allclose(stretched.min(axis=0), -1)
    np.testing.assert_allclose(stretched.max(axis=0), 1)


def test_table_has_the_papers_methods() -> None:
    assert sum(of.is_main for of in s.VARIANTS) == 3 * 5 + 3
    assert len({of.name for of in s.VARIANTS}) == 18 + 3 * (len(s.READINGS) - 1)
    assert len({of.version(10) for of in s.VARIANTS}) == len(s.VARIANTS)
    n_areas = s.PUBLISHED.count(axis=1)
    for name in s.PUBLISHED_SETS:
        assert n_areas[name].reindex(list(s.LABELS)).tolist() == [5, 5, 5, 1, 1, 1]


def test_version_and_estimator_have_the_parameters_of_a_variant() -> None:
    knn = s.Variant("knn", 40)
    assert LEAF.version(5) != LEAF.version(10)
    assert knn.version(5) == knn.version(10)
    assert knn.similarity(300, 10).n_neighbors == 40
    assert s.Variant("leaf", "2 N draws").similarity(300, 10).max_samples == 600
    assert s.Variant("uniform", "smallest child 5").similarity(300, 10).min_samples_leaf == 5


@pytest.mark.parametrize("of", [s.Variant("knn", 20), LEAF], ids=lambda of: of.method)
def test_graph_is_that_of_spectral_clustering(of: s.Variant) -> None:
    between = s.affinity(s.FACES, of, 3, 0)
    graph = SpectralClustering(N_PERSONS, n_neighbors=9, random_state=0).fit(between).graph_
    assert (s.graph(s.FACES, of, 9, 3, 0) != graph).nnz == 0


@pytest.mark.slow
def test_selected_edges_are_edges_of_the_plain_graph() -> None:
    plain, *others = (s.graph(s.FACES, s.Variant(method, 20), 9, 3, 0) for method in s.EUCLIDEAN)
    for kept in others:
        assert kept.nnz < plain.nnz
        assert (kept.multiply(plain > 0) != kept).nnz == 0


@pytest.mark.slow
def test_run_measures_what_the_log_lacks(
    small: s.ClustrfStudy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = (s.Variant("knn", 20), s.Variant("dominant", 20), LEAF, s.Variant("leaf", "2 N draws"))
    monkeypatch.setattr(s, "VARIANTS", few)
    run(small, 1)
    complete = small.log.read()
    assert len(complete) == 4 * 3 * 2
    assert "left out: no segment_full" in capsys.readouterr().out
    lines = small.log.path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if f'"{s.MAIN}"' not in line]
    small.log.path.write_text("".join(kept), encoding="utf-8")
    run(small, 1)
    again = small.log.read()
    assert {key: found["ari"] for key, found in again.items()} == {
        key: found["ari"] for key, found in complete.items()
    }
    assert "6 results to measure, 18 found" in capsys.readouterr().out


def _parts(small: s.ClustrfStudy) -> s.ClustrfReport:
    return s.ClustrfReport(Results(small))


def test_height_is_the_area_divided_by_the_range(small: s.ClustrfStudy) -> None:
    for task in small.tasks():
        ari = {5: 0.2, 10: 0.8, 20: 0.4}[task.cell.k]
        small.log.append(small.key(task) | {"ari": ari, "source": "x"})
    heights = _parts(small).height(s.FACES, LEAF)
    assert heights.to_dict() == dict.fromkeys((0, 1), pytest.approx((0.5 + 0.6) / 2))


@pytest.mark.slow
def test_report_compares_with_the_paper(
    small: s.ClustrfStudy, pictured: list[str], fill_log: Any
) -> None:
    fill_log(small, 0.1, [of for of in s.VARIANTS if of.is_forest])
    text = fill(Results(small), s.ClustrfReport, s.__file__)
    assert text == (harness.RESULTS / "test.md").read_text(encoding="utf-8")
    assert re.search(r"the paper +\| +22\.9 \|", text)
    assert "Not complete" not in text
    rows = [re.sub(" +", " ", line) for line in text.splitlines()]
    assert f"| ClustRF-Strct-Unfm above ClustRF-Bi | {s.FACES} | +0.000 ± 0.000 | level |" in rows
    assert f"| ClustRF-Bi above DN at its best M | {s.FACES} | +0.100 ± 0.000 | yes |" in rows
    assert f"| DN above kNN, each at its best M | {s.FACES} | +0.000 ± 0.000 | level |" in rows
    main = "61.0 ± 1.0"
    assert "\n".join(rows).count(f"| {main} | {main} | {main} |") == len(s.READINGS)
    assert pictured == ["test_curves", f"test_affinity_{s.FACES}", "test_faces"]


@pytest.mark.slow
def test_empty_log_gives_dashes(small: s.ClustrfStudy, pictured: list[str]) -> None:
    text = fill(Results(small), s.ClustrfReport, s.__file__)
    assert not re.search(r"\bnan\b", text)
    assert "not complete" in text


def test_affinities_of_an_image_to_itself_are_not_summed(small: s.ClustrfStudy) -> None:
    found: dict[str, Any] = _parts(small).of_one_person
    for first, total, share in found.values():
        assert not first.diagonal().any()
        assert first.sum() < total <= 100 * 99
        assert 1 / N_PERSONS < share <= 1


@pytest.mark.parametrize("options", [["--fresh"], ["--fresh", "--sets", s.FACES], ["--sets", "x"]])
def test_a_report_alone_deletes_nothing(options: list[str]) -> None:
    log = harness.RESULTS / "clustrf.jsonl"
    log.write_text('{"set": "pie10_32x32", "ari": 0.5}\n', encoding="utf-8")
    done = CliRunner().invoke(command, ["--report-only", *options])
    assert done.exit_code == 2
    assert log.read_text(encoding="utf-8") == '{"set": "pie10_32x32", "ari": 0.5}\n'
