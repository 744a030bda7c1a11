"""The study of guided clustering: how answers are drawn, and a report that shows its log."""

import re
from typing import Any

import numpy as np
import pytest
from benchmarks.studies import guided as study
from benchmarks.studies.guided import (
    COMPARATORS,
    COMPARING,
    ERRORS,
    GUIDED,
    KINDS,
    METHODS,
    NO_ANSWERS,
    ON_DISTANCES,
    OPEN,
    PARTS,
    PEOPLE,
    Cell,
    GuidedReport,
    GuidedStudy,
    answers,
    is_wrong,
)
from benchmarks.study import problems
from benchmarks.study.engine import Task, run
from benchmarks.study.methods import version
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_blobs

from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError

pytestmark = pytest.mark.usefixtures("small_search")

ASKED = Cell("pairs", "N", 0.15)


def _made(name: str, scale: str | None = None) -> Dataset:
    if name not in ("wine", "iris", study.OF_DISTANCES):
        raise DatasetNotFoundError(f"no {name}")
    X, y = make_blobs(60, 3, centers=3, cluster_std=2.5, random_state=0)
    parts = {"name": name, "y": y.astype(np.int64), "class_names": ("a", "b", "c")}
    if name == study.OF_DISTANCES:
        return Dataset(X=None, D=squareform(pdist(X)), source="made", **parts)
    return Dataset(X=X, source="made", **parts)


@pytest.fixture(autouse=True)
def made_sets(replaced: Any) -> None:
    replaced(_made, study.answers, study.n_rows, study.forest, study.session)


@pytest.fixture
def small() -> GuidedStudy:
    return GuidedStudy(2, ("wine", "iris", "glass"), "test", amounts=("N",))


def _iris() -> problems.Problem:
    return study.problem("iris")


def test_a_higher_error_makes_more_answers_to_the_same_questions_wrong() -> None:
    drawn = [answers("iris", Cell("pairs", "2N", error), 0) for error in ERRORS]
    wrong = [is_wrong(_iris().y, known) for known in drawn]
    for known, error, of in zip(drawn, ERRORS, wrong, strict=True):
        assert (known.pairs == drawn[0].pairs).all()
        assert of.sum() == round(error * 120)
    assert wrong[2][wrong[1]].all()
    assert len(answers("iris", Cell("pairs", "0.5 %"), 0)) == round(0.005 * 60 * 59 / 2)


def test_kinds_have_the_same_number_of_answers() -> None:
    found = {kind: answers("iris", Cell(kind, "N", 0.15), 0) for kind in KINDS}
    assert {len(known) for known in found.values()} == {60}
    mixed = found["mixture"]
    assert len(mixed.pairs) == len(mixed.triplets) == len(mixed.odd_one_out) == 20
    assert len(found["odd-one-out"].odd_one_out) == 60


def test_annotators_have_their_error_rates_and_can_be_dropped() -> None:
    named = [answers("iris", Cell("four people", "2N"), trial) for trial in range(10)]
    for name, rate in PEOPLE["four people"].items():
        wrong = [
            is_wrong(_iris().y, known)[known.pair_annotators == known.annotators.index(name)]
            for known in named
        ]
        assert {len(of_trial) for of_trial in wrong} == {30}
        assert np.concatenate(wrong).mean() == pytest.approx(rate, abs=0.12)
    dropped = answers("iris", Cell("four people", "2N", is_named=False), 0)
    assert dropped.annotators == ("",)
    assert (dropped.pairs == named[0].pairs).all()
    assert (dropped.pair_answers == named[0].pair_answers).all()


def test_methods_differ_and_every_part_has_guided_clustering(small: GuidedStudy) -> None:
    every = (*METHODS, *COMPARING, *ON_DISTANCES, OPEN)
    assert len({m.name for m in every}) == len({version(m, 500) for m in every}) == len(every)
    assert len(COMPARATORS) == 8
    for part in PARTS.values():
        for cell in part.cells:
            assert GUIDED in part.methods(cell)
    points = small.points("iris")
    assert len(points) == len(set(points))
    assert {*METHODS} <= {method for method, cell in points if cell == ASKED}


@pytest.mark.slow
def test_a_tiny_study_runs() -> None:
    tiny = GuidedStudy(1, ("iris",), "tiny", amounts=("N",), errors=(0.15,))
    run(tiny, 1, ([], [m.name for m in METHODS], [ASKED.name, NO_ANSWERS.name]))
    results = Results(tiny)
    for method in METHODS:
        # Mean shift chooses the number of groups, and finds too few.
        least = 0.0 if method.name == "skms_shift" else 0.2
        assert results.values("iris", ASKED, method)[0] > least, method.name
    assert results.values("iris", NO_ANSWERS, GUIDED)[0] > 0.2
    assert results.values("iris", ASKED, GUIDED, "true_error").to_dict() == {0: 0.15}
    assert results.values("iris", ASKED, GUIDED, "auc")[0] > 0.7
    # A refusal counts as the groups of Ward.
    (refused,) = (m for m in COMPARATORS if m.name == "constrained_linkage")
    (ward,) = (m for m in COMPARATORS if m.name == "ward")
    assert results.n_refused("iris", ASKED, refused) == 1
    assert results.values("iris", ASKED, refused)[0] == results.values("iris", ASKED, ward)[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["triplets", "odd-one-out", "mixture"])
def test_methods_without_pairs_get_comparisons(small: GuidedStudy, kind: str) -> None:
    for method in COMPARING:
        found = small.measure(Task("iris", method, Cell(kind, "N", 0.15), 0))
        assert found["ari"] > 0.2, method.name


@pytest.mark.slow
def test_fewer_asked_answers_are_the_first_of_the_most(small: GuidedStudy) -> None:
    few, most = (answers("iris", Cell("asked", n), 0) for n in ("N/4", "N"))
    assert (len(few), len(most)) == (15, 60)
    assert (few.pairs == most.pairs[:15]).all()
    found = small.measure(Task("iris", OPEN, Cell("asked", "N"), 0))
    assert found["ari"] > 0.5
    assert 0.5 < found["groups"] < 3


def test_distances_are_those_of_features_or_given() -> None:
    of = study.OF_DISTANCES
    assert np.allclose(study.data("iris", "distances", 0), study.data(of, "distances", 0))
    wide = GuidedStudy(1, (of,))
    assert wide.measure(Task(of, ON_DISTANCES[1], Cell("pairs", "N/4"), 0))["ari"] > 0.3
    methods = {method for method, cell in wide.points(of) if cell == Cell("pairs", "N/4")}
    assert {*ON_DISTANCES, GUIDED} <= methods  # its features are coordinates made of distances


def _fill(small: GuidedStudy, lead: float) -> None:
    for task in small.tasks():
        row: dict[str, Any] = {"ari": 0.5 + 0.02 * task.trial + lead * (task.method == GUIDED)}
        row |= {"fit_seconds": 0.25, "source": "x", "auc": 0.9, "error_rate": 0.15}
        small.log.append(
            small.key(task) | row | {"true_error": 0.15, "is_held": 1.0, "groups": 1.2}
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lead", "words"), [(0.1, "(reached; the goal is"), (-0.1, "**not reached**")]
)
def test_findings_follow_the_differences(small: GuidedStudy, lead: float, words: str) -> None:
    _fill(small, lead)
    text, table = GuidedReport(Results(small)).in_short()
    lines = str(text).splitlines()
    assert f"The lead is {lead:+.3f} ± 0.000" in lines[0]
    assert words in lines[0]
    assert lines[-1].startswith("- The best of the other methods that run on all sets is ")
    n_behind = 0 if lead > 0 else 2
    assert table.rows[-1][:2] == ["30 % wrong", f"{n_behind} of 2 ({n_behind} of 2)"]
    assert ("in 3 of 3 cells" in lines[1]) == (lead > 0)


@pytest.mark.slow
def test_report_shows_what_the_log_holds(small: GuidedStudy, pictured: list[str]) -> None:
    _fill(small, 0.1)
    text = fill(Results(small), study.GuidedReport, study.__file__)
    assert pictured == ["test_curves"]
    assert "Not complete" not in text
    assert "Not available, and left out: glass" in text
    assert re.search(r"\| GuidedClustering +\| \*\*0\.610 ± 0\.010\*\* ", text)
    assert re.search(r"\| guided ahead by +\| +\+0\.100 ± 0\.000 ", text)
    assert re.search(r"\| asked, N, 0 % wrong +\| +0\.610 .* \| +0\.510 .* \| +1\.2", text)
    assert not re.search(r"\bnan\b", text)


@pytest.mark.slow
def test_an_empty_log_gives_dashes(small: GuidedStudy, pictured: list[str]) -> None:
    text = fill(Results(small), study.GuidedReport, study.__file__)
    assert not re.search(r"\bnan\b", text)
    assert "The main part is not measured." in text
