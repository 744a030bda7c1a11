"""The study of DCRC follows the paper's protocol, and its report shows what its log holds."""

import itertools
import re
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from benchmarks.papers import dcrc as s
from benchmarks.study import problems
from benchmarks.study.engine import Task
from benchmarks.study.methods import ChosenTau, Method, run_method, selected, version
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.answers import DONT_KNOW
from clew.constraints._meanings import TRUTH
from clew.datasets import Dataset
from clew.exceptions import DatasetNotFoundError

N_CLASSES = {s.BIRDS: 5, s.DIGITS: 3}


def _made(name: str, scale: str | None = None) -> Dataset:
    assert scale == "standard" or scale is None
    if name not in N_CLASSES:
        raise DatasetNotFoundError(f"no {name}")
    k = N_CLASSES[name]
    X, y = make_blobs(80 * k, 3, centers=k, random_state=0)
    names = tuple(map(str, range(k)))
    return Dataset(name=name, X=X, y=y.astype(np.int64), class_names=names, source="made")


@pytest.fixture(autouse=True)
def made_sets(replaced: Any) -> None:
    replaced(_made, s.answers)


@pytest.fixture
def small() -> s.DcrcStudy:
    sets = (s.BIRDS, s.DIGITS, "ionosphere")
    return s.DcrcStudy(n_trials=2, sets=sets, stem="test", shares=(0.1, 0.3))


def _y(name: str) -> Any:
    return problems.load(name, "standard").y


def test_fewer_triplets_are_the_first_of_more() -> None:
    n = len(_y(s.DIGITS))
    found = [s.answers(s.DIGITS, s.Cell("truth", share), 0) for share in s.ALL_SHARES]
    assert [len(known.triplets) for known in found] == [round(x * n) for x in s.ALL_SHARES]
    for few, many in itertools.pairwise(found):
        assert (few.triplets == many.triplets[: len(few.triplets)]).all()
    assert not len(s.answers(s.DIGITS, s.NO_ANSWERS, 0).triplets)
    another = s.answers(s.DIGITS, s.Cell("truth", 0.3), 1)
    assert (another.triplets != found[-1].triplets).any()


def test_triplets_are_answered_by_the_classes() -> None:
    known = s.answers(s.BIRDS, s.Cell("truth", 0.3), 0)
    a, b, c = _y(s.BIRDS)[known.triplets].T
    right = np.where((a == b) & (a != c), 0, np.where((a == c) & (a != b), 1, DONT_KNOW))
    assert (known.triplet_answers == right).all()
    n_decided = int((right != DONT_KNOW).sum())
    assert 0 < n_decided < len(right)
    assert len(selected(known, "as_pairs").must_link) == n_decided


@pytest.mark.slow
def test_one_person_errs_as_in_table_iv() -> None:
    shares = s.shares(s.TABLE_IV)
    assert shares["triplet"][2, 2] == pytest.approx(98.5 / 105)
    assert shares["pair"][0, 0] == pytest.approx(42.5 / 52.17)
    y = _y(s.BIRDS)
    fewer, more = (s.answers(s.BIRDS, cell, 0) for cell in (s.ONE, s.MORE))
    assert (len(fewer.triplets), len(fewer.pairs), len(more.pairs)) == (150, 150, 225)
    assert (more.pairs[:150] == fewer.pairs).all()
    people = [s.answers(s.BIRDS, s.MORE, trial) for trial in range(12)]
    wrong = np.concatenate([TRUTH["pair"](y, p.pairs) != p.pair_answers for p in people])
    is_same = np.concatenate([TRUTH["pair"](y, p.pairs) == 1 for p in people])
    assert wrong[is_same].mean() == pytest.approx(9.67 / 52.17, abs=0.06)
    assert wrong[~is_same].mean() == pytest.approx(10.83 / 172.83, abs=0.03)


def test_six_people_answer_and_differ() -> None:
    known = s.answers(s.DIGITS, s.SIX, 0)
    assert set(known.annotators) == set(s.PEOPLE)
    assert np.bincount(known.triplet_annotators).tolist() == [150] * 6
    right = TRUTH["triplet"](_y(s.DIGITS), known.triplets) == known.triplet_answers
    share = {
        name: right[known.triplet_annotators == code].mean()
        for code, name in enumerate(known.annotators)
    }
    assert min(share["good"], share["good too"]) > 0.85
    assert share["spams"] < 0.5
    assert all(np.allclose(np.sum(matrix, axis=1), 1) for matrix in s.PEOPLE.values())


def test_every_method_is_measured_at_every_size(small: s.DcrcStudy) -> None:
    points = {name: set(small.points(name)) for name in (s.BIRDS, s.DIGITS)}
    for cell in small.curve:
        assert {(m, cell) for m in s.METHODS} <= points[s.DIGITS]
    assert (s.ITML, s.SIX) in points[s.DIGITS]
    assert s.ONE in {cell for _, cell in points[s.BIRDS]}
    assert s.ONE not in {cell for _, cell in points[s.DIGITS]}
    methods = {m for name in points for m, _ in points[name]}
    assert len({m.name for m in methods}) == len({version(m) for m in methods}) == len(methods)


def test_version_follows_the_parameters() -> None:
    method = Method("mmc", "MMC", "", "MMC diagonal", "as_pairs", n_starts=3)
    others = [
        Method("mmc", "MMC", "", "MMC", "as_pairs", n_starts=3),
        Method("mmc", "MMC", "", "MMC diagonal", "pairs", n_starts=3),
        Method("mmc", "MMC", "", "MMC diagonal", "as_pairs", n_starts=4),
    ]
    assert len({version(m) for m in [method, *others]}) == 4
    assert version(method) == version(
        Method("mmc", "M", "", "MMC diagonal", "as_pairs", n_starts=3)
    )


def _problem() -> tuple[Any, Any, Constraints]:
    """A feature that separates the classes, and a larger one that does not."""
    y, random = np.repeat(np.arange(3), 10), np.random.RandomState(0)
    X = np.column_stack([y + 0.1 * random.standard_normal(30), 3 * random.standard_normal(30)])
    return X, y, Constraints.from_labels(y, n_triplets=120, random_state=1)


@pytest.mark.slow
def test_k_means_groups_the_learned_features() -> None:
    X, y, known = _problem()
    learned, plain = (
        run_method(m, X, known, (3,), 0)
        for m in (Method("mmc", "MMC", "", "MMC diagonal", "as_pairs"), s.KMEANS)
    )
    assert s.scores(y, learned.labels[3])["ari"] > 0.9
    assert s.scores(y, plain.labels[3])["ari"] < 0.5
    assert learned.notes["fit_seconds"] >= 0
    assert plain.notes == {}


@pytest.mark.slow
def test_held_out_answers_choose_the_parameter() -> None:
    X, _, known = _problem()
    lsml = Method("lsml", "LSML", "", "LSML", "yes_no", n_starts=3, tried=("penalty", (0.01, 1e3)))
    assert run_method(lsml, X, known, (3,), 0).notes["penalty"] == 1e3
    assert "penalty" not in run_method(lsml, X, known.select(triplets=[0]), (3,), 0).notes


def test_scores_of_a_small_example() -> None:
    found = s.scores(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    # Three pairs share a class, two a group, one both.
    assert found["f"] == pytest.approx(2 * 1 / (3 + 2))
    assert found["ari"] == pytest.approx(0.0)


class Fake(BaseEstimator):
    """Has its highest cross-validation score at a `tau` of 1.5."""

    def __init__(self, tau: float = 1.0, random_state: int | None = None, few: bool = False):
        self.tau, self.random_state, self.few = tau, random_state, few

    def fit(self, X: Any, *, constraints: Constraints) -> Self:
        self.cv_scores_ = {} if self.few else {(self.tau, 0.1): 1 - (self.tau - 1.5) ** 2}
        self.labels_ = np.zeros(len(X), dtype=np.int64)
        return self


def test_held_out_answers_choose_tau_unless_they_are_few() -> None:
    X, known = np.zeros((4, 1)), Constraints(4)
    assert ChosenTau(Fake()).fit(X, constraints=known).tau_ == 1.5
    assert ChosenTau(Fake(few=True)).fit(X, constraints=known).tau_ == 1.0


@pytest.mark.slow
def test_a_result_has_all_scores(small: s.DcrcStudy) -> None:
    found = small.measure(Task(s.DIGITS, s.LSML, small.curve[0], 0))
    assert {"f", "ari", "nmi", "fit_seconds", "penalty"} <= set(found)
    assert 0 <= found["f"] <= 1


def test_rows_near_boundaries_are_asked_about() -> None:
    found = {width: s.plane(width) for width in s.WIDTHS}
    for X, y, known in found.values():
        assert X.shape == (150, 2)
        assert len(known.triplets) == 500
        assert len(np.unique(known.triplets)) <= 60
        assert (TRUTH["triplet"](y, known.triplets) == known.triplet_answers).all()
    X, y, _ = found["far apart"]
    distance = np.linalg.norm(X[:, None] - s.CENTERS, axis=2)
    assert (distance.argmin(axis=1) == y).all()


@pytest.fixture
def quick_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the models that are fitted for pictures."""
    monkeypatch.setattr(s, "shares_right", lambda width, kind: pd.Series([0.87, 0.89]))
    monkeypatch.setattr(s, "_shaded", lambda place, width, kind: None)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_fits")
def test_report_shows_what_the_log_holds(
    small: s.DcrcStudy, pictured: list[str], fill_log: Any
) -> None:
    fill_log(small, 0.1, [s.DEFAULT], ("f", "ari", "nmi"), fit_seconds=0.25)
    text = fill(Results(small), s.DcrcReport, s.__file__)
    # Two trials, .02 apart: Student's t with one degree of freedom is 12.706.
    assert "**0.610 ± 0.127**" in text
    assert "Digits-389, 0.3 N triplets: DCRC F 0.610 ± 0.010, ITML 0.510 ± 0.010" in text
    assert "+0.100 ± 0.000 (ITML at 0.1 N)" in text
    assert (
        "- DCRC, F, compared with the comparators (set × size × method): above in 20 of 20" in text
    )
    assert re.search(r"\| ITML, 225 pairs +\| +0\.510 ± 0\.127 \|", text)
    assert "Not complete" not in text
    assert "not complete" not in text
    assert "Not available, and left out: ionosphere" in text
    assert not re.search(r"\bnan\b", text)
    names = ["information", "curves", "entropy", "hard", "balance"]
    assert pictured == [f"test_{name}" for name in names]


@pytest.mark.slow
@pytest.mark.usefixtures("quick_fits")
def test_empty_log_gives_dashes(small: s.DcrcStudy, pictured: list[str]) -> None:
    text = fill(Results(small), s.DcrcReport, s.__file__)
    assert not re.search(r"\bnan\b", text)
    assert "not complete" in text
