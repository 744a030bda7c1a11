"""The study of guided clustering draws what it says, and its report says what its log holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.papers._relative import study as study_module
from benchmarks.papers._relative.study import KEY, Results, run
from benchmarks.papers.guided import pictures as picture_module
from benchmarks.papers.guided import protocol
from benchmarks.papers.guided import study as guided_study
from benchmarks.papers.guided.ablations import ABLATIONS, UNCREDITED, Ablated, Ablation, messages_of
from benchmarks.papers.guided.figures import Figures
from benchmarks.papers.guided.findings import findings
from benchmarks.papers.guided.methods import COMPARATORS, GUIDED, HEARS_THREES, METHODS
from benchmarks.papers.guided.parts import PARTS
from benchmarks.papers.guided.protocol import ERRORS, KINDS, NO_ANSWERS, PEOPLE, Cell, Problem
from benchmarks.papers.guided.report import report
from benchmarks.papers.guided.study import GuidedStudy
from sklearn.datasets import make_blobs

from benchmarks import _harness as harness
from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided._ensemble import Clustering
from clew.cluster.guided._refinement import TiedRows
from clew.cluster.guided._steps import split_answers
from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError
from clew.trust import ConfusionMatrices

HERE = ("wine", "iris")
CACHES = (study_module.missing, protocol.problem_named, guided_study._n_rows)
MORE_CACHES = (guided_study._n_answers, guided_study._forest)


def _made(name: str, scale: str | None = None) -> Dataset:
    if name not in HERE:
        raise DatasetNotFoundError(f"no {name}")
    X, y = make_blobs(60, 3, centers=3, cluster_std=2.5, random_state=0)
    return Dataset(name=name, X=X, y=y.astype(np.int64), class_names=("a", "b", "c"), source="made")


@pytest.fixture(autouse=True)
def made_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(protocol.datasets, "load", _made)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    for cached in (*CACHES, *MORE_CACHES):
        cached.cache_clear()
    yield
    for cached in (*CACHES, *MORE_CACHES):
        cached.cache_clear()


@pytest.fixture
def small() -> GuidedStudy:
    return GuidedStudy(2, ("wine", "iris", "glass"), "test", amounts=("N",))


def test_wrong_answers_strike_the_same_questions() -> None:
    problem = Problem("iris")
    drawn = [problem.answers(Cell("pairs", "2N", error), 0) for error in ERRORS]
    for known, error in zip(drawn, ERRORS, strict=True):
        assert (known.pairs == drawn[0].pairs).all()
        assert problem.is_wrong(known).sum() == round(error * 120)
    assert len(problem.answers(Cell("pairs", "0.5 %", 0.0), 0)) == round(0.005 * 60 * 59 / 2)
    assert not len(problem.answers(NO_ANSWERS, 0))


def test_what_is_run_again_is_one_method_of_one_part(small: GuidedStudy) -> None:
    again = replace(small, parts=("kinds",), methods=("guided",))
    assert {method.name for method in again.methods_at("iris", Cell("mixture", "N"))} == {"guided"}
    record = {
        "set": "iris",
        "cell": Cell("mixture", "N").name,
        "method": "guided",
        "version": "old",
    }
    others = {"set": "digits", "cell": NO_ANSWERS.name, "method": "sklr"}
    assert again.is_of(record)
    assert not any(again.is_of(record | {key: other}) for key, other in others.items())


def test_kinds_have_the_same_number_of_answers() -> None:
    problem = Problem("iris")
    found = {kind: problem.answers(Cell(kind, "N", 0.15), 0) for kind in KINDS}
    assert {len(known) for known in found.values()} == {60}
    mixed = found["mixture"]
    assert len(mixed.pairs) == len(mixed.triplets) == len(mixed.odd_one_out) == 20
    assert len(found["odd-one-out"].odd_one_out) == 60


def test_people_err_as_they_should_and_names_can_be_dropped() -> None:
    problem = Problem("iris")
    named = [problem.answers(Cell("four people", "2N"), trial) for trial in range(10)]
    for name, rate in PEOPLE["four people"].items():
        wrong = [
            problem.is_wrong(known)[known.pair_annotators == known.annotators.index(name)]
            for known in named
        ]
        assert {len(of_trial) for of_trial in wrong} == {30}
        assert np.concatenate(wrong).mean() == pytest.approx(rate, abs=0.12)
    dropped = problem.answers(Cell("four people", "2N", is_named=False), 0)
    assert dropped.annotators == ("",)
    assert (dropped.pairs == named[0].pairs).all()
    assert (dropped.pair_answers == named[0].pair_answers).all()


def test_distances_are_embedded() -> None:
    points = np.random.RandomState(0).standard_normal((20, 3))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    found = protocol._embedded(apart, 5)
    assert found.shape == (20, 5)
    assert np.allclose(np.linalg.norm(found[:, None] - found, axis=2), apart)


def test_methods_differ_and_every_part_has_guided_clustering(small: GuidedStudy) -> None:
    every = (*METHODS, *HEARS_THREES, *ABLATIONS, UNCREDITED)
    assert len({method.name for method in every}) == len({m.version for m in every}) == len(every)
    assert {m.name for m in COMPARATORS} == {
        "e2cp", "coprf", "coprf_hard", "rf_e2cp", "itml", "constrained_linkage", "ward", "spectral",
    }  # fmt: skip
    for part in PARTS:
        for cell in part.cells:
            assert GUIDED in part.methods(cell)
    shared = small.methods_at("iris", Cell("pairs", "N", 0.15))
    assert len(shared) == len(set(shared))
    assert {*ABLATIONS, *(m for m in METHODS if m.hears != "nothing")} <= set(shared)


def test_a_tiny_study_runs(small: GuidedStudy) -> None:
    tiny = GuidedStudy(1, ("iris",), "tiny", ("main",), amounts=("N",), errors=(0.15,))
    run(tiny, 1)
    results = Results(tiny)
    assert results.n_missing() == 0
    for method in METHODS:
        cell = NO_ANSWERS if method.hears == "nothing" else Cell("pairs", "N", 0.15)
        # Mean shift finds the number of groups itself, and finds too few.
        least = 0.0 if method.name == "skms_shift" else 0.2
        assert results.values("iris", cell, method, "ari")[0] > least, method.name
    said = Cell("pairs", "N", 0.15)
    assert results.values("iris", said, GUIDED, "true_error") == {0: 0.15}
    assert results.values("iris", said, GUIDED, "auc")[0] > 0.7
    assert results.n_refused("iris", said, COMPARATORS[5]) == 1
    run(tiny, 1)
    assert len(tiny.log.path.read_text().splitlines()) == len(results.records)


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out", "mixture"])
def test_methods_of_three_rows_hear_what_compares(small: GuidedStudy, kind: str) -> None:
    drawn = small.scene("iris", Cell(kind, "N", 0.15), 0)
    for method in HEARS_THREES:
        assert drawn.run(method)["ari"] > 0.2, method.name
    heard = guided_study._heard(drawn.answers, HEARS_THREES[0])
    assert len(heard.pairs) == 0
    assert len(heard.triplets) == len(drawn.answers.triplets)
    assert len(heard.triplets) + len(heard.odd_one_out) > 0


def test_steps_are_left_out() -> None:
    problem = Problem("iris")
    known = problem.answers(Cell("pairs", "N", 0.15), 0)
    found = {
        m.name: m.make(3).set_params(random_state=0).fit(problem.X, constraints=known)
        for m in (GUIDED, *ABLATIONS)
    }

    def names(name: str) -> set[str]:
        return set(found[name].scores_)

    refined = {f"refined by {of}, {by}" for of in ("neighbors", "ridge") for by in (1, 3)}
    constrained = {name for name in names("guided") if "E2CP" in name or "constrained" in name}
    constrained = constrained - {"unconstrained"} | {"ITML"}
    assert refined <= names("guided")
    assert not refined & names("guided_unrefined")
    assert not {name for name in names("guided_neighbors") if "ridge" in name}
    assert not {name for name in names("guided_ridge") if "by neighbors" in name}
    assert not constrained & names("guided_unled")
    assert refined <= names("guided_unled")
    weights = found["guided_best_alone"].weights_
    last = refined | {"consensus", "unconstrained", "E2CP on constrained forest, again"}
    assert sum(weights[name] > 0 for name in last & names("guided_best_alone")) == 1
    of_beliefs, of_mean_field = (
        found[name].probabilities_ for name in ("guided", "guided_mean_field")
    )
    assert np.abs(of_beliefs - of_mean_field).max() > 0.01


def test_nothing_left_out_is_guided_clustering() -> None:
    problem = Problem("iris")
    known = problem.answers(Cell("four people", "2N", 0.0), 0)
    model = GuidedClustering(3, standardize=False, random_state=0)
    whole = Ablated(**model.get_params()).fit(problem.X, constraints=known)
    model.fit(problem.X, constraints=known)
    np.testing.assert_array_equal(whole.probabilities_, model.probabilities_)
    assert whole.scores_ == model.scores_
    assert whole.weights_ == model.weights_


def test_pruning_and_priors_are_left_out() -> None:
    answers = split_answers(Problem("iris").answers(Cell("pairs", "2N", 0.0), 0), 0)
    y = Problem("iris").y
    clusterings = [
        Clustering("right", lambda at: y),
        Clustering("likely", lambda at: y, 1.4),
        Clustering("poor", lambda at: np.arange(len(y)) % 3),
    ]
    every = Ablation(pruning_margin=np.inf).scored(clusterings, answers)
    some = Ablation(has_priors=False).scored(clusterings, answers)
    assert [set(fold) for fold in every.of_folds] == [{"right", "likely", "poor"}] * 3
    assert some.weights["right"] == 1 > every.weights["right"]
    assert "poor" not in some.of_folds[-1]


def test_mean_field_hears_the_logarithm_of_the_likelihood() -> None:
    known = Constraints(4, pairs=[(0, 1, 1)], triplets=[(1, 2, 3, 0)])
    tied = TiedRows(known, ConfusionMatrices.uniform(0.2))
    said = messages_of(tied)
    # Of pairs an answer is right with 8 in 10, and each other label has half of the rest.
    assert np.log(8) == pytest.approx(said.by_first[said.second < 0], rel=1e-6)
    assert (said.first[said.start[2] : said.start[3]] == 1).all()
    assert (said.second[said.start[2] : said.start[3]] == 3).all()


def _fill(small: GuidedStudy, lead: float) -> None:
    for name in small.found_sets:
        for cell in small.cells(name):
            for method in small.methods_at(name, cell):
                for trial in range(small.n_trials):
                    key = dict(zip(KEY, small.key(name, cell, method, trial), strict=True))
                    row: dict[str, Any] = {"ari": 0.5 + 0.02 * trial + lead * (method is GUIDED)}
                    row |= {"fit_seconds": 0.25, "source": "x", "auc": 0.9, "error_rate": 0.15}
                    small.log.append(key | row | {"true_error": 0.15, "is_held": 1.0})


@pytest.mark.parametrize(("lead", "words"), [(0.1, "(reached; sought"), (-0.1, "**not reached**")])
def test_findings_follow_the_differences(small: GuidedStudy, lead: float, words: str) -> None:
    _fill(small, lead)
    lines = findings(Figures(Results(small)))
    assert f"Ahead by {lead:+.3f} ± 0.000" in lines[0]
    assert words in lines[0]
    assert lines[-1].startswith("- Of the other methods that run on all sets the best is ")
    n_behind = 0 if lead > 0 else 2
    assert f"{n_behind} of 2 ({n_behind} of 2) at 30 %" in lines[2]
    assert ("in 3 of 3 cells" in lines[1]) == (lead > 0)


def test_report_shows_what_the_log_holds(small: GuidedStudy) -> None:
    _fill(small, 0.1)
    text = report(Results(small), is_quick=False)
    assert "Not complete" not in text
    assert "Could not be had, and left out: glass" in text
    assert re.search(r"\| GuidedClustering +\| \*\*0\.610 ± 0\.010\*\* ", text)
    assert re.search(r"\| guided ahead by +\| +\+0\.100 ± 0\.000 ", text)
    assert re.search(r"\| no refinement +\| 0\.510 ± 0\.010 .* -0\.100 ± 0\.000 ", text)
    assert re.search(r"\| iris +\| +0\.610 ± 0\.010 \| +0\.510 ± 0\.010 ", text)  # four people
    assert not re.search(r"\bnan\b", text)


def test_empty_log_gives_dashes(small: GuidedStudy) -> None:
    text = report(Results(small), is_quick=True)
    assert not re.search(r"\bnan\b", text)
    assert "The main part is not run." in text


def test_pictures_are_drawn(small: GuidedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    _fill(small, 0.0)
    names: list[str] = []
    monkeypatch.setattr(picture_module, "saved", lambda figure, study, name: names.append(name))
    picture_module.draw(Figures(Results(small)))
    assert names == ["curves", "ablations"]
