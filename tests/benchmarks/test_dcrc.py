"""The study of DCRC draws as the paper says, and its report says what its log holds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from benchmarks.papers._relative import study as study_module
from benchmarks.papers._relative.methods import heard
from benchmarks.papers._relative.study import KEY, Results
from benchmarks.papers._scores import Score
from benchmarks.papers.dcrc import boundaries, protocol
from benchmarks.papers.dcrc import pictures as picture_module
from benchmarks.papers.dcrc.findings import findings
from benchmarks.papers.dcrc.methods import COMPARATORS, DEFAULT, METHODS, ONE_PERSON, ChosenTau
from benchmarks.papers.dcrc.protocol import (
    ALL_SHARES,
    BIRDS,
    DIGITS,
    NO_ANSWERS,
    PEOPLE,
    TABLE_IV,
    Cell,
    Problem,
)
from benchmarks.papers.dcrc.report import report
from benchmarks.papers.dcrc.study import MORE, ONE, SIX, DcrcStudy
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs

from benchmarks import _harness as harness
from clew import Constraints
from clew.answers import DONT_KNOW
from clew.constraints._truth import TRUTH
from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError

N_CLASSES = {BIRDS: 5, DIGITS: 3}


def _made(name: str, scale: str | None = None) -> Dataset:
    assert scale == "standard" or scale is None
    if name not in N_CLASSES:
        raise DatasetNotFoundError(f"no {name}")
    k = N_CLASSES[name]
    X, y = make_blobs(80 * k, 3, centers=k, random_state=0)
    names = tuple(map(str, range(k)))
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
def small() -> DcrcStudy:
    return DcrcStudy(n_trials=2, sets=(BIRDS, DIGITS, "ionosphere"), stem="test", shares=(0.1, 0.3))


def test_fewer_triplets_are_the_beginning_of_more() -> None:
    problem = Problem(DIGITS)
    n = len(problem.y)
    found = [problem.answers(Cell("truth", share), 0) for share in ALL_SHARES]
    assert [len(known.triplets) for known in found] == [round(s * n) for s in ALL_SHARES]
    for few, many in itertools.pairwise(found):
        assert (few.triplets == many.triplets[: len(few.triplets)]).all()
    assert not len(problem.answers(NO_ANSWERS, 0).triplets)
    assert (problem.answers(Cell("truth", 0.3), 1).triplets != found[-1].triplets).any()


def test_triplets_are_answered_by_the_classes() -> None:
    problem = Problem(BIRDS)
    known = problem.answers(Cell("truth", 0.3), 0)
    a, b, c = problem.y[known.triplets].T
    said = np.where((a == b) & (a != c), 0, np.where((a == c) & (a != b), 1, DONT_KNOW))
    assert (known.triplet_answers == said).all()
    n_told = int((said != DONT_KNOW).sum())
    assert 0 < n_told < len(said)
    assert len(heard(known, "as_pairs").must_link) == n_told


def test_one_person_errs_as_in_table_iv() -> None:
    shares = protocol._shares(TABLE_IV)
    assert shares["triplet"][2, 2] == pytest.approx(98.5 / 105)
    assert shares["pair"][0, 0] == pytest.approx(42.5 / 52.17)
    problem = Problem(BIRDS)
    said, more = (problem.answers(cell, 0) for cell in (ONE, MORE))
    assert (len(said.triplets), len(said.pairs), len(more.pairs)) == (150, 150, 225)
    assert (more.pairs[:150] == said.pairs).all()
    people = [problem.answers(MORE, trial) for trial in range(12)]
    wrong = np.concatenate([TRUTH["pair"](problem.y, p.pairs) != p.pair_answers for p in people])
    is_same = np.concatenate([TRUTH["pair"](problem.y, p.pairs) == 1 for p in people])
    assert wrong[is_same].mean() == pytest.approx(9.67 / 52.17, abs=0.06)
    assert wrong[~is_same].mean() == pytest.approx(10.83 / 172.83, abs=0.03)


def test_six_people_answer_and_differ() -> None:
    problem = Problem(DIGITS)
    known = problem.answers(SIX, 0)
    assert set(known.annotators) == set(PEOPLE)
    assert np.bincount(known.triplet_annotators).tolist() == [150] * 6
    right = TRUTH["triplet"](problem.y, known.triplets) == known.triplet_answers
    share = {
        name: right[known.triplet_annotators == code].mean()
        for code, name in enumerate(known.annotators)
    }
    assert min(share["good"], share["good too"]) > 0.85
    assert share["spams"] < 0.5
    assert all(np.allclose(np.sum(matrix, axis=1), 1) for matrix in PEOPLE.values())


def test_every_method_is_measured_at_every_size(small: DcrcStudy) -> None:
    for cell in small.curve:
        assert set(small.methods_at(DIGITS, cell)) == {m for m in METHODS if m.uses_answers}
    assert ONE in small.cells(BIRDS)
    assert ONE not in small.cells(DIGITS)
    assert SIX in small.cells(DIGITS)
    assert len({method.name for method in (*METHODS, *ONE_PERSON)}) == len(
        {method.version for method in (*METHODS, *ONE_PERSON)}
    )


class Fake(BaseEstimator):
    """Held-out answers are right in as many cases as `tau` says, up to 1."""

    def __init__(self, tau: float = 1.0, random_state: int | None = None, few: bool = False):
        self.tau, self.random_state, self.few = tau, random_state, few

    def fit(self, X: Any, *, constraints: Constraints) -> Self:
        self.cv_scores_ = {} if self.few else {(self.tau, 0.1): 1 - (self.tau - 1.5) ** 2}
        self.labels_ = np.zeros(len(X), dtype=np.int64)
        return self


def test_held_out_answers_choose_tau_and_few_do_not() -> None:
    X, known = np.zeros((4, 1)), Constraints(4)
    assert ChosenTau(Fake()).fit(X, constraints=known).tau_ == 1.5
    assert ChosenTau(Fake(few=True)).fit(X, constraints=known).tau_ == 1.0


def test_a_result_has_all_scores(small: DcrcStudy) -> None:
    lsml = COMPARATORS[2]
    found = small.scene(DIGITS, small.curve[0], 0).run(lsml)
    assert {"f", "ari", "nmi", "fit_seconds", "weight"} <= set(found)
    assert 0 <= found["f"] <= 1


def test_rows_near_boundaries_are_asked_about() -> None:
    found = {spread: boundaries.plane(spread) for spread in boundaries.SPREADS}
    for given in found.values():
        assert given.X.shape == (150, 2)
        assert len(given.known.triplets) == 500
        assert len(np.unique(given.known.triplets)) <= 60
        assert (
            TRUTH["triplet"](given.y, given.known.triplets) == given.known.triplet_answers
        ).all()
    apart = found["far apart"]
    distance = np.linalg.norm(apart.X[:, None] - boundaries.CENTRES, axis=2)
    assert (distance.argmin(axis=1) == apart.y).all()


def _fill(small: DcrcStudy, lead: float = 0.0) -> None:
    """Write every result: the same everywhere, a little more in each trial, and a lead for DCRC."""
    for name in small.found_sets:
        for cell in small.cells(name):
            for method in small.methods_at(name, cell):
                for trial in range(small.n_trials):
                    key = dict(zip(KEY, small.key(name, cell, method, trial), strict=True))
                    score = 0.5 + 0.02 * trial + lead * (method is DEFAULT)
                    scores = dict.fromkeys(("f", "ari", "nmi"), score)
                    small.log.append(key | scores | {"fit_seconds": 0.25, "source": "x"})


@pytest.fixture
def quick_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the reports from fitting the pictures' models."""
    from benchmarks.papers.dcrc import report as report_module

    monkeypatch.setattr(report_module, "mean_share", lambda spread, kind: Score(0.88, 0.01))


def test_findings_follow_the_differences(small: DcrcStudy) -> None:
    _fill(small, lead=0.1)
    text = "\n".join(findings(Results(small)))
    assert "yes; least ITML at 0.1 N +0.100 ± 0.000" in text
    assert "Digits-389, 0.3 N triplets: DCRC F 0.610 ± 0.010, ITML 0.510 ± 0.010" in text
    assert "not complete" not in text


@pytest.mark.usefixtures("quick_fits")
def test_report_shows_what_the_log_holds(small: DcrcStudy) -> None:
    _fill(small, lead=0.1)
    text = report(Results(small), is_quick=False)
    # Two trials, .02 apart: Student's t with one degree of freedom is 12.706.
    assert "**0.610 ± 0.127**" in text
    assert "Not complete" not in text
    assert "Could not be had, and left out: ionosphere" in text
    assert re.search(r"\| ITML, 225 pairs +\| +0\.510 ± 0\.127 \|", text)
    assert not re.search(r"\bnan\b", text)


@pytest.mark.usefixtures("quick_fits")
def test_empty_log_gives_dashes(small: DcrcStudy) -> None:
    text = report(Results(small), is_quick=True)
    assert not re.search(r"\bnan\b", text)
    assert "not complete" in text


def test_pictures_are_drawn(small: DcrcStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    _fill(small)
    names: list[str] = []
    monkeypatch.setattr(picture_module, "saved", lambda figure, study, name: names.append(name))
    monkeypatch.setattr(picture_module, "_shaded", lambda place, spread, kind: None)
    picture_module.draw(Results(small))
    assert names == ["information", "curves", "entropy", "hard", "balance"]
